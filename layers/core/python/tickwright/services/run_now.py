"""Run a job now, under its overlap rule: a journal page, then job and run in one transaction, then the hint.

Dying after the page: whoever reads it puts a tombstone at the run's key, so that a slow request is refused (R11).
Promise: SEM-RUN-1.
"""

from collections.abc import Sequence

from tickwright.domain.changes.executions import Insert
from tickwright.domain.changes.heads import Occupy, StillOpen
from tickwright.domain.events import EventName
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.ids import ExecutionKey, ExecutionRef, TenantId, is_job_id, manual_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, Overlap
from tickwright.domain.journal import Entry, Page
from tickwright.domain.lanes import bucket_of
from tickwright.domain.outcomes import NO_SUCH_EXECUTION, NO_SUCH_JOB, Code, Refusal
from tickwright.domain.tenants import IdempotencyRecord, PutIdempotency
from tickwright.domain.ticks import active_ref, run_deadline
from tickwright.domain.transitions import State
from tickwright.ports.store import AnyChange, Applied, Outcome, Refused
from tickwright.services.hints import send_hints
from tickwright.services.jobs import head_of, unable_to_run
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey, note_of, reused


async def run_now(kit: Kit, tenant_id: TenantId, job_id: str, request: RequestKey | None) -> Execution | Refusal:
    """Start a run outside the schedule; once for a request key."""
    if not is_job_id(job_id):
        return NO_SUCH_JOB  # before the key is looked up, which names the path: no store takes one of any length
    noted = None if request is None else await kit.store.idempotency(tenant_id, request.key)
    if noted is not None and request is not None and noted.counts(kit.clock.now()):
        return await _replay(kit, noted, request)
    head = await head_of(kit, tenant_id, job_id)
    if isinstance(head, Refusal):
        return head
    if not head.is_open:
        return Refusal(code=Code.JOB_OVER, detail=f"The job is {head.status.value}; submit a new one.")
    unable = await unable_to_run(kit, head, {head.definition_version})
    if (refusal := unable or await occupied(kit, head)) is not None:
        return refusal
    return await _start(kit, head, request)


async def _replay(kit: Kit, noted: IdempotencyRecord, request: RequestKey) -> Execution | Refusal:
    if (refusal := reused(noted, request)) is not None:
        return refusal
    execution = await kit.store.execution(ExecutionRef(noted.job_id, ExecutionKey(noted.answer)))
    return NO_SUCH_EXECUTION if execution is None else execution


async def occupied(kit: Kit, head: Head) -> Refusal | None:
    """Whether a run occupies the job; one that was decided and is not inserted yet does so too."""
    ref = None if head.overlap is Overlap.ALLOW else active_ref(head)
    if ref is None:
        return None
    active = await kit.store.execution(ref)
    free = active.is_terminal if active is not None else not _may_be_inserted(kit, head, ref)
    return None if free else overlap(ref)


def _may_be_inserted(kit: Kit, head: Head, ref: ExecutionRef) -> bool:
    """Whether a run that is absent may yet come: decided a moment ago.

    One decided longer ago has ended and was forgotten (R8).
    """
    late = head.fired_at is None or kit.clock.now() - head.fired_at > kit.durations.insert_guard_ms
    return head.last_ref == ref and not late


def overlap(ref: ExecutionRef) -> Refusal:
    """A run of the job is unfinished and its policy does not allow another beside it."""
    detail = f"Execution {ref.id} is unfinished and the job's overlap policy is skip; wait for it, or cancel it."
    return Refusal(code=Code.OVERLAP, detail=detail)


def a_manual_run(kit: Kit, head: Head) -> Execution:
    """A run outside the schedule, of the job as it is now."""
    now = kit.clock.now()
    return Execution(
        job_id=head.job_id,
        key=manual_key(now, kit.entropy.token()),
        tenant_id=head.tenant_id,
        lane=head.lane,
        pool=head.pool,
        state=State.QUEUED,
        scheduled_at=now,
        created_at=now,
        job_version=head.definition_version,
        max_attempts=head.max_attempts,
        cause=Cause.MANUAL,
        run_deadline_at=run_deadline(now, head),
    )


async def _start(kit: Kit, head: Head, request: RequestKey | None) -> Execution | Refusal:
    execution = a_manual_run(kit, head)
    await kit.store.put_page(page_naming(kit, head, execution))
    outcomes = await kit.store.write_together(_writes(kit, head, execution, request))
    if not all(isinstance(outcome, Applied) for outcome in outcomes):
        return await _judge(kit, execution, outcomes, request)
    kit.emit(EventName.EXECUTION_QUEUED, executionId=execution.ref.id, jobId=head.job_id, reason="manual")
    await send_hints(kit, [execution])
    return execution


def page_naming(kit: Kit, head: Head, execution: Execution) -> Page:
    """A fresh page of the journal that names one execution."""
    return Page(
        bucket=bucket_of(head.job_id, kit.buckets),
        check_at=Instant(kit.clock.now() + kit.durations.first_check_ms),
        writer=kit.entropy.token(),
        entries=(Entry(job_id=head.job_id, key=execution.key, version=head.version),),
    )


def _writes(kit: Kit, head: Head, execution: Execution, request: RequestKey | None) -> Sequence[AnyChange]:
    job: AnyChange = (
        StillOpen(job_id=head.job_id, version=head.version)
        if head.overlap is Overlap.ALLOW
        else Occupy(job_id=head.job_id, version=head.version, seen_active=head.active, active=execution.occupant())
    )
    writes: list[AnyChange] = [job, Insert(execution=execution)]
    if request is not None:
        record = note_of(kit, head.tenant_id, request, head.job_id, answer=execution.key)
        writes.append(PutIdempotency(record=record, now=kit.clock.now()))
    return writes


async def _judge(
    kit: Kit, execution: Execution, outcomes: Sequence[Outcome[object]], request: RequestKey | None
) -> Execution | Refusal:
    for outcome in outcomes:
        match outcome:
            case Refused(old=IdempotencyRecord() as noted) if request is not None and noted.counts(kit.clock.now()):
                return await _replay(kit, noted, request)
            case Refused(old=Execution() as ours) if ours.key == execution.key and ours.reason is not Reason.ABANDONED:
                return ours  # the reply was lost, not the write: nobody else uses this key
            case _:
                continue
    return Refusal(code=Code.VERSION_CONFLICT, detail="The job changed meanwhile; repeat the request.")
