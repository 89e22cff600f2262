"""Scenario spike: traffic triples at the top of the hour; and what a look for due jobs costs, by index or not.

Jobs of every minute give a steady load; on the hour, hourly jobs bring twice as many again in one second, one in
twenty of them in the high lane. The control looks for due jobs by reading all of them, as polling of a table without
an index does, and fires what it finds by the same services. Promises: SEM-LANE-1, SEM-TICK-1.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.scenarios.chart import Chart
from tests.scenarios.installation import DueIndex, Installation, played
from tests.scenarios.outcome import Outcome, at_percent, spread_ms
from tests.support.clocks import NOON
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.transitions import State
from tickwright.ports.runner import Invocation
from tickwright.services.fire import fire
from tickwright.services.kit import Kit
from tickwright.services.memory import Memory
from tickwright.services.submit import Submitted

NAME = "spike"
_MINUTE_MS = 60_000
_BEFORE_MIN, _AFTER_MIN = 2, 2
_RUN_MS = 300
_HIGH_EACH = 20  # one job in so many is in the high lane
_WORKERS = ("w0", "w1", "w2", "w3")
_CURVE = (250, 500, 1_000, 2_000, 4_000)
_CURVE_DUE = 100  # jobs of every minute in each of these; the others wait for a day
_CURVE_MS = 2 * _MINUTE_MS
_SUBMIT_MS = 60  # what is allowed for one
_HEADS_A_PAGE = 1_000  # 1 MB
_PAGE_MS = 20  # how long such a page is read and sent


@dataclass(slots=True)
class Quick:
    """User code of a third of a second."""

    house: Installation

    async def run(self, invocation: Invocation) -> UserResult:
        """One attempt."""
        self.house.note_start(invocation.execution)
        await self.house.clock.sleep_ms(_RUN_MS)
        return Success()


@dataclass(slots=True)
class Spike:
    """The hour's turn: `size` runs in each second of a usual minute."""

    house: Installation
    size: int

    async def play(self) -> None:
        """Two minutes before the hour, the minute of it, two after."""
        house = self.house
        house.schedule(2)
        for name in _WORKERS:
            house.work(name, lambda _process: Quick(house))
        await self._submit_all()
        await house.clock.sleep_until(Instant(NOON + (1 + _AFTER_MIN) * _MINUTE_MS + 5_000))
        await house.close()

    async def _submit_all(self) -> None:
        """In the first minute, each a period before its first tick; so the load is even from the second on."""
        kit = self.house.life("a0")
        steady = 60 * self.size
        for number in range(steady):
            phase = f"PT{number * _MINUTE_MS // steady / 1_000}S"
            await self._submit(kit, f"minutely-{number}", {"every": "PT1M", "phase": phase}, number)
        for number in range(2 * steady):
            await self._submit(kit, f"hourly-{number}", {"cron": "0 * * * *", "timezone": "UTC"}, number)

    async def _submit(self, kit: Kit, name: str, schedule: dict[str, str], number: int) -> None:
        body = {"schedule": schedule, "priority": "high" if number % _HIGH_EACH == 0 else "normal"}
        assert isinstance(await self.house.submit(kit, name, body), Submitted)

    def outcome(self, costs: "Sequence[Cost]") -> Outcome:
        """What it came to, beside what looking costs."""
        lags = {name: self._lags(*span) for name, span in _SPANS.items()}
        high = self._lags(*_SPANS["during"], lane=Lane.HIGH)
        first, last = costs[0], costs[-1]
        grew, polled = last.jobs / first.jobs, last.polled_items_s / first.polled_items_s
        runs = Counter(start.execution_id for start in self.house.starts)
        ends_ms = NOON + (1 + _AFTER_MIN) * _MINUTE_MS
        states = {row.state for row in self.house.rows() if row.scheduled_at < ends_ms}
        expected = {
            "traffic triples in the minute of the hour": 2.9 < len(lags["during"]) / len(lags["before"]) * 2 < 3.1,
            "every execution succeeded, in one attempt": states == {State.SUCCEEDED} and max(runs.values()) == 1,
            "nothing starts early": min(map(min, lags.values())) >= 0,
            "a high run starts within a second in the spike": max(high) <= 1_000,
            "after the spike half of the runs start as soon as before": at_percent(lags["after"], 50)
            <= at_percent(lags["before"], 50) + 20,
            "reading by the index costs the same for all counts of jobs": last.indexed_items_s
            <= 1.1 * first.indexed_items_s,
            "reading all costs in proportion to the jobs": 0.8 * grew < polled < 1.2 * grew,
            "both fired the same ticks": all(cost.indexed_runs == cost.polled_runs > 0 for cost in costs),
            "no bug was seen": not self.house.telemetry.broken,
        }
        figures = {
            "jobs": 180 * self.size,
            "lag": {name: spread_ms(found) for name, found in lags.items()},
            "highLagDuring": spread_ms(high),
            "costs": [cost.told() for cost in costs],
        }
        return Outcome(name=NAME, figures=figures, expected=expected, charts=[self._lag_chart(), _cost_chart(costs)])

    def _lags(self, from_ms: int, until_ms: int, lane: Lane | None = None) -> list[float]:
        return [
            float(start.started_ms - start.scheduled_ms)
            for start in self.house.starts
            if from_ms <= start.scheduled_ms - NOON < until_ms and lane in {None, start.lane}
        ]

    def _lag_chart(self) -> Chart:
        seconds = range(-_BEFORE_MIN * 60, (1 + _AFTER_MIN) * 60, 5)
        lines: dict[str, list[tuple[float, float]]] = {"all, p50": [], "all, p99": [], "high lane, p99": []}
        for second in seconds:
            span = second * 1_000, (second + 5) * 1_000
            found, high = self._lags(*span), self._lags(*span, lane=Lane.HIGH)
            lines["all, p50"].append((second, at_percent(found, 50)))
            lines["all, p99"].append((second, at_percent(found, 99)))
            lines["high lane, p99"].append((second, at_percent(high, 99)))
        title = f"Start lag while traffic triples on the hour ({self.size} runs a second before)"
        return Chart(title=title, across="seconds after the hour", up="ms", lines=dict(lines))


_SPANS = {
    "before": (-_BEFORE_MIN * _MINUTE_MS, 0),
    "during": (0, _MINUTE_MS),
    "after": (_MINUTE_MS, (1 + _AFTER_MIN) * _MINUTE_MS),
}


# --- the cost of looking ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What is read a second to find the same due jobs among so many."""

    jobs: int
    indexed_items_s: float
    polled_items_s: float
    indexed_units_s: float
    polled_units_s: float
    indexed_runs: int
    polled_runs: int

    def told(self) -> dict[str, float]:
        """For the figures."""
        return {
            "jobs": self.jobs,
            "indexedItemsASecond": self.indexed_items_s,
            "polledItemsASecond": self.polled_items_s,
            "indexedReadUnitsASecond": self.indexed_units_s,
            "polledReadUnitsASecond": self.polled_units_s,
        }


def curve_of(counts: Sequence[int]) -> list[Cost]:
    """The cost at each count of jobs, of which always the same number is due in a minute."""
    return [_cost(count) for count in counts]


def _cost(count: int) -> Cost:
    indexed, indexed_runs = _looked(count, polls=False)
    polled, polled_runs = _looked(count, polls=True)
    seconds = _CURVE_MS / 1_000
    return Cost(
        jobs=count,
        indexed_items_s=round(indexed.items / seconds, 2),
        polled_items_s=round(polled.items / seconds, 2),
        indexed_units_s=round(indexed.read_units / seconds, 2),
        polled_units_s=round(polled.read_units / seconds, 2),
        indexed_runs=indexed_runs,
        polled_runs=polled_runs,
    )


def _looked(count: int, *, polls: bool) -> tuple[DueIndex, int]:
    async def scene() -> tuple[DueIndex, int]:
        house = Installation(seed=count, start_ms=NOON - _MINUTE_MS - count * _SUBMIT_MS)
        kit = house.life("a0")
        for number in range(count):
            often = {"every": "PT1M", "phase": f"PT{(number * 587 % 1_000) * 60 / 1_000}S"}
            schedule = often if number < _CURVE_DUE else {"every": "P1D", "phase": "PT6H"}
            assert isinstance(await house.submit(kit, f"job-{number}", {"schedule": schedule}), Submitted)
        assert house.now_ms() < NOON - _MINUTE_MS // 2, "submitting took too long to measure anything"
        if polls:
            house.keep(Poller(house.life("s0"), house.due).run(house.stop))
        else:
            house.schedule(1)
        await house.clock.sleep_until(Instant(NOON))
        house.due.forget()  # who has just started reads every head once, for the zone rules
        await house.clock.sleep_until(Instant(NOON + _CURVE_MS))
        rows = [row for row in house.rows() if NOON + 10_000 <= row.scheduled_at < NOON + _CURVE_MS]
        return house.due, len(rows)

    return played(scene)


@dataclass(slots=True)
class Poller:
    """The control: once a second every job is read, page by page, and those that are due are fired."""

    kit: Kit
    due: DueIndex

    async def run(self, stop: asyncio.Event) -> None:
        """Until it is stopped."""
        memory = Memory()
        while not stop.is_set():
            began_ms = self.kit.clock.monotonic_ms()
            await self._look(memory)
            took_ms = self.kit.clock.monotonic_ms() - began_ms
            await self.kit.clock.sleep_ms(max(0, self.kit.durations.tick_ms - took_ms))

    async def _look(self, memory: Memory) -> None:
        heads = list(self.due.heads.values())
        until = self.kit.clock.now() + self.kit.durations.lookahead_ms
        for first in range(0, len(heads), _HEADS_A_PAGE):
            page = heads[first : first + _HEADS_A_PAGE]
            self.due.charge(len(page))
            await self.kit.clock.sleep_ms(_PAGE_MS)
            for bucket in range(self.kit.buckets):
                due = [h for h in page if h.bucket == bucket and h.next_run_at and h.next_run_at <= until]
                await fire(self.kit, bucket, due, memory)


def _cost_chart(costs: Sequence[Cost]) -> Chart:
    return Chart(
        title="What a look for due jobs reads",
        across="jobs (100 of them due in a minute)",
        up="items read a second",
        lines={
            "all jobs are polled": [(cost.jobs, cost.polled_items_s) for cost in costs],
            "due index": [(cost.jobs, cost.indexed_items_s) for cost in costs],
        },
        logarithmic=True,
    )


def play(*, size: int = 20, seed: int = 1) -> Outcome:
    """`size` runs a second before the hour."""
    start_ms = NOON - (1 + _BEFORE_MIN) * _MINUTE_MS
    scene = Spike(Installation(seed, start_ms=start_ms), size)
    played(scene.play)
    return scene.outcome(curve_of(_CURVE[: 2 if size < 10 else None]))
