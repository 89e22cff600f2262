"""Scenario db-failover: the leader of the store is replaced while clients submit, and nobody is answered for half a second.

A write that is under way when it begins may be applied without an answer. Our client repeats a request with its key.
The controls have no unknown outcomes in their world: one gives up, the other asks anew with a fresh key. The expected
outcome: whatever was acknowledged runs once; only the controls lose requests or do them twice. Promise: SEM-IDEM-1.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tests.scenarios.chart import Chart
from tests.scenarios.installation import Installation, played
from tests.scenarios.outcome import Outcome, at_percent, spread_ms
from tests.scenarios.spike import Quick
from tests.sim.draws import Stream
from tests.sim.plan import Outage
from tests.sim.process import Process
from tests.support.clocks import NOON
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.transitions import State
from tickwright.ports.faults import Unavailable
from tickwright.services.kit import Kit
from tickwright.services.submit import Submitted

NAME = "db-failover"
AnswerT = TypeVar("AnswerT")
_DOWN_FROM_MS = 10_000
_DOWN_MS = 500
_SUBMITTING_MS = 20_000
_SETTLING_MS = 150_000  # past the journal's first look at what was left in the air
_LATENCY_MS = 8
_FIRST_PAUSE_MS = 50
_PAUSE_MS_MAX = 1_000
_TRIES = 12
_CLIENTS = ("repeats", "gives up", "asks anew")


class FailingOver(Process):
    """A process whose answers are lost if the store is gone by the time they would arrive."""

    __slots__ = ()

    async def call(self, do: Callable[[], AnswerT], fault: type[Unavailable], *, writes: bool = False) -> AnswerT:
        """One call; applied or not, nobody says so while the store is gone."""
        answer = await Process.call(self, do, fault, writes=writes)
        if self.network.is_down():
            raise fault("the reply was lost")
        return answer

    async def call_each(
        self, each: Sequence[Callable[[], AnswerT]], fault: type[Unavailable]
    ) -> list[AnswerT | Unavailable]:
        """The same for several writes in one message."""
        answers = await Process.call_each(self, each, fault)
        return [fault("the reply was lost") for _ in answers] if self.network.is_down() else answers


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A request that was answered, when it was made, and how long the client waited."""

    job_id: JobId
    asked_ms: int
    waited_ms: int


@dataclass(slots=True)
class Client:
    """One kind of client: what it was told, and what it was not."""

    house: Installation
    kit: Kit
    kind: str
    acknowledged: list[Acknowledged] = field(default_factory=list)
    failed: int = 0
    repeats: int = 0
    replayed: int = 0

    async def ask(self, number: int) -> None:
        """One request, to its end."""
        asked_ms = self.house.now_ms()
        draw = Stream.of(self.house.seed, f"{self.kind}/{number}")
        pause_ms = _FIRST_PAUSE_MS
        body: dict[str, object] = {"schedule": {"runAt": to_rfc3339(Instant(asked_ms + 2_000))}}
        for tried in range(1 if self.kind == "gives up" else _TRIES):
            key = f"{self.kind}-{number}" + (f"-{tried}" if self.kind == "asks anew" else "")
            try:
                answer = await self.house.submit(self.kit, key, {"name": f"{key}", **body})
            except Unavailable:
                self.repeats += 1
                await self.house.clock.sleep_ms(round(pause_ms * (0.5 + draw.fraction())))
                pause_ms = min(2 * pause_ms, _PAUSE_MS_MAX)
                continue
            assert isinstance(answer, Submitted), answer
            self.replayed += answer.replayed
            self.acknowledged.append(Acknowledged(answer.head.job_id, asked_ms, self.house.now_ms() - asked_ms))
            return
        self.failed += 1

    def told(self) -> dict[str, int]:
        """What it came to, and what is in the store that it does not know of."""
        mine = [head for head in self.house.state.heads.values() if head.listed_as.startswith(f"{self.kind}-")]
        return {
            "acknowledged": len(self.acknowledged),
            "failed": self.failed,
            "repeats": self.repeats,
            "replayed": self.replayed,
            "jobs": len(mine),
            "unknownJobs": len(mine) - len({one.job_id for one in self.acknowledged}),
        }


@dataclass(slots=True)
class Scene:
    """The installation, and three clients of as many requests a second each."""

    house: Installation
    size: int
    clients: dict[str, Client] = field(default_factory=dict)

    async def play(self) -> Outcome:
        """Submit all along, then let everything end."""
        house = self.house
        self.clients = {kind: Client(house, house.life(f"a-{kind}"), kind) for kind in _CLIENTS}
        house.schedule(2)
        for name in ("w0", "w1"):
            house.work(name, lambda _process: Quick(house))
        for number in range(self.size * _SUBMITTING_MS // 1_000):
            await house.clock.sleep_until(Instant(NOON + number * 1_000 // self.size))
            for client in self.clients.values():
                house.keep(client.ask(number))
        await house.clock.sleep_until(Instant(NOON + _SUBMITTING_MS + _SETTLING_MS))
        await house.close()
        return self._outcome()

    def _outcome(self) -> Outcome:
        told = {kind: client.told() for kind, client in self.clients.items()}
        asked = self.size * _SUBMITTING_MS // 1_000
        ours, quits, anew = (told[kind] for kind in _CLIENTS)
        all_known = [one.job_id for client in self.clients.values() for one in client.acknowledged]
        succeeded = Counter(row.job_id for row in self.house.rows() if row.state is State.SUCCEEDED)
        runs = Counter(start.job_id for start in self.house.starts)
        waits = {name: self._waits(name) for name in _SPANS}
        lags = {name: self._lags(name) for name in _SPANS}
        expected = {
            "every acknowledged job is there and ran once": all(succeeded[one] == 1 for one in all_known),
            "no job ran twice": max(runs.values()) == 1,
            "ours: every request was acknowledged, and is one job": ours["acknowledged"] == ours["jobs"] == asked,
            "ours: some requests were applied without an answer, and found again by their key": ours["replayed"] > 0,
            "ours: nobody waited longer than a second and a half beyond the outage": max(waits["during"])
            <= _DOWN_MS + 1_500,
            "giving up: requests fail, and some of them are done nevertheless": quits["failed"] > quits["unknownJobs"] > 0,
            "asking anew: work is done twice": anew["unknownJobs"] > 0,
            "after it acknowledgements are as fast as before": at_percent(waits["after"], 99)
            <= 1.5 * at_percent(waits["before"], 99),
            "no bug was seen": not self.house.telemetry.broken,
        }
        figures = {
            "requests": asked,
            "clients": told,
            "acknowledgedAfter": {name: spread_ms(found) for name, found in waits.items()},
            "startLag": {name: spread_ms(found) for name, found in lags.items()},
        }
        return Outcome(name=NAME, figures=figures, expected=expected, charts=[self._wait_chart(), self._lag_chart()])

    def _waits(self, span: str) -> list[float]:
        low, high = _SPANS[span]
        return [float(one.waited_ms) for one in self._ours() if low <= one.asked_ms - NOON < high]

    def _lags(self, span: str) -> list[float]:
        low, high = _SPANS[span]
        spans = ((s.scheduled_ms - NOON, s.started_ms - s.scheduled_ms) for s in self.house.starts)
        return [float(lag) for at, lag in spans if low <= at < high]

    def _ours(self) -> Sequence[Acknowledged]:
        return self.clients["repeats"].acknowledged

    def _wait_chart(self) -> Chart:
        waits = sorted(((one.asked_ms - NOON) / 1_000, float(one.waited_ms)) for one in self._ours())
        title = "How long a client waits for its acknowledgement (the store is gone from 10 s to 10.5 s)"
        return Chart(title=title, across="seconds", up="ms", lines={"repeats with its key": waits})

    def _lag_chart(self) -> Chart:
        lags = sorted(((s.scheduled_ms - NOON) / 1_000, float(s.started_ms - s.scheduled_ms)) for s in self.house.starts)
        return Chart(title="How late runs start", across="seconds", up="ms", lines={"start lag": lags})


_SPANS = {
    "before": (0, _DOWN_FROM_MS - 100),
    "during": (_DOWN_FROM_MS - 100, _DOWN_FROM_MS + _DOWN_MS),
    "after": (_DOWN_FROM_MS + _DOWN_MS, _SUBMITTING_MS + _SETTLING_MS),
}


def play(*, size: int = 100, seed: int = 1) -> Outcome:
    """`size` requests a second of each client."""
    outages = (Outage(_DOWN_FROM_MS, _DOWN_MS),)
    return played(
        lambda: Scene(Installation(seed, latency_ms=_LATENCY_MS, outages=outages, process_of=FailingOver), size).play()
    )


