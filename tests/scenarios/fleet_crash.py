"""Scenario fleet-crash: a fleet of five dies or freezes while it holds every run, and comes back.

Three workers are killed, two stand still for longer than their leases and go on as zombies, in code that cannot be
cancelled. Every effect goes to four sinks at once: one that takes all, and three with a fence, a key, or both. The
expected outcome: nothing is lost, and only fence and key together leave one effect a run. Promise: SEM-FENCE-1.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from tests.scenarios.chart import Chart, Point
from tests.scenarios.installation import Installation, played
from tests.scenarios.outcome import Outcome
from tests.sim.draws import Stream
from tests.sim.process import Process
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.transitions import State
from tickwright.ports.runner import Invocation, Runner
from tickwright.services.submit import Submitted

NAME = "fleet-crash"
_FLEET = ("w0", "w1", "w2", "w3", "w4")
_KILLED = _FLEET[:3]
_LEAD_MS = 30_000
_CRASH_MS = 45_000  # after the runs were due: every one is held, some have had their effect
_BACK_MS = 30_000
_FROZEN_MS = 150_000
_ENOUGH_MS = 600_000
_STEP_MS = 5_000


@dataclass(slots=True)
class Sink:
    """Where effects go, with or without a fence (no older epoch after a newer one) and a key (the executionId)."""

    has_fence: bool
    has_key: bool
    taken: Counter[str] = field(default_factory=Counter)
    newest: dict[str, int] = field(default_factory=dict)
    older_over_newer: int = 0

    def take(self, execution_id: str, epoch: int) -> None:
        """One effect arrives."""
        is_old = epoch < self.newest.get(execution_id, 0)
        if (is_old and self.has_fence) or (self.has_key and execution_id in self.taken):
            return
        self.older_over_newer += is_old
        self.newest[execution_id] = max(epoch, self.newest.get(execution_id, 0))
        self.taken[execution_id] += 1

    @property
    def duplicates(self) -> int:
        """Effects beyond the first of a run."""
        return self.taken.total() - len(self.taken)


@dataclass(slots=True)
class Scene:
    """The installation and its sinks, and how many duplicates there were when."""

    house: Installation
    sinks: dict[str, Sink] = field(
        default_factory=lambda: {
            "neither": Sink(has_fence=False, has_key=False),
            "fence alone": Sink(has_fence=True, has_key=False),
            "key alone": Sink(has_fence=False, has_key=True),
            "fence and key": Sink(has_fence=True, has_key=True),
        }
    )
    code: set["asyncio.Task[UserResult]"] = field(default_factory=set)
    curves: dict[str, list[Point]] = field(default_factory=dict)
    due_ms: int = 0

    async def play(self, count: int) -> Outcome:
        """Hold, die, come back, finish."""
        house = self.house
        house.schedule(2)
        for name in _FLEET:
            house.work(name, self._runner)
        self.due_ms = due_ms = house.now_ms() + _LEAD_MS
        kit = house.life("a0")
        for number in range(count):
            run_at = {"schedule": {"runAt": to_rfc3339(Instant(due_ms))}}
            assert isinstance(await house.submit(kit, f"job-{number}", run_at), Submitted)
        await house.clock.sleep_until(Instant(due_ms + _CRASH_MS))
        held = sum(row.state is State.RUNNING for row in house.rows())
        self._crash()
        await self._watch(count, due_ms)
        return self._outcome(count, held)

    def _runner(self, process: Process) -> Runner:
        return Payer(self, process)

    def _crash(self) -> None:
        for name in _FLEET:
            process = self.house.processes[name]
            if name in _KILLED:
                process.die(_BACK_MS)
            else:
                process.still_until_ms = self.house.now_ms() + _FROZEN_MS

    async def _watch(self, count: int, due_ms: int) -> None:
        for _ in range(_ENOUGH_MS // _STEP_MS):
            after_s = (self.house.now_ms() - due_ms) / 1_000
            done = sum(row.state is State.SUCCEEDED for row in self.house.rows())
            self.curves.setdefault("runs that succeeded", []).append((after_s, done))
            for name in ("neither", "fence and key"):
                self.curves.setdefault(f"duplicates: {name}", []).append((after_s, self.sinks[name].duplicates))
            if done == count and self.house.now_ms() > due_ms + _CRASH_MS + _FROZEN_MS + _STEP_MS:
                break
            await self.house.clock.sleep_ms(_STEP_MS)
        await self.house.close()

    def _outcome(self, count: int, held: int) -> Outcome:
        rows, bare, both = self.house.rows(), self.sinks["neither"], self.sinks["fence and key"]
        succeeded = sum(row.state is State.SUCCEEDED for row in rows)
        sinks = {
            name: {"effects": s.taken.total(), "duplicates": s.duplicates, "olderOverNewer": s.older_over_newer}
            for name, s in self.sinks.items()
        }
        expected = {
            "every run was held when the fleet died": held == count,
            "every run succeeded": succeeded == count == len(rows),
            "with fence and key every run has one effect": both.taken.total() == len(both.taken) == count,
            "with neither, effects are doubled": bare.duplicates > 0,
            "with neither, an older attempt writes over a newer one": bare.older_over_newer > 0,
            "a fence alone still doubles what a dead worker had done": self.sinks["fence alone"].duplicates > 0,
            "no bug was seen": not self.house.telemetry.broken,
        }
        figures = {
            "runs": count,
            "held": held,
            "succeeded": succeeded,
            "attempts": len(self.house.starts),
            "lastEndedS": (max(row.finished_at or 0 for row in rows) - self.due_ms) / 1_000,
            "sinks": sinks,
        }
        chart = Chart(
            title="Fleet crash", across="seconds after the runs were due", up="count", lines=dict(self.curves)
        )
        return Outcome(name=NAME, figures=figures, expected=expected, charts=[chart])


@dataclass(slots=True)
class Payer:
    """User code in a thread, as it were: it has its effect somewhere in the middle and hears no cancel."""

    scene: Scene
    process: Process

    async def run(self, invocation: Invocation) -> UserResult:
        """One attempt."""
        self.scene.house.note_start(invocation.execution)
        code = asyncio.create_task(self._code(invocation))
        self.scene.code.add(code)
        return await asyncio.shield(code)

    async def _code(self, invocation: Invocation) -> UserResult:
        draw = Stream.of(self.scene.house.seed, invocation.execution.ref.id)
        lasts_ms = draw.between(60_000, 120_000)
        before_ms = int(lasts_ms * (0.3 + 0.6 * draw.fraction()))
        clock = self.scene.house.clock
        await clock.sleep_ms(before_ms)
        await self.process.gate()
        for sink in self.scene.sinks.values():
            sink.take(invocation.execution.ref.id, invocation.epoch)
        await clock.sleep_ms(lasts_ms - before_ms)
        await self.process.gate()
        return Success()


def play(*, size: int = 500, seed: int = 1) -> Outcome:
    """`size` runs are held when the fleet dies."""
    return played(lambda: Scene(Installation(seed)).play(size))
