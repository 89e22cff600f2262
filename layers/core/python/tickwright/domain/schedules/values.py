"""What a schedule is, once it is understood: one of three kinds, and the bounds around it.

Must not know how it was written, how it is stored, or the time. Promise: SEM-SCHED-1, SEM-SCHED-17.
"""

from dataclasses import dataclass, field

from tickwright.domain.instants import Instant
from tickwright.domain.schedules.expression import DayMatch, Expression
from tickwright.domain.schedules.zones import Gap, Overlap, Zone, zone_under


@dataclass(frozen=True, slots=True)
class OneOff:
    """Fires once, at an instant."""

    run_at: Instant


@dataclass(frozen=True, slots=True)
class Every:
    """Fires at the instants phase + n periods since the epoch: elapsed time, blind to clock changes."""

    period_ms: int
    phase_ms: int = 0


@dataclass(frozen=True, slots=True)
class Cron:
    """Fires at the union of its expressions' ticks, one tick an instant."""

    expressions: tuple[Expression, ...]
    day_match: DayMatch = DayMatch.OR
    allow_seconds: bool = False


@dataclass(frozen=True, slots=True)
class FireWindow:
    """Within how many seconds after its time a tick may fire, and how many of them this job was given."""

    width_s: int
    shift_s: int

    def __post_init__(self) -> None:
        assert 0 <= self.shift_s < self.width_s


@dataclass(frozen=True, slots=True)
class Schedule:
    """A kind with its zone, its bounds (both ends included), its policy at clock changes, its window and calendars.

    `cut_at`: from there on another schedule counts. Unlike an end it moves no slot; it is never stored.
    """

    kind: OneOff | Every | Cron
    timezone: str = "UTC"
    start_at: Instant | None = None
    end_at: Instant | None = None
    max_runs: int | None = None
    dst_gap: Gap = Gap.SHIFT
    dst_overlap: Overlap = Overlap.FIRST
    window: FireWindow | None = None
    calendars: tuple[str, ...] = ()
    cut_at: Instant | None = None
    zone: Zone = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Made once, because it is the cache key of every look-up.
        object.__setattr__(self, "zone", zone_under(self.timezone, self.dst_gap, self.dst_overlap))


@dataclass(frozen=True, slots=True)
class Tick:
    """An instant at which the schedule fires.

    One that stands for a local time which the clock jumped over names it; one in a slot of a window, its nominal
    instant.
    """

    at: Instant
    nominal_local: str | None = None
    nominal_at: Instant | None = None
