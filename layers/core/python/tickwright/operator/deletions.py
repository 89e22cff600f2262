"""That a tenant which is being deleted is given nothing: neither a key nor what an export has.

Must not know how a deletion is carried out. Promise: SEM-TENANT-2.
"""

import sys

from tickwright.domain.ids import TenantId
from tickwright.domain.instants import to_rfc3339
from tickwright.wiring.operator import Installed


async def is_being_deleted(installed: Installed, tenant_id: TenantId) -> bool:
    """Whether it is; then whoever asked is told how that ends."""
    deletion = await installed.whole.deletion(tenant_id)
    if deletion is None or not deletion.stands:
        return False
    print(
        f"tickwright: {tenant_id} is being deleted, since {to_rfc3339(deletion.asked_at)}: "
        "finish that with `tenants delete`, or call it off with `tenants undelete`",
        file=sys.stderr,
    )
    return True
