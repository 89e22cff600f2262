"""Put, read, list and delete a tenant's pools, and see that a job names one that exists.

A pool's queues are made before its record and removed after it, so whatever names it finds them; dying in between
leaves queues that nobody names, and the same request again goes on. Another tenant's pool does not exist here.
Promises: SEM-POOL-1, SEM-POOL-6.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from tickwright.domain import limits
from tickwright.domain import pools as rules
from tickwright.domain.changes.pools import PutPool
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, TenantId
from tickwright.domain.jobs import JobSpec
from tickwright.domain.outcomes import Refusal
from tickwright.domain.pools import NO_SUCH_POOL, PLATFORM, Pool, PoolName, Users, is_pool_name, queue_key, standing
from tickwright.ports.store import Applied, Listing
from tickwright.services.kit import Kit
from tickwright.services.pool_users import users_of

_TRIES = 4  # of one write against others of the same pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """The pool as it stands after a put; whether there was none before."""

    pool: Pool
    is_new: bool


async def put_pool(
    kit: Kit, tenant_id: TenantId, name: str, description: str | None, *, if_match: int | None = None
) -> Put | Refusal:
    """Make a pool, or describe it anew; its queues are made again if somebody has removed them."""
    for _ in range(_TRIES):
        seen = await _seen(kit, tenant_id, name)
        is_new = standing(seen) is None
        refusal = rules.put_refusal(seen, name, if_match, now=kit.clock.now())
        if refusal is None and is_new and await _has_all_it_may(kit, tenant_id):
            refusal = rules.TOO_MANY
        if refusal is not None:
            return refusal
        await kit.queue.prepare(queue_key(PoolName(name), tenant_id))
        new = _made(kit, tenant_id, name, description, seen)
        if new == seen or isinstance(await kit.store.write(PutPool(pool=new)), Applied):
            return Put(pool=new, is_new=is_new)
    return rules.CHANGED_MEANWHILE


def _made(kit: Kit, tenant_id: TenantId, name: str, description: str | None, seen: Pool | None) -> Pool:
    now = kit.clock.now()
    if seen is None:
        return Pool(tenant_id=tenant_id, name=PoolName(name), description=description, created_at=now)
    if standing(seen) is None:
        return rules.made_anew(seen, description, now)
    return rules.described(seen, description)


async def delete_pool(
    kit: Kit, tenant_id: TenantId, name: str, *, if_match: int | None = None, force: bool = False
) -> Pool | Refusal:
    """Delete a pool that nobody needs; then its queues. Cut off before those, it goes on if repeated without If-Match.

    `force`: also one in which runs wait. Who needs it is looked for once, among a bounded number of jobs, and one may
    come meanwhile: what is left of their runs is ended by whoever looks after the journal.
    """
    users: Users | None = None
    for _ in range(_TRIES):
        seen = await _seen(kit, tenant_id, name)
        there = standing(seen)
        may_go = rules.delete_refusal(seen, if_match, Users(), force=force) is None
        if users is None and there is not None and may_go:
            users = await users_of(kit, there)
        refusal = rules.delete_refusal(seen, if_match, users or Users(), force=force)
        if refusal is not None or seen is None:
            return refusal or NO_SUCH_POOL
        gone = rules.deleted(seen, kit.clock.now())
        if isinstance(await kit.store.write(PutPool(pool=gone)), Applied):
            await kit.queue.remove(queue_key(gone.name, tenant_id))
            return gone
    return rules.CHANGED_MEANWHILE


async def get_pool(kit: Kit, tenant_id: TenantId, name: str) -> Pool | Refusal:
    """One pool."""
    return standing(await _seen(kit, tenant_id, name)) or NO_SUCH_POOL


async def without_a_pool(kit: Kit, executions: Iterable[Execution]) -> frozenset[ExecutionRef]:
    """Those that no machine can claim: the tenants' pools that they came to are gone, whatever has their names now."""
    waiting = [one for one in executions if one.pool not in PLATFORM]
    places = sorted({(one.tenant_id, one.pool) for one in waiting})
    seen = await asyncio.gather(*(_seen(kit, *place) for place in places))
    found = {place: standing(pool) for place, pool in zip(places, seen, strict=True)}
    error_ms = kit.durations.clock_error_ms
    return frozenset(
        one.ref
        for one in waiting
        if (pool := found[one.tenant_id, one.pool]) is None or pool.is_later_than(one.came_due, error_ms)
    )


async def list_pools(kit: Kit, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Pool]:
    """A page of a tenant's pools by name; deleted ones may leave it short, with a next one."""
    page = await kit.store.pools_of(tenant_id, limit=limit, after_key=after_key)
    return Listing(items=[pool for pool in page.items if standing(pool) is not None], next_key=page.next_key)


async def pool_refusal(kit: Kit, tenant_id: TenantId, spec: JobSpec) -> Refusal | None:
    """Why a job cannot be as it is to be: the pool that it names does not exist."""
    if spec.pool in PLATFORM or standing(await _seen(kit, tenant_id, spec.pool)) is not None:
        return None
    return rules.unknown_refusal(spec.pool)


async def _seen(kit: Kit, tenant_id: TenantId, name: str) -> Pool | None:
    return await kit.store.pool(tenant_id, name) if is_pool_name(name) else None


async def _has_all_it_may(kit: Kit, tenant_id: TenantId) -> bool:
    """Two that are put at once may both find room for one, and it is not worth a write to each."""
    count, after_key = 0, None
    while count < limits.POOLS_OF_TENANT_MAX:
        page = await list_pools(kit, tenant_id, limit=limits.LIST_PAGE_DEFAULT, after_key=after_key)
        count, after_key = count + len(page.items), page.next_key
        if after_key is None:
            break
    return count >= limits.POOLS_OF_TENANT_MAX
