"""One case for every write of an execution: an item that it accepts, items that it refuses, what a second try answers.

Must not hold assertions. The items are as near to each other as the condition allows: one epoch, one version, one
millisecond apart.
"""

from dataclasses import dataclass, replace
from typing import Any

from tests.support.builders import (
    LEASE_MS,
    TICK,
    TIMEOUT_MS,
    WORKER,
    a_ref,
    an_execution,
    an_id,
)
from tickwright.domain.changes.executions import Claim, Fail, Failing, Heartbeat, Insert, Reap, StrikeOwed, Succeed
from tickwright.domain.changes.moves import Cancel, Discard, Expire, PutOff, ReapStopping, Redrive, Release, Stop
from tickwright.domain.epochs import Era
from tickwright.domain.executions import Discarded, ErrorSummary, Execution, Noted, Owed, Reason
from tickwright.domain.ids import Epoch
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State
from tickwright.ports.store import AnyChange

E_MS = 1_000
NOW = Instant(TICK + 1_000)
NEXT = Instant(TICK + 60_000)
OVER = Instant(TICK + LEASE_MS + 2 * E_MS + 1)  # a lease of the builders' is over for everybody
TTL = TICK // 1_000 + 30 * 86_400
FIRST, SECOND = Epoch(1), Epoch(2)
ERROR = ErrorSummary(error_class="ValueError", message="Grüße: no such file", fingerprint="0f")
NOTED = Noted(progress=0.1 + 0.2, checkpoint='{"row": 7, "said": "世界"}')
BEFORE = Noted(progress=0.5, checkpoint="7")
ENDS: dict[str, Any] = {"now": NOW, "owed": frozenset(), "ttl": TTL}
OWES: dict[str, Any] = {"now": NOW, "owed": frozenset({Owed.ACTIVE, Owed.DEAD_LETTER}), "ttl": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A change, with the items that decide its fate. `accepts` None: the item must be absent."""

    name: str
    change: AnyChange
    accepts: Any
    refuses: tuple[Any, ...]
    again: bool  # whether the very same write is answered Applied when it is seen a second time


def _execution(state: State, **shown: Any) -> Execution:  # noqa: ANN401 - any field of the class
    return an_execution(state=state, **shown)


QUEUED = _execution(State.QUEUED)
RUNNING = _execution(State.RUNNING)
RETRY = _execution(State.RETRY, retry_at=NOW)
CANCELLING = _execution(State.CANCELLING)
SUCCEEDED = _execution(State.SUCCEEDED, ttl=TTL)
DEAD = _execution(State.DEAD, ttl=TTL)
DIED = replace(DEAD, attempt=1, failed_at=NOW, reason=Reason.FATAL, error=ERROR, started_at=TICK, retry_afters=7)
SET_ASIDE = replace(DIED, failed_at=None, lease_epoch=SECOND, discarded=Discarded(at=NOW, reason="not wanted"))
LATER_EPOCH = _execution(State.RUNNING, lease_epoch=2)
REF = a_ref()

CLAIM = Claim(
    ref=REF, worker=WORKER, token=an_id(7), now=NOW, lease_ms=LEASE_MS, timeout_ms=TIMEOUT_MS, clock_error_ms=E_MS
)
ERA = Era(base=Epoch(50_000))
NOTES = Heartbeat(
    ref=REF,
    epoch=FIRST,
    now=NOW,
    lease_until=Instant(NOW + LEASE_MS),
    noted=NOTED,
    seen_lease_until=Instant(TICK + LEASE_MS),
)
TRY_AGAIN = Failing(
    now=NOW, reason=Reason.FAILED, error=ERROR, retry_at=NEXT, wait_key=None, owed=frozenset(), ttl=None
)
TRY_LATER = replace(TRY_AGAIN, wait_key="3")
GIVE_UP = Failing(reason=Reason.FATAL, error=ERROR, retry_at=None, wait_key=None, **OWES)
REAPED = replace(TRY_AGAIN, now=OVER, reason=Reason.LEASE_EXPIRED)
PUT_OFF = PutOff(ref=REF, epoch=FIRST, retry_at=NEXT, wait_key="3", asked=True)
REAP = Reap(ref=REF, seen_epoch=FIRST, seen_lease_until=Instant(TICK + LEASE_MS), clock_error_ms=E_MS, failing=REAPED)
REAP_STOPPING = ReapStopping(
    ref=REF,
    seen_epoch=FIRST,
    seen_lease_until=Instant(TICK + LEASE_MS),
    clock_error_ms=E_MS,
    **(ENDS | {"now": OVER}),
)

OF_EXECUTIONS = (
    Case(
        name="insert",
        change=Insert(execution=QUEUED),
        accepts=None,
        refuses=(QUEUED, RUNNING, SUCCEEDED),
        again=False,
    ),
    Case(
        name="claim",
        change=CLAIM,
        accepts=QUEUED,
        refuses=(
            RUNNING,
            CANCELLING,
            SUCCEEDED,
            replace(RETRY, retry_at=Instant(NOW + 1)),
            replace(QUEUED, max_attempts=1, attempt=1, lease_epoch=FIRST),
        ),
        again=True,
    ),
    Case(
        name="claim of a retry",
        change=CLAIM,
        accepts=RETRY,
        refuses=(replace(RETRY, wait_key="3", wait_at=NOW),),
        again=True,
    ),
    Case(
        name="claim of what an installation before left",
        change=replace(CLAIM, now=OVER, era=ERA, is_below=True),
        accepts=RUNNING,
        refuses=(
            replace(QUEUED, lease_epoch=ERA.base),
            replace(RUNNING, lease_until=Instant(TICK + LEASE_MS + 1)),
        ),
        again=True,
    ),
    Case(
        name="claim within an era",
        change=replace(CLAIM, era=ERA),
        accepts=replace(QUEUED, lease_epoch=ERA.base),
        refuses=(QUEUED, replace(QUEUED, lease_epoch=ERA.highest)),
        again=True,
    ),
    Case(
        name="claim of a run whose lease is over",
        change=replace(CLAIM, now=OVER),
        accepts=RUNNING,
        refuses=(replace(RUNNING, lease_until=Instant(TICK + LEASE_MS + 1)),),
        again=True,
    ),
    Case(
        name="heartbeat",
        change=Heartbeat(ref=REF, epoch=FIRST, now=NOW, lease_until=Instant(NOW + LEASE_MS)),
        accepts=RUNNING,
        refuses=(LATER_EPOCH, CANCELLING, SUCCEEDED, replace(RUNNING, deadline_at=NOW)),
        again=True,
    ),
    Case(
        name="heartbeat that leaves what was noted",
        change=Heartbeat(ref=REF, epoch=FIRST, now=NOW, lease_until=Instant(NOW + LEASE_MS)),
        accepts=replace(RUNNING, noted=NOTED),
        refuses=(LATER_EPOCH,),
        again=True,
    ),
    Case(
        name="heartbeat of the lease that was seen, noting something",
        change=NOTES,
        accepts=RUNNING,
        refuses=(LATER_EPOCH, CANCELLING, replace(RUNNING, lease_until=NOW), replace(RUNNING, noted=BEFORE)),
        again=True,
    ),
    Case(
        name="heartbeat that notes over what was seen",
        change=replace(NOTES, seen_noted=BEFORE),
        accepts=replace(RUNNING, noted=BEFORE),
        refuses=(
            replace(LATER_EPOCH, noted=BEFORE),
            replace(RUNNING, lease_until=NOW, noted=BEFORE),
            RUNNING,
            replace(RUNNING, noted=Noted(checkpoint=BEFORE.checkpoint)),
            replace(RUNNING, noted=replace(BEFORE, checkpoint="8")),
        ),
        again=True,
    ),
    Case(
        name="heartbeat that notes a checkpoint over a progress",
        change=replace(NOTES, noted=Noted(checkpoint="1"), seen_noted=Noted(progress=0.5)),
        accepts=replace(RUNNING, noted=Noted(progress=0.5)),
        refuses=(RUNNING, replace(RUNNING, noted=BEFORE), replace(RUNNING, noted=Noted(progress=0.25))),
        again=True,
    ),
    Case(
        name="heartbeat that notes a progress over a progress",
        change=replace(NOTES, noted=Noted(progress=0.75), seen_noted=Noted(progress=0.5)),
        accepts=replace(RUNNING, noted=Noted(progress=0.5)),
        refuses=(RUNNING, replace(RUNNING, noted=BEFORE), replace(RUNNING, noted=Noted(progress=0.25))),
        again=True,
    ),
    Case(
        name="heartbeat that notes a progress over a checkpoint",
        change=replace(NOTES, noted=Noted(progress=0.75), seen_noted=Noted(checkpoint="7")),
        accepts=replace(RUNNING, noted=Noted(checkpoint="7")),
        refuses=(RUNNING, replace(RUNNING, noted=BEFORE), replace(RUNNING, noted=Noted(checkpoint="8"))),
        again=True,
    ),
    Case(
        name="heartbeat that notes a checkpoint over a checkpoint",
        change=replace(NOTES, noted=Noted(checkpoint="8"), seen_noted=Noted(checkpoint="7")),
        accepts=replace(RUNNING, noted=Noted(checkpoint="7")),
        refuses=(RUNNING, replace(RUNNING, noted=BEFORE), replace(RUNNING, noted=Noted(checkpoint="9"))),
        again=True,
    ),
    Case(
        name="hand over",
        change=Heartbeat(
            ref=REF,
            epoch=FIRST,
            now=NOW,
            lease_until=Instant(NOW + 5 * LEASE_MS),
            seen_lease_until=Instant(TICK + LEASE_MS),
        ),
        accepts=replace(RUNNING, noted=NOTED),
        refuses=(
            LATER_EPOCH,
            CANCELLING,
            SUCCEEDED,
            replace(RUNNING, deadline_at=NOW),
            replace(RUNNING, lease_until=NOW),
        ),
        again=True,
    ),
    Case(
        name="succeed",
        change=Succeed(ref=REF, epoch=FIRST, result='{"rows": 3}', **ENDS),
        accepts=replace(RUNNING, noted=NOTED),
        refuses=(LATER_EPOCH, CANCELLING, RETRY, DEAD, QUEUED),
        again=True,
    ),
    Case(
        name="succeed and owe",
        change=Succeed(ref=REF, epoch=FIRST, result=None, **OWES),
        accepts=replace(RUNNING, noted=NOTED),
        refuses=(LATER_EPOCH,),
        again=True,
    ),
    Case(
        name="fail, to be tried again",
        change=Fail(ref=REF, epoch=FIRST, failing=TRY_AGAIN),
        accepts=replace(RUNNING, noted=NOTED),
        refuses=(LATER_EPOCH, CANCELLING, replace(RUNNING, max_attempts=1)),
        again=True,
    ),
    Case(
        name="fail, to be tried much later",
        change=Fail(ref=REF, epoch=FIRST, failing=TRY_LATER),
        accepts=RUNNING,
        refuses=(LATER_EPOCH,),
        again=True,
    ),
    Case(
        name="fail, for the last time",
        change=Fail(ref=REF, epoch=FIRST, failing=GIVE_UP),
        accepts=RUNNING,
        refuses=(LATER_EPOCH, CANCELLING, SUCCEEDED),
        again=True,
    ),
    Case(
        name="reap",
        change=REAP,
        accepts=RUNNING,
        refuses=(LATER_EPOCH, replace(RUNNING, lease_until=Instant(TICK + LEASE_MS + 1)), SUCCEEDED, CANCELLING),
        again=True,
    ),
    Case(
        name="strike what is owed",
        change=StrikeOwed(ref=REF, seen_epoch=FIRST, ttl=TTL),
        accepts=replace(SUCCEEDED, owed=frozenset({Owed.ACTIVE}), ttl=None),
        refuses=(RUNNING, replace(SUCCEEDED, lease_epoch=SECOND)),
        again=True,
    ),
    Case(
        name="stop",
        change=Stop(ref=REF, epoch=FIRST, **ENDS),
        accepts=CANCELLING,
        refuses=(RUNNING, replace(CANCELLING, lease_epoch=SECOND), SUCCEEDED),
        again=True,
    ),
    Case(
        name="reap what is stopping",
        change=REAP_STOPPING,
        accepts=CANCELLING,
        refuses=(RUNNING, replace(CANCELLING, lease_until=Instant(TICK + LEASE_MS + 1))),
        again=True,
    ),
    Case(
        name="put off",
        change=PUT_OFF,
        accepts=RUNNING,
        refuses=(LATER_EPOCH, CANCELLING, replace(RUNNING, retry_afters=100)),
        again=True,
    ),
    Case(
        name="put off, saying why",
        change=replace(PUT_OFF, wait_key=None, error=ERROR),
        accepts=RUNNING,
        refuses=(LATER_EPOCH, CANCELLING, replace(RUNNING, retry_afters=100)),
        again=True,
    ),
    Case(
        name="give back",
        change=replace(PUT_OFF, asked=False, wait_key=None),
        accepts=replace(RUNNING, retry_afters=100),
        refuses=(LATER_EPOCH, CANCELLING),
        again=True,
    ),
    Case(
        name="cancel",
        change=Cancel(ref=REF, seen_state=State.QUEUED, seen_epoch=Epoch(0), reason=Reason.CANCELLED, **ENDS),
        accepts=QUEUED,
        refuses=(RUNNING, RETRY, SUCCEEDED),
        again=True,
    ),
    Case(
        name="cancel a run",
        change=Cancel(ref=REF, seen_state=State.RUNNING, seen_epoch=FIRST, reason=Reason.CANCELLED, **ENDS),
        accepts=RUNNING,
        refuses=(LATER_EPOCH, RETRY, SUCCEEDED),
        again=True,
    ),
    Case(
        name="release",
        change=Release(ref=REF, seen_epoch=FIRST, seen_wait_key="3"),
        accepts=replace(RETRY, wait_key="3", wait_at=NOW),
        refuses=(replace(RETRY, wait_key="4", wait_at=NOW), replace(RETRY, lease_epoch=SECOND), RUNNING),
        again=True,
    ),
    Case(
        name="expire",
        change=Expire(ref=REF, seen_state=State.QUEUED, seen_epoch=Epoch(0), **OWES),
        accepts=QUEUED,
        refuses=(RUNNING, RETRY, SUCCEEDED),
        again=True,
    ),
    Case(
        name="redrive",
        change=Redrive(ref=REF, seen_epoch=FIRST, now=NOW, attempts=3, run_deadline_at=Instant(NOW + 60_000)),
        accepts=DIED,
        refuses=(
            replace(DIED, lease_epoch=SECOND),
            replace(DIED, owed=frozenset({Owed.DEAD_LETTER}), ttl=None),
            SUCCEEDED,
            RUNNING,
            QUEUED,
        ),
        again=True,
    ),
    Case(
        name="redrive what was discarded",
        change=Redrive(ref=REF, seen_epoch=SECOND, now=NOW, attempts=3, run_deadline_at=Instant(NOW + 60_000)),
        accepts=SET_ASIDE,
        refuses=(DIED,),
        again=True,
    ),
    Case(
        name="discard",
        change=Discard(ref=REF, seen_epoch=FIRST, now=NOW, reason="Grüße: nobody wants it"),
        accepts=DIED,
        refuses=(
            replace(DIED, lease_epoch=SECOND),
            replace(DIED, owed=frozenset({Owed.DEAD_LETTER}), ttl=None),
            replace(SET_ASIDE, lease_epoch=FIRST),
            SET_ASIDE,
            SUCCEEDED,
            RUNNING,
            QUEUED,
        ),
        again=True,
    ),
)
