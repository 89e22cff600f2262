"""What a checker is given: what was acknowledged, what user code wrote down, and what the store holds in the end.

Must not judge. Times are UTC milliseconds; `_ns` are nanoseconds of the one monotonic clock of the machine.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionKey, ExecutionRef, JobId
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.journal import Entry
from tickwright.domain.limits import Durations
from tickwright.domain.transitions import State

EVERYBODY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt by the evidence of user code. Without an end: its process was killed, or still stands still."""

    ref: ExecutionRef
    epoch: int
    attempt: int
    member: str
    version: int  # of the job's definition, by the payload that the code was given
    scheduled_ms: int
    claimed_ms: int
    deadline_ms: int  # the end of its time limit
    started_ms: int
    started_ns: int
    ended_ms: int | None = None
    ended_ns: int | None = None
    outcome: str | None = None  # success, failure, fatal, later; cut: it was made to end
    mark: str | None = None
    # None: the worker did it itself. Else somebody else went on with it, and whether the store has heard of that.
    handed_over: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """A process could do nothing: it was frozen, starved, or waited for the store; EVERYBODY if the file was held."""

    member: str
    from_ms: int
    until_ms: int
    holds_on: bool = False  # one of its calls is on its way: it lives, and keeps its buckets from the others

    def hits(self, member: str) -> bool:
        """Whether it concerns a process."""
        return self.member in {member, EVERYBODY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """A scheduler was up and not frozen."""

    member: str
    from_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """One tick."""

    at_ms: int

    def after(self, instant_ms: int) -> Iterator[int]:
        """The ticks strictly later than an instant."""
        if self.at_ms > instant_ms:
            yield self.at_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """A tick each period, from a first instant up to a last.

    Computed here by plain arithmetic, apart from the product's own schedules.
    """

    period_ms: int
    phase_ms: int
    until_ms: int
    from_ms: int = 0

    def after(self, instant_ms: int) -> Iterator[int]:
        """The ticks strictly later than an instant."""
        instant_ms = max(instant_ms, self.from_ms - 1)
        at = instant_ms - (instant_ms - self.phase_ms) % self.period_ms + self.period_ms
        while at <= self.until_ms:
            yield at
            at += self.period_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """The ticks of a beat, each moved into its job's slot of a window: `shift_s` of `width_s`.

    Or in proportion, where there is less room: it ends with the next tick, and with the last instant of the beat.
    """

    beat: Beat
    width_s: int
    shift_s: int

    def after(self, instant_ms: int) -> Iterator[int]:
        """The slots strictly later than an instant."""
        nominals = self.beat.after(instant_ms - self.width_s * 1_000)
        yield from (at for nominal in nominals if (at := self.slot(nominal)) > instant_ms)

    def slot(self, nominal_ms: int) -> int:
        """Where a tick of the beat goes."""
        following_ms = next(self.beat.after(nominal_ms), self.beat.until_ms + 1)
        room_s = min(self.width_s, (following_ms - nominal_ms) // 1_000)
        return nominal_ms + self.shift_s * room_s // self.width_s * 1_000

    def nominal(self, slot_ms: int) -> int | None:
        """Which tick of the beat has this slot."""
        nominals = self.beat.after(slot_ms - self.width_s * 1_000 - 1)
        return next((nominal for nominal in nominals if self.slot(nominal) == slot_ms), None)


Rhythm = Once | Beat | Slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A calendar as its owner puts it: stretches from an instant until just before another, and days in UTC."""

    name: str
    excludes: bool
    stretches: tuple[tuple[int, int], ...] = ()
    days: tuple[str, ...] = ()

    def has(self, at_ms: int) -> bool:
        """Whether it names an instant."""
        day = datetime.fromtimestamp(at_ms / 1_000, UTC).date().isoformat()
        return day in self.days or any(start <= at_ms < end for start, end in self.stretches)


def is_open(closings: Sequence[Closing], at_ms: int) -> bool:
    """Whether no excluding calendar has an instant and, where there are including ones, at least one of them has it."""
    including = [closing for closing in closings if not closing.excludes]
    excluded = any(closing.excludes and closing.has(at_ms) for closing in closings)
    return not excluded and (not including or any(closing.has(at_ms) for closing in including))


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A version of a calendar that was acknowledged: it counts from an instant between call and answer."""

    closing: Closing
    version: int
    invoked_ms: int
    acked_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """An edit that an answer showed as still to come: under which version, from when, and with which ticks."""

    version: int
    at_ms: int
    rhythm: Rhythm


class Kind(Enum):
    """What the driver asked for."""

    SUBMIT = "submit"
    PAUSE = "pause"
    RESUME = "resume"
    EDIT = "edit"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Where an execution stood when the driver looked at it, right after an answer."""

    state: State
    epoch: int
    scheduled_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a job that was acknowledged, with the head as the answer showed it."""

    kind: Kind
    invoked_ms: int
    acked_ms: int
    acked_ns: int
    version: int
    definition_version: int
    status: JobStatus
    next_ms: int | None
    decided_ms: int | None  # the last tick that was decided or passed over before the change
    rhythm: Rhythm  # in force after it
    waits: Waits | None = None  # an edit that is to take its place
    census: Mapping[ExecutionKey, Seen] = field(
        default_factory=dict
    )  # of a pause or cancel: all executions after the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """An execution whose cancellation was acknowledged."""

    key: ExecutionKey
    acked_ns: int
    epoch: int


class Expect(Enum):
    """How an execution of a job must end when nobody cancels it and its workers do not use its attempts up."""

    SUCCEED = "succeed"
    DIE = "die"


@dataclass(slots=True, kw_only=True)
class Story:
    """One job as its owner knows it: what was acknowledged, in order."""

    job_id: JobId
    name: str
    expect: Expect
    overlaps: bool  # policy allow
    catches_up_paused: bool
    tenant: str = ""
    runs_max: int | None = None  # so many runs its schedule has
    rate_per_min: int | None = None  # so fast what it missed is made up
    changes: list[Change] = field(default_factory=list)
    manual: set[ExecutionKey] = field(default_factory=set)  # run-now requests that were acknowledged
    stops: list[Stop] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)  # to redrive what is dead, that were acknowledged
    puts: list[Put] = field(default_factory=list)  # of the calendars that its schedule names
    rhythms: dict[int, Rhythm] = field(default_factory=dict)  # of each definition that was acknowledged
    unsure: bool = False  # an edit or a resume had to be asked for twice: which ticks it found decided is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All of one run."""

    stories: Sequence[Story]
    attempts: Sequence[Attempt]
    stalls: Sequence[Stall]
    presences: Sequence[Presence]
    executions: Mapping[ExecutionRef, Execution]
    heads: Mapping[JobId, Head]
    entries: Sequence[Entry]  # what the journal still holds
    letters: frozenset[ExecutionRef]
    durations: Durations
    last_tick_ms: int
    stopped: Mapping[str, int] = field(default_factory=dict)  # when a worker was asked to end: it gives back what runs
    apart_ms: int = 0  # how far two machines' clocks may be apart
    back_ms: int = 0  # how far one machine's clock may have been set back
    lag_ms: int = 0  # how far the indexes may be behind
    broken: Sequence[str] = ()  # what a process said about a bug of its own, or how it ended unasked
