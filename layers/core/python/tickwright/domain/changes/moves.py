"""How those who report no result move an execution: stop, give back, put off, cancel, release, expire, redrive.

Must not know a store. Same shape as changes/executions.py, from which this file is parted by size alone. Promises:
SEM-CANCEL-1, SEM-CANCEL-2, SEM-RETRY-3, SEM-REDRIVE-1.
"""

from dataclasses import dataclass, replace

from tickwright.domain.changes.executions import NO_LEASE, By, ended, permitted
from tickwright.domain.executions import Discarded, ErrorSummary, Execution, Owed, Reason
from tickwright.domain.ids import Epoch, ExecutionRef
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import Event, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The holder says that it has stopped, as it was asked to."""

    ref: ExecutionRef
    epoch: Epoch
    now: Instant
    owed: frozenset[Owed]
    ttl: int | None

    def decide(self, old: Execution | None) -> Execution | None:
        """The holder of a run that is asked to stop."""
        if old is None or not permitted(old, Event.STOPPED, State.CANCELLED, By(epoch=self.epoch)):
            return None
        return ended(old, State.CANCELLED, self.now, self.owed, self.ttl)

    def mine(self, old: Execution) -> bool:
        """Cancelled at the epoch that was held."""
        return old.state is State.CANCELLED and old.lease_epoch == self.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class ReapStopping:
    """A run that was asked to stop and whose lease is over has stopped."""

    ref: ExecutionRef
    seen_epoch: Epoch
    seen_lease_until: Instant
    now: Instant
    clock_error_ms: int
    owed: frozenset[Owed]
    ttl: int | None

    def decide(self, old: Execution | None) -> Execution | None:
        """The lease that was seen, over by twice the clock error."""
        by = By(
            epoch=self.seen_epoch,
            lease_until=self.seen_lease_until,
            now=self.now,
            clock_error_ms=self.clock_error_ms,
        )
        if old is None or not permitted(old, Event.REAP, State.CANCELLED, by):
            return None
        return ended(old, State.CANCELLED, self.now, self.owed, self.ttl)

    def mine(self, old: Execution) -> bool:
        """Cancelled at the epoch that was seen."""
        return old.state is State.CANCELLED and old.lease_epoch == self.seen_epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class PutOff:
    """Give a claim back (draining, a platform's refusal) or ask to be tried later: no attempt is counted."""

    ref: ExecutionRef
    epoch: Epoch
    retry_at: Instant
    wait_key: str | None
    asked: bool  # user code asked to be tried later, which is bounded; else the platform gives the claim back
    error: ErrorSummary | None = None  # why it asked; None leaves what the attempt before had said

    def __post_init__(self) -> None:
        """The platform has nothing to say of what it has not run."""
        assert self.asked or self.error is None

    @property
    def event(self) -> Event:
        """Which of the two."""
        return Event.RETRY_AFTER if self.asked else Event.GIVE_BACK

    @property
    def reason(self) -> Reason:
        """Why the execution waits again."""
        return Reason.RETRY_LATER if self.asked else Reason.GIVEN_BACK

    def decide(self, old: Execution | None) -> Execution | None:
        """The holder only."""
        if old is None or not permitted(old, self.event, State.RETRY, By(epoch=self.epoch)):
            return None
        return replace(
            old,
            **NO_LEASE,
            state=State.RETRY,
            reason=self.reason,
            attempt=old.attempt - 1,
            retry_afters=old.retry_afters + int(self.asked),
            error=self.error or old.error,
            retry_at=self.retry_at,
            wait_key=self.wait_key,
            wait_at=None if self.wait_key is None else self.retry_at,
        )

    def mine(self, old: Execution) -> bool:
        """The same wait at the same epoch."""
        same = old.lease_epoch == self.epoch and old.retry_at == self.retry_at
        return same and old.state is State.RETRY and old.reason is self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Cancel what has not started; ask what runs to stop: from then on its heartbeat and its result are refused."""

    ref: ExecutionRef
    seen_state: State
    seen_epoch: Epoch
    now: Instant
    reason: Reason
    owed: frozenset[Owed]
    ttl: int | None

    @property
    def target(self) -> State:
        """At once, or when the worker has stopped."""
        return State.CANCELLING if self.seen_state is State.RUNNING else State.CANCELLED

    def decide(self, old: Execution | None) -> Execution | None:
        """As it was seen."""
        by = By(state=self.seen_state, epoch=self.seen_epoch)
        if old is None or not permitted(old, Event.CANCEL, self.target, by):
            return None
        if self.target is State.CANCELLING:
            return replace(old, state=State.CANCELLING, reason=self.reason)
        return replace(ended(old, State.CANCELLED, self.now, self.owed, self.ttl), reason=self.reason)

    def mine(self, old: Execution) -> bool:
        """The same end at the same epoch."""
        return old.state is self.target and old.lease_epoch == self.seen_epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Take a retry off the waiting index: its time has come, and a journal page names it already."""

    ref: ExecutionRef
    seen_epoch: Epoch
    seen_wait_key: str

    def decide(self, old: Execution | None) -> Execution | None:
        """As it was seen."""
        by = By(state=State.RETRY, epoch=self.seen_epoch)
        if old is None or old.wait_key != self.seen_wait_key or not permitted(old, Event.RELEASE, State.RETRY, by):
            return None
        return replace(old, wait_key=None, wait_at=None)

    def mine(self, old: Execution) -> bool:
        """Off the index at the epoch that was seen."""
        return old.state is State.RETRY and old.lease_epoch == self.seen_epoch and old.wait_key is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expire:
    """End what has not started by its run deadline, or what no machine can start since its pool was deleted."""

    ref: ExecutionRef
    seen_state: State
    seen_epoch: Epoch
    now: Instant
    owed: frozenset[Owed]
    ttl: int | None
    reason: Reason = Reason.EXPIRED

    def decide(self, old: Execution | None) -> Execution | None:
        """As it was seen, and not running."""
        by = By(state=self.seen_state, epoch=self.seen_epoch)
        if old is None or not permitted(old, Event.EXPIRE, State.DEAD, by):
            return None
        dead = ended(old, State.DEAD, self.now, self.owed, self.ttl)
        return replace(dead, reason=self.reason, failed_at=self.now)

    def mine(self, old: Execution) -> bool:
        """Ended so at the epoch that was seen."""
        return old.state is State.DEAD and old.reason is self.reason and old.lease_epoch == self.seen_epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Redrive:
    """Open a new generation of what is dead: the same tick, attempts granted anew, and an epoch that goes on rising.

    Its last error stays, so that a person sees what it died of until an attempt says otherwise.
    """

    ref: ExecutionRef
    seen_epoch: Epoch
    now: Instant
    attempts: int
    run_deadline_at: Instant

    def decide(self, old: Execution | None) -> Execution | None:
        """As it was seen, and owing nothing: what its last generation owes is done before."""
        by = By(state=State.DEAD, epoch=self.seen_epoch)
        if old is None or not permitted(old, Event.REDRIVE, State.QUEUED, by):
            return None
        return replace(
            old,
            state=State.QUEUED,
            reason=None,
            generation=old.generation + 1,
            lease_epoch=Epoch(old.lease_epoch + 1),
            max_attempts=old.attempt + self.attempts,
            attempts_before=old.attempt,
            retry_afters=0,
            run_deadline_at=self.run_deadline_at,
            redriven_at=self.now,
            started_at=None,
            finished_at=None,
            failed_at=None,
            discarded=None,
            ttl=None,
        )

    def mine(self, old: Execution) -> bool:
        """Opened at this instant, whatever has become of it since."""
        return old.lease_epoch > self.seen_epoch and old.redriven_at == self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """Take what is dead off the attention list: it stays DEAD, with the reason why nobody wants it run again.

    The epoch rises, so whoever was about to redrive what was on the list is refused.
    """

    ref: ExecutionRef
    seen_epoch: Epoch
    now: Instant
    reason: str

    def decide(self, old: Execution | None) -> Execution | None:
        """As it was seen, on the list, and owing nothing."""
        by = By(state=State.DEAD, epoch=self.seen_epoch)
        if old is None or not permitted(old, Event.DISCARD, State.DEAD, by):
            return None
        discarded = Discarded(at=self.now, reason=self.reason)
        return replace(old, lease_epoch=Epoch(old.lease_epoch + 1), failed_at=None, discarded=discarded)

    def mine(self, old: Execution) -> bool:
        """Discarded at this instant, from the epoch that was seen."""
        epoch = Epoch(self.seen_epoch + 1)
        return old.lease_epoch == epoch and old.discarded == Discarded(at=self.now, reason=self.reason)
