"""What happens in a simulation: its jobs, its world and its faults, all drawn before it begins.

A plan is plain data: it can be printed, kept as a file and made smaller. Faults stand at the n-th write of a process,
not at a time, since a process writes where it matters. Must not know the product's writes.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from tests.chaos.jobs import KINDS, Span, errands_of
from tests.chaos.jobs import Plan as JobPlan
from tests.sim.draws import Stream

LAST_TICK_MS = 16_000
CLOCK_ERROR_MS = 50  # what the product allows for at this scale
KINDS_HERE = tuple((kind, weight, maker) for kind, weight, maker in KINDS if kind != "hog")  # a pause is the same


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One simulation."""

    seed: int
    jobs: tuple[int, ...]  # which of the seed's jobs live
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

    @property
    def is_calm(self) -> bool:
        """Whether nothing goes wrong in it: then nothing may be late."""
        return not (self.faults or self.outages or self.loss or self.late or self.lag_ms) and self.latency_ms <= 2

    def dump(self) -> str:
        """As a file."""
        plain = asdict(self)
        plain["faults"] = [{**asdict(fault), "kind": fault.kind.value} for fault in self.faults]
        return json.dumps(plain, indent=1)

    @staticmethod
    def load(text: str) -> "Plan":
        """From a file."""
        plain: dict[str, Any] = json.loads(text)
        faults = tuple(Fault(**{**fault, "kind": Kind(fault["kind"])}) for fault in plain.pop("faults"))
        outages = tuple(Outage(**outage) for outage in plain.pop("outages"))
        jobs = tuple(plain.pop("jobs"))
        return Plan(**plain, jobs=jobs, faults=faults, outages=outages)


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
    return replace(plan, faults=_faults(plan), outages=_outages(draw))


def _faults(plan: Plan) -> tuple[Fault, ...]:
    draw = Stream.of(plan.seed, "faults")
    kinds = [kind for kind in Kind if draw.chance(0.5)] or [Kind.CRASH_AFTER]
    slots = [f"s{n}" for n in range(plan.schedulers)] + [f"w{n}" for n in range(plan.workers)] + ["x0", "a0"]
    found = []
    for slot in slots:
        of_slot = [kind for kind in kinds if slot != "a0" or kind in _FOR_OWNERS]
        for _ in range(draw.between(0, 5) if of_slot else 0):
            kind = of_slot[draw.between(0, len(of_slot) - 1)]
            found.append(Fault(slot, draw.spread(1, 120), kind, draw.spread(20, 9_000)))
    return tuple(found)


_FOR_OWNERS = frozenset({Kind.LOST_BEFORE, Kind.LOST_AFTER, Kind.HELD, Kind.THROTTLED})  # they must know what they did


def _outages(draw: Stream) -> tuple[Outage, ...]:
    if not draw.chance(0.25):
        return ()
    return tuple(Outage(draw.between(500, LAST_TICK_MS), draw.spread(100, 4_000)) for _ in range(draw.between(1, 2)))


def jobs_of(plan: Plan, start_ms: int) -> Sequence[JobPlan]:
    """The jobs of a plan with what their owners do; each from a stream of its own."""
    span = Span(start_ms=start_ms, last_tick_ms=LAST_TICK_MS)
    return [_job(plan.seed, number, span) for number in plan.jobs]


def _job(seed: int, number: int, span: Span) -> JobPlan:
    draw = random.Random(f"{seed}/job/{number}")
    kind, _, maker = draw.choices(KINDS_HERE, [weight for _, weight, _ in KINDS_HERE])[0]
    made = replace(maker(draw, span), name=f"{kind}-{number}")
    return replace(made, errands=errands_of(kind, made, draw, span))


def told(plan: Plan) -> Mapping[str, object]:
    """A plan in a line, for a failure to show."""
    return {"seed": plan.seed, "jobs": len(plan.jobs), "faults": len(plan.faults), "outages": len(plan.outages)}
