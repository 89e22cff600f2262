"""What befalls which process when: drawn from the seed alone, before anything starts.

Each life of each process draws from a stream of its own, so taking one fault away moves no other. Most faults are
placed on the n-th write of a kind and not at a time: at a random time a process mostly polls. Must not know how a
fault is carried out.
"""

import random
from dataclasses import dataclass
from enum import Enum


class Role(Enum):
    """What a process is for."""

    SCHEDULER = "scheduler"
    WORKER = "worker"


class Blow(Enum):
    """KILL is SIGKILL; FREEZE is SIGSTOP, later SIGCONT; TERM is SIGTERM, which asks for a graceful end."""

    KILL = "kill"
    FREEZE = "freeze"
    TERM = "term"


class Aim(Enum):
    """The write that a blow is placed on."""

    ANY = "any"
    PAGE = "page"
    ADVANCE = "advance"
    INSERT = "insert"
    CLAIM = "claim"
    HEARTBEAT = "heartbeat"
    RESULT = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtWrite:
    """Right before (FREEZE only: the write then comes from a zombie) or right after the n-th write of a kind."""

    aim: Aim
    nth: int
    before: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTime:
    """So long after the process was started."""

    after_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One blow; `for_ms` is how long a freeze lasts."""

    blow: Blow
    trigger: AtWrite | AtTime
    for_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What befalls one process between its start and its end, and how long it is missing after that."""

    faults: tuple[Fault, ...]
    rest_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """All processes of a role frozen together."""

    role: Role
    at_ms: int
    for_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    """The fault plan of one seed. Faults begin at `begin_ms` and are over at `quiet_ms`.

    The last tick is at `last_tick_ms`.
    """

    seed: int
    seconds: int
    lease_ms: int
    writes_share: float = 1.0  # of the writes that a process makes on a file: where they are fewer, blows come sooner

    @property
    def begin_ms(self) -> int:
        """The first processes get a moment to start."""
        return 3_000

    @property
    def quiet_ms(self) -> int:
        """From here on nothing is done to anybody."""
        return self.seconds * 1_000 - 9_000

    @property
    def last_tick_ms(self) -> int:
        """Ticks go on for a while after the faults have stopped: the system must be seen to have come back."""
        return self.seconds * 1_000 - 4_000

    def life(self, role: Role, name: str, number: int) -> Life:
        """The `number`-th life of a process."""
        draw = random.Random(f"{self.seed}/{name}/{number}")
        faults = []
        if draw.random() < 0.6:
            faults.append(self._freeze(role, draw))
        faults.append(self._end(role, draw))
        return Life(faults=tuple(faults), rest_ms=draw.choice((0, 0, 100, 400, 1_200)))

    def outages(self) -> tuple[Outage, ...]:
        """Once all schedulers stand still for longer than a tick may be late.

        And once all workers for longer than a lease.
        """
        draw = random.Random(f"{self.seed}/outages")
        span_ms = self.quiet_ms - self.begin_ms
        first_ms = self.begin_ms + round(span_ms * draw.uniform(0.25, 0.45))
        second_ms = self.begin_ms + round(span_ms * draw.uniform(0.6, 0.8))
        return (
            Outage(role=Role.SCHEDULER, at_ms=first_ms, for_ms=round(self.lease_ms * draw.uniform(1.2, 1.8))),
            Outage(role=Role.WORKER, at_ms=second_ms, for_ms=round(self.lease_ms * draw.uniform(1.1, 1.5))),
        )

    def _freeze(self, role: Role, draw: random.Random) -> Fault:
        """Longer than the lease in question most of the time: 3 s for a run, a sixth of it for a bucket."""
        long = draw.random() < 0.75
        at_worker = draw.uniform(1.15, 2.0) if long else draw.uniform(0.1, 0.4)
        at_scheduler = draw.uniform(0.3, 1.2) if long else draw.uniform(0.05, 0.15)
        for_ms = round(self.lease_ms * (at_worker if role is Role.WORKER else at_scheduler))
        if draw.random() < 0.25:
            return Fault(blow=Blow.FREEZE, trigger=AtTime(after_ms=draw.randint(2_500, 7_000)), for_ms=for_ms)
        return Fault(blow=Blow.FREEZE, trigger=self._at_write(role, draw, before=draw.random() < 0.6), for_ms=for_ms)

    def _end(self, role: Role, draw: random.Random) -> Fault:
        what = draw.random()
        if what < 0.6:
            return Fault(blow=Blow.KILL, trigger=self._at_write(role, draw, before=False))
        blow = Blow.KILL if what < 0.8 else Blow.TERM
        return Fault(blow=blow, trigger=AtTime(after_ms=draw.randint(4_000, 12_000)))

    def _at_write(self, role: Role, draw: random.Random, *, before: bool) -> AtWrite:
        aim = draw.choice(_AIMS[role])
        nth = draw.randint(20, 150) if aim is Aim.ANY else draw.randint(4, 40)
        return AtWrite(aim=aim, nth=max(1, round(nth * self.writes_share)), before=before)


_AIMS = {
    Role.SCHEDULER: (Aim.PAGE, Aim.ADVANCE, Aim.INSERT, Aim.INSERT, Aim.ANY),
    Role.WORKER: (Aim.CLAIM, Aim.RESULT, Aim.RESULT, Aim.HEARTBEAT, Aim.ANY),
}
