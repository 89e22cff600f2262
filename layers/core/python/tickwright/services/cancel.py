"""Cancel one execution. Promise: SEM-CANCEL-3."""

from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.services.jobs import get_execution
from tickwright.services.kit import Kit
from tickwright.services.retract import cancel_surely


async def cancel_execution(kit: Kit, tenant_id: TenantId, execution_id: str) -> Execution | Refusal:
    """Cancelled at once if it has not started, else asked to stop.

    A repeat answers the same, a finished one is refused.
    """
    execution = await get_execution(kit, tenant_id, execution_id)
    if isinstance(execution, Refusal):
        return execution
    after = await cancel_surely(kit, execution, Reason.CANCELLED)
    if after.state in {State.CANCELLED, State.CANCELLING}:
        return after
    return Refusal(
        code=Code.ALREADY_FINISHED, detail=f"The execution is {after.state.value} already; nothing was changed."
    )
