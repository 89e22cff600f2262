"""One case for every write of a tenant's pool. Must not hold assertions."""

from dataclasses import replace

from tests.contract.store.cases import Case
from tests.support.builders import TENANT, TICK
from tickwright.domain.changes.pools import PutPool
from tickwright.domain.instants import Instant
from tickwright.domain.pools import Pool, PoolName

POOL = Pool(tenant_id=TENANT, name=PoolName("gpu"), description="Grüße, 世界", created_at=TICK)
SECOND = replace(POOL, description=None, version=2)

OF_POOLS = (
    Case(
        name="put a new pool",
        change=PutPool(pool=POOL),
        accepts=None,
        refuses=(replace(POOL, created_at=Instant(TICK + 1)), SECOND),
        again=True,
    ),
    Case(
        name="put a pool over what was seen",
        change=PutPool(pool=SECOND),
        accepts=POOL,
        refuses=(replace(SECOND, description="another's"), replace(SECOND, version=3)),
        again=True,
    ),
)
