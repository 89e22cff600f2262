"""Executions that die, as many as a test wants, and an order that is carried out look by look.

Must not judge what comes of them.
"""

from tests.support.builders import TENANT
from tests.support.kits import World
from tests.support.steps import HOUR, claimed
from tickwright.domain.attempts import Fatal, an_error
from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.executions import Execution
from tickwright.domain.redrive_orders import Canary, Order, OrderStatus
from tickwright.loops.watch import WatchLoop
from tickwright.services.kit import Kit
from tickwright.services.redrive_orders import Ordered, get_order, order_redrive
from tickwright.services.report import report
from tickwright.services.run_now import run_now

BROKEN = Fatal(error=an_error("Broken", "for good"))


async def a_death(world: World, error: str = "Broken", **body: object) -> Execution:
    """A job whose one run has died, and that is over."""
    job = await world.submit(schedule={"runAt": world.text(0)}, **body)
    return await dies(world, await world.only_execution(job.job_id), error)


async def dies(world: World, execution: Execution, error: str = "Broken") -> Execution:
    """A worker takes it and gives it up."""
    answer = await report(world.kit, await claimed(world, execution), Fatal(error=an_error(error, "for good")))
    assert isinstance(answer, Execution)
    return answer


async def deaths_of_one_job(world: World, count: int, **body: object) -> list[Execution]:
    """Runs of one job that somebody asked for one after the other, all dead."""
    job = await world.submit(schedule={"every": "PT12H", "endAt": world.text(12 * HOUR)}, **body)
    dead = []
    for _ in range(count):
        run = await run_now(world.kit, TENANT, job.job_id, None)
        assert isinstance(run, Execution)
        dead.append(await dies(world, run))
        world.clock.advance(1)
    return dead


async def ordered(
    world: World, *, rate_per_min: int = 600, canary: Canary | None = None, wanted: DeadFilter | None = None
) -> Order:
    """An order of the usual tenant."""
    asked = Ordered(wanted=wanted or DeadFilter(), rate_per_min=rate_per_min, canary=canary)
    answer = await order_redrive(world.kit, TENANT, asked, world.key())
    assert isinstance(answer, Order)
    return answer


async def now_of(world: World, order: Order) -> Order:
    """The order as it stands."""
    answer = await get_order(world.kit, TENANT, order.order_id)
    assert isinstance(answer, Order)
    return answer


async def look(world: World, kit: Kit | None = None) -> None:
    """One look of a watch; the next is so much later."""
    await WatchLoop(kit or world.kit).look()
    world.clock.advance(world.durations.watch_ms)


async def looked_to_the_end(world: World, order: Order, looks: int = 500) -> Order:
    """Look after look, with a worker in between, until the order has ended."""
    for _ in range(looks):
        await look(world)
        await world.work()
        if (current := await now_of(world, order)).status is not OrderStatus.RUNNING:
            return current
    raise AssertionError(f"not ended after {looks} looks: {await now_of(world, order)}")
