"""Call the deletion of a tenant off, of which nothing has gone yet. What was stopped stays so.

Whoever carries it out finds that it is over before its next step. Promise: SEM-TENANT-2.
"""

from enum import Enum

from tickwright.domain.deletions import CallOff
from tickwright.domain.ids import TenantId
from tickwright.ports.whole import Whole


class CalledOff(Enum):
    """What came of it."""

    DONE = "done"
    NOT_THERE = "no deletion of it is under way"
    TOO_LATE = "its rows go already"


async def call_off(whole: Whole, tenant_id: TenantId) -> CalledOff:
    """The one that is under way."""
    seen = await whole.deletion(tenant_id)
    if seen is None or not seen.stands:
        return CalledOff.NOT_THERE
    return CalledOff.DONE if await whole.call_off(CallOff(seen=seen)) else CalledOff.TOO_LATE
