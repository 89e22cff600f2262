"""The loops around the services: they go on when a step fails, share the work, and stop gracefully."""

import asyncio
from contextlib import suppress

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Crash, Down, Fate, Interject, Recorder, Script
from tests.support.kits import World
from tests.support.ledger import check_all, check_ledger
from tests.support.steps import HOUR, MINUTE, a_minutely_job, a_worker, fired, for_a_while
from tickwright.domain.attempts import Failure, Success, UserResult, an_error
from tickwright.domain.changes.executions import Insert
from tickwright.domain.events import EventName
from tickwright.domain.executions import Reason
from tickwright.domain.ids import WorkerId
from tickwright.domain.lanes import Lane
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.runner import Invocation
from tickwright.services.change_job import cancel_job
from tickwright.services.fire import fire
from tickwright.services.memory import Memory


@pytest.mark.sem("SEM-TICK-1", "SEM-TICK-2")
async def test_the_whole_runs_on_time(world: World) -> None:
    """Scheduler, watch and worker for a quarter of an hour: every tick runs once, on its instant; nothing is left."""
    jobs = [await a_minutely_job(world, 10, name=f"job-{number}") for number in range(3)]

    await for_a_while(world, 15 * MINUTE, SchedulerLoop(world.kit, "s1"), WatchLoop(world.kit), a_worker(world))

    assert len(world.runner.starts) == 30
    assert all(start.at == start.scheduled_at for start in world.runner.starts)
    await check_all(world)
    for job in jobs:
        await check_ledger(world, job)


@pytest.mark.sem("SEM-BUCKET-1", "SEM-TICK-1")
async def test_two_of_everything_do_each_thing_once(world: World) -> None:
    """Two schedulers, two watchers, three workers."""
    jobs = [await a_minutely_job(world, 3, name=f"job-{number}") for number in range(4)]

    await for_a_while(
        world,
        6 * MINUTE,
        *(SchedulerLoop(world.a_process(), f"s{n}", slot=n, slots=2) for n in range(2)),
        *(WatchLoop(world.a_process()) for _ in range(2)),
        *(a_worker(world, world.a_process(), f"w{n}") for n in range(3)),
    )

    assert len(world.runner.starts) == 12
    assert world.telemetry.counts[EventName.EXECUTION_SUCCEEDED] == 12
    await check_all(world)
    for job in jobs:
        await check_ledger(world, job)


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_a_fault_in_the_middle_of_a_tick_is_repaired_by_the_same_process(world: World) -> None:
    """A decided tick whose insert was lost starts within seconds; it does not wait for the watch."""
    job = await world.submit(schedule={"runAt": world.text(MINUTE)})
    script = Script(of=Insert, at=1, fate=Fate.LOST_BEFORE)

    await for_a_while(world, MINUTE + 10_000, SchedulerLoop(world.a_process(script), "s1"), a_worker(world))

    assert [start.at for start in world.runner.starts] == [job.next_run_at]
    assert world.telemetry.counts[EventName.STORE_FAULT] == 1


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_a_queue_that_was_down_is_told_again_by_the_same_process(world: World) -> None:
    """No hint was taken when the tick was decided: the next seconds send it."""
    job = await world.submit(schedule={"runAt": world.text(MINUTE)})
    down = Down(frozenset({"send"}))
    stop = asyncio.Event()
    going = [
        asyncio.create_task(SchedulerLoop(world.a_process(down), "s1").run(stop)),
        asyncio.create_task(a_worker(world).run(stop)),
    ]
    await world.clock.sleep_ms(MINUTE + 2_000)
    down.is_down = False
    await world.clock.sleep_ms(10_000)
    stop.set()
    await asyncio.gather(*going)

    assert down.refused > 0
    assert [start.scheduled_at for start in world.runner.starts] == [job.next_run_at]
    assert world.runner.starts[0].at - world.runner.starts[0].scheduled_at < 10_000


@pytest.mark.sem("SEM-LANE-1")
async def test_a_lane_that_fails_keeps_no_other_from_being_served(world: World) -> None:
    """Nobody can be told of anything: what is less urgent is decided each second all the same."""
    high, low = [
        await world.submit(schedule={"every": "PT1S"}, priority=lane.value, overlap={"mode": "allow"})
        for lane in (Lane.HIGH, Lane.LOW)
    ]
    stop = asyncio.Event()
    going = asyncio.create_task(SchedulerLoop(world.a_process(Down(frozenset({"send"}))), "s1").run(stop))
    await world.clock.sleep_ms(30_000)
    stop.set()
    await going

    decided = [execution.job_id for execution in await world.executions()]
    assert decided.count(high.job_id) >= 20
    assert decided.count(low.job_id) >= 20


@pytest.mark.sem("SEM-TICK-2")
@pytest.mark.parametrize("down_ms", [5_000, 2 * MINUTE])
async def test_a_store_that_is_down_costs_time_and_no_tick(world: World, down_ms: int) -> None:
    """Every call fails for a while: the loops go on, and every tick has its row afterwards."""
    job = await a_minutely_job(world, 5, catchup={"mode": "all"}, overlap={"mode": "allow"})
    down = Down(
        frozenset({"write", "write_each", "write_together", "put_page", "due_eventually", "pages", "lease"}),
        is_down=False,
    )
    kit = world.a_process(down)
    stop = asyncio.Event()
    loops: list[SchedulerLoop | WatchLoop | WorkerLoop] = [
        SchedulerLoop(kit, "s1"),
        WatchLoop(kit),
        a_worker(world, kit),
    ]
    going = [asyncio.create_task(loop.run(stop)) for loop in loops]
    await world.clock.sleep_ms(2 * MINUTE - 1_000)
    down.is_down = True
    await world.clock.sleep_ms(down_ms)
    down.is_down = False
    await world.clock.sleep_ms(6 * MINUTE)
    stop.set()
    await asyncio.gather(*going)

    assert down.refused > 0
    await world.drain()
    await check_all(world)
    await check_ledger(world, job)
    assert len({start.execution_id for start in world.runner.starts}) == 5


@pytest.mark.sem("SEM-BUCKET-2")
async def test_a_bucket_is_handed_over_when_a_scheduler_stops(world: World) -> None:
    """The next one has it within a second or two, not after a lease."""
    await for_a_while(world, 5_000, SchedulerLoop(world.kit, "s1"))
    successor = SchedulerLoop(world.kit, "s2")

    await successor.tick()

    assert set(successor.leases.mine) == {0}
    assert successor.leases.mine[0].resolved


@pytest.mark.sem("SEM-BUCKET-2")
async def test_what_a_dead_scheduler_left_is_looked_after_at_take_over(world: World) -> None:
    """It died between A and I; its successor inserts and sends a lease later, before it fires anything of its own."""
    await world.submit(schedule={"runAt": world.text(MINUTE)})
    kit = world.a_process(Script(of=Insert, at=1, fate=Fate.CRASH_BEFORE))
    dead = SchedulerLoop(kit, "dead")
    await dead.tick()
    world.clock.advance(MINUTE - 4_000)
    with suppress(Crash):
        await dead.tick()
    began = world.clock.now()

    await for_a_while(world, 20_000, SchedulerLoop(world.kit, "next"), a_worker(world))

    (start,) = world.runner.starts
    assert start.at - began <= world.durations.bucket_lease_ms + 3_000


@pytest.mark.sem("SEM-BUCKET-1")
async def test_slots_share_the_buckets(world: World) -> None:
    """Slot i of n prefers the buckets b with b % n = i, and takes the others only when nobody has them for long."""
    shared = World(buckets=6)
    loops = [SchedulerLoop(shared.a_process(), f"s{n}", slot=n, slots=2) for n in range(2)]
    await loops[0].tick()
    await loops[1].tick()
    together = [sorted(loop.leases.mine) for loop in loops]

    await shared.close()

    assert sum(len(mine) for mine in together) == 6
    assert not set(together[0]) & set(together[1])


async def test_one_row_that_cannot_be_read_costs_itself_alone(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A head of another version of the program: it is in the log, and the jobs of its bucket fire on time (B094)."""
    shared = World(buckets=2)
    jobs = [await shared.submit(schedule={"every": "PT1M"}) for _ in range(16)]
    broken = jobs[0]
    await shared.database.write(
        lambda connection: connection.execute(
            "UPDATE heads SET doc = json_set(doc, '$.overlap', 'unheard-of') WHERE job_id = ?", (broken.job_id,)
        ),
        StoreUnavailable,
    )
    shared.clock.advance(MINUTE)

    await SchedulerLoop(shared.kit, "s1").tick()

    fired_jobs = {row.job_id for row in await shared.executions()}
    assert fired_jobs == {job.job_id for job in jobs} - {broken.job_id}
    assert "a head cannot be read" in caplog.text
    await shared.close()


async def test_one_broken_page_does_not_stop_the_watch(world: World) -> None:
    """An entry that brings a bug to light stays where it is; the pages behind it are looked after."""
    for _ in range(2):
        await a_minutely_job(world, 1)
        world.clock.advance(1_000)
    world.clock.advance(MINUTE)
    await fired(world)
    first = next(iter(await world.executions()))
    await world.database.write(
        lambda connection: connection.execute(
            "UPDATE executions SET doc = json_set(doc, '$.state', 'UNHEARD_OF') WHERE job_id = ?", (first.job_id,)
        ),
        StoreUnavailable,
    )
    world.clock.advance(world.durations.first_check_ms)
    before = await world.kit.store.pages(0, until=world.clock.now(), limit=10)

    looked_at = await WatchLoop(world.kit).look()

    assert looked_at == len(before)
    assert world.telemetry.counts[EventName.LOOP_BROKE] == 1


# --- the worker -------------------------------------------------------------------------------------------------
def sleeps(world: World, duration_ms: int) -> None:
    """Every target takes so long, and listens to nobody."""

    async def does(invocation: Invocation) -> UserResult:
        await world.clock.sleep_ms(duration_ms)
        return Success()

    world.runner.does = does


@pytest.mark.sem("SEM-DRAIN-1")
async def test_a_stopping_worker_finishes_what_ends_in_time(world: World) -> None:
    """A run of ten seconds is under way when the worker is told to stop: it ends well, by one attempt."""
    await world.submit(schedule={"runAt": world.text(1_000)})
    sleeps(world, 10_000)

    await for_a_while(world, 3_000, a_worker(world))

    row = await world.only_execution()
    assert (row.state, row.attempt) == (State.SUCCEEDED, 1)
    assert await world.hints() == 0


@pytest.mark.sem("SEM-DRAIN-1")
async def test_a_stopping_worker_gives_back_what_does_not_end(world: World) -> None:
    """A run of an hour: given back within the thirty seconds that platforms leave, and no attempt is counted."""
    await world.submit(schedule={"runAt": world.text(1_000)})
    sleeps(world, HOUR)
    began = world.clock.now()

    await for_a_while(world, 3_000, a_worker(world))

    row = await world.only_execution()
    assert (row.state, row.reason, row.attempt) == (State.RETRY, Reason.GIVEN_BACK, 0)
    assert world.clock.now() - began <= 3_000 + 26_000
    world.runner.does = None
    await world.work()
    assert (await world.only_execution()).state is State.SUCCEEDED


@pytest.mark.sem("SEM-DRAIN-1")
async def test_a_worker_that_is_hurried_gives_back_at_once(world: World) -> None:
    """A second wish to stop, within the grace: the run of an hour is given back, and no attempt is counted."""
    await world.submit(schedule={"runAt": world.text(1_000)})
    sleeps(world, HOUR)
    loop, stop = a_worker(world), asyncio.Event()
    going = asyncio.create_task(loop.run(stop))
    await world.clock.sleep_ms(3_000)
    stop.set()
    await world.clock.sleep_ms(2_000)
    hurried_at = world.clock.now()

    loop.let_go()
    await going

    row = await world.only_execution()
    assert (row.state, row.reason, row.attempt) == (State.RETRY, Reason.GIVEN_BACK, 0)
    assert world.clock.now() - hurried_at <= 12_000  # two moments of a third of a heartbeat to let the target go


@pytest.mark.sem("SEM-DRAIN-1")
async def test_a_worker_that_is_hurried_before_it_runs_is_hurried_when_it_does(world: World) -> None:
    """Two signals while it is being set up: it begins nothing that it would have to wait for."""
    loop, stop = a_worker(world), asyncio.Event()
    began = world.clock.now()

    loop.let_go()
    stop.set()
    await loop.run(stop)

    assert world.clock.now() - began <= 2_000


@pytest.mark.sem("SEM-DRAIN-1")
async def test_a_stopping_worker_takes_no_more(world: World) -> None:
    """What becomes visible after the stop is left to others."""
    sleeps(world, 15_000)
    await world.submit(schedule={"runAt": world.text(1_000)})
    await world.submit(schedule={"runAt": world.text(5_000)})

    await for_a_while(world, 2_000, a_worker(world))

    assert len(world.runner.starts) == 1
    assert await world.hints() == 1


@pytest.mark.sem("SEM-LANE-1")
async def test_a_herd_in_one_lane_does_not_hold_up_another(world: World) -> None:
    """All places of the low lane are taken for an hour; a high one starts at its instant."""
    sleeps(world, HOUR)
    for _ in range(30):
        await world.submit(schedule={"runAt": world.text(1_000)}, priority="low")
    loop = WorkerLoop(world.kit, {"python": world.runner}, WorkerId("w"), places={Lane.LOW: 5, Lane.HIGH: 5})
    stop = asyncio.Event()
    going = asyncio.create_task(loop.run(stop))
    await world.clock.sleep_ms(5_000)
    urgent = await world.submit(schedule={"runAt": world.text(3_000)}, priority="high")

    await world.clock.sleep_ms(4_000)

    assert [start.at for start in world.runner.starts if start.execution_id.startswith(urgent.job_id)] == [
        urgent.next_run_at
    ]
    assert len(world.runner.starts) == 6
    stop.set()
    await going


async def test_a_worker_goes_on_when_the_queue_is_down(world: World) -> None:
    """Receives fail for a minute; then the hint comes, and it runs."""
    await world.submit(schedule={"runAt": world.text(1_000)})
    down = Down(frozenset({"receive", "delete", "show_again"}))
    kit = world.a_process(down)
    stop = asyncio.Event()
    going = asyncio.create_task(a_worker(world, kit).run(stop))
    await world.clock.sleep_ms(MINUTE)
    down.is_down = False
    await world.clock.sleep_ms(5_000)
    stop.set()
    await going

    assert down.refused > 10
    assert (await world.only_execution()).state is State.SUCCEEDED


async def test_one_broken_attempt_does_not_stop_the_others(world: World) -> None:
    """A row that cannot be read breaks its own attempt: it is announced, its hint comes again, the others run."""
    for _ in range(5):
        await world.submit(schedule={"runAt": world.text(1_000)})
    broken = next(iter(await world.executions()))
    await world.database.write(
        lambda connection: connection.execute(
            "UPDATE executions SET doc = json_set(doc, '$.cause', 'unheard-of') WHERE job_id = ?", (broken.job_id,)
        ),
        StoreUnavailable,
    )
    world.clock.advance(1_000)

    await for_a_while(world, 2_000, a_worker(world))

    assert len(world.runner.starts) == 4
    assert broken.ref.id not in {start.execution_id for start in world.runner.starts}
    assert world.telemetry.counts[EventName.ATTEMPT_BROKE] >= 1


async def test_a_batch_of_hints_costs_one_claim_write(world: World) -> None:
    """Ten that are due together are claimed together, and each ends by itself."""
    for _ in range(10):
        await world.submit(schedule={"runAt": world.text(1_000)})
    recorder = Recorder()

    async def mixed(invocation: Invocation) -> UserResult:
        if invocation.execution.job_id < first.job_id:
            raise AssertionError
        return Success() if invocation.execution.job_id != first.job_id else Failure(error=an_error("Flaky", "once"))

    first = next(iter(await world.executions()))
    world.runner.does = mixed
    world.clock.advance(1_000)
    await for_a_while(world, 2_000, a_worker(world, world.a_process(recorder)))

    names = [call.name for call in recorder.calls if call.writes]
    assert names[:10] == ["write_each"] * 10
    states = sorted(row.state.value for row in await world.executions())
    assert states == ["RETRY", *["SUCCEEDED"] * 9]


async def test_a_cancelled_herd_leaves_the_queue_empty(world: World) -> None:
    """Hints of cancelled executions are taken, refused and deleted, once each."""
    job = await world.submit(schedule={"every": "PT1S", "endAt": world.text(5_000)}, overlap={"mode": "allow"})
    world.clock.advance(5_000)
    for _ in range(5):
        await fired(world)
    await cancel_job(world.kit, TENANT, job.job_id, None)

    await for_a_while(world, 3_000, a_worker(world))

    assert (await world.hints(), world.runner.starts) == (0, [])
    assert {row.state for row in await world.executions()} == {State.CANCELLED}


@pytest.mark.sem("SEM-DRAIN-1")
async def test_a_watch_that_is_to_stop_ends_with_the_page_it_is_at(world: World) -> None:
    """A backlog of pages does not keep a process from ending."""
    await a_minutely_job(world, 3)
    for _ in range(3):
        world.clock.advance(MINUTE)
        await fire(world.kit, 0, await world.due(), Memory())
    world.clock.advance(HOUR)
    stop, pages = asyncio.Event(), len(await world.pages())
    resolving = Interject("delete_page", lambda: _set(stop))

    await WatchLoop(world.a_process(resolving)).run(stop)

    assert pages >= 3
    assert resolving.seen == 1


async def _set(stop: asyncio.Event) -> None:
    stop.set()
