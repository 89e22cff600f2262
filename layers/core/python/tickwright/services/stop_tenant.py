"""Stop all of a tenant that moves: its orders, its jobs with their runs, its pools.

Each is looked at anew whenever it is asked for, so dying anywhere loses nothing. Must not know why it is stopped.
Promise: SEM-TENANT-2.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import TenantId
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.outcomes import Refusal
from tickwright.domain.pools import Pool, queue_key, standing
from tickwright.domain.redrive_orders import OrderStatus
from tickwright.domain.transitions import State
from tickwright.services.change_job import cancel_job
from tickwright.services.end import reap
from tickwright.services.kit import Kit
from tickwright.services.pools import delete_pool
from tickwright.services.redrive_orders import cancel_order, list_orders
from tickwright.services.retract import cancel_surely
from tickwright.services.settle import settle

_JOBS_A_PAGE: Final = 100
_ROWS_A_PAGE: Final = 100
_POOLS_A_PAGE: Final = 100


async def stop_all(kit: Kit, tenant_id: TenantId) -> AsyncIterator[int]:
    """Orders first, which open what is dead; then the jobs, and the pools that they named. How many were not still."""
    running = [order for order in await list_orders(kit, tenant_id) if order.status is OrderStatus.RUNNING]
    for order in running:
        await cancel_order(kit, tenant_id, order.order_id)
    yield len(running)
    async for heads in jobs_of(kit, tenant_id):
        stopped = [await _stop_job(kit, head) for head in heads]
        yield sum(stopped)
    async for pools in _pools_of(kit, tenant_id):
        yield sum([await _stop_pool(kit, pool) for pool in pools])


async def _pools_of(kit: Kit, tenant_id: TenantId) -> AsyncIterator[Sequence[Pool]]:
    """Those that were deleted too, for as long as their records are there."""
    after_key: str | None = None
    while True:
        page = await kit.store.pools_of(tenant_id, limit=_POOLS_A_PAGE, after_key=after_key)
        yield page.items
        if (after_key := page.next_key) is None:
            return


async def _stop_pool(kit: Kit, pool: Pool) -> bool:
    """Delete it; of one that is deleted the queues, which whoever did that may have left. Whether it stands still."""
    if standing(pool) is not None:
        return isinstance(await delete_pool(kit, pool.tenant_id, pool.name, force=True), Refusal)
    await kit.queue.remove(queue_key(pool.name, pool.tenant_id))
    return False


async def jobs_of(kit: Kit, tenant_id: TenantId) -> AsyncIterator[Sequence[Head]]:
    """Page by page, as they stand now: those that are over too."""
    after_key: str | None = None
    while True:
        page = await kit.store.jobs_eventually(tenant_id, limit=_JOBS_A_PAGE, after_key=after_key)
        found = await kit.store.heads(page.items) if page.items else {}
        yield [found[job_id] for job_id in page.items if job_id in found]
        if (after_key := page.next_key) is None:
            return


async def _stop_job(kit: Kit, head: Head) -> bool:
    """Cancel it, and end what is not over. Whether there was anything to do: then it is looked at again."""
    is_new = head.status is not JobStatus.CANCELLED
    if is_new:
        await cancel_job(kit, head.tenant_id, head.job_id, None)
    after_key: str | None = None
    moved = is_new
    while True:
        page = await kit.store.executions_of(head.job_id, limit=_ROWS_A_PAGE, after_key=after_key)
        for row in page.items:
            moved |= await _end(kit, row)
        if (after_key := page.next_key) is None:
            return moved


async def _end(kit: Kit, row: Execution) -> bool:
    """What runs is asked to stop, and ended for it once its lease is over."""
    if row.is_terminal and not row.owed:
        return False
    if row.is_terminal:
        await settle(kit, row)
        return True
    after = await cancel_surely(kit, row, Reason.JOB_CANCELLED)
    if after.state is State.CANCELLING and after.lease_is_over(kit.clock.now(), kit.durations.clock_error_ms):
        await reap(kit, after)
    return True
