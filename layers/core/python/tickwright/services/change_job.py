"""Pause, resume, cancel and edit a job. Each write of the head raises its version and so refuses older plans (R2).

Promises: SEM-CANCEL-1, SEM-PAUSE-1, SEM-EDIT-1.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tickwright.domain.changes.executions import Insert
from tickwright.domain.changes.heads import PutDefinition, Rewrite
from tickwright.domain.choice import gap_before
from tickwright.domain.events import EventName
from tickwright.domain.executions import PassedOver, Reason
from tickwright.domain.hidden import ever_named, named_up_to
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.jobs import Definition, Head, JobSpec, JobStatus, reach_of
from tickwright.domain.outcomes import NO_SUCH_JOB, VERSION_LOST, Code, FieldProblem, Refusal
from tickwright.domain.pauses import paused_over, resumed_at
from tickwright.domain.pending import due_at, is_switch_due, schedule_of, with_plan
from tickwright.domain.schedules import from_compact, next_tick
from tickwright.domain.secrets import edit_problems
from tickwright.domain.tenants import NameRecord, PutName
from tickwright.domain.ticks import edited_next, is_another, range_row
from tickwright.ports.store import AnyChange, Applied, Refused
from tickwright.services.hidden import newest_of
from tickwright.services.jobs import JobView, head_of, unable_to_run, view_of
from tickwright.services.kit import Kit
from tickwright.services.renew import aimed, switch
from tickwright.services.retract import retract
from tickwright.services.submit import fire_if_near, name_taken

_TRIES = 5
_RENAMES_LATER = Refusal(
    code=Code.INVALID,
    detail="An edit that waits cannot rename the job: a name counts at once. Rename it without effectiveFrom.",
    errors=(
        FieldProblem(
            pointer="/name", code="not_applicable", message="A name counts at once; rename without effectiveFrom."
        ),
    ),
)
_NEVER_THEN = Refusal(
    code=Code.INVALID,
    detail="The new schedule never fires from effectiveFrom on; write an earlier effectiveFrom, or a later schedule.",
)
_FROM_THE_BEGINNING = Instant(-1)
_OPEN = frozenset({JobStatus.ACTIVE, JobStatus.PAUSED})


async def cancel_job(kit: Kit, tenant_id: TenantId, job_id: str, if_match: int | None) -> JobView | Refusal:
    """End a job: after the answer no attempt of it starts. Repeating the request goes on where it was cut off."""
    head = await _load(kit, tenant_id, job_id, if_match, becomes=JobStatus.CANCELLED)
    if isinstance(head, Refusal):
        return head
    if head.status is not JobStatus.CANCELLED:
        new = replace(_next_version(kit, head), status=JobStatus.CANCELLED, bucket=None, next_run_at=None)
        written = await _write(kit, head, new, [], pins_decision=False)
        if isinstance(written, Refusal):
            return written
        head = written
    await _release_name(kit, head)
    refusal = await retract(kit, head, after=_FROM_THE_BEGINNING, reason=Reason.JOB_CANCELLED)
    return refusal or await _changed(kit, head, "cancel")


async def pause_job(kit: Kit, tenant_id: TenantId, job_id: str, if_match: int | None) -> JobView | Refusal:
    """Stop firing: after the answer no tick later than the pause starts. What runs goes on."""
    head = await _load(kit, tenant_id, job_id, if_match, becomes=JobStatus.PAUSED)
    for _ in range(_TRIES):  # as in edit_job: a tick that is decided meanwhile costs another try
        if isinstance(head, Refusal):
            return head
        written = await _try_pause(kit, head)
        if isinstance(written, Head):
            # From the instant that the head keeps, so that a repeat retracts neither more nor less.
            after = written.paused_at or kit.clock.now()
            refusal = await retract(kit, written, after=after, reason=Reason.PAUSED)
            return refusal or await _changed(kit, written, "pause")
        head = await _load(kit, tenant_id, job_id, if_match, becomes=JobStatus.PAUSED)
    return head if isinstance(head, Refusal) else _conflict(head)


async def _try_pause(kit: Kit, head: Head) -> Head | Refusal:
    if head.status is JobStatus.PAUSED:
        return head
    return await _write(kit, head, _paused(kit, head, kit.clock.now()), [], pins_decision=True)


def _paused(kit: Kit, head: Head, now: Instant) -> Head:
    """The head of a paused job.

    A tick that is due and undecided is held back too: resume tells of it, or catches it up.
    """
    at = aimed(kit, head).next_run_at
    held = None if at is None or at > now or is_switch_due(head) else at
    return replace(
        _next_version(kit, head),
        status=JobStatus.PAUSED,
        bucket=None,
        next_run_at=None,
        paused_at=now if held is None else Instant(held - 1),
        held=held,
    )


async def resume_job(kit: Kit, tenant_id: TenantId, job_id: str, if_match: int | None) -> JobView | Refusal:
    """Fire again, from the first tick after now; the paused ones leave one row, or are caught up if the job says so."""
    head = await _load(kit, tenant_id, job_id, if_match, becomes=JobStatus.ACTIVE)
    if isinstance(head, Refusal) or head.status is JobStatus.ACTIVE:
        return head if isinstance(head, Refusal) else await view_of(kit, head)
    now = kit.clock.now()
    # What is caught up, is so by the scheduler: the old schedule's ticks first, then the edit, then the new one's.
    changes = head.effective_from is not None and head.effective_from <= now and not head.catch_up.on_resume
    needed = {head.newest_version} if changes else {head.definition_version, head.newest_version}
    if (unable := await unable_to_run(kit, head, needed)) is not None:
        return unable
    if changes:
        return await _resume_changed(kit, head, now)
    settled = head.settled_through if head.catch_up.on_resume else now
    new = replace(_next_version(kit, head), paused_at=None, held=None, settled_through=settled)
    new = due_at(new, resumed_at(head, now), buckets=kit.buckets)
    # Nothing is decided while a job is paused, so the last decision that was read is the last.
    written = await _write(kit, head, new, await _paused_row(kit, head, now), pins_decision=True)
    if isinstance(written, Refusal):
        return written
    await fire_if_near(kit, written)
    return await _changed(kit, written, "resume")


async def _paused_row(kit: Kit, head: Head, now: Instant) -> Sequence[AnyChange]:
    """The row of the ticks that the pause held back.

    A clock that steps back may pause the job again before ticks that an earlier pause has told of.
    """
    if head.status is not JobStatus.PAUSED:
        return []
    passed: PassedOver | None = paused_over(head, now)
    while passed is not None:
        row = range_row(head, passed, now=now, retention_s=kit.retention_s)
        told = await kit.store.execution(row.ref)
        if told is None or told.passed is None:
            return [Insert(execution=row), *await _gap_row(kit, head, passed.first, now)]
        passed = paused_over(replace(head, paused_at=told.passed.last), now)
    return []


async def _gap_row(kit: Kit, head: Head, first: Instant, now: Instant) -> Sequence[AnyChange]:
    """The row of the local times before these ticks that the clock jumped over: no decision comes that tells of it."""
    gap = gap_before(head, schedule_of(head), first)
    row = None if gap is None else range_row(head, gap, now=now, retention_s=kit.retention_s)
    return [] if row is None or await kit.store.execution(row.ref) is not None else [Insert(execution=row)]


async def _resume_changed(kit: Kit, head: Head, now: Instant) -> JobView | Refusal:
    """Resume a job whose edit has come to its time during the pause.

    First the edit, with the row of what was held back before it; then the rest. Dying in between: it is still paused.
    """
    changed = await switch(kit, head, await _paused_row(kit, head, now))
    if changed is None or isinstance(changed, Refusal):
        return changed or _conflict(head)
    return await resume_job(kit, head.tenant_id, head.job_id, None)


async def edit_job(  # noqa: PLR0913, PLR0917 - an edit in its parts
    kit: Kit,
    tenant_id: TenantId,
    job_id: str,
    spec: JobSpec,
    if_match: int,
    effective_from: Instant | None = None,
    *,
    drops_waiting: bool = False,
) -> JobView | Refusal:
    """Give a job a new definition, now or from an instant on.

    Ticks that are due or decided stay as they are; the new schedule begins after them. `drops_waiting`: whether it may
    take the place of an edit that waits, which is forgotten then.
    """
    head, past = await _load(kit, tenant_id, job_id, if_match), 0
    for _ in range(_TRIES):  # a tick that was decided between the read and the write costs another try, not a conflict
        if isinstance(head, Refusal):
            return head
        if (waits := waiting_refusal(head, kit.clock.now(), drops_waiting=drops_waiting)) is not None:
            return waits
        written = await _try_edit(kit, head, spec, effective_from, past=past)
        if isinstance(written, Head):
            await fire_if_near(kit, written)
            return await _changed(kit, written, "edit")
        if written.code is not Code.VERSION_CONFLICT:
            return written
        seen, head = head, await _load(kit, tenant_id, job_id, if_match)
        # Refused by a head that has not changed: a copy of the tables has a version of that number, and not its head.
        past = past + 1 if head == seen else 0
    return head if isinstance(head, Refusal) else _conflict(head)


async def editable(
    kit: Kit, tenant_id: TenantId, job_id: str, if_match: int, *, drops_waiting: bool = False
) -> JobView | Refusal:
    """The job that an edit would change, or why it would be refused before anything is written."""
    head = await _load(kit, tenant_id, job_id, if_match)
    if isinstance(head, Refusal):
        return head
    waits = waiting_refusal(head, kit.clock.now(), drops_waiting=drops_waiting)
    return waits or await view_of(kit, head)


async def secrets_problems(kit: Kit, seen: JobView, spec: JobSpec) -> tuple[FieldProblem, ...]:
    """What is wrong with an edit of the job that was seen, for the sake of what it hides or has hidden."""
    hiding = replace(seen.definition.spec, secrets=seen.hidden)
    newest = await newest_of(kit, seen.head)
    return () if isinstance(newest, Refusal) else edit_problems(hiding, spec, ever_named(newest))


async def _try_edit(
    kit: Kit, head: Head, spec: JobSpec, effective_from: Instant | None, *, past: int
) -> Head | Refusal:
    """`past`: so many numbers are left out."""
    now = kit.clock.now()
    if _has_come(head, now):
        # An edit whose time has come counts, whoever carries it out; what was asked for was read before it.
        changed = await switch(kit, head, await _paused_row(kit, head, now))
        return changed if isinstance(changed, Refusal) else _conflict(changed or head)
    old, newest = await view_of(kit, head), await newest_of(kit, head)
    if isinstance(old, Refusal) or isinstance(newest, Refusal):
        return VERSION_LOST
    definition = Definition(
        job_id=head.job_id,
        version=newest.version + 1 + past,
        tenant_id=head.tenant_id,
        created_at=now,
        spec=spec,
        named_before=named_up_to(newest),
    )
    beside = [PutDefinition(definition=definition), *_renames(head, old.definition.spec.name, spec.name)]
    if effective_from is None or effective_from <= now:
        held = await _paused_row(kit, head, now)
        return await _write(kit, head, _edited(kit, head, definition, now), [*beside, *held], pins_decision=True)
    refusal = wait_refusal(old, spec, effective_from)
    if refusal is not None:
        return refusal
    return await _write(kit, head, _to_be_edited(kit, head, definition, effective_from), beside, pins_decision=True)


def waiting_refusal(head: Head, now: Instant, *, drops_waiting: bool) -> Refusal | None:
    """Why a job may not be edited: another edit waits, and nobody has said that it is to be forgotten."""
    if head.effective_from is None or drops_waiting or _has_come(head, now):
        return None
    detail = (
        f"An edit waits until {to_rfc3339(head.effective_from)} (version {head.pending_version}), and would be lost. "
        "Edit again after that, or send dropWaiting=true to put this edit in its place."
    )
    return Refusal(code=Code.EDIT_WAITS, detail=detail)


def wait_refusal(old: JobView, spec: JobSpec, effective_from: Instant) -> Refusal | None:
    """Why an edit cannot wait for an instant that is to come."""
    if spec.name != old.definition.spec.name:
        return _RENAMES_LATER
    never = next_tick(from_compact(spec.schedule), Instant(effective_from - 1)) is None
    return _NEVER_THEN if never else None


def _has_come(head: Head, now: Instant) -> bool:
    """Whether an edit that waited counts, and nothing of the schedule before it is left to be done."""
    if head.effective_from is None or head.effective_from > now:
        return False
    return is_switch_due(head) or (head.status is JobStatus.PAUSED and not head.catch_up.on_resume)


def _edited(kit: Kit, head: Head, definition: Definition, now: Instant) -> Head:
    new = with_plan(_next_version(kit, head), definition)
    if head.status is JobStatus.PAUSED:
        # What the pause has held back so far is told of beside this write, or is still to be caught up.
        return new if head.catch_up.on_resume else replace(new, paused_at=now, held=None, settled_through=now)
    schedule = schedule_of(new)
    is_new = is_another(head, schedule)
    following = edited_next(aimed(kit, head), schedule, now, is_new=is_new)
    kept = following is not None and following <= now
    # What an edit ahead of its time has settled for this very schedule stays so.
    settled = Instant(now if is_new else max(now, head.settled_through or 0))
    return due_at(new if kept else replace(new, settled_through=settled), following, buckets=kit.buckets)


def _to_be_edited(kit: Kit, head: Head, definition: Definition, effective_from: Instant) -> Head:
    """The head with an edit that waits: due as before until then, and looked at then."""
    spec = definition.spec
    new = replace(
        _next_version(kit, head),
        pending_version=definition.version,
        effective_from=effective_from,
        reach_s=max(head.reach_s, reach_of(spec.run_deadline_s, spec.catch_up)),
    )
    if head.status is JobStatus.PAUSED:
        return new
    following = edited_next(aimed(kit, head), schedule_of(new), kit.clock.now(), is_new=False)
    return due_at(new, following, buckets=kit.buckets)


def _renames(head: Head, old: str | None, new: str | None) -> Sequence[AnyChange]:
    if old == new:
        return []
    taken = [] if new is None else [PutName(record=NameRecord(tenant_id=head.tenant_id, name=new, job_id=head.job_id))]
    left = [] if old is None else [_release(head, old)]
    return [*taken, *left]


def _release(head: Head, name: str) -> PutName:
    return PutName(record=NameRecord(tenant_id=head.tenant_id, name=name, job_id=head.job_id, released=True))


async def _release_name(kit: Kit, head: Head) -> None:
    """The name of a cancelled job may be used again. Dying before it: a repeat of the cancel comes here again."""
    if head.has_name:
        await kit.store.write(_release(head, head.listed_as))


async def _load(
    kit: Kit, tenant_id: TenantId, job_id: str, if_match: int | None, *, becomes: JobStatus | None = None
) -> Head | Refusal:
    """The head that a request may change; `becomes` is the status that the request asks for."""
    head = await head_of(kit, tenant_id, job_id)
    if isinstance(head, Refusal):
        return head
    # A request whose reply was lost is repeated as it was: what it asked for is written, the rest still to be done.
    repeated = head.status is becomes and if_match == head.version - 1
    if if_match not in {None, head.version} and not repeated:
        return _conflict(head)
    if head.status not in _OPEN and becomes is not JobStatus.CANCELLED:
        return Refusal(code=Code.JOB_OVER, detail=f"The job is {head.status.value}; submit a new one.")
    return head


def _conflict(head: Head) -> Refusal:
    detail = f"The job is at version {head.version}; read it again and repeat the change on what you find."
    return Refusal(code=Code.VERSION_CONFLICT, detail=detail)


def _next_version(kit: Kit, head: Head) -> Head:
    return replace(head, version=head.version + 1, write_token=kit.entropy.token())


async def _write(
    kit: Kit, head: Head, new: Head, beside: Sequence[AnyChange], *, pins_decision: bool
) -> Head | Refusal:
    """Write the head, and what belongs to it in the same transaction."""
    rewrite = Rewrite(
        new=new, seen_version=head.version, seen_next_run_at=head.next_run_at, pins_decision=pins_decision
    )
    outcomes: Sequence[Any] = (
        await kit.store.write_together([rewrite, *beside]) if beside else [await kit.store.write(rewrite)]
    )
    for outcome in outcomes:
        match outcome:
            case Refused(old=NameRecord() as taken) if not taken.released and taken.job_id != head.job_id:
                return name_taken(taken)
            case Refused(old=None) if outcome is outcomes[0] and not beside:
                return NO_SUCH_JOB
            case _:
                continue
    first = outcomes[0]
    if isinstance(first, Applied) and isinstance(first.new, Head):
        return first.new
    return _conflict(first.old if isinstance(first.old, Head) else head)


async def _changed(kit: Kit, head: Head, change: str) -> JobView | Refusal:
    kit.emit(EventName.JOB_CHANGED, jobId=head.job_id, tenantId=head.tenant_id, change=change)
    return await view_of(kit, head)
