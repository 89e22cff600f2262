"""Put, read and list a tenant's pools, and see that a job names one that exists.

A pool's queues are made before its record, so whatever names it finds them; dying in between leaves queues that nobody
names, and the same request again goes on. Another tenant's pool does not exist here. Promise: SEM-POOL-1.
"""

from dataclasses import dataclass

from tickwright.domain import limits
from tickwright.domain import pools as rules
from tickwright.domain.changes.pools import PutPool
from tickwright.domain.ids import TenantId
from tickwright.domain.jobs import JobSpec
from tickwright.domain.outcomes import Refusal
from tickwright.domain.pools import NO_SUCH_POOL, PLATFORM, Pool, PoolName, is_pool_name, queue_key
from tickwright.ports.store import Applied, Listing
from tickwright.services.kit import Kit

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
        refusal = rules.put_refusal(seen, name, if_match)
        if refusal is None and seen is None and await _has_all_it_may(kit, tenant_id):
            refusal = rules.TOO_MANY
        if refusal is not None:
            return refusal
        await kit.queue.prepare(queue_key(PoolName(name), tenant_id))
        new = _first(kit, tenant_id, name, description) if seen is None else rules.described(seen, description)
        if new == seen or isinstance(await kit.store.write(PutPool(pool=new)), Applied):
            return Put(pool=new, is_new=seen is None)
    return rules.CHANGED_MEANWHILE


def _first(kit: Kit, tenant_id: TenantId, name: str, description: str | None) -> Pool:
    return Pool(tenant_id=tenant_id, name=PoolName(name), description=description, created_at=kit.clock.now())


async def get_pool(kit: Kit, tenant_id: TenantId, name: str) -> Pool | Refusal:
    """One pool."""
    return await _seen(kit, tenant_id, name) or NO_SUCH_POOL


async def list_pools(kit: Kit, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Pool]:
    """A page of a tenant's pools by name."""
    return await kit.store.pools_of(tenant_id, limit=limit, after_key=after_key)


async def pool_refusal(kit: Kit, tenant_id: TenantId, spec: JobSpec) -> Refusal | None:
    """Why a job cannot be as it is to be: the pool that it names does not exist."""
    if spec.pool in PLATFORM or await _seen(kit, tenant_id, spec.pool) is not None:
        return None
    return rules.unknown_refusal(spec.pool)


async def _seen(kit: Kit, tenant_id: TenantId, name: str) -> Pool | None:
    return await kit.store.pool(tenant_id, name) if is_pool_name(name) else None


async def _has_all_it_may(kit: Kit, tenant_id: TenantId) -> bool:
    """Two that are put at once may both find room for one, and it is not worth a write to each."""
    most = limits.POOLS_OF_TENANT_MAX
    return len((await kit.store.pools_of(tenant_id, limit=most)).items) >= most
