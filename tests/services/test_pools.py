"""A tenant's pools: who may have them, and that a job is sent to the pool of the version that it runs with."""

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Down
from tests.support.kits import World
from tests.support.steps import MINUTE, fired
from tickwright.domain import limits
from tickwright.domain.explanations import explain
from tickwright.domain.ids import TenantId
from tickwright.domain.lanes import Lane
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.pools import FARGATE, LAMBDA, PoolName, queue_key
from tickwright.ports.faults import QueueUnavailable
from tickwright.services.change_job import edit_job
from tickwright.services.fire import insert_and_send
from tickwright.services.memory import Memory
from tickwright.services.pools import Put, get_pool, list_pools, pool_refusal, put_pool
from tickwright.services.run_now import run_now

RIVAL = TenantId("rival")
GPU = {"type": "pool", "pool": "gpu", "handler": "billing.nightly"}
MINUTELY = {"every": "PT1M"}


async def a_pool(world: World, name: str = "gpu", description: str | None = None) -> Put:
    put = await put_pool(world.kit, TENANT, name, description)
    assert isinstance(put, Put)
    return put


def code_of(answer: object) -> Code | None:
    return answer.code if isinstance(answer, Refusal) else None


@pytest.mark.sem("SEM-POOL-1")
async def test_a_pool_is_put_once_and_described_anew(world: World) -> None:
    """Equal content makes no version; another description makes one; the day on which it was made stays."""
    first = await a_pool(world, description="cards")
    same = await a_pool(world, description="cards")
    world.clock.advance(MINUTE)
    other = await a_pool(world, description="newer cards")

    assert (first.is_new, same.is_new, other.is_new) == (True, False, False)
    assert (first.pool.version, same.pool.version, other.pool.version) == (1, 1, 2)
    assert other.pool.created_at == first.pool.created_at
    assert await get_pool(world.kit, TENANT, "gpu") == other.pool


async def test_a_put_that_was_made_from_an_older_version_is_refused(world: World) -> None:
    """Somebody else has described it meanwhile; nothing is overwritten."""
    await a_pool(world, description="cards")
    await a_pool(world, description="newer cards")

    late = await put_pool(world.kit, TENANT, "gpu", "old cards", if_match=1)
    absent = await put_pool(world.kit, TENANT, "cpu", None, if_match=1)

    assert (code_of(late), code_of(absent)) == (Code.VERSION_CONFLICT, Code.VERSION_CONFLICT)
    assert await get_pool(world.kit, TENANT, "gpu") == (await a_pool(world, description="newer cards")).pool


@pytest.mark.parametrize("name", ["lambda", "fargate", "", "GPU", "g/pu", "1st", "ü", "g" * 33, "gpu\n"])
async def test_a_name_that_is_not_a_tenants_to_give_is_refused(world: World, name: str) -> None:
    """The platform's pools are nobody's, and a name never leads into another's queues."""
    assert code_of(await put_pool(world.kit, TENANT, name, None)) is Code.INVALID
    assert code_of(await get_pool(world.kit, TENANT, name)) is Code.NOT_FOUND


async def test_a_tenant_has_so_many_pools_and_no_more(world: World) -> None:
    """Each costs four queues; one that exists may still be put."""
    for number in range(limits.POOLS_OF_TENANT_MAX):
        await a_pool(world, f"pool-{number}")

    assert code_of(await put_pool(world.kit, TENANT, "one-more", None)) is Code.INVALID
    assert not (await a_pool(world, "pool-3", "described")).is_new
    assert isinstance(await put_pool(world.kit, RIVAL, "one-more", None), Put)


@pytest.mark.sem("SEM-POOL-1")
async def test_another_tenants_pool_does_not_exist(world: World) -> None:
    """Neither by name nor in a list; a pool of the same name is another one, with queues of its own."""
    await a_pool(world)

    assert code_of(await get_pool(world.kit, RIVAL, "gpu")) is Code.NOT_FOUND
    assert (await list_pools(world.kit, RIVAL, limit=9)).items == []
    assert [pool.name for pool in (await list_pools(world.kit, TENANT, limit=9)).items] == ["gpu"]
    assert queue_key(PoolName("gpu"), TENANT) != queue_key(PoolName("gpu"), RIVAL)


async def test_no_record_stands_before_its_queues(world: World) -> None:
    """A queue that cannot be made now leaves no pool that jobs could name; the same request later makes it."""
    down = world.a_process(Down(frozenset({"prepare"})))

    with pytest.raises(QueueUnavailable):
        await put_pool(down, TENANT, "gpu", None)

    assert code_of(await get_pool(world.kit, TENANT, "gpu")) is Code.NOT_FOUND
    assert (await a_pool(world)).is_new


@pytest.mark.sem("SEM-POOL-1")
async def test_a_job_may_only_name_a_pool_that_exists(world: World) -> None:
    """Refused with where it is wrong; the platform's pools need no record."""
    refusal = await pool_refusal(world.kit, TENANT, world.spec(target=GPU))
    await a_pool(world)

    assert refusal is not None
    assert [(problem.pointer, problem.code) for problem in refusal.errors] == [("/target/pool", "unknown_pool")]
    assert await pool_refusal(world.kit, TENANT, world.spec(target=GPU)) is None
    assert await pool_refusal(world.kit, RIVAL, world.spec(target=GPU)) is not None
    assert await pool_refusal(world.kit, RIVAL, world.spec()) is None


@pytest.mark.parametrize(
    ("body", "pool"),
    [
        ({"target": {"type": "http", "url": "https://example.com/"}}, LAMBDA),
        ({"target": {"type": "http", "url": "https://example.com/"}, "timeoutSec": 840}, LAMBDA),
        ({"target": {"type": "http", "url": "https://example.com/"}, "timeoutSec": 841}, FARGATE),
        ({"target": {"type": "python", "handler": "x"}}, FARGATE),
        ({"target": GPU}, "gpu"),
    ],
)
async def test_a_job_waits_for_workers_that_can_run_it(world: World, body: dict[str, object], pool: str) -> None:
    """What no function lives long enough for, and Python code, is for the fleet; a tenant's own is for its machines."""
    await a_pool(world)
    head = await world.submit(**body, schedule=MINUTELY)
    asked_for = await run_now(world.kit, TENANT, head.job_id, None)
    world.clock.advance(MINUTE)

    (waiting,) = await world.kit.queue.receive(
        Lane.NORMAL, limit=10, wait_ms=0, visibility_ms=MINUTE, pool=queue_key(PoolName(pool), TENANT)
    )

    row = await world.only_execution(head.job_id)
    assert (head.pool, row.pool, waiting.hint.pool) == (pool, pool, pool)
    assert asked_for == row
    assert explain(row, world.clock.now(), lease_ms=MINUTE).waits_for == f"a worker of the pool {pool}"


@pytest.mark.sem("SEM-POOL-1", "SEM-TICK-3")
async def test_a_tick_waits_in_the_pool_of_the_version_that_decided_it(world: World) -> None:
    """Decided by the old version and inserted after the edit: the new version's machines do not know what it runs."""
    await a_pool(world)
    head = await world.submit(schedule=MINUTELY)
    world.clock.advance(MINUTE)
    old = await fired(world)
    decided = await world.head(head.job_id)
    await world.forget(old)  # as if whoever decided had died before the insert
    edited = await edit_job(world.kit, TENANT, head.job_id, world.spec(schedule=MINUTELY, target=GPU), decided.version)
    assert not isinstance(edited, Refusal)

    born = await insert_and_send(world.kit, [edited.head], Memory())

    assert edited.head.pool == "gpu"
    assert [(row.job_version, row.pool) for row in born.executions] == [(1, FARGATE)]
