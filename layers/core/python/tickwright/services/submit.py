"""Submit: a job, its first definition, its name and the record of the request, in one transaction.

After it the job is in the due index or about to be fired right here: dying after the transaction loses nothing.
Promises: SEM-IDEM-1, SEM-JOB-2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tickwright.domain import limits
from tickwright.domain.changes.heads import PutDefinition, PutHead
from tickwright.domain.events import EventName
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition, Head, JobSpec, JobStatus, reach_of
from tickwright.domain.lanes import bucket_of
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.schedules import OneOff, from_compact, tzdata_version
from tickwright.domain.tenants import IdempotencyRecord, NameRecord, PutIdempotency, PutName
from tickwright.domain.ticks import first_tick, settled_status
from tickwright.ports.faults import Unavailable
from tickwright.ports.store import AnyChange, Applied, Outcome, Refused
from tickwright.services.fire import fire
from tickwright.services.kit import Kit
from tickwright.services.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKey:
    """A request that may be repeated: its method, path and Idempotency-Key, and a hash of its body.

    `asked_at`: when it was accepted, if that was before now; what it creates counts from then, and what it repeats.
    """

    key: str
    body_hash: str
    asked_at: Instant | None = None

    def as_of(self, now: Instant) -> Instant:
        """When it was made, as far as anything depends on that."""
        return now if self.asked_at is None else self.asked_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The job as it was created; `replayed` if an earlier request with the same key and body created it."""

    head: Head
    definition: Definition
    replayed: bool


ID_TAKEN = Refusal(
    code=Code.IDEMPOTENCY_IN_PROGRESS, detail="The same request has created a job long ago; send it with a fresh key."
)


async def submit(
    kit: Kit, tenant_id: TenantId, spec: JobSpec, request: RequestKey, *, job_id: JobId | None = None
) -> Submitted | Refusal:
    """Create a job once for a request key, however often the request comes, and fire it if it is due by now."""
    submitted = await submit_unfired(kit, tenant_id, spec, request, job_id=job_id)
    if isinstance(submitted, Submitted) and not submitted.replayed:
        await fire_if_near(kit, submitted.head)
    return submitted


async def submit_unfired(
    kit: Kit, tenant_id: TenantId, spec: JobSpec, request: RequestKey, *, job_id: JobId | None = None
) -> Submitted | Refusal:
    """Create it and leave its first run to whoever comes by: what the store alone has to answer for.

    `job_id` is the id that the spec's H was resolved for, where there is one; a repeat keeps the first request's. The
    refusal ID_TAKEN says that another job has it: that of a request whose record has been forgotten.
    """
    noted = await kit.store.idempotency(tenant_id, request.key)
    if noted is not None and noted.counts(request.as_of(kit.clock.now())):
        return await _replay(kit, noted, request)
    definition = Definition(
        job_id=job_id or JobId(kit.entropy.token()),
        version=1,
        tenant_id=tenant_id,
        created_at=request.as_of(kit.clock.now()),
        spec=spec,
    )
    head = new_head(kit, definition, first_run(definition))
    outcomes = await kit.store.write_together(_writes(kit, head, definition, request))
    if all(isinstance(outcome, Applied) for outcome in outcomes):
        kit.emit(EventName.JOB_SUBMITTED, jobId=head.job_id, tenantId=tenant_id, name=spec.name or "")
        return Submitted(head=head, definition=definition, replayed=False)
    refusal = await _judge(kit, outcomes, request)
    if isinstance(refusal, Refusal) and refusal.code is Code.NAME_TAKEN and await _free(kit, tenant_id, spec.name):
        return await submit_unfired(kit, tenant_id, spec, request, job_id=job_id)
    return refusal


async def _free(kit: Kit, tenant_id: TenantId, name: str | None) -> bool:
    """Release a name whose job is over, or was lost in a recovery; whether it was one."""
    taken = None if name is None else await kit.store.named(tenant_id, name)
    if taken is None or taken.released or not await is_over(kit, taken):
        return False
    await kit.store.write(PutName(record=replace(taken, released=True)))
    return True


async def is_over(kit: Kit, taken: NameRecord) -> bool:
    """Whether nobody needs the name any more: its job runs no more, or is nowhere."""
    holder = await kit.store.head(taken.job_id)
    return holder is None or holder.status in {JobStatus.ENDED, JobStatus.CANCELLED}


def first_run(definition: Definition) -> Instant | None:
    """The first tick of a new job.

    A one-off that is due or just past fires at once, all others after their creation.
    """
    schedule = from_compact(definition.spec.schedule)
    if isinstance(schedule.kind, OneOff):
        return schedule.kind.run_at
    return first_tick(schedule, now=definition.created_at, fired_through=None)


def new_head(kit: Kit, definition: Definition, next_run_at: Instant | None) -> Head:
    """The head of a job that was just created; the same for a replay of the request."""
    spec = definition.spec
    return Head(
        job_id=definition.job_id,
        tenant_id=definition.tenant_id,
        status=settled_status(next_run_at),
        version=1,
        definition_version=1,
        lane=spec.lane,
        pool=spec.pool,
        schedule=spec.schedule,
        overlap=spec.overlap,
        catch_up=spec.catch_up,
        max_attempts=spec.retry.max_attempts,
        created_at=definition.created_at,
        listed_as=spec.name or definition.job_id,
        run_deadline_s=spec.run_deadline_s,
        reach_s=reach_of(spec.run_deadline_s, spec.catch_up),
        bucket=None if next_run_at is None else bucket_of(definition.job_id, kit.buckets),
        next_run_at=next_run_at,
        tzdata=tzdata_version(),
        write_token=definition.job_id,
    )


def _writes(kit: Kit, head: Head, definition: Definition, request: RequestKey) -> Sequence[AnyChange]:
    noted = note_of(kit, definition.tenant_id, request, definition.job_id, answer=str(head.next_run_at or ""))
    # What was accepted while it counts, and lands when it does not any more, is a repeat of this request all the same.
    record = replace(noted, kept_until=Instant(noted.expires_at + limits.SUBMISSION_LANDS_S_MAX * 1_000))
    name = definition.spec.name
    named = (
        [] if name is None else [PutName(record=NameRecord(tenant_id=head.tenant_id, name=name, job_id=head.job_id))]
    )
    return [
        PutIdempotency(record=record, now=kit.clock.now()),
        *named,
        PutHead(head=head),
        PutDefinition(definition=definition),
    ]


def note_of(kit: Kit, tenant_id: TenantId, request: RequestKey, job_id: JobId, *, answer: str) -> IdempotencyRecord:
    """The record of a request, to be written with what it creates.

    It counts from now, also where the request was accepted before: one that lands late is repeated after that.
    """
    return IdempotencyRecord(
        tenant_id=tenant_id,
        key=request.key,
        body_hash=request.body_hash,
        job_id=job_id,
        answer=answer,
        expires_at=Instant(kit.clock.now() + limits.IDEMPOTENCY_S * 1_000),
        token=kit.entropy.token(),
    )


async def _judge(kit: Kit, outcomes: Sequence[Outcome[object]], request: RequestKey) -> Submitted | Refusal:
    for outcome in outcomes:
        match outcome:
            case Refused(old=IdempotencyRecord() as noted) if noted.counts(kit.clock.now()):
                return await _replay(kit, noted, request)
            case Refused(old=NameRecord() as taken) if not taken.released:
                return name_taken(taken)
            case Refused(old=Head() | Definition()):  # a copy of the tables may have a version alone
                return ID_TAKEN
            case _:
                continue
    return Refusal(
        code=Code.IDEMPOTENCY_IN_PROGRESS, detail="The same request is in progress; repeat it with the same key."
    )


def name_taken(taken: NameRecord) -> Refusal:
    """The name belongs to another job of the tenant."""
    return Refusal(
        code=Code.NAME_TAKEN,
        detail=f"The name {taken.name!r} belongs to job {taken.job_id}; choose another or edit that job.",
    )


async def _replay(kit: Kit, noted: IdempotencyRecord, request: RequestKey) -> Submitted | Refusal:
    if (refusal := reused(noted, request)) is not None:
        return refusal
    definition = await kit.store.definition(noted.job_id, 1)
    if definition is None:  # written in one transaction; but a copy of the tables may have the record alone
        return _lost(noted.job_id)
    head = new_head(kit, definition, Instant(int(noted.answer)) if noted.answer else None)
    return Submitted(head=head, definition=definition, replayed=True)


def _lost(job_id: JobId) -> Refusal:
    detail = (
        f"The same request has created job {job_id}, which was lost in a recovery of the installation. Cancel that "
        "job, if it is there at all, and send the request again with a fresh key."
    )
    return Refusal(code=Code.JOB_OVER, detail=detail)


def reused(noted: IdempotencyRecord, request: RequestKey) -> Refusal | None:
    """A key that stands for another body is refused on every path (B159)."""
    if noted.body_hash == request.body_hash:
        return None
    return Refusal(
        code=Code.IDEMPOTENCY_KEY_REUSED,
        detail="This Idempotency-Key was used with another body; use a fresh key for a new request.",
    )


async def fire_if_near(kit: Kit, head: Head) -> None:
    """Do the scheduler's steps at once for a job that is due within the look-ahead: any process may take any step."""
    if head.next_run_at is None or head.next_run_at > kit.clock.now() + kit.durations.lookahead_ms:
        return
    assert head.bucket is not None
    try:
        await fire(kit, head.bucket, [head], Memory())
    except Unavailable as fault:  # none of the caller's concern: the job stands, and the loop finds it
        kit.emit(EventName.STORE_FAULT, jobId=head.job_id, fault=type(fault).__name__)
