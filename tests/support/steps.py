"""Single steps of the product, as a test takes them one by one. Must not judge what comes of them."""

import asyncio

from tests.support.kits import World
from tickwright.domain.executions import Execution
from tickwright.domain.ids import WorkerId
from tickwright.domain.jobs import Head
from tickwright.loops.census import PulseLoop
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.ticks import TicksLoop
from tickwright.loops.watch import WatchLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.queue import Hint
from tickwright.services.attempt import Started, Worker, finish, start
from tickwright.services.claim import Claimed, NotNow, Over, Wanted, claim
from tickwright.services.fire import fire
from tickwright.services.kit import Kit
from tickwright.services.memory import Memory

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


async def hold(world: World) -> None:
    """A scheduler takes the bucket and is silent from then on: whoever comes after it has to take it over."""
    await SchedulerLoop(world.kit, "silent").tick()


async def a_minutely_job(world: World, minutes: int = 3, **body: object) -> Head:
    """A job that fires every minute, so many times."""
    return await world.submit(**body, schedule={"every": "PT1M", "endAt": world.text(minutes * MINUTE)})


async def fired(world: World, kit: Kit | None = None) -> Execution:
    """One step of a scheduler without a memory; the newest execution that it leaves unfinished."""
    await fire(kit or world.kit, 0, await world.due(), Memory())
    return [row for row in await world.executions() if not row.is_terminal][-1]


async def claimed(world: World, execution: Execution, worker: str = "worker-0", timeout_ms: int = 300_000) -> Execution:
    """An execution in the hands of a worker that says nothing unless the test says it for it."""
    (answer,) = await claim(world.kit, [Wanted(ref=execution.ref, timeout_ms=timeout_ms)], WorkerId(worker))
    assert isinstance(answer, Claimed)
    return answer.execution


async def running(world: World, **body: object) -> Execution:
    """The first run of a minutely job, in a worker's hands."""
    await a_minutely_job(world, 3, **body)
    world.clock.advance(MINUTE)
    return await claimed(world, await fired(world))


def lease_over_ms(world: World) -> int:
    """How long after a claim anybody may take the lease."""
    return world.durations.lease_ms + 2 * world.durations.clock_error_ms + 1


async def work(worker: Worker, hint: Hint) -> Over | NotNow:
    """All that one hint asks for, without the loop's net: what a port raises comes through."""
    (answer,) = await start(worker, [hint])
    return await finish(worker, answer) if isinstance(answer, Started) else answer


def a_worker(world: World, kit: Kit | None = None, name: str = "worker-1") -> WorkerLoop:
    """A worker process whose targets go to the logged runner."""
    return WorkerLoop(kit or world.kit, {"python": world.runner}, WorkerId(name))


async def for_a_while(
    world: World, duration_ms: int, *loops: SchedulerLoop | WatchLoop | TicksLoop | WorkerLoop | PulseLoop
) -> None:
    """Let loops run together in virtual time, then stop them."""
    stop = asyncio.Event()
    going = [asyncio.create_task(loop.run(stop)) for loop in loops]
    await world.clock.sleep_ms(duration_ms)
    stop.set()
    await asyncio.gather(*going)
