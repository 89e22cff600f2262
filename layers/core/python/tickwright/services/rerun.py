"""Run a dead execution again with another payload: as a new run of its job, which names the old one.

A journal page as for any run that somebody asks for; then, in one transaction, the job, the new run with its payload,
the old one's discard and the record of the request; then the hint. Promise: SEM-DLQ-3.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tickwright.domain.changes.executions import Insert
from tickwright.domain.changes.moves import Discard
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import ExecutionRef, TenantId
from tickwright.domain.jobs import Head, JobSpec
from tickwright.domain.outcomes import NO_SUCH_VERSION, Code, FieldProblem, Refusal
from tickwright.domain.own_payloads import OwnPayload, PutOwnPayload, kept_until
from tickwright.domain.secrets import edit_problems
from tickwright.domain.target_rules import payload_bytes_max
from tickwright.domain.tenants import IdempotencyRecord, PutIdempotency
from tickwright.domain.transitions import State
from tickwright.ports.store import AnyChange, Applied, Outcome, Refused
from tickwright.services.hidden import hiding_by_now
from tickwright.services.hints import is_unclaimed, send_hints
from tickwright.services.jobs import get_execution
from tickwright.services.kit import Kit
from tickwright.services.payloads import both, definition_given, spec_by_now
from tickwright.services.redrive import CHANGED, not_dead, occupies, open_head_of, replay
from tickwright.services.run_now import a_manual_run, page_naming
from tickwright.services.settle import settle
from tickwright.services.submit import RequestKey, note_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The payload to run with, as JSON text, and why the old execution is given up.

    `secrets`: what of it is hidden beside what the dead one and the job hide.
    """

    payload: str
    reason: str
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What an execution was given, with all that is hidden of it by now; and its job as it is now, which is run."""

    spec: JobSpec
    by_now: JobSpec


async def given_to(kit: Kit, tenant_id: TenantId, execution_id: str) -> Given | Refusal:
    """What an execution was given, to be edited."""
    execution = await get_execution(kit, tenant_id, execution_id)
    if isinstance(execution, Refusal):
        return execution
    given = await definition_given(kit, execution)
    if given is None:
        return NO_SUCH_VERSION
    spec = await hiding_by_now(kit, execution, given.spec)
    return Given(spec=spec, by_now=await spec_by_now(kit, execution.job_id) or given.spec)


def payload_problems(given: Given, payload: str) -> tuple[FieldProblem, ...]:
    """What is wrong with an edited payload: too much for the target, or the mask for a secret (SEM-SECRET-1).

    The dead one was shown without what is hidden of it by now.
    """
    bytes_max, size = payload_bytes_max(given.by_now.target), len(payload.encode())
    if size > bytes_max:
        remedy = f"It has {size} bytes and may have {bytes_max}; store it and send where it is."
        return (FieldProblem(pointer="/payload", code="too_large", message=remedy),)
    return edit_problems(given.spec, replace(given.spec, payload=payload))


async def rerun(
    kit: Kit, tenant_id: TenantId, execution_id: str, edited: Edited, request: RequestKey | None
) -> Execution | Refusal:
    """Start a new run in place of a dead one; once for a request key."""
    dead = await get_execution(kit, tenant_id, execution_id)
    if isinstance(dead, Refusal):
        return dead
    noted = None if request is None else await kit.store.idempotency(tenant_id, request.key)
    if noted is not None and request is not None and noted.counts(kit.clock.now()):
        return await replay(kit, noted, request)
    if dead.discarded is not None:
        return _discarded(dead)
    head = await open_head_of(kit, dead)
    if isinstance(head, Refusal):
        return head
    given = await definition_given(kit, dead)
    if given is None:
        return NO_SUCH_VERSION
    hidden = (await hiding_by_now(kit, dead, given.spec)).secrets
    hiding = replace(edited, secrets=both(edited.secrets, hidden))
    return await _start(kit, head, await settle(kit, dead), hiding, request)


def _discarded(execution: Execution) -> Refusal:
    assert execution.discarded is not None
    detail = f"It was discarded ({execution.discarded.reason}); run the job by hand if a run is wanted after all."
    return Refusal(code=Code.DISCARDED, detail=detail)


async def _start(
    kit: Kit, head: Head, dead: Execution, edited: Edited, request: RequestKey | None
) -> Execution | Refusal:
    new = replace(a_manual_run(kit, head), rerun_of=dead.key)
    await kit.store.put_page(page_naming(kit, head, new))
    outcomes = await kit.store.write_together(_writes(kit, head, (dead, new), edited, request))
    if not all(isinstance(outcome, Applied) for outcome in outcomes):
        return await _judge(kit, (dead.ref, new), outcomes, request)
    kit.emit(EventName.EXECUTION_DISCARDED, executionId=dead.ref.id, jobId=head.job_id)
    kit.emit(EventName.EXECUTION_QUEUED, executionId=new.ref.id, jobId=head.job_id, reason="rerun")
    await send_hints(kit, [new])
    return new


def _writes(
    kit: Kit, head: Head, runs: tuple[Execution, Execution], edited: Edited, request: RequestKey | None
) -> Sequence[AnyChange]:
    dead, new = runs
    assert new.run_deadline_at is not None
    kept = kept_until(new.run_deadline_at, kit.retention_s)
    payload = OwnPayload(
        ref=new.ref, tenant_id=new.tenant_id, payload=edited.payload, expires_at=kept, secrets=edited.secrets
    )
    writes: list[AnyChange] = [
        occupies(head, new, until=new.run_deadline_at),
        Insert(execution=new),
        PutOwnPayload(payload=payload),
        Discard(ref=dead.ref, seen_epoch=dead.lease_epoch, now=new.created_at, reason=edited.reason),
    ]
    if request is None:
        return writes
    record = note_of(kit, head.tenant_id, request, head.job_id, answer=new.key)
    return [PutIdempotency(record=record, now=new.created_at), *writes]


async def _judge(
    kit: Kit,
    runs: tuple[ExecutionRef, Execution],
    outcomes: Sequence[Outcome[object]],
    request: RequestKey | None,
) -> Execution | Refusal:
    dead, new = runs
    for outcome in outcomes:
        match outcome:
            case Refused(old=IdempotencyRecord() as noted) if request is not None and noted.counts(kit.clock.now()):
                return await replay(kit, noted, request)
            case Refused(old=Execution() as ours) if ours.key == new.key and ours.reason is not Reason.ABANDONED:
                await send_hints(kit, [ours] if is_unclaimed(ours) else [])
                return ours  # the reply was lost, not the write: nobody else uses this key
            case Refused(old=Execution() as old) if old.ref == dead and old.state is not State.DEAD:
                return not_dead(old)
            case Refused(old=Execution() as old) if old.ref == dead and old.discarded is not None:
                return _discarded(old)
            case _:
                continue
    return CHANGED
