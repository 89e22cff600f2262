"""How each move of an execution is written: the conditions of protocol 5, derived from the table of transitions.

Must not know a store. Each class is one write; its values are decided before, by the services. Promises: SEM-LEASE-1,
SEM-LEASE-2, SEM-FENCE-1, SEM-STATE-1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from tickwright.domain import limits
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.executions import ErrorSummary, Execution, Noted, Owed, Reason
from tickwright.domain.ids import Epoch, ExecutionRef, WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import TERMINAL, Event, Fence, Guard, State, row


class By(NamedTuple):
    """Who asks for a move, and what it names: the epoch it holds or has seen, the lease it has seen, its clock."""

    epoch: Epoch | None = None
    state: State | None = None
    lease_until: Instant | None = None
    now: Instant | None = None
    clock_error_ms: int = 0


def permitted(old: Execution, event: Event, target: State, by: By) -> bool:
    """Whether the table lets `by` move `old` to `target`.

    There is a row, its guard holds and its fence lets `by` through.
    """
    found = row(event, old.state, target)
    return found is not None and _guard_holds(found.only_if, old, by) and _fence_opens(found.fence, old, by)


def _guard_holds(guard: Guard, old: Execution, by: By) -> bool:
    match guard:
        case Guard.ATTEMPTS_LEFT | Guard.RETRYING:
            return old.attempt < old.max_attempts
        case Guard.RETRY_DUE:
            # On the waiting index it has no journal entry: whoever takes it off puts one first (SEM-JOURNAL-4).
            off = old.wait_key is None
            return off and old.attempt < old.max_attempts and _at(old.retry_at) <= _at(by.now)
        case Guard.IN_TIME:
            return _at(by.now) < _at(old.deadline_at)
        case Guard.ASKED_SELDOM:
            return old.retry_afters < limits.RETRY_AFTER_MAX
        case Guard.NOTHING_OWED:
            return not old.owed
        case Guard.ON_THE_LIST:
            return old.failed_at is not None and not old.owed
        case Guard.ALWAYS | Guard.GIVING_UP:
            return True


def _fence_opens(fence: Fence, old: Execution, by: By) -> bool:
    match fence:
        case Fence.ANYONE:
            return True
        case Fence.HOLDER:
            return old.lease_epoch == by.epoch
        case Fence.SEEN:
            return old.state is by.state and old.lease_epoch == by.epoch
        case Fence.EXPIRED:
            # A claim names nothing (its own conditions are enough); a reap names the very lease that it judged.
            named = by.epoch is None or (old.lease_epoch == by.epoch and old.lease_until == by.lease_until)
            return named and old.lease_is_over(_at(by.now), by.clock_error_ms)


def _at(instant: Instant | None) -> Instant:
    assert instant is not None
    return instant


# What an item loses when its lease ends. The token stays: it tells the holder of this epoch that its own write had won.
NO_LEASE: Final[Mapping[str, Any]] = {"lease_owner": None, "lease_until": None, "deadline_at": None}


def ended(old: Execution, state: State, now: Instant, owed: frozenset[Owed], ttl: int | None) -> Execution:
    """The execution at its end: off every list but, if effects are owed, the journal's."""
    assert (ttl is None) == bool(owed), "a row is forgotten only when nothing is owed any more"
    return replace(
        old, **NO_LEASE, state=state, finished_at=now, retry_at=None, wait_key=None, wait_at=None, owed=owed, ttl=ttl
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """I: put an execution where there is none. One key a tick, so a tick has one execution, whoever inserts it."""

    execution: Execution

    @property
    def ref(self) -> ExecutionRef:
        """Which execution."""
        return self.execution.ref

    def decide(self, old: Execution | None) -> Execution | None:
        """Only where there is none."""
        return self.execution if old is None else None

    def mine(self, old: Execution) -> bool:  # noqa: ARG002 - the shape of a Change
        """Never: one that exists is the same execution anyway, and is judged as it is."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Give an execution to one worker for one attempt, and fence every earlier holder.

    `is_below`: it was last claimed in an era before this one, or never, and its epoch goes up to this one's base first.
    Only the item says so, and a write knows no maximum: whoever guessed wrong tries the other one.
    """

    ref: ExecutionRef
    worker: WorkerId
    token: str
    now: Instant
    lease_ms: int
    timeout_ms: int
    clock_error_ms: int
    era: Era = FIRST_ERA
    is_below: bool = False

    @property
    def deadline_at(self) -> Instant:
        """When this attempt's time limit ends."""
        return Instant(self.now + self.timeout_ms)

    @property
    def lease_until(self) -> Instant:
        """A lease never outlives its attempt, so hung code with live heartbeats ends."""
        return Instant(min(self.now + self.lease_ms, self.deadline_at))

    def decide(self, old: Execution | None) -> Execution | None:
        """Queued, a retry that is due, or a lease that is over; attempts count here."""
        by = By(now=self.now, clock_error_ms=self.clock_error_ms)
        if old is None or not permitted(old, Event.CLAIM, State.RUNNING, by):
            return None
        if self.era.is_below(old.lease_epoch) is not self.is_below or self.era.is_used_up(old.lease_epoch):
            return None
        return replace(
            old,
            state=State.RUNNING,
            reason=None,
            lease_epoch=self.era.after(old.lease_epoch),
            attempt=old.attempt + 1,
            lease_owner=self.worker,
            claim_token=self.token,
            lease_until=self.lease_until,
            deadline_at=self.deadline_at,
            started_at=self.now if old.started_at is None else old.started_at,
            retry_at=None,
            wait_key=None,
            wait_at=None,
        )

    def mine(self, old: Execution) -> bool:
        """The token is fresh for each claim: seeing it means that the reply was lost, not the race."""
        return old.state is State.RUNNING and old.claim_token == self.token


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """Only the holder of the current epoch may move its own lease out, and never past the attempt's deadline.

    With `seen_lease_until` it moves that very lease or none: of a run that goes on elsewhere, its worker and whoever
    has it may both be about to move it. What it notes goes over `seen_noted` alone, beside that: two leases may be
    alike, as at the attempt's deadline.
    """

    ref: ExecutionRef
    epoch: Epoch
    now: Instant
    lease_until: Instant
    noted: Noted | None = None
    seen_lease_until: Instant | None = None
    seen_noted: Noted | None = None

    def __post_init__(self) -> None:
        """Whoever notes has read what it notes over."""
        assert self.noted is None or self.seen_lease_until is not None

    def decide(self, old: Execution | None) -> Execution | None:
        """The holder, in time."""
        if old is None or not permitted(old, Event.HEARTBEAT, State.RUNNING, By(epoch=self.epoch, now=self.now)):
            return None
        if self.seen_lease_until is not None and not self._stands(old):
            return None
        return replace(old, lease_until=self.lease_until, noted=self.noted_over(old.noted))

    def mine(self, old: Execution) -> bool:
        """A repeat of a heartbeat passes its own condition, but for one that has moved the lease that it names."""
        moved = old.state is State.RUNNING and old.lease_epoch == self.epoch and old.lease_until == self.lease_until
        noted = self.noted is None or old.noted == self.noted_over(self.seen_noted)
        return self.seen_lease_until is not None and moved and noted

    def noted_over(self, before: Noted | None) -> Noted | None:
        """What is noted after it."""
        return before if self.noted is None else self.noted.over(before)

    def _stands(self, old: Execution) -> bool:
        """Whether what was seen is still there; that nothing is noted may be said in two ways."""
        noted, seen = old.noted or Noted(), self.seen_noted or Noted()
        return old.lease_until == self.seen_lease_until and (self.noted is None or noted == seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed:
    """End a run well; the epoch refuses every zombie."""

    ref: ExecutionRef
    epoch: Epoch
    now: Instant
    result: str | None
    owed: frozenset[Owed]
    ttl: int | None

    def decide(self, old: Execution | None) -> Execution | None:
        """The holder only."""
        if old is None or not permitted(old, Event.SUCCEED, State.SUCCEEDED, By(epoch=self.epoch)):
            return None
        done = ended(old, State.SUCCEEDED, self.now, self.owed, self.ttl)
        return replace(done, result=self.result, error=None, noted=None)

    def mine(self, old: Execution) -> bool:
        """Only the holder of an epoch can have succeeded with it."""
        return old.state is State.SUCCEEDED and old.lease_epoch == self.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """What a failure writes: a retry at an instant, or the end."""

    now: Instant
    reason: Reason
    error: ErrorSummary
    retry_at: Instant | None
    wait_key: str | None
    owed: frozenset[Owed]
    ttl: int | None

    def __post_init__(self) -> None:
        """A retry owes nothing, and waits on an index only if it has a time."""
        assert self.retry_at is None or (not self.owed and self.ttl is None)
        assert self.wait_key is None or self.retry_at is not None

    @property
    def target(self) -> State:
        """Where the failure leads."""
        return State.DEAD if self.retry_at is None else State.RETRY

    def applied(self, old: Execution) -> Execution:
        """The failed execution: to be tried again, or dead and on the attention index."""
        if self.retry_at is None:
            dead = ended(old, State.DEAD, self.now, self.owed, self.ttl)
            return replace(dead, reason=self.reason, error=self.error, failed_at=self.now)
        return replace(
            old,
            **NO_LEASE,
            state=State.RETRY,
            reason=self.reason,
            error=self.error,
            retry_at=self.retry_at,
            wait_key=self.wait_key,
            wait_at=None if self.wait_key is None else self.retry_at,
        )

    def shown_by(self, old: Execution) -> bool:
        """Whether the item shows this very failure."""
        ends = (old.finished_at == self.now) if self.retry_at is None else (old.retry_at == self.retry_at)
        return old.state is self.target and old.reason is self.reason and ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """End an attempt badly: try again later, or give up."""

    ref: ExecutionRef
    epoch: Epoch
    failing: Failing

    def decide(self, old: Execution | None) -> Execution | None:
        """The holder only."""
        if old is None or not permitted(old, Event.FAIL, self.failing.target, By(epoch=self.epoch)):
            return None
        return self.failing.applied(old)

    def mine(self, old: Execution) -> bool:
        """The same end at the same epoch."""
        return old.lease_epoch == self.epoch and self.failing.shown_by(old)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reap:
    """Anyone may end an attempt whose lease is over, but only the lease that they looked at."""

    ref: ExecutionRef
    seen_epoch: Epoch
    seen_lease_until: Instant
    clock_error_ms: int
    failing: Failing

    def decide(self, old: Execution | None) -> Execution | None:
        """The lease that was seen, over by twice the clock error."""
        by = By(
            epoch=self.seen_epoch,
            lease_until=self.seen_lease_until,
            now=self.failing.now,
            clock_error_ms=self.clock_error_ms,
        )
        if old is None or not permitted(old, Event.REAP, self.failing.target, by):
            return None
        return self.failing.applied(old)

    def mine(self, old: Execution) -> bool:
        """The same end at the same epoch."""
        return old.lease_epoch == self.seen_epoch and self.failing.shown_by(old)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrikeOwed:
    """Settle's last write: nothing is owed any more, and the row may be forgotten in time (R13: the epoch seen)."""

    ref: ExecutionRef
    seen_epoch: Epoch
    ttl: int

    def decide(self, old: Execution | None) -> Execution | None:
        """Ended, and not reopened since."""
        if old is None or old.state not in TERMINAL or old.lease_epoch != self.seen_epoch:
            return None
        return replace(old, owed=frozenset(), ttl=self.ttl)

    def mine(self, old: Execution) -> bool:  # noqa: ARG002 - the shape of a Change
        """A repeat passes its own condition."""
        return False
