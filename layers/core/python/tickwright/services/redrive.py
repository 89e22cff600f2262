"""Redrive: give what is dead another chance, under its job's overlap rule.

Page, execution, head and request record are one transaction; then the hint. Dying after it: the page names what is
queued. What the dead generation still owes is settled before, so its letter is sent before the next can be owed.
Promises: SEM-REDRIVE-1, SEM-REDRIVE-2.
"""

from collections.abc import Sequence

from tickwright.domain.changes.heads import Reopen
from tickwright.domain.changes.moves import Redrive
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionKey, ExecutionRef, TenantId, time_of
from tickwright.domain.jobs import Head, JobStatus, Overlap, Reopened
from tickwright.domain.journal import PutPage
from tickwright.domain.outcomes import NO_SUCH_EXECUTION, Code, Refusal
from tickwright.domain.retry import RetryPolicy
from tickwright.domain.tenants import IdempotencyRecord, PutIdempotency
from tickwright.domain.ticks import run_deadline
from tickwright.domain.transitions import State
from tickwright.ports.store import AnyChange, Applied, Outcome, Refused
from tickwright.services.hints import is_unclaimed, send_hints
from tickwright.services.jobs import get_execution, head_of
from tickwright.services.kit import Kit
from tickwright.services.run_now import occupied, page_naming
from tickwright.services.settle import settle
from tickwright.services.submit import RequestKey, note_of, reused


async def redrive(kit: Kit, tenant_id: TenantId, execution_id: str, request: RequestKey | None) -> Execution | Refusal:
    """Queue a dead execution again with its attempts granted anew; once for a request key."""
    execution = await get_execution(kit, tenant_id, execution_id)
    if isinstance(execution, Refusal):
        return execution
    noted = None if request is None else await kit.store.idempotency(tenant_id, request.key)
    if noted is not None and request is not None and noted.expires_at > kit.clock.now():
        return await _replay(kit, noted, request)
    if execution.state is not State.DEAD:
        return _not_dead(execution)
    head = await head_of(kit, tenant_id, execution.job_id)
    if isinstance(head, Refusal):
        return head
    if head.status is JobStatus.CANCELLED:
        return Refusal(code=Code.JOB_OVER, detail="The job is cancelled, and nothing of it starts again.")
    if (busy := await occupied(kit, head)) is not None:
        return busy
    return await _reopen(kit, head, await settle(kit, execution), request)


async def _replay(kit: Kit, noted: IdempotencyRecord, request: RequestKey) -> Execution | Refusal:
    if (refusal := reused(noted, request)) is not None:
        return refusal
    execution = await kit.store.execution(ExecutionRef(noted.job_id, ExecutionKey(noted.answer)))
    return NO_SUCH_EXECUTION if execution is None else execution


def _not_dead(execution: Execution) -> Refusal:
    detail = f"The execution is {execution.state.value}; only one that is DEAD can be redriven. Nothing was changed."
    return Refusal(code=Code.NOT_DEAD, detail=detail)


async def _reopen(kit: Kit, head: Head, dead: Execution, request: RequestKey | None) -> Execution | Refusal:
    definition = await kit.store.definition(dead.job_id, dead.job_version)
    policy = RetryPolicy() if definition is None else definition.spec.retry
    now = kit.clock.now()
    change = Redrive(
        ref=dead.ref,
        seen_epoch=dead.lease_epoch,
        now=now,
        attempts=policy.max_attempts,
        run_deadline_at=run_deadline(now, head),
    )
    opened = change.decide(dead)
    if opened is None:  # its letter is still owed: somebody else is at it
        return _CHANGED
    outcomes = await kit.store.write_together(_writes(kit, head, change, opened, request))
    if not all(isinstance(outcome, Applied) for outcome in outcomes):
        return await _judge(kit, change, outcomes, request)
    about = {"executionId": opened.ref.id, "jobId": opened.job_id}
    kit.emit(EventName.EXECUTION_REDRIVEN, measured={"generation": opened.generation}, **about)
    await send_hints(kit, [opened])
    return opened


def _writes(
    kit: Kit, head: Head, change: Redrive, opened: Execution, request: RequestKey | None
) -> Sequence[AnyChange]:
    writes: list[AnyChange] = [change, _job(head, change, opened), PutPage(page=page_naming(kit, head, opened))]
    if request is None:
        return writes
    record = note_of(kit, head.tenant_id, request, head.job_id, answer=opened.key)
    return [PutIdempotency(record=record, now=change.now), *writes]  # first: a rival under this key is answered by it


def _job(head: Head, change: Redrive, opened: Execution) -> Reopen:
    since, until = time_of(opened.key), change.run_deadline_at
    seen = head.reopened or Reopened(since=since, until=until)
    return Reopen(
        job_id=head.job_id,
        version=head.version,
        seen_active=head.active,
        active=None if head.overlap is Overlap.ALLOW else opened.occupant(),
        seen_reopened=head.reopened,
        reopened=seen.joined_by(since, until, change.now),
    )


_CHANGED = Refusal(code=Code.VERSION_CONFLICT, detail="The job or the execution changed meanwhile; repeat the request.")


async def _judge(
    kit: Kit, change: Redrive, outcomes: Sequence[Outcome[object]], request: RequestKey | None
) -> Execution | Refusal:
    for outcome in outcomes:
        match outcome:
            case Refused(old=IdempotencyRecord() as noted) if (
                request is not None and noted.expires_at > kit.clock.now()
            ):
                return await _replay(kit, noted, request)
            case Refused(old=Execution() as old) if change.mine(old):
                await send_hints(kit, [old] if is_unclaimed(old) else [])
                return old  # the reply was lost, not the write
            case Refused(old=Execution() as old) if old.state is not State.DEAD:
                return _not_dead(old)
            case _:
                continue
    return _CHANGED
