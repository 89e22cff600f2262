"""S: telling the workers. A lost hint costs time, never work: the journal keeps what nobody has been told."""

from collections.abc import Sequence

from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.queue import Hint
from tickwright.services.kit import Kit


def hint_of(execution: Execution) -> Hint:
    """The hint for an execution that waits for a worker; it may start at its tick, a retry at its time."""
    return Hint(
        ref=execution.ref,
        tenant_id=execution.tenant_id,
        lane=execution.lane,
        pool=execution.pool,
        epoch=execution.lease_epoch,
        job_version=execution.job_version,
        due_at=Instant(execution.retry_at or execution.scheduled_at),
    )


def is_unclaimed(execution: Execution) -> bool:
    """Whether a worker may not have been told: queued or to be tried again, and on no index."""
    return execution.state in {State.QUEUED, State.RETRY} and execution.wait_key is None


async def send_hints(kit: Kit, executions: Sequence[Execution]) -> int:
    """Send a hint for each; how many were taken. What was not taken is sent again by the watch."""
    return len(executions) - len(await hints_not_taken(kit, executions))


async def hints_not_taken(kit: Kit, executions: Sequence[Execution]) -> Sequence[Hint]:
    """Send a hint for each; those that the queue has not taken."""
    hints = [hint_of(execution) for execution in executions]
    if not hints:
        return []
    try:
        left = await kit.queue.send(hints, kit.clock.now())
    except QueueUnavailable:
        left = hints
    if left:
        kit.emit(EventName.QUEUE_FAULT, measured={"hints": len(left)}, fault="not_taken")
    return left
