"""One case for every write of a tenant's pool and of its seats. Must not hold assertions."""

from dataclasses import replace

from tests.contract.store.cases import Case
from tests.support.builders import TENANT, TICK
from tickwright.domain.changes.pools import PutPool
from tickwright.domain.instants import Instant
from tickwright.domain.pools import Pool, PoolName
from tickwright.domain.seats import PutSeat, Seat

POOL = Pool(tenant_id=TENANT, name=PoolName("gpu"), description="Grüße, 世界", created_at=TICK)
SECOND = replace(POOL, description=None, version=2)
DELETED = replace(SECOND, version=3, deleted_at=Instant(TICK + 5))
SEAT = Seat(tenant_id=TENANT, number=7, token="claim-a", until=Instant(TICK + 20_000))
ANOTHERS = replace(SEAT, token="claim-b")

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
    Case(
        name="delete a pool",
        change=PutPool(pool=DELETED),
        accepts=SECOND,
        refuses=(POOL, replace(SECOND, version=4)),
        again=True,
    ),
    Case(
        name="put a pool in place of a deleted one",
        change=PutPool(pool=replace(POOL, version=4)),
        accepts=DELETED,
        refuses=(replace(DELETED, version=5),),
        again=True,
    ),
    Case(
        name="take a seat that nobody has had",
        change=PutSeat(seat=SEAT, now=TICK, clock_error_ms=1_000),
        accepts=None,
        refuses=(ANOTHERS, replace(ANOTHERS, until=Instant(TICK + 1))),
        again=True,
    ),
    Case(
        name="take a seat whose time is over",
        change=PutSeat(seat=SEAT, now=TICK, clock_error_ms=1_000),
        accepts=replace(ANOTHERS, until=TICK),
        refuses=(ANOTHERS,),
        again=True,
    ),
    Case(
        name="take a seat whose end lies further ahead than any wait: a wrong clock's",
        change=PutSeat(seat=SEAT, now=TICK, clock_error_ms=1_000),
        accepts=replace(ANOTHERS, until=Instant(TICK + 22_001)),
        refuses=(replace(ANOTHERS, until=Instant(TICK + 22_000)),),
        again=True,
    ),
    Case(
        name="leave a seat",
        change=PutSeat(seat=replace(SEAT, until=TICK), now=TICK, clock_error_ms=1_000),
        accepts=SEAT,
        refuses=(ANOTHERS,),
        again=True,
    ),
)
