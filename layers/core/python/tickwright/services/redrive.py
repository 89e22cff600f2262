"""Redrive: give what is dead another chance, under its job's overlap rule.

Page, execution, head and request record (or the order that asks for it) are one transaction; then the hint. Dying after
it: the page names what is queued. What the dead generation still owes is settled before, so its letter is sent before
the next can be owed. Promises: SEM-REDRIVE-1, SEM-REDRIVE-2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tickwright.domain.changes.heads import Reopen
from tickwright.domain.changes.moves import Redrive
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionKey, ExecutionRef, TenantId, time_of
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, JobStatus, Overlap, Reopened
from tickwright.domain.journal import PutPage
from tickwright.domain.outcomes import NO_SUCH_EXECUTION, Code, Refusal
from tickwright.domain.own_payloads import KeepOwnPayload, kept_until
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

CHANGED = Refusal(code=Code.VERSION_CONFLICT, detail="The job or the execution changed meanwhile; repeat the request.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A redrive that may be written: its change, what the execution becomes, and all that stands beside it."""

    change: Redrive
    opened: Execution
    writes: tuple[AnyChange, ...]


async def redrive(kit: Kit, tenant_id: TenantId, execution_id: str, request: RequestKey | None) -> Execution | Refusal:
    """Queue a dead execution again with its attempts granted anew; once for a request key."""
    execution = await get_execution(kit, tenant_id, execution_id)
    if isinstance(execution, Refusal):
        return execution
    noted = None if request is None else await kit.store.idempotency(tenant_id, request.key)
    if noted is not None and request is not None and noted.counts(kit.clock.now()):
        return await replay(kit, noted, request)
    head = await open_head_of(kit, execution)
    if isinstance(head, Refusal):
        return head
    opening = await an_opening(kit, head, execution, kit.clock.now())
    return opening if isinstance(opening, Refusal) else await _opened(kit, head, opening, request)


async def replay(kit: Kit, noted: IdempotencyRecord, request: RequestKey) -> Execution | Refusal:
    """The answer to a request that was carried out before: its execution as it is by now."""
    if (refusal := reused(noted, request)) is not None:
        return refusal
    execution = await kit.store.execution(ExecutionRef(noted.job_id, ExecutionKey(noted.answer)))
    return NO_SUCH_EXECUTION if execution is None else execution


async def open_head_of(kit: Kit, dead: Execution) -> Head | Refusal:
    """The job of what is dead, if it lets a run start now."""
    if dead.state is not State.DEAD:
        return not_dead(dead)
    head = await head_of(kit, dead.tenant_id, dead.job_id)
    if isinstance(head, Refusal):
        return head
    if head.status is JobStatus.CANCELLED:
        return Refusal(code=Code.JOB_OVER, detail="The job is cancelled, and nothing of it starts again.")
    return await occupied(kit, head) or head


def not_dead(execution: Execution) -> Refusal:
    """Only what is dead is redriven, run again with another payload, or discarded."""
    detail = f"The execution is {execution.state.value}, and that is done with one that is DEAD. Nothing was changed."
    return Refusal(code=Code.NOT_DEAD, detail=detail)


async def an_opening(kit: Kit, head: Head, dead: Execution, now: Instant) -> Opening | Refusal:
    """How it is opened again, once what it owed is settled."""
    settled = await settle(kit, dead)
    definition = await kit.store.definition(settled.job_id, settled.job_version)
    policy = RetryPolicy() if definition is None else definition.spec.retry
    change = Redrive(
        ref=settled.ref,
        seen_epoch=settled.lease_epoch,
        now=now,
        attempts=policy.max_attempts,
        run_deadline_at=run_deadline(now, head),
    )
    opened = change.decide(settled)
    if opened is None:  # its letter is still owed: somebody else is at it
        return CHANGED
    until = change.run_deadline_at
    writes: list[AnyChange] = [
        change,
        occupies(head, opened, until=until),
        PutPage(page=page_naming(kit, head, opened)),
    ]
    if opened.rerun_of is not None:
        writes.append(KeepOwnPayload(ref=opened.ref, expires_at=kept_until(until, kit.retention_s)))
    return Opening(change=change, opened=opened, writes=tuple(writes))


def occupies(head: Head, opened: Execution, *, until: Instant) -> Reopen:
    """The job's side of it: occupied as its policy says, and a cancel looks back to this tick until then."""
    since, now = time_of(opened.key), opened.redriven_at or opened.created_at
    seen = head.reopened or Reopened(since=since, until=until)
    return Reopen(
        job_id=head.job_id,
        version=head.version,
        seen_active=head.active,
        active=None if head.overlap is Overlap.ALLOW else opened.occupant(),
        seen_reopened=head.reopened,
        reopened=seen.joined_by(since, until, now),
    )


async def _opened(kit: Kit, head: Head, opening: Opening, request: RequestKey | None) -> Execution | Refusal:
    writes = opening.writes
    if request is not None:  # first: a rival under this key is answered by its record
        record = note_of(kit, head.tenant_id, request, head.job_id, answer=opening.opened.key)
        writes = (PutIdempotency(record=record, now=opening.change.now), *writes)
    outcomes = await kit.store.write_together(writes)
    if not all(isinstance(outcome, Applied) for outcome in outcomes):
        return await _judge(kit, opening.change, outcomes, request)
    return await announce(kit, opening)


async def announce(kit: Kit, opening: Opening) -> Execution:
    """Say that it was opened, and send its hint."""
    opened = opening.opened
    about = {"executionId": opened.ref.id, "jobId": opened.job_id}
    kit.emit(EventName.EXECUTION_REDRIVEN, measured={"generation": opened.generation}, **about)
    await send_hints(kit, [opened])
    return opened


async def _judge(
    kit: Kit, change: Redrive, outcomes: Sequence[Outcome[object]], request: RequestKey | None
) -> Execution | Refusal:
    for outcome in outcomes:
        match outcome:
            case Refused(old=IdempotencyRecord() as noted) if request is not None and noted.counts(kit.clock.now()):
                return await replay(kit, noted, request)
            case Refused(old=Execution() as old) if change.mine(old):
                await send_hints(kit, [old] if is_unclaimed(old) else [])
                return old  # the reply was lost, not the write
            case Refused(old=Execution() as old) if old.state is not State.DEAD:
                return not_dead(old)
            case _:
                continue
    return CHANGED
