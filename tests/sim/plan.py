"""What happens in a simulation: its jobs, its world and its faults, all drawn before it begins.

A plan is plain data: it can be printed, kept as a file and made smaller. Faults stand at the n-th write of a process,
not at a time, since a process writes where it matters. A drawn plan names its jobs by number; a file holds them in
full, so that it means the same when other jobs are drawn one day. Must not know the product's writes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tests.chaos.jobs import Plan as JobPlan
from tests.chaos.jobs import Span
from tests.sim.draws import Stream
from tests.sim.kinds import job_of
from tests.sim.plain import plain_of, value_of
from tests.support.clocks import NOON

LAST_TICK_MS = 16_000
CLOCK_ERROR_MS = 50  # what the product allows for at this scale


class Kind(Enum):
    """What can happen at a write of a process."""

    CRASH_BEFORE = "crash_before"  # the process dies, and the write never leaves it
    CRASH_AFTER = "crash_after"  # the write is applied, and the process dies
    PAUSE = "pause"  # the write is applied, and the process stands still
    LOST_BEFORE = "lost_before"  # not applied, and the outcome is not known
    LOST_AFTER = "lost_after"  # applied, and the outcome is not known
    HELD = "held"  # the write is on its way for so long, and is applied then
    THROTTLED = "throttled"  # this and the next writes are not applied


@dataclass(frozen=True, slots=True)
class Fault:
    """At the n-th write of a slot: for so many milliseconds (a crash: until somebody takes its place)."""

    slot: str
    nth: int
    kind: Kind
    ms: int


@dataclass(frozen=True, slots=True)
class Outage:
    """The store answers nobody for a while."""

    at_ms: int
    ms: int


@dataclass(frozen=True, slots=True)
class ClockStep:
    """The clock of a slot's machine jumps at a time; all its jumps leave it within CLOCK_ERROR_MS of the truth."""

    slot: str
    at_ms: int
    by_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One simulation."""

    seed: int
    jobs: tuple[int | JobPlan, ...]  # which of the seed's jobs live; one that was made smaller, or kept, in full
    schedulers: int = 2
    workers: int = 2
    latency_ms: int = 2
    lag_ms: int = 0  # how far the indexes may be behind
    loss: float = 0.0  # of hints
    pounces: bool = False  # whether owners cancel a job in the moment in which its scheduler falls silent
    skew_ms: int = 0  # how far a machine's clock may be off, either way
    double: float = 0.0
    late: float = 0.0
    faults: tuple[Fault, ...] = ()
    outages: tuple[Outage, ...] = ()
    steps: tuple[ClockStep, ...] = ()

    @property
    def is_calm(self) -> bool:
        """Whether nothing goes wrong in it: then nothing may be late."""
        return not (self.faults or self.outages or self.loss or self.late or self.lag_ms) and self.latency_ms <= 2

    def dump(self) -> str:
        """As a file, which holds all that is played."""
        return json.dumps(plain_of(filled(self)), indent=1)

    @staticmethod
    def load(text: str) -> "Plan":
        """From a file."""
        loaded = value_of(Plan, json.loads(text))
        assert isinstance(loaded, Plan)
        return loaded


def filled(plan: Plan) -> Plan:
    """The same plan, with its jobs in full."""
    return replace(plan, jobs=tuple(jobs_of(plan)))


def plan_of(seed: int) -> Plan:
    """The plan of a seed: which kinds of fault there are at all is drawn first, then each."""
    draw = Stream.of(seed, "plan")
    plan = Plan(
        seed=seed,
        jobs=tuple(range(draw.between(3, 7))),
        schedulers=draw.between(1, 3),
        workers=draw.between(1, 3),
        latency_ms=(0, 2, 10, 40)[draw.between(0, 3)],
        lag_ms=(0, 0, 300, 3_000)[draw.between(0, 3)],
        loss=(0.0, 0.0, 0.1, 0.4)[draw.between(0, 3)],
        double=(0.0, 0.1)[draw.between(0, 1)],
        late=(0.0, 0.0, 0.2)[draw.between(0, 2)],
    )
    if draw.chance(0.04):
        return replace(plan, latency_ms=2, lag_ms=0, loss=0.0, late=0.0)
    if draw.chance(0.4):
        plan = replace(plan, skew_ms=CLOCK_ERROR_MS)
    plan = replace(plan, pounces=draw.chance(0.4))
    return replace(plan, faults=_faults(plan), outages=_outages(draw), steps=_steps(plan))


def _faults(plan: Plan) -> tuple[Fault, ...]:
    draw = Stream.of(plan.seed, "faults")
    kinds = [kind for kind in Kind if draw.chance(0.5)] or [Kind.CRASH_AFTER]
    found = []
    for slot in (*_machines(plan), "a0"):
        of_slot = [kind for kind in kinds if slot != "a0" or kind in _FOR_OWNERS]
        for _ in range(draw.between(0, 5) if of_slot else 0):
            kind = of_slot[draw.between(0, len(of_slot) - 1)]
            found.append(Fault(slot, draw.spread(1, 120), kind, draw.spread(20, 9_000)))
    return tuple(found)


def _machines(plan: Plan) -> Sequence[str]:
    """All slots but the owners'."""
    return [f"s{n}" for n in range(plan.schedulers)] + [f"w{n}" for n in range(plan.workers)] + ["x0"]


_FOR_OWNERS = frozenset({Kind.LOST_BEFORE, Kind.LOST_AFTER, Kind.HELD, Kind.THROTTLED})  # they must know what they did


def _outages(draw: Stream) -> tuple[Outage, ...]:
    if not draw.chance(0.25):
        return ()
    return tuple(Outage(draw.between(500, LAST_TICK_MS), draw.spread(100, 4_000)) for _ in range(draw.between(1, 2)))


def _steps(plan: Plan) -> tuple[ClockStep, ...]:
    """In a few plans, of a few machines: the owners' clock is what their answers are compared with."""
    draw = Stream.of(plan.seed, "steps")
    if not draw.chance(0.25):
        return ()
    slots = [slot for slot in _machines(plan) if draw.chance(0.5)]
    return tuple(_step(draw, slot) for slot in slots for _ in range(draw.between(1, 3)))


def _step(draw: Stream, slot: str) -> ClockStep:
    by_ms = draw.spread(5, 2 * CLOCK_ERROR_MS)
    return ClockStep(slot, draw.between(500, LAST_TICK_MS), -by_ms if draw.chance(0.6) else by_ms)


def jobs_of(plan: Plan) -> Sequence[JobPlan]:
    """The jobs of a plan with what their owners do; each that is drawn, from a stream of its own."""
    span = Span(start_ms=NOON, last_tick_ms=LAST_TICK_MS)
    return [job if isinstance(job, JobPlan) else job_of(plan.seed, job, span) for job in plan.jobs]


def told(plan: Plan) -> Mapping[str, object]:
    """A plan in a line, for a failure to show."""
    return {"seed": plan.seed, "jobs": len(plan.jobs), "faults": len(plan.faults), "outages": len(plan.outages)}
