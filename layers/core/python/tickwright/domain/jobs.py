"""What a job is: a head that moves (when is it due next, what was decided last) and definitions that never change.

Must not know a store. The head is kept under 1 KB, since every update is charged for the whole item; all that only
workers need stands in the definition of its version, written once. Promise: SEM-JOB-1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tickwright.domain import limits
from tickwright.domain.executions import Reason
from tickwright.domain.ids import ExecutionRef, JobId, TenantId, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import LAMBDA, PoolName, pool_of
from tickwright.domain.retry import RetryPolicy


class JobStatus(Enum):
    """Whether a job fires. CANCELLED and ENDED are final; an ENDED one has no tick left."""

    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    CANCELLED = "CANCELLED"
    ENDED = "ENDED"


class Overlap(Enum):
    """What happens to a tick that finds the run before it unfinished."""

    SKIP = "skip"
    ALLOW = "allow"


class CatchUpMode(Enum):
    """What happens to ticks that were missed."""

    ALL = "all"
    LATEST = "latest"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """How far back missed ticks are made up, and which of them."""

    mode: CatchUpMode
    window_s: int
    on_resume: bool = False  # whether paused time counts as missed, not as skipped
    max_runs: int | None = None  # of `all`: only the newest so many of the ticks that are missed
    rate_per_min: int | None = None  # of `all`: how fast they are made up


class FiredAs(Enum):
    """What the scheduler decided on a tick; with a reason where it is a skip."""

    RUN = "RUN"
    SKIP = "SKIP"
    EXPIRE = "EXPIRE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision on one tick, as the head keeps it for whoever inserts the execution (R6, R9)."""

    fired_as: FiredAs
    reason: Reason | None = None

    def text(self) -> str:
        """The stored form."""
        return self.fired_as.value if self.reason is None else f"{self.fired_as.value}:{self.reason.value}"

    @staticmethod
    def from_text(text: str) -> "Verdict":
        """Read the stored form."""
        fired_as, _, reason = text.partition(":")
        return Verdict(fired_as=FiredAs(fired_as), reason=Reason(reason) if reason else None)


RUN = Verdict(fired_as=FiredAs.RUN)
SKIP_OVERLAP = Verdict(fired_as=FiredAs.SKIP, reason=Reason.OVERLAP)
EXPIRE = Verdict(fired_as=FiredAs.EXPIRE, reason=Reason.EXPIRED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a job runs: a kind and its settings, which the adapter of that kind understands."""

    kind: str
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """A job as its tenant wants it; one definition is one version of this."""

    schedule: str  # the compact form of domain.schedules, with H resolved
    source: Mapping[str, object]  # the schedule as the tenant wrote it
    target: Target
    payload: str = "null"  # JSON text
    lane: Lane = Lane.NORMAL
    retry: RetryPolicy = RetryPolicy()  # noqa: RUF009 - frozen
    timeout_s: int = limits.TIMEOUT_S_DEFAULT
    run_deadline_s: int | None = None
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp(mode=CatchUpMode.LATEST, window_s=limits.CATCHUP_WINDOW_S_DEFAULT)
    name: str | None = None
    owner: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()  # pointers to the values that nobody is shown: domain/secrets.py

    @property
    def pool(self) -> PoolName:
        """Whose workers run it."""
        return pool_of(self.target, self.timeout_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One version of a job. Immutable: written once, and remembered by whoever has read it.

    `named_before`: each pointer that an earlier version calls secret, and the last that does (domain/hidden.py).
    """

    job_id: JobId
    version: int
    tenant_id: TenantId
    created_at: Instant
    spec: JobSpec
    named_before: tuple[tuple[str, int], ...] = ()


def reach_of(run_deadline_s: int | None, catch_up: CatchUp) -> int:
    """How far back an unfinished execution of such a job may be scheduled: caught up late, it then takes its time."""
    return (run_deadline_s or limits.RUN_DEADLINE_S_DEFAULT) + catch_up.window_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Aimed:
    """Where a head was due under zone rules that have been replaced since."""

    was: Instant
    tzdata: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """What redrives hold open: the oldest tick among them, and when the last of them must have ended."""

    since: Instant
    until: Instant

    def text(self) -> str:
        """The stored form."""
        return f"{self.since}/{self.until}"

    @staticmethod
    def from_text(text: str) -> "Reopened":
        """Read the stored form."""
        since, _, until = text.partition("/")
        return Reopened(since=Instant(int(since)), until=Instant(int(until)))

    def joined_by(self, since: Instant, until: Instant, now: Instant) -> "Reopened":
        """With one more; the others count no longer once they must have ended."""
        other = Reopened(since=since, until=until)
        if self.until < now:
            return other
        return Reopened(since=min(self.since, since), until=max(self.until, until))


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The moving part of a job: its place in the due index and the last decision.

    `reach_s` is how far back an unfinished execution may be scheduled: the longest that any version allowed.
    `pending_version` counts from `effective_from` on: until then `next_run_at` is a tick of this schedule before it,
    or `effective_from` itself, when the scheduler makes the change.
    """

    job_id: JobId
    tenant_id: TenantId
    status: JobStatus
    version: int
    definition_version: int
    lane: Lane
    schedule: str
    overlap: Overlap
    catch_up: CatchUp
    max_attempts: int
    created_at: Instant
    listed_as: str  # the name, or the id of a job without one: the tenant index is sorted by it
    pool: PoolName = LAMBDA  # of the definition that counts now: where an execution of it waits
    run_deadline_s: int | None = None
    reach_s: int = limits.RUN_DEADLINE_S_DEFAULT
    bucket: int | None = None
    next_run_at: Instant | None = None
    fired_through: Instant | None = None
    fired_version: int | None = None
    fired_at: Instant | None = None
    fired_as: Verdict | None = None
    passed_through: Instant | None = None
    runs: int = 0
    active: str | None = None
    waiting: int = 0
    reopened: Reopened | None = None
    paused_at: Instant | None = None
    held: Instant | None = None  # the tick that was due, and undecided, when it was paused: an edit may have kept it
    settled_through: Instant | None = None  # up to here a resume or an edit has settled what becomes of the ticks
    pending_version: int | None = None
    effective_from: Instant | None = None
    tzdata: str = ""  # the zone rules that `next_run_at` was found by
    aimed_from: Aimed | None = None
    write_token: str | None = None

    def __post_init__(self) -> None:
        """Hold what a head promises, on the way into a store and out of it."""
        assert (self.next_run_at is None) == (self.bucket is None), "a head is in the due index or it is not"
        if self.next_run_at is not None:
            assert self.status is JobStatus.ACTIVE, "only an active job is due"
            assert self.fired_through is None or self.next_run_at > self.fired_through
        assert self.held is None or self.status is not JobStatus.ACTIVE, "only a pause holds a tick back"
        assert (self.pending_version is None) == (self.effective_from is None), "an edit that waits has its time"
        decided = (self.fired_version, self.fired_at, self.fired_as)
        assert all((self.fired_through is None) == (value is None) for value in decided)

    @property
    def deadline_s(self) -> int:
        """How long an execution may take, waiting and all attempts included: nothing may stay unfinished for ever."""
        return limits.RUN_DEADLINE_S_DEFAULT if self.run_deadline_s is None else self.run_deadline_s

    @property
    def is_open(self) -> bool:
        """Whether it may still fire, now or once it is resumed."""
        return self.status in {JobStatus.ACTIVE, JobStatus.PAUSED}

    def names_pool(self, pool: PoolName, pending: JobSpec | None) -> bool:
        """Whether it sends its runs there, as it is or as the edit that waits has it."""
        return self.is_open and (self.pool == pool or (pending is not None and pending.pool == pool))

    @property
    def last_ref(self) -> ExecutionRef | None:
        """The execution of the last tick that was decided."""
        return None if self.fired_through is None else ExecutionRef(self.job_id, tick_key(self.fired_through))

    @property
    def newest_version(self) -> int:
        """The number of the definition that was written last, that of an edit that waits too."""
        return max(self.definition_version, self.pending_version or 0)

    @property
    def has_name(self) -> bool:
        """Whether its tenant gave it a name."""
        return self.listed_as != self.job_id
