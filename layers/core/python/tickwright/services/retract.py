"""Retract: after it, no tick of a job later than an instant starts an attempt, ever (protocol 6).

The head has been written before: nothing new is decided. What was decided is found by a strong query; what was
decided and not yet inserted gets a tombstone at its key. Only then may the caller acknowledge. Promises:
SEM-CANCEL-1, SEM-CANCEL-2.
"""

from tickwright.domain import limits
from tickwright.domain.changes.executions import Insert
from tickwright.domain.changes.moves import Cancel
from tickwright.domain.events import EventName
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import FiredAs, Head
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.ticks import execution_of, finished_at_birth
from tickwright.domain.transitions import State
from tickwright.ports.store import Applied
from tickwright.services.end import follow_up, owed_and_ttl
from tickwright.services.kit import Kit

_PAGE = 1_000


async def retract(kit: Kit, head: Head, *, after: Instant, reason: Reason) -> Refusal | None:
    """Cancel every unfinished execution of the job that is scheduled later than `after`; None once all are."""
    since = _looks_back_to(kit, head)
    after_key: str | None = None
    cancelled = 0
    while cancelled < limits.RETRACTED_MAX:  # of those alone: ended ones do not grow fewer with each repeat
        page = await kit.store.executions_of(head.job_id, limit=_PAGE, since=since, after_key=after_key)
        concerned = [execution for execution in page.items if _is_concerned(execution, after, reason)]
        for execution in concerned:
            await cancel_surely(kit, execution, reason)
        cancelled += len(concerned)
        after_key = page.next_key
        if after_key is None:
            await _tombstone(kit, head, after=after, reason=reason)
            return None
    return Refusal(
        code=Code.UNFINISHED, detail="The job has too many unfinished executions for one request; repeat it."
    )


def _looks_back_to(kit: Kit, head: Head) -> Instant:
    """As far as an unfinished execution may be scheduled; a redrive may have opened one that is older."""
    now, slack_ms = kit.clock.now(), kit.durations.first_check_ms
    since = Instant(now - head.reach_s * 1_000 - slack_ms)
    if head.reopened is None or now > head.reopened.until + slack_ms:
        return since
    return min(since, head.reopened.since)


def _is_concerned(execution: Execution, after: Instant, reason: Reason) -> bool:
    """A cancel ends all; a pause holds ticks back, and a run that somebody asked for meanwhile goes on."""
    asked_for = execution.cause is Cause.MANUAL and reason is Reason.PAUSED
    return not execution.is_terminal and execution.scheduled_at > after and not asked_for


async def cancel_surely(kit: Kit, execution: Execution, reason: Reason) -> Execution:
    """Cancel an execution whatever it does meanwhile: a refused write shows where it is now.

    Each refusal means that it moved; its moves are bounded by its attempts, so this ends.
    """
    while not (execution.is_terminal or execution.state is State.CANCELLING):
        now = kit.clock.now()
        owed, ttl = owed_and_ttl(kit, execution, State.CANCELLED, now)
        cancel = Cancel(
            ref=execution.ref,
            seen_state=execution.state,
            seen_epoch=execution.lease_epoch,
            now=now,
            reason=reason,
            owed=owed,
            ttl=ttl,
        )
        outcome = await kit.store.write(cancel)
        if isinstance(outcome, Applied):
            await follow_up(kit, outcome, EventName.EXECUTION_CANCELLED)
            return outcome.new
        if outcome.old is None:
            return execution  # forgotten meanwhile: it had ended
        execution = outcome.old
    return execution


async def _tombstone(kit: Kit, head: Head, *, after: Instant, reason: Reason) -> None:
    """Take the key of the last decided tick, if its execution does not exist yet.

    A scheduler between A and I finds it taken.
    """
    decided = head.fired_through is not None and head.fired_through > after
    if not decided or head.fired_as is None or head.fired_as.fired_as is not FiredAs.RUN:
        return
    now = kit.clock.now()
    born = execution_of(head, now=now, durations=kit.durations, retention_s=kit.retention_s)
    if born.is_terminal:
        return
    tombstone = finished_at_birth(born, State.CANCELLED, reason, now=now, retention_s=kit.retention_s)
    outcome = await kit.store.write(Insert(execution=tombstone))
    if isinstance(outcome, Applied):
        kit.emit(EventName.EXECUTION_CANCELLED, executionId=born.ref.id, jobId=born.job_id, reason=reason.value)
    elif isinstance(outcome.old, Execution):
        await cancel_surely(kit, outcome.old, reason)  # it exists now: a refused tombstone is no tombstone (R4)
