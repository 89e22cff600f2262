"""What the holder of an attempt reports: that it lives, and how it ended. The epoch refuses every zombie.

Used by the worker loop and, with the tenant checked, by the API for workers that pull and for callbacks. Promises:
SEM-FENCE-1, SEM-LEASE-3, SEM-RETRY-1, SEM-CHECKPOINT-1, SEM-HANDOVER-1.
"""

from dataclasses import dataclass, replace

from tickwright.domain.attempts import (
    Failure,
    Fatal,
    HandedOver,
    NotRun,
    RetryLater,
    Success,
    UserResult,
    after_giving_back,
    after_request,
    shows,
)
from tickwright.domain.changes.executions import Fail, Heartbeat, Succeed
from tickwright.domain.changes.moves import PutOff, Stop
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Noted
from tickwright.domain.ids import Epoch, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.journal import Entry, Page
from tickwright.domain.lanes import bucket_of
from tickwright.domain.logs import NOTHING_SAID, Tail
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.stored_logs import SaidBy
from tickwright.domain.transitions import State
from tickwright.ports.faults import StoreBusy
from tickwright.ports.store import Applied, Outcome
from tickwright.services.end import failing_for, follow_up, owed_and_ttl, wait_key_for
from tickwright.services.eras import in_force
from tickwright.services.jobs import get_execution
from tickwright.services.kit import Kit
from tickwright.services.run_logs import keep_log, shown_result

WAS_CANCELLED = Refusal(code=Code.CANCELLED, detail="The execution was cancelled; stop at once. No result is accepted.")
OUT_OF_TIME = Refusal(code=Code.DEADLINE, detail="The attempt's time limit has ended; stop at once.")
_READS_MAX = 10  # whoever reads again has lost to another heartbeat or to a hand-over; nobody does so for long


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """The lease runs until then."""

    until: Instant


async def heartbeat(kit: Kit, seen: Execution, epoch: Epoch, *, noted: Noted | None = None) -> Execution | Refusal:
    """Move the lease out, never past the attempt's or the run's deadline; or why not: lost, cancelled, deadline.

    `noted` goes over what was noted before. It moves the very lease that was seen, and what is found in its place where
    that is not there: so one whose answer was lost cannot land after a later one, over its note.
    """
    for _ in range(_READS_MAX):
        now = kit.clock.now()
        until = _lease_from(kit, seen, now)
        if until <= now:
            return OUT_OF_TIME
        change = _moving(seen, epoch, now=now, until=until, noted=noted)
        outcome = await kit.store.write(change)
        if isinstance(outcome, Applied):
            return outcome.new
        if outcome.old is None or not _is_held(change, outcome.old):
            return _refused(kit, change, outcome.old)
        seen = outcome.old
    raise StoreBusy(f"the lease of {seen.ref.id} was moved by others {_READS_MAX} times in a row")


def _moving(seen: Execution, epoch: Epoch, *, now: Instant, until: Instant, noted: Noted | None) -> Heartbeat:
    return Heartbeat(
        ref=seen.ref,
        epoch=epoch,
        now=now,
        lease_until=until,
        noted=noted,
        seen_lease_until=seen.lease_until,
        seen_noted=seen.noted,
    )


def _is_held(change: Heartbeat, old: Execution | None) -> bool:
    """Whether it was refused for the lease that it names alone: its holder has moved it meanwhile, or whoever it is."""
    return replace(change, seen_lease_until=None, noted=None).decide(old) is not None


def _lease_from(kit: Kit, execution: Execution, now: Instant) -> Instant:
    return Instant(min(now + kit.durations.lease_ms, deadline_of(execution)))


def _refused(kit: Kit, change: Heartbeat, old: Execution | None) -> Refusal:
    refusal = why_refused(old, change.epoch)
    kit.emit(EventName.HEARTBEAT_REFUSED, executionId=change.ref.id, reason=refusal.code.value)
    return refusal


def deadline_of(execution: Execution) -> Instant:
    """When the current attempt must have ended: its own time limit or the whole run's, whichever comes first."""
    assert execution.deadline_at is not None
    return min(execution.deadline_at, execution.run_deadline_at or execution.deadline_at)


def why_refused(old: Execution | None, epoch: Epoch) -> Refusal:
    """Why a holder's write was refused."""
    if old is None or old.lease_epoch != epoch:
        now_at = "is gone" if old is None else f"is at leaseEpoch {old.lease_epoch}"
        return Refusal(
            code=Code.LEASE_LOST, detail=f"The execution {now_at}; leaseEpoch {epoch} has lost it. Stop at once."
        )
    if old.state in {State.CANCELLING, State.CANCELLED}:
        return WAS_CANCELLED
    if old.state is State.RUNNING:
        return OUT_OF_TIME
    return Refusal(code=Code.LEASE_LOST, detail=f"The execution is {old.state.value} already; nothing was changed.")


async def report(
    kit: Kit, execution: Execution, result: UserResult, lease_until: Instant | None = None
) -> Execution | Refusal:
    """Write how the holder's attempt ended and do what follows; a zombie's result is refused and changes nothing.

    A hand-over moves `lease_until` alone, the lease that the holder wrote last, or whichever there is if that is None.
    """
    outcome, name = await _write_result(kit, execution, result, lease_until)
    if isinstance(outcome, Applied):
        followed = await follow_up(kit, outcome, _name_of(outcome.new, name))
        assert isinstance(followed, Applied)
        return followed.new
    refusal = why_refused(outcome.old, execution.lease_epoch)
    if isinstance(result, HandedOver):
        return _met(outcome.old, execution, kit.clock.now()) or refusal
    if refusal.code is Code.CANCELLED and outcome.old is not None and outcome.old.state is State.CANCELLING:
        return await stopped(kit, outcome.old)  # whoever reports a result has stopped
    kit.emit(EventName.RESULT_REFUSED, executionId=execution.ref.id, reason=refusal.code.value)
    return refusal


async def _write_result(
    kit: Kit, execution: Execution, result: UserResult, lease_until: Instant | None
) -> tuple[Outcome[Execution], EventName]:
    now = kit.clock.now()
    match result:
        case Success():
            return await _succeed(kit, execution, result, now), EventName.EXECUTION_SUCCEEDED
        case Failure() | Fatal():
            return await _fail(kit, execution, result, now), EventName.EXECUTION_RETRYING
        case RetryLater():
            later = after_request(result, execution, now=now)
            if isinstance(later, Failure | Fatal):
                return await _fail(kit, execution, later, now), EventName.EXECUTION_RETRYING
            return await _put_off(kit, execution, later, now, asked=result), EventName.EXECUTION_RETRYING
        case NotRun():
            later = after_giving_back(result, execution, now=now, era=(await in_force(kit)).era)
            return await _put_off(kit, execution, later, now), EventName.EXECUTION_GIVEN_BACK
        case HandedOver():
            return await _hand_over(kit, execution, now, lease_until), EventName.EXECUTION_HANDED_OVER


def _name_of(moved: Execution, usual: EventName) -> EventName:
    return EventName.EXECUTION_DEAD if moved.state is State.DEAD else usual


async def _succeed(kit: Kit, execution: Execution, success: Success, now: Instant) -> Outcome[Execution]:
    owed, ttl = owed_and_ttl(kit, execution, State.SUCCEEDED, now)
    return await kit.store.write(
        Succeed(ref=execution.ref, epoch=execution.lease_epoch, now=now, result=success.result, owed=owed, ttl=ttl)
    )


async def _fail(kit: Kit, execution: Execution, failed: Failure | Fatal, now: Instant) -> Outcome[Execution]:
    failing = await failing_for(kit, execution, failed, now)
    return await kit.store.write(Fail(ref=execution.ref, epoch=execution.lease_epoch, failing=failing))


async def _put_off(
    kit: Kit, execution: Execution, retry_at: Instant, now: Instant, *, asked: RetryLater | None = None
) -> Outcome[Execution]:
    return await kit.store.write(
        PutOff(
            ref=execution.ref,
            epoch=execution.lease_epoch,
            retry_at=retry_at,
            wait_key=wait_key_for(kit, execution, retry_at, now),
            asked=asked is not None,
            error=None if asked is None or asked.error is None else asked.error.bounded(),
        )
    )


async def _hand_over(kit: Kit, execution: Execution, now: Instant, seen: Instant | None) -> Outcome[Execution]:
    """Whoever goes on with it has the whole time limit; from its first own heartbeat on it is held to the lease."""
    until = deadline_of(execution)
    change = Heartbeat(
        ref=execution.ref, epoch=execution.lease_epoch, now=now, lease_until=until, seen_lease_until=seen
    )
    return await kit.store.write(change)


def _met(old: Execution | None, held: Execution, now: Instant) -> Execution | None:
    """The execution that was to be handed over, if whoever goes on with it was quicker: has reported, or kept it."""
    if old is None or old.lease_epoch != held.lease_epoch:
        return None
    reported = old.is_terminal or old.state is State.RETRY
    kept = old.state is State.RUNNING and now < deadline_of(old)
    return old if reported or kept else None


async def stopped(kit: Kit, execution: Execution) -> Execution | Refusal:
    """The holder of a run that was asked to stop says that it has stopped."""
    now = kit.clock.now()
    owed, ttl = owed_and_ttl(kit, execution, State.CANCELLED, now)
    outcome = await kit.store.write(Stop(ref=execution.ref, epoch=execution.lease_epoch, now=now, owed=owed, ttl=ttl))
    if not isinstance(outcome, Applied):
        return why_refused(outcome.old, execution.lease_epoch)
    followed = await follow_up(kit, outcome, EventName.EXECUTION_CANCELLED)
    assert isinstance(followed, Applied)
    return followed.new


async def report_heartbeat(  # noqa: PLR0913 - a report names its run, its fence and what it says
    kit: Kit, tenant_id: TenantId, execution_id: str, *, epoch: int, worker: str, noted: Noted | None = None
) -> Extended | Refusal:
    """A heartbeat from a tenant's own worker; what it says nothing of stays noted as it was.

    It moves the lease that it has read, and notes over what it has read: where another was quicker, it reads again.
    """
    for _ in range(_READS_MAX):
        execution = await get_execution(kit, tenant_id, execution_id)
        if isinstance(execution, Refusal):
            return execution
        if execution.deadline_at is None or execution.lease_epoch != epoch:
            refusal = why_refused(execution, Epoch(epoch))
            kit.emit(EventName.HEARTBEAT_REFUSED, executionId=execution_id, reason=refusal.code.value, worker=worker)
            return refusal
        merged = None if noted is None else noted.over(execution.noted)
        answer = await _kept(kit, execution, merged)
        if answer is not None:
            return answer
    raise StoreBusy(f"the lease of {execution_id} was moved by others {_READS_MAX} times in a row")


async def _kept(kit: Kit, execution: Execution, noted: Noted | None) -> Extended | Refusal | None:
    """The lease that was read is moved; or why not, None if it was moved by another meanwhile."""
    now = kit.clock.now()
    until = _lease_from(kit, execution, now)
    if until <= now:
        return OUT_OF_TIME
    change = _moving(execution, execution.lease_epoch, now=now, until=until, noted=noted)
    # Before the write: dying in between, the page finds the lease as it was, and is put off.
    is_sooner = execution.is_missed_sooner_by(until, kit.durations.clock_error_ms)
    if is_sooner and change.decide(execution) is not None:
        await kit.store.put_page(_page_watching(kit, execution, until))
    outcome = await kit.store.write(change)
    if isinstance(outcome, Applied):
        return Extended(until=change.lease_until)
    return None if _is_held(change, outcome.old) else _refused(kit, change, outcome.old)


def _page_watching(kit: Kit, execution: Execution, lease_until: Instant) -> Page:
    """A page that is looked at once this lease is over.

    The one that the run has may be looked at within the hour only: it was found held until its deadline.
    """
    return Page(
        bucket=bucket_of(execution.job_id, kit.buckets),
        check_at=Instant(lease_until + 2 * kit.durations.clock_error_ms + 1),
        writer=kit.entropy.token(),
        entries=(Entry(job_id=execution.job_id, key=execution.key, version=execution.job_version),),
    )


async def report_success(  # noqa: PLR0913 - a report names its run, its fence and what it says
    kit: Kit, tenant_id: TenantId, execution_id: str, *, epoch: int, result: str | None, said: Tail = NOTHING_SAID
) -> Execution | Refusal:
    """A result from a tenant's own worker; the same report again answers the execution again (B136)."""
    execution = await _held(kit, tenant_id, execution_id, epoch)
    if isinstance(execution, Refusal):
        return execution
    return await _report_held(kit, execution, Success(result=result), said)


async def report_failure(  # noqa: PLR0913 - a report names its run, its fence and what it says
    kit: Kit,
    tenant_id: TenantId,
    execution_id: str,
    *,
    epoch: int,
    failed: Failure | Fatal | RetryLater | NotRun,
    said: Tail = NOTHING_SAID,
) -> Execution | Refusal:
    """A failure from a tenant's own worker."""
    execution = await _held(kit, tenant_id, execution_id, epoch)
    if isinstance(execution, Refusal):
        return execution
    return await _report_held(kit, execution, await shown_result(kit, execution, failed), said)


async def _held(kit: Kit, tenant_id: TenantId, execution_id: str, epoch: int) -> Execution | Refusal:
    """The execution, if the reporter's epoch is its last."""
    execution = await get_execution(kit, tenant_id, execution_id)
    if isinstance(execution, Refusal) or execution.lease_epoch == epoch:
        return execution
    return why_refused(execution, Epoch(epoch))


async def _report_held(kit: Kit, execution: Execution, result: UserResult, said: Tail) -> Execution | Refusal:
    again = shows(execution, result)  # the same report again (B136)
    if not again and execution.state is not State.RUNNING and execution.state is not State.CANCELLING:
        return why_refused(execution, execution.lease_epoch)
    reported = execution if again else await report(kit, execution, result)
    await keep_log(kit, execution, said, SaidBy.REPORT)
    # The holder has stopped, and its result counts for nothing: it is told so, as its heartbeat is (protocol 6).
    was_stopped = isinstance(reported, Execution) and reported.state is State.CANCELLED
    return WAS_CANCELLED if was_stopped else reported
