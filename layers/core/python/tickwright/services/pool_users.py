"""Who still needs a pool that is to be deleted: open jobs that name it, and unfinished runs that wait in it.

A one-off is over as soon as its run exists, so its job alone says nothing: the last run of each job is looked at too,
and where not all jobs could be, what the pool's queues hold. Must not refuse: the domain does. Promise: SEM-POOL-6.
"""

from collections.abc import Collection

from tickwright.domain import limits
from tickwright.domain.ids import ExecutionRef
from tickwright.domain.jobs import Head
from tickwright.domain.pools import Pool, Users, queue_key
from tickwright.domain.ticks import active_ref
from tickwright.services.kit import Kit

_JOBS_A_PAGE = 200


async def users_of(kit: Kit, pool: Pool) -> Users:
    """Those among a bounded number of the tenant's jobs; the queues say how many there may be beyond them.

    Once a job names it, it is kept whoever else needs it: nobody is looked for any more.
    """
    users, after_key = Users(), None
    for _ in range(limits.POOL_JOBS_LOOKED_AT_MAX // _JOBS_A_PAGE):
        page = await kit.store.jobs_eventually(pool.tenant_id, limit=_JOBS_A_PAGE, after_key=after_key)
        heads = (await kit.store.heads(page.items)).values()
        users = users.and_more(
            jobs=[head.job_id for head in heads if await _is_named_by(kit, pool, head)],
            runs=await _waiting_in(kit, pool, heads),
        )
        after_key = page.next_key
        if after_key is None or users.jobs:
            return users
    return users.and_hints(await kit.queue.waiting(queue_key(pool.name, pool.tenant_id)))


async def _is_named_by(kit: Kit, pool: Pool, head: Head) -> bool:
    if head.pending_version is None or not head.is_open or head.names_pool(pool.name, None):
        return head.names_pool(pool.name, None)
    pending = await kit.store.definition(head.job_id, head.pending_version)
    return head.names_pool(pool.name, None if pending is None else pending.spec)


async def _waiting_in(kit: Kit, pool: Pool, heads: Collection[Head]) -> list[ExecutionRef]:
    """Of the last runs of these jobs those that wait here, whatever pool their jobs name by now."""
    last = {ref for head in heads for ref in (active_ref(head), head.last_ref) if ref is not None}
    found = await kit.store.executions(sorted(last)) if last else {}
    return [ref for ref, one in found.items() if one.pool == pool.name and one.is_up_for_a_claim]
