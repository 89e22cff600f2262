"""Is every write of an execution what the table of transitions says: the same moves, guards, fences and effects?

The expectation is computed here from the rows alone, on every state and on both sides of everything that a guard or a
fence asks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest

from tests.support.builders import TICK, WORKER, a_ref, an_execution, an_id
from tickwright.domain import limits
from tickwright.domain.changes.executions import (
    Claim,
    Fail,
    Failing,
    Heartbeat,
    Insert,
    Reap,
    StrikeOwed,
    Succeed,
)
from tickwright.domain.changes.moves import Cancel, Discard, Expire, PutOff, ReapStopping, Redrive, Release, Stop
from tickwright.domain.executions import Discarded, ErrorSummary, Execution, Noted, Owed, Reason
from tickwright.domain.ids import Epoch
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import TERMINAL, TRANSITIONS, Effect, Event, Fence, Guard, Row, State

E_MS = 1_000
NOW = Instant(TICK + 1_000_000)
OVER = Instant(NOW - 2 * E_MS - 1)
NOT_OVER = Instant(NOW - 2 * E_MS)
EPOCH = Epoch(5)
OTHER_EPOCHS = (Epoch(4), Epoch(6))
TTL = NOW // 1_000 + 86_400
END: dict[str, Any] = {"now": NOW, "owed": frozenset(), "ttl": TTL}
OWE: dict[str, Any] = {"now": NOW, "owed": frozenset({Owed.ACTIVE}), "ttl": None}
ERROR = ErrorSummary(error_class="ValueError", message="no")
LATER = Instant(NOW + 10_000)
NOTED, TOLD = Noted(progress=0.25, checkpoint='"a"'), Noted(progress=0.5, checkpoint='"b"')
SET_ASIDE = Discarded(at=TICK, reason="wanted no more")
NO_LEASE = (None, None, None)


@dataclass(frozen=True, slots=True)
class Asked:
    """A change, the event and the target that it stands for, and what it names of what it has seen."""

    change: Any
    event: Event
    target: State
    epoch: Epoch | None = None
    state: State | None = None
    lease_until: Instant | None = None


def failing(reason: Reason, retry_at: Instant | None) -> Failing:
    """A failure that is tried again, on the waiting index, or the last."""
    end = OWE if retry_at is None else {"now": NOW, "owed": frozenset(), "ttl": None}
    return Failing(reason=reason, error=ERROR, retry_at=retry_at, wait_key=None if retry_at is None else "3", **end)


def asked(epoch: Epoch, seen: State, lease_until: Instant) -> Iterator[Asked]:
    """Every change of an existing execution, naming this epoch, this state and this lease."""
    ref = a_ref()
    lose, die = failing(Reason.FAILED, LATER), failing(Reason.FATAL, None)
    claim = Claim(
        ref=ref, worker=WORKER, token=an_id(7), now=NOW, lease_ms=60_000, timeout_ms=300_000, clock_error_ms=E_MS
    )
    yield Asked(claim, Event.CLAIM, State.RUNNING)
    plain = Heartbeat(ref=ref, epoch=epoch, now=NOW, lease_until=LATER)
    yield Asked(plain, Event.HEARTBEAT, State.RUNNING, epoch)
    for noted in (None, TOLD):
        beat = replace(plain, noted=noted, seen_lease_until=lease_until, seen_noted=NOTED)
        yield Asked(beat, Event.HEARTBEAT, State.RUNNING, epoch, None, lease_until)
    yield Asked(Succeed(ref=ref, epoch=epoch, result="1", **END), Event.SUCCEED, State.SUCCEEDED, epoch)
    for how, target in ((lose, State.RETRY), (die, State.DEAD)):
        yield Asked(Fail(ref=ref, epoch=epoch, failing=how), Event.FAIL, target, epoch)
        reap = Reap(ref=ref, seen_epoch=epoch, seen_lease_until=lease_until, clock_error_ms=E_MS, failing=how)
        yield Asked(reap, Event.REAP, target, epoch, None, lease_until)
    stopping = ReapStopping(ref=ref, seen_epoch=epoch, seen_lease_until=lease_until, clock_error_ms=E_MS, **END)
    yield Asked(stopping, Event.REAP, State.CANCELLED, epoch, None, lease_until)
    yield Asked(Stop(ref=ref, epoch=epoch, **OWE), Event.STOPPED, State.CANCELLED, epoch)
    for later, event in ((True, Event.RETRY_AFTER), (False, Event.GIVE_BACK)):
        put_off = PutOff(
            ref=ref, epoch=epoch, retry_at=LATER, wait_key="4", asked=later, error=ERROR if later else None
        )
        yield Asked(put_off, event, State.RETRY, epoch)
    cancel = Cancel(ref=ref, seen_state=seen, seen_epoch=epoch, reason=Reason.CANCELLED, **END)
    cancelled = State.CANCELLING if seen is State.RUNNING else State.CANCELLED
    yield Asked(cancel, Event.CANCEL, cancelled, epoch, seen)
    expire = Expire(ref=ref, seen_state=seen, seen_epoch=epoch, **OWE)
    yield Asked(expire, Event.EXPIRE, State.DEAD, epoch, seen)
    release = Release(ref=ref, seen_epoch=epoch, seen_wait_key="3")
    yield Asked(release, Event.RELEASE, State.RETRY, epoch, State.RETRY)
    redrive = Redrive(ref=ref, seen_epoch=epoch, now=NOW, attempts=2, run_deadline_at=LATER)
    yield Asked(redrive, Event.REDRIVE, State.QUEUED, epoch, State.DEAD)
    discard = Discard(ref=ref, seen_epoch=epoch, now=NOW, reason="not wanted")
    yield Asked(discard, Event.DISCARD, State.DEAD, epoch, State.DEAD)


def stored(state: State) -> Iterator[Execution]:
    """Executions of a state on both sides of every guard, on the waiting index where the state may be."""
    leased = state in {State.RUNNING, State.CANCELLING}
    facts = product(
        (1, 3),  # attempts left, and none
        (limits.RETRY_AFTER_MAX - 1, limits.RETRY_AFTER_MAX) if state is State.RUNNING else (0,),
        (OVER, NOT_OVER, LATER) if leased else (None,),
        (NOW, Instant(NOW + 1)) if leased else (None,),
        (NOW, Instant(NOW + 1)) if state is State.RETRY else (None,),
        (None, "3") if state in {State.WAITING, State.RETRY} else (None,),
        (frozenset(), frozenset({Owed.DEAD_LETTER})) if state is State.DEAD else (frozenset(),),
        (None, SET_ASIDE) if state is State.DEAD else (None,),
    )
    for attempt, retry_afters, lease_until, deadline_at, retry_at, wait_key, owed, discarded in facts:
        listed = {"failed_at": None} if state is not State.DEAD or discarded else {}
        yield an_execution(
            state=state,
            lease_epoch=EPOCH,
            attempt=attempt,
            retry_afters=retry_afters,
            lease_until=lease_until,
            deadline_at=deadline_at,
            retry_at=retry_at,
            wait_key=wait_key,
            wait_at=None if wait_key is None else NOW,
            owed=owed,
            noted=NOTED,
            discarded=discarded,
            **listed,
        )


def guard_holds(guard: Guard, old: Execution) -> bool:
    """What the guard's text says; a failure that names DEAD says itself that it gives up."""
    left = old.attempt < old.max_attempts
    match guard:
        case Guard.ALWAYS | Guard.GIVING_UP:
            return True
        case Guard.ATTEMPTS_LEFT | Guard.RETRYING:
            return left
        case Guard.RETRY_DUE:
            return left and old.wait_key is None and old.retry_at is not None and old.retry_at <= NOW
        case Guard.IN_TIME:
            return old.deadline_at is not None and old.deadline_at > NOW
        case Guard.ASKED_SELDOM:
            return old.retry_afters < limits.RETRY_AFTER_MAX
        case Guard.NOTHING_OWED:
            return not old.owed
        case Guard.ON_THE_LIST:
            return not old.owed and old.discarded is None


def fence_opens(fence: Fence, old: Execution, by: Asked) -> bool:
    """What the fence's text says."""
    match fence:
        case Fence.ANYONE:
            return True
        case Fence.HOLDER:
            return by.epoch == old.lease_epoch
        case Fence.SEEN:
            return (by.epoch, by.state) == (old.lease_epoch, old.state)
        case Fence.EXPIRED:
            seen = by.epoch is None or (by.epoch, by.lease_until) == (old.lease_epoch, old.lease_until)
            return seen and old.lease_until == OVER


def applying(by: Asked, old: Execution) -> Row | None:
    """The row by which the change may move the execution."""
    wait_key = getattr(by.change, "seen_wait_key", old.wait_key)
    lease_until = getattr(by.change, "seen_lease_until", None) or old.lease_until
    found = [
        entry
        for entry in TRANSITIONS
        if (entry.source, entry.event, entry.target) == (old.state, by.event, by.target)
        and guard_holds(entry.only_if, old)
        and fence_opens(entry.fence, old, by)
        and (wait_key, lease_until) == (old.wait_key, old.lease_until)
    ]
    return found[0] if found else None


@pytest.mark.sem("SEM-STATE-1", "SEM-FENCE-1", "SEM-LEASE-1", "SEM-LEASE-2")
@pytest.mark.parametrize("state", State)
def test_a_change_is_applied_exactly_where_the_table_has_a_row(state: State) -> None:
    """Over every stored execution of the state, and every change with a right or a wrong epoch, state or lease."""
    wrong = {
        (by.change, old)
        for old in stored(state)
        for by in _everything_asked(old)
        if (by.change.decide(old) is not None) != (applying(by, old) is not None)
    }

    assert wrong == set()


@pytest.mark.sem("SEM-STATE-1")
@pytest.mark.parametrize("state", State)
def test_a_change_does_what_its_row_says_and_no_more(state: State) -> None:
    """Epoch, attempt, lease, retry time, waiting index, end, attention: each moves where its row names it alone."""
    for old in stored(state):
        for by in _everything_asked(old):
            entry = applying(by, old)
            if entry is not None:
                new = by.change.decide(old)
                assert (entry, new.state, _effects(old, new, entry)) == (entry, entry.target, set(entry.effects))


def _everything_asked(old: Execution) -> Iterator[Asked]:
    leases = {old.lease_until or NOW, OVER, LATER}
    for epoch, seen, lease_until in product((EPOCH, *OTHER_EPOCHS), {old.state, State.QUEUED, State.RUNNING}, leases):
        yield from asked(epoch, seen, Instant(lease_until))


def _effects(old: Execution, new: Execution, entry: Row) -> set[Effect]:
    """Read off the item what was done; what cannot be told from this item is taken from the row."""
    seen = {
        Effect.RAISE_EPOCH: new.lease_epoch == old.lease_epoch + 1
        and new.generation == old.generation
        and new.discarded is None,
        Effect.SET_ASIDE: (new.lease_epoch, new.failed_at) == (old.lease_epoch + 1, None)
        and new.discarded == Discarded(at=NOW, reason="not wanted"),
        Effect.REOPEN: (new.generation, new.lease_epoch) == (old.generation + 1, old.lease_epoch + 1)
        and (new.max_attempts, new.run_deadline_at) == (old.attempt + 2, LATER)
        and (new.finished_at, new.failed_at, new.discarded, new.ttl) == (None, None, None, None),
        Effect.COUNT_ATTEMPT: new.attempt == old.attempt + 1,
        Effect.UNCOUNT_ATTEMPT: new.attempt == old.attempt - 1,
        Effect.GRANT_LEASE: new.claim_token == an_id(7)
        and new.lease_owner == WORKER
        and new.deadline_at == NOW + 300_000,
        Effect.EXTEND_LEASE: new.lease_epoch == old.lease_epoch and new.lease_until == LATER != old.lease_until,
        Effect.END_LEASE: _lease_of(old) != NO_LEASE and _lease_of(new) == NO_LEASE,
        Effect.BACK_OFF: new.retry_at == LATER,
        Effect.END: new.finished_at == NOW and (new.ttl is None) == bool(new.owed),
        Effect.LETTER: new.failed_at == NOW,
        Effect.FORGET_NOTED: new.noted is None,
    }
    found = {effect for effect, done in seen.items() if done}
    if Effect.EXTEND_LEASE in entry.effects and old.lease_until == LATER:
        found.add(Effect.EXTEND_LEASE)  # to where it is already
    if old.wait_key is None and new.wait_key is None:
        return found | ({Effect.LEAVE_WAITING_INDEX} & set(entry.effects))
    return found | ({Effect.LEAVE_WAITING_INDEX} if new.wait_key is None else set())


@pytest.mark.sem("SEM-CHECKPOINT-1")
@pytest.mark.parametrize("state", State)
def test_what_was_noted_is_changed_by_a_heartbeat_and_forgotten_by_a_success_alone(state: State) -> None:
    """A heartbeat that tells nothing leaves it, and so does every other move: the next attempt goes on from it."""
    for old in stored(state):
        for by in _everything_asked(old):
            if (new := by.change.decide(old)) is not None:
                told = getattr(by.change, "noted", None) or NOTED
                assert new.noted == (None if by.event is Event.SUCCEED else told)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (Noted(progress=0.5), Noted(progress=0.5, checkpoint='"a"')),
        (Noted(checkpoint='"b"'), Noted(progress=0.25, checkpoint='"b"')),
        (TOLD, TOLD),
        (Noted(), NOTED),
    ],
)
def test_what_is_noted_goes_over_what_was(said: Noted, kept: Noted) -> None:
    """What it says nothing of stays; over nothing, it is all there is."""
    assert said.over(NOTED) == kept
    assert said.over(None) == said


def _lease_of(execution: Execution) -> tuple[object, ...]:
    return execution.lease_owner, execution.lease_until, execution.deadline_at


def test_every_event_that_may_be_asked_has_a_change() -> None:
    """PROMOTE comes with waiting behind an active run; until then nobody can ask for it."""
    events = {by.event for by in asked(EPOCH, State.QUEUED, OVER)}

    assert set(Event) - events == {Event.PROMOTE}


@pytest.mark.sem("SEM-STORE-5")
@pytest.mark.parametrize("state", State)
def test_a_change_that_was_applied_knows_its_own_trace_or_passes_again(state: State) -> None:
    """After a lost reply, the same change on its own result is either applied again to the same effect, or is mine."""
    for old in stored(state):
        for by in _everything_asked(old):
            new = by.change.decide(old)
            if new is not None:
                assert by.change.mine(new) or by.change.decide(new) == new


@pytest.mark.sem("SEM-FENCE-1")
@pytest.mark.parametrize("state", State)
def test_no_change_takes_the_trace_of_another_epoch_for_its_own(state: State) -> None:
    """A zombie's result is not found to have won because its successor ended alike."""
    for old in stored(state):
        for epoch in OTHER_EPOCHS:
            for by in asked(epoch, state, LATER):
                if by.epoch is not None:
                    assert not by.change.mine(old)


@pytest.mark.sem("SEM-LEASE-1")
def test_a_claim_has_won_only_while_its_token_stands() -> None:
    """The token is fresh for each claim: one of another claim, or a run that has ended since, is a lost race."""
    (claim,) = [by.change for by in asked(EPOCH, State.QUEUED, OVER) if by.event is Event.CLAIM]
    mine = claim.decide(an_execution())

    assert claim.mine(mine)
    assert not claim.mine(replace(mine, claim_token=an_id(8)))
    assert not claim.mine(an_execution(state=State.SUCCEEDED, claim_token=claim.token))


@pytest.mark.sem("SEM-LEASE-1")
def test_a_lease_never_outlives_its_attempt() -> None:
    """A claim with a time limit shorter than a lease gets the shorter of the two."""
    claim = Claim(
        ref=a_ref(), worker=WORKER, token=an_id(7), now=NOW, lease_ms=60_000, timeout_ms=5_000, clock_error_ms=E_MS
    )

    new = claim.decide(an_execution())

    assert new is not None
    assert new.lease_until == new.deadline_at == NOW + 5_000


@pytest.mark.sem("SEM-TICK-1")
@pytest.mark.parametrize("state", State)
def test_an_insert_is_applied_only_where_there_is_nothing(state: State) -> None:
    """One that exists, in whatever state, is the same execution and is judged as it is."""
    insert = Insert(execution=an_execution())

    assert insert.decide(None) == an_execution()
    assert [insert.decide(old) for old in stored(state)] == [None] * len(list(stored(state)))
    assert not any(insert.mine(old) for old in stored(state))


@pytest.mark.parametrize("state", State)
def test_what_is_owed_is_struck_off_an_end_alone(state: State) -> None:
    """Of the epoch that was seen (R13): a redriven run keeps its own debts."""
    for old in stored(state):
        debtor = replace(old, owed=frozenset({Owed.ACTIVE}) if state in TERMINAL else frozenset())
        struck = StrikeOwed(ref=a_ref(), seen_epoch=EPOCH, ttl=TTL).decide(debtor)
        stale = StrikeOwed(ref=a_ref(), seen_epoch=OTHER_EPOCHS[0], ttl=TTL).decide(debtor)

        assert stale is None
        assert struck == (replace(debtor, owed=frozenset(), ttl=TTL) if state in TERMINAL else None)


def test_nothing_is_done_to_what_is_not_there() -> None:
    """Every change but an insert is refused by absence."""
    assert all(by.change.decide(None) is None for by in asked(EPOCH, State.RUNNING, OVER))
