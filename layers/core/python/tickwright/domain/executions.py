"""What an execution is: one tick (or one manual request) of one job, from its decision to its end.

Must not know where it is stored. How it may move stands in transitions.py, how each move is written in
changes/executions.py. Promise: SEM-EXEC-1.
"""

from dataclasses import dataclass
from enum import Enum

from tickwright.domain import limits
from tickwright.domain.ids import Epoch, ExecutionKey, ExecutionRef, JobId, TenantId, WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import LAMBDA, PoolName
from tickwright.domain.transitions import TERMINAL, State


class Cause(Enum):
    """Why an execution exists."""

    SCHEDULE = "schedule"
    MANUAL = "manual"


class Reason(Enum):
    """Why an execution is where it is, when its state alone does not say it."""

    OVERLAP = "overlap"
    QUEUE_FULL = "queue_full"
    MISSED = "missed"
    PAUSED = "paused"
    BLACKOUT = "blackout"
    DST_GAP = "dst_gap"
    UPSTREAM_FAILED = "upstream_failed"
    EXPIRED = "expired"
    POOL_DELETED = "pool_deleted"
    ABANDONED = "abandoned"
    JOB_CANCELLED = "job_cancelled"
    CANCELLED = "cancelled"
    FAILED = "failed"
    FATAL = "fatal"
    TIMED_OUT = "timed_out"
    LEASE_EXPIRED = "lease_expired"
    GIVEN_BACK = "given_back"
    RETRY_LATER = "retry_later"


ASKED_LATER = "RetryLater"  # the class of an error that says why a run asked to be tried later
STOPPED_FOR_DRAINING = "stopped with work left: draining"  # what it says where it stopped for its worker's sake


class Owed(Enum):
    """What still has to be done after an execution has ended; idempotent by execution and generation."""

    ACTIVE = "active"
    PERMIT = "permit"
    DEPENDENTS = "dependents"
    DEAD_LETTER = "dead_letter"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """What user code said when it failed, bounded, with a fingerprint to group by."""

    error_class: str
    message: str
    trace: str = ""
    fingerprint: str = ""

    def bounded(self) -> "ErrorSummary":
        """The same within the limits of an item: the end of a message is cut, the beginning of a trace."""
        return ErrorSummary(
            error_class=_storable(self.error_class[: limits.TAG_CHARS_MAX]),
            message=_storable(self.message[: limits.ERROR_MESSAGE_CHARS_MAX]),
            trace=_storable(self.trace[-limits.ERROR_TRACE_CHARS_MAX :]),
            fingerprint=self.fingerprint[: limits.TAG_CHARS_MAX],
        )


def _storable(text: str) -> str:
    """The text as every store can keep it: an exception may name a file whose name is not Unicode."""
    return text.encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What the holder of an attempt has noted: how far it is (0 to 1), and JSON text that the next attempt is handed.

    None says nothing of it.
    """

    progress: float | None = None
    checkpoint: str | None = None

    def __post_init__(self) -> None:
        """Hold the bounds that whoever took it in has checked."""
        assert self.progress is None or 0 <= self.progress <= 1
        assert self.checkpoint is None or len(self.checkpoint.encode()) <= limits.CHECKPOINT_BYTES_MAX

    def over(self, before: "Noted | None") -> "Noted":
        """The same, with what it says nothing of as it was before."""
        if before is None:
            return self
        return Noted(
            progress=before.progress if self.progress is None else self.progress,
            checkpoint=before.checkpoint if self.checkpoint is None else self.checkpoint,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """A contiguous range of ticks that were not fired, in one row.

    `exact` is false where the count is a lower bound; `by` names the calendar's version that closed them.
    """

    first: Instant
    last: Instant
    count: int
    exact: bool = True
    reason: Reason = Reason.MISSED
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded:
    """That somebody has taken a dead execution off the attention list, when, and why."""

    at: Instant
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One row of the ledger. Times are UTC milliseconds; `ttl` is in seconds, as the store's expiry demands."""

    job_id: JobId
    key: ExecutionKey
    tenant_id: TenantId
    lane: Lane
    state: State
    scheduled_at: Instant
    created_at: Instant
    job_version: int
    max_attempts: int
    pool: PoolName = LAMBDA  # whose workers it waits for: its version's
    cause: Cause = Cause.SCHEDULE
    reason: Reason | None = None
    generation: int = 1  # rises with each redrive; effects and `active` are told apart by it (R16)
    redriven_at: Instant | None = None
    lease_epoch: Epoch = Epoch(0)  # noqa: RUF009 - a NewType over int is an immutable default
    attempt: int = 0  # over all generations, as max_attempts
    attempts_before: int = 0  # those of the generations before
    retry_afters: int = 0
    retry_at: Instant | None = None
    lease_owner: WorkerId | None = None
    claim_token: str | None = None
    lease_until: Instant | None = None
    deadline_at: Instant | None = None
    run_deadline_at: Instant | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
    failed_at: Instant | None = None
    wait_key: str | None = None
    wait_at: Instant | None = None
    effects: frozenset[Owed] = frozenset()
    owed: frozenset[Owed] = frozenset()
    error: ErrorSummary | None = None
    result: str | None = None
    noted: Noted | None = None  # outlives its attempt, and its generation: only a success has no more use for it
    passed: PassedOver | None = None
    nominal: str | None = None  # of a tick that a clock change or a window has moved: where the schedule names it
    tzdata: str | None = None  # the zone rules that its tick was found by
    discarded: Discarded | None = None
    rerun_of: ExecutionKey | None = None  # of its job, with another payload: then it has one of its own
    ttl: int | None = None

    def __post_init__(self) -> None:
        """Hold what every state promises, on the way into a store and out of it."""
        leased = self.state in {State.RUNNING, State.CANCELLING}
        assert leased == (self.lease_until is not None), f"{self.state} and leaseUntil disagree"
        assert (self.state is State.RETRY) <= (self.retry_at is not None)
        assert not self.owed or self.state in TERMINAL
        assert (self.wait_key is None) == (self.wait_at is None)
        assert 0 <= self.attempts_before <= self.attempt <= self.max_attempts
        assert self.lease_epoch >= self.attempt
        assert self.discarded is None or (self.state is State.DEAD and self.failed_at is None)

    @property
    def ref(self) -> ExecutionRef:
        """Where it is stored."""
        return ExecutionRef(self.job_id, self.key)

    @property
    def of_generation(self) -> tuple[int, int]:
        """The attempts of this generation, and how many it may have."""
        return self.attempt - self.attempts_before, self.max_attempts - self.attempts_before

    @property
    def came_due(self) -> Instant:
        """Since when somebody might have claimed it: anew with each attempt that it is to have."""
        return self.retry_at or max(self.scheduled_at, self.created_at, self.redriven_at or self.created_at)

    @property
    def is_terminal(self) -> bool:
        """Whether it has ended."""
        return self.state in TERMINAL

    def lease_is_over(self, now: Instant, clock_error_ms: int) -> bool:
        """Whether anyone may take the lease.

        It is past by twice the clock error, since two machines' clocks are compared.
        """
        return self.lease_until is not None and self.lease_until < now - 2 * clock_error_ms

    def is_missed_sooner_by(self, until: Instant, clock_error_ms: int) -> bool:
        """Whether a lease until then is over before anybody looks who goes by this one, whoever's clock that is by."""
        return self.lease_until is not None and self.lease_until - until > 2 * clock_error_ms

    @property
    def is_up_for_a_claim(self) -> bool:
        """Whether it waits for some machine, now or later: nobody holds it, and it has not ended."""
        return not self.is_terminal and self.lease_until is None

    def occupant(self) -> str:
        """What a head's `active` says while this execution occupies its job: its key and generation (R16)."""
        return f"{self.key}@{self.generation}"

    def owed_at(self, end: State) -> frozenset[Owed]:
        """The effects that are owed if it ends like this (R14: by whomever it is ended)."""
        assert end in TERMINAL
        return self.effects | ({Owed.DEAD_LETTER} if end is State.DEAD else frozenset())


def ttl_of(ended_at: Instant, retention_s: int) -> int:
    """When a row may be forgotten, in epoch seconds: DynamoDB's TTL unit, and never under a day (R8)."""
    assert retention_s >= limits.RETENTION_S_MIN
    return ended_at // 1_000 + retention_s


def key_of_occupant(active: str) -> ExecutionKey:
    """The execution that a head's `active` names."""
    return ExecutionKey(active.rpartition("@")[0])
