"""Stored items and changes drawn together, so that conditions are met, or missed by one: a state, an epoch, an instant.

Must not hold assertions. Values are few and near each other on purpose: a random epoch would never be the stored one.
What no condition reads comes in whole sets, since each draw costs time.
"""

from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.support.builders import TICK, a_job_id
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
from tickwright.domain.epochs import Era
from tickwright.domain.executions import Cause, Discarded, ErrorSummary, Execution, Noted, Owed, PassedOver, Reason
from tickwright.domain.ids import Epoch, ExecutionKey, TenantId, WorkerId, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import PoolName
from tickwright.domain.transitions import TERMINAL, Event, State, rows

ValueT = TypeVar("ValueT")

NOW = Instant(TICK + 100_000)
CLOCK_ERROR_MS = 1_000
OVER = NOW - 2 * CLOCK_ERROR_MS  # a lease that ended before this is over for everybody
TTL = NOW // 1_000 + 86_400

job_ids = st.integers(0, 2**60).map(a_job_id)
instants = st.sampled_from([NOW - 60_000, NOW - 1, NOW, NOW + 1, NOW + 60_000]).map(Instant)
lease_ends = st.sampled_from([OVER - 1, OVER, OVER + 1, NOW, NOW + 60_000]).map(Instant)
owed_sets = st.sampled_from([frozenset[Owed](), frozenset({Owed.ACTIVE}), frozenset(Owed)])
results = st.sampled_from([None, "", '{"said": "Grüße, 世界"}'])
notes = st.sampled_from([None, Noted(progress=0.0), Noted(checkpoint='"ü"'), Noted(progress=1.0, checkpoint="{}")])
errors = st.sampled_from(
    [ErrorSummary(error_class="", message=""), ErrorSummary(error_class="ValueError", message="ü", trace="at 1")]
)

# All that an execution may carry and that no condition reads.
BARE: dict[str, Any] = {"lane": Lane.HIGH, "key": tick_key(TICK)}
FULL: dict[str, Any] = {
    "lane": Lane.BACKFILL,
    "pool": PoolName("gpu"),
    "key": ExecutionKey(f"{tick_key(TICK)}#missed"),
    "cause": Cause.MANUAL,
    "reason": Reason.RETRY_LATER,
    "generation": 2,
    "redriven_at": NOW,
    "run_deadline_at": Instant(NOW + 1),
    "started_at": Instant(NOW - 1),
    "claim_token": "token-a",
    "effects": frozenset({Owed.ACTIVE, Owed.PERMIT}),
    "error": ErrorSummary(error_class="KeyError", message="", trace="at 2", fingerprint="f"),
    "result": "17",
    "noted": Noted(progress=1 / 3, checkpoint='{"row": 7}'),
    "passed": PassedOver(first=TICK, last=NOW, count=7, exact=False, reason=Reason.BLACKOUT, by="holidays@3"),
    "nominal": "2026-03-29T02:30:00",
    "tzdata": "2026.3",
}


@st.composite
def executions(draw: st.DrawFn, states: st.SearchStrategy[State]) -> Execution:
    """Any execution that could be stored, in one of these states."""
    state = draw(states)
    attempt = draw(st.integers(1 if state in {State.RUNNING, State.CANCELLING} else 0, 3))
    given: dict[str, Any] = {
        "job_id": draw(job_ids),
        "tenant_id": TenantId("acme"),
        "state": state,
        "scheduled_at": TICK,
        "created_at": TICK,
        "job_version": 1,
        "max_attempts": max(1, attempt + draw(st.integers(0, 1))),
        "attempt": attempt,
        "lease_epoch": Epoch(attempt + draw(st.integers(0, 1))),
        "retry_afters": draw(st.sampled_from([0, 99, 100])),
    }
    return Execution(**(given | draw(st.sampled_from([BARE, FULL])) | draw(_demanded(state))))


@st.composite
def _demanded(draw: st.DrawFn, state: State) -> dict[str, Any]:
    """What a state demands, and what it may have."""
    if state in {State.RUNNING, State.CANCELLING}:
        return {"lease_owner": WorkerId("worker-1"), "lease_until": draw(lease_ends), "deadline_at": draw(instants)}
    if state in TERMINAL:
        owed = draw(owed_sets)
        ended = {"finished_at": NOW, "owed": owed, "ttl": None if owed else TTL}
        how = {"failed_at": NOW} if draw(st.booleans()) else {"discarded": Discarded(at=NOW, reason="not wanted")}
        return ended | (how if state is State.DEAD else {})
    waits = draw(st.sampled_from([{}, {"wait_key": "17", "wait_at": NOW}]))
    return waits | ({"retry_at": draw(instants)} if state is State.RETRY else {})


any_execution = executions(st.sampled_from(State))


def sources(event: Event) -> st.SearchStrategy[Execution]:
    """Executions that the event may move, three times in four, and others."""
    fitting = sorted({row.source for row in rows(event)}, key=lambda state: state.value)
    return executions(st.one_of(*[st.sampled_from(fitting)] * 3, st.sampled_from(State)))


def mostly(value: ValueT, *others: ValueT) -> st.SearchStrategy[ValueT]:
    """The value that is stored, six times for each other one."""
    return st.sampled_from([value] * 6 * len(others) + list(others))


def _near(epoch: Epoch) -> st.SearchStrategy[Epoch]:
    """The epoch that is stored, or one beside it."""
    return mostly(epoch, Epoch(epoch + 1), Epoch(max(0, epoch - 1)))


@st.composite
def ends(draw: st.DrawFn) -> dict[str, Any]:
    """How an end is written: owing something, or to be forgotten."""
    owed = draw(owed_sets)
    return {"now": draw(instants), "owed": owed, "ttl": None if owed else TTL}


@st.composite
def failings(draw: st.DrawFn) -> Failing:
    """A retry at once or on the index, or an end."""
    said: dict[str, Any] = {"reason": draw(st.sampled_from([Reason.FAILED, Reason.FATAL])), "error": draw(errors)}
    if draw(st.booleans()):
        owed = draw(owed_sets)
        return Failing(**said, now=NOW, retry_at=None, wait_key=None, owed=owed, ttl=None if owed else TTL)
    wait_key = draw(st.sampled_from([None, "17"]))
    return Failing(**said, now=NOW, retry_at=draw(instants), wait_key=wait_key, owed=frozenset(), ttl=None)


@st.composite
def inserts(draw: st.DrawFn) -> tuple[Execution | None, Insert]:
    """Where there is one, or none."""
    execution = draw(any_execution)
    return draw(st.sampled_from([None, execution])), Insert(execution=execution)


@st.composite
def claims(draw: st.DrawFn) -> tuple[Execution, Claim]:
    """By a worker that has never tried, or that has forgotten."""
    old = draw(sources(Event.CLAIM))
    change = Claim(
        ref=old.ref,
        worker=WorkerId("worker-3"),
        token=draw(st.sampled_from(["token-a", "token-c"])),
        now=NOW,
        lease_ms=60_000,
        timeout_ms=draw(st.sampled_from([30_000, 300_000])),
        clock_error_ms=CLOCK_ERROR_MS,
        era=Era(base=draw(st.sampled_from([Epoch(0), old.lease_epoch, Epoch(old.lease_epoch + 1), Epoch(50_000)]))),
        is_below=draw(st.booleans()),
    )
    return old, change


@st.composite
def heartbeats(draw: st.DrawFn) -> tuple[Execution, Heartbeat]:
    """In time or too late."""
    old = draw(sources(Event.HEARTBEAT))
    epoch = draw(_near(old.lease_epoch))
    plain = Heartbeat(ref=old.ref, epoch=epoch, now=NOW, lease_until=draw(lease_ends))
    if old.lease_until is None or draw(st.booleans()):
        return old, plain
    seen_noted = draw(st.one_of(st.just(old.noted), notes))
    return old, replace(plain, noted=draw(notes), seen_lease_until=old.lease_until, seen_noted=seen_noted)


@st.composite
def reports(draw: st.DrawFn) -> tuple[Execution, Any]:
    """What the holder says at the end of an attempt."""
    old = draw(sources(Event.SUCCEED))
    epoch = draw(_near(old.lease_epoch))
    change = draw(
        st.one_of(
            ends().flatmap(lambda end: results.map(lambda r: Succeed(ref=old.ref, epoch=epoch, result=r, **end))),
            failings().map(lambda failing: Fail(ref=old.ref, epoch=epoch, failing=failing)),
            st.builds(
                PutOff,
                ref=st.just(old.ref),
                epoch=st.just(epoch),
                retry_at=instants,
                wait_key=st.sampled_from([None, "17"]),
                asked=st.booleans(),
            ),
        )
    )
    return old, change


@st.composite
def stops(draw: st.DrawFn) -> tuple[Execution, Stop]:
    """The holder has stopped."""
    old = draw(sources(Event.STOPPED))
    return old, Stop(ref=old.ref, epoch=draw(_near(old.lease_epoch)), **draw(ends()))


@st.composite
def reaps(draw: st.DrawFn) -> tuple[Execution, Reap | ReapStopping]:
    """A watcher that looked at this lease, or at the one before."""
    old = draw(sources(Event.REAP))
    if old.lease_until is not None and draw(st.booleans()):
        old = replace(old, lease_until=Instant(OVER - 1))
    seen: dict[str, Any] = {
        "ref": old.ref,
        "seen_epoch": draw(_near(old.lease_epoch)),
        "seen_lease_until": draw(mostly(old.lease_until or NOW, Instant(OVER - 2))),
        "clock_error_ms": CLOCK_ERROR_MS,
    }
    if old.state is State.CANCELLING:
        end = draw(owed_sets)
        return old, ReapStopping(**seen, now=NOW, owed=end, ttl=None if end else TTL)
    return old, Reap(**seen, failing=draw(failings()))


@st.composite
def cancels(draw: st.DrawFn) -> tuple[Execution, Cancel]:
    """As it was seen, or as it was before."""
    old = draw(sources(Event.CANCEL))
    seen_state = draw(mostly(old.state, *State))
    seen_epoch = draw(_near(old.lease_epoch))
    change = Cancel(ref=old.ref, seen_state=seen_state, seen_epoch=seen_epoch, reason=Reason.PAUSED, **draw(ends()))
    return old, change


@st.composite
def releases(draw: st.DrawFn) -> tuple[Execution, Release]:
    """From the waiting index that it is on, or from another."""
    old = draw(sources(Event.RELEASE))
    wait_key = draw(mostly("17", "18"))
    return old, Release(ref=old.ref, seen_epoch=draw(_near(old.lease_epoch)), seen_wait_key=wait_key)


@st.composite
def expiries(draw: st.DrawFn) -> tuple[Execution, Expire]:
    """As it was seen, or as it was before."""
    old = draw(sources(Event.EXPIRE))
    seen_state = draw(mostly(old.state, *State))
    return old, Expire(ref=old.ref, seen_state=seen_state, seen_epoch=draw(_near(old.lease_epoch)), **draw(ends()))


@st.composite
def redrives(draw: st.DrawFn) -> tuple[Execution, Redrive]:
    """Of what is dead, as it was seen or opened since."""
    old = draw(sources(Event.REDRIVE))
    epoch = draw(_near(old.lease_epoch))
    return old, Redrive(ref=old.ref, seen_epoch=epoch, now=draw(instants), attempts=3, run_deadline_at=Instant(NOW + 9))


@st.composite
def discards(draw: st.DrawFn) -> tuple[Execution, Discard]:
    """Of what is dead and on the list, as it was seen or opened since; or discarded before, by this or by another."""
    old = draw(sources(Event.DISCARD))
    now, reason = draw(instants), draw(st.sampled_from(["not wanted", "Grüße"]))
    return old, Discard(ref=old.ref, seen_epoch=draw(_near(old.lease_epoch)), now=now, reason=reason)


@st.composite
def strikes(draw: st.DrawFn) -> tuple[Execution, StrikeOwed]:
    """Of one that has ended, or that has been opened again since."""
    old = draw(executions(st.sampled_from([*sorted(TERMINAL, key=lambda s: s.value), State.QUEUED])))
    return old, StrikeOwed(ref=old.ref, seen_epoch=draw(_near(old.lease_epoch)), ttl=TTL + 1)


_PRESENT = st.one_of(
    inserts(),
    claims(),
    heartbeats(),
    reports(),
    reports(),
    stops(),
    reaps(),
    cancels(),
    releases(),
    expiries(),
    redrives(),
    discards(),
    strikes(),
)
# One in ten finds nothing: the row has been forgotten, or never was.
changes_of_executions = st.tuples(_PRESENT, st.integers(0, 9)).map(
    lambda drawn: drawn[0] if drawn[1] else (None, drawn[0][1])
)
