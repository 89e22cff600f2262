"""What is owed once an execution has ended: its effects, then the mark itself.

Each effect is idempotent by execution and generation. Dying anywhere leaves `owed` standing: the redelivered hint, or
the watch, comes back here. Promise: SEM-DEAD-1.
"""

from tickwright.domain.changes.executions import StrikeOwed
from tickwright.domain.executions import Execution, Owed, ttl_of
from tickwright.domain.transitions import State
from tickwright.ports.queue import DeadLetter
from tickwright.ports.store import Applied
from tickwright.services.kit import Kit


async def settle(kit: Kit, execution: Execution) -> Execution:
    """Apply what is owed and strike it out. Raises StoreUnavailable or QueueUnavailable: then it stays owed."""
    if not execution.owed:
        return execution
    assert execution.is_terminal
    if Owed.DEAD_LETTER in execution.owed and execution.state is State.DEAD:
        await kit.queue.send_dead(dead_letter_of(execution))  # Dying here: the letter comes twice, under the same id.
    ended_at = execution.finished_at or kit.clock.now()
    strike = StrikeOwed(ref=execution.ref, seen_epoch=execution.lease_epoch, ttl=ttl_of(ended_at, kit.retention_s))
    outcome = await kit.store.write(strike)
    return outcome.new if isinstance(outcome, Applied) else execution


def dead_letter_of(execution: Execution) -> DeadLetter:
    """The copy that goes to *dead-executions*; the DEAD state itself is the truth."""
    error = execution.error
    return DeadLetter(
        ref=execution.ref,
        tenant_id=execution.tenant_id,
        generation=execution.generation,
        reason="" if execution.reason is None else execution.reason.value,
        error_class="" if error is None else error.error_class,
        message="" if error is None else error.message,
    )
