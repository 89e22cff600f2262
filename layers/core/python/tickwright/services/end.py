"""How an execution is ended or put off by whoever is entitled to: its holder, or a watcher once the lease is over.

One place computes what an end owes and when the row may be forgotten, so that every end sets both (R14).
"""

from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Fatal, GiveUp, Retry, after_failure, an_error
from tickwright.domain.changes.executions import Failing, Reap
from tickwright.domain.changes.moves import Expire, ReapStopping
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Owed, Reason, ttl_of
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import bucket_of
from tickwright.domain.retry import RetryPolicy
from tickwright.domain.transitions import State
from tickwright.ports.store import Applied, Outcome
from tickwright.services.hints import send_hints
from tickwright.services.kit import Kit
from tickwright.services.settle import settle


def owed_and_ttl(kit: Kit, execution: Execution, end: State, now: Instant) -> tuple[frozenset[Owed], int | None]:
    """What this end owes and, if nothing, when the row may be forgotten."""
    owed = execution.owed_at(end)
    return owed, None if owed else ttl_of(now, kit.retention_s)


def wait_key_for(kit: Kit, execution: Execution, retry_at: Instant, now: Instant) -> str | None:
    """A retry that the queue cannot hold long enough waits on the waiting index of its bucket; None for the others."""
    if retry_at - now <= limits.QUEUE_DELAY_MS_MAX:
        return None
    return str(bucket_of(execution.job_id, kit.buckets))


async def failing_for(kit: Kit, execution: Execution, failed: Failure | Fatal, now: Instant) -> Failing:
    """What a failure of the current attempt writes: a retry after its job's backoff, or the end."""
    definition = await kit.store.definition(execution.job_id, execution.job_version)
    policy = RetryPolicy() if definition is None else definition.spec.retry
    result = after_failure(failed, execution, policy, now=now, fraction=kit.entropy.fraction())
    match result:
        case Retry(at=at):
            wait_key = wait_key_for(kit, execution, at, now)
            return Failing(
                now=now,
                reason=result.reason,
                error=result.error,
                retry_at=at,
                wait_key=wait_key,
                owed=frozenset(),
                ttl=None,
            )
        case GiveUp():
            owed, ttl = owed_and_ttl(kit, execution, State.DEAD, now)
            return Failing(
                now=now, reason=result.reason, error=result.error, retry_at=None, wait_key=None, owed=owed, ttl=ttl
            )


async def reap(kit: Kit, execution: Execution) -> Outcome[Execution]:
    """End an attempt whose worker is gone: the lease is over by twice the clock error.

    Safe to try by anyone, any number of times.
    """
    assert execution.lease_until is not None
    now = kit.clock.now()
    if execution.state is State.CANCELLING:
        owed, ttl = owed_and_ttl(kit, execution, State.CANCELLED, now)
        outcome = await kit.store.write(
            ReapStopping(
                ref=execution.ref,
                seen_epoch=execution.lease_epoch,
                seen_lease_until=execution.lease_until,
                now=now,
                clock_error_ms=kit.durations.clock_error_ms,
                owed=owed,
                ttl=ttl,
            )
        )
    else:
        outcome = await kit.store.write(
            Reap(
                ref=execution.ref,
                seen_epoch=execution.lease_epoch,
                seen_lease_until=execution.lease_until,
                clock_error_ms=kit.durations.clock_error_ms,
                failing=await failing_for(kit, execution, _loss(execution, now), now),
            )
        )
    return await follow_up(kit, outcome, EventName.EXECUTION_REAPED)


def _loss(execution: Execution, now: Instant) -> Failure:
    timed_out = execution.deadline_at is not None and execution.deadline_at <= now
    reason = Reason.TIMED_OUT if timed_out else Reason.LEASE_EXPIRED
    said = "The attempt's time limit ended" if timed_out else "The worker stopped sending heartbeats"
    message = f"{said} (attempt {execution.attempt}, worker {execution.lease_owner})."
    return Failure(error=an_error(reason.value, message), reason=reason)


async def expire(kit: Kit, execution: Execution, reason: Reason = Reason.EXPIRED) -> Outcome[Execution]:
    """End what has not started by its run deadline, or never can.

    Not what stands on the waiting index: its page may be gone, and off the index nobody would come for what it owes.
    """
    assert execution.wait_key is None
    now = kit.clock.now()
    owed, ttl = owed_and_ttl(kit, execution, State.DEAD, now)
    change = Expire(
        ref=execution.ref,
        seen_state=execution.state,
        seen_epoch=execution.lease_epoch,
        now=now,
        owed=owed,
        ttl=ttl,
        reason=reason,
    )
    return await follow_up(kit, await kit.store.write(change), EventName.EXECUTION_DEAD)


async def follow_up(kit: Kit, outcome: Outcome[Execution], name: EventName) -> Outcome[Execution]:
    """After a move was written: say so, tell the workers of a retry, apply what an end owes.

    Dying before any of it: the journal entry of the execution stands until it is seen finished.
    """
    if not isinstance(outcome, Applied):
        return outcome
    moved = outcome.new
    reason = "" if moved.reason is None else moved.reason.value
    kit.emit(
        name,
        executionId=moved.ref.id,
        jobId=moved.job_id,
        tenantId=moved.tenant_id,
        state=moved.state.value,
        reason=reason,
    )
    if moved.state is State.RETRY and moved.wait_key is None:
        await send_hints(kit, [moved])
    if moved.owed:
        return Applied(await settle(kit, moved))
    return outcome
