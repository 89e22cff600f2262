"""Ticks that nobody decides are told of, whatever the cause; those that nobody can decide, or should yet, are not."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders import TENANT, a_head, a_job_id
from tests.support.clocks import SkewedClock
from tests.support.faulty import Call, Crash, Down, FaultyStore, Recorder, Script, Slow
from tests.support.kits import World
from tests.support.steps import HOUR, MINUTE, for_a_while
from tickwright.domain.changes.heads import Advance, PutHead
from tickwright.domain.events import EventName, Happening
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.journal import Page
from tickwright.domain.lanes import LANES
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.ticks import TicksLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.store import Applied
from tickwright.services import leases as lease_service
from tickwright.services import undecided
from tickwright.services.change_job import edit_job, pause_job, resume_job
from tickwright.services.jobs import JobView
from tickwright.services.kit import Kit
from tickwright.services.leases import Leases
from tickwright.services.undecided import tell_of_ticks_left

BUCKETS, LEFT = 4, 3
JOBS = 24  # in each bucket there are some

Loop = Callable[[asyncio.Event], Coroutine[Any, Any, None]]


def told_of(world: World) -> Sequence[Happening]:
    return [one for one in world.telemetry.happenings if one.name is EventName.TICK_WAITS]


async def jobs_in_each_bucket(world: World, **body: object) -> Sequence[Head]:
    heads = [await world.submit(**{"schedule": {"every": "PT1M"}, **body}) for _ in range(JOBS)]
    assert {head.bucket for head in heads} == set(range(BUCKETS))
    return heads


def not_looked_at(world: World) -> Sequence[Loop]:
    """Their count was raised for writing before it was for looking."""
    return [SchedulerLoop(replace(world.kit, buckets=LEFT), "s1").run]


def held_and_not_served(world: World) -> Sequence[Loop]:
    """Somebody keeps the lease of one bucket, and does nothing else."""
    stuck = Leases(owner="stuck")

    async def keep(stop: asyncio.Event) -> None:
        assert await lease_service.take(world.kit, stuck, LEFT)
        while not stop.is_set():
            await world.clock.sleep_ms(world.durations.tick_ms)
            await lease_service.renew(world.kit, stuck)

    return [keep, SchedulerLoop(world.kit, "s1").run]


def failing_at_it(world: World) -> Sequence[Loop]:
    """Whoever serves one bucket can write nothing there."""

    class Refuses:
        async def through(self, call: Call, do: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - any port's
            pages = isinstance(call.what, Page) and call.what.bucket == LEFT
            return await Down(frozenset({"put_page"}) if pages else frozenset()).through(call, do)

    return [SchedulerLoop(world.a_process(Refuses()), "s1").run]


@pytest.mark.sem("SEM-BUCKET-5")
@pytest.mark.parametrize("schedulers", [not_looked_at, held_and_not_served, failing_at_it])
async def test_a_bucket_that_nobody_serves_is_told_of_each_minute_while_the_others_are_served(
    schedulers: Callable[[World], Sequence[Loop]],
) -> None:
    """Whatever the cause: by the jobs that wait."""
    world = World(buckets=BUCKETS)
    heads = await jobs_in_each_bucket(world)
    stop = asyncio.Event()
    loops = [*schedulers(world), TicksLoop(world.kit).run]
    going = [asyncio.create_task(loop(stop)) for loop in loops]
    await world.clock.sleep_ms(10 * MINUTE + 30_000)
    stop.set()
    await asyncio.gather(*going)

    waits = told_of(world)
    assert {one.about["bucket"] for one in waits} == {str(LEFT)}
    assert {one.about["jobId"] for one in waits} <= {head.job_id for head in heads if head.bucket == LEFT}
    assert [one.measured["waitedMs"] // MINUTE for one in waits] == list(range(1, 10))
    decided = {execution.job_id for execution in await world.executions()}
    assert decided == {head.job_id for head in heads if head.bucket != LEFT}
    await world.close()


async def test_where_all_buckets_are_served_nothing_is_told_of(world: World) -> None:
    """Every minute for an hour, with a scheduler that dies in between and one that comes after it."""
    for lane in ("high", "normal", "low"):
        await world.submit(schedule={"every": "PT1M"}, priority=lane)
    stop = asyncio.Event()
    looking = asyncio.create_task(TicksLoop(world.kit).run(stop))

    with pytest.raises(Crash):
        await SchedulerLoop(world.a_process(Script(of=Advance, at=60)), "s1").run(stop)
    await for_a_while(world, HOUR, SchedulerLoop(world.kit, "s2"))
    stop.set()
    await looking

    assert len(await world.executions()) > 200
    assert told_of(world) == []


async def test_a_scheduler_that_is_too_slow_is_told_of_though_it_decides(world: World) -> None:
    """Three minutes for a look: its ticks are decided, and each is left for minutes before."""

    class SlowPages:
        async def through(self, call: Call, do: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - any port's
            return await Slow(world.clock, 3 * MINUTE if call.name == "put_page" else 0).through(call, do)

    await world.submit(schedule={"every": "PT1M"}, overlap={"mode": "allow"})

    await for_a_while(world, 20 * MINUTE, SchedulerLoop(world.a_process(SlowPages()), "s1"), TicksLoop(world.kit))

    assert len(await world.executions()) >= 4
    assert len(told_of(world)) >= 10


async def test_whoever_looks_may_have_another_clock(world: World) -> None:
    """Half a minute ahead, which is fifteen times what two clocks are apart."""
    await world.submit(schedule={"every": "PT1M"})
    ahead = world.a_process(clock=SkewedClock(world.clock, MINUTE // 2))

    await for_a_while(world, 10 * MINUTE, SchedulerLoop(world.kit, "s1"), TicksLoop(ahead))

    assert len(await world.executions()) >= 9
    assert told_of(world) == []


async def test_each_lane_of_each_bucket_is_asked_once_a_minute() -> None:
    """It is paid for, and most of the time there is nothing."""
    world, recorder = World(buckets=3), Recorder()

    await for_a_while(world, 5 * MINUTE - 1, TicksLoop(world.a_process(recorder)))

    assert [call.name for call in recorder.calls] == ["due_eventually"] * 5 * 3 * len(LANES)
    await world.close()


async def test_a_store_that_does_not_answer_costs_a_look_at_each_bucket_and_not_the_loop() -> None:
    """It is told of as a fault, and the next minute's look is made."""
    world, down = World(buckets=3), Down(frozenset({"due_eventually"}))

    await for_a_while(world, MINUTE + 1, TicksLoop(world.a_process(down)))

    assert down.refused == 2 * world.buckets
    assert world.telemetry.counts[EventName.STORE_FAULT] == 2 * world.buckets
    await world.close()


async def test_a_look_that_takes_long_ends_when_it_is_to_stop() -> None:
    """What is being asked is answered, and no more is asked: a function has its time limit."""
    world, recorder, stop = World(buckets=100), Recorder(), asyncio.Event()
    kit = replace(world.kit, store=FaultyStore(FaultyStore(world.kit.store, Slow(world.clock, 1_000)), recorder))

    asyncio.get_running_loop().call_later(10, stop.set)
    await TicksLoop(kit).look(stop)

    assert len(recorder.calls) == 3 * 16 * len(LANES)
    await world.close()


async def test_one_bucket_that_brings_a_bug_to_light_costs_no_other_its_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is announced, and the ticks of the others are told of."""
    world = World(buckets=BUCKETS)
    await jobs_in_each_bucket(world)
    world.clock.advance(3 * MINUTE)

    async def told(kit: Kit, bucket: int) -> int:
        assert bucket != LEFT
        return await tell_of_ticks_left(kit, bucket)

    monkeypatch.setattr("tickwright.loops.ticks.tell_of_ticks_left", told)
    await TicksLoop(world.kit).look(asyncio.Event())

    assert {one.about["bucket"] for one in told_of(world)} == set("012")
    assert world.telemetry.counts[EventName.LOOP_BROKE] == 1
    await world.close()


# --- what is not told of, and hides nothing ---------------------------------------------------------------------
Making = Callable[[World], Awaitable[object]]


async def put_head(world: World, **shown: object) -> None:
    """A head that no API would write, due now."""
    due = {"job_id": a_job_id(500 + len(await world.heads())), "next_run_at": world.clock.now()}
    outcome = await world.kit.store.write(PutHead(head=a_head(**due, **shown)))
    assert isinstance(outcome, Applied)


async def without_a_sense(world: World) -> None:
    """Its schedule cannot be read."""
    job = await world.submit(schedule={"every": "PT1M"})
    await world.database.write(
        lambda connection: connection.execute(
            "UPDATE heads SET doc = json_set(doc, '$.schedule', 'gibberish') WHERE job_id = ?", (job.job_id,)
        ),
        StoreUnavailable,
    )


async def without_its_row(world: World) -> None:
    """Its head cannot be read."""
    job = await world.submit(schedule={"every": "PT1M"})
    await world.database.write(
        lambda connection: connection.execute(
            "UPDATE heads SET doc = json_set(doc, '$.overlap', 'unheard-of') WHERE job_id = ?", (job.job_id,)
        ),
        StoreUnavailable,
    )


async def without_its_calendar(world: World) -> None:
    """A copy of the tables lacks it."""
    await put_head(world, schedule='{"c":["* * * * *"],"z":"UTC","k":["gone"]}')


async def without_its_version(world: World) -> None:
    """A copy of the tables lacks the version of an edit whose time has come."""
    await put_head(world, pending_version=2, effective_from=world.clock.now())


async def paused(world: World) -> None:
    """Nobody is to fire it."""
    job = await world.submit(schedule={"every": "PT1M"})
    await pause_job(world.kit, TENANT, job.job_id, None)


NOBODY_S = [without_a_sense, without_its_row, without_its_calendar, without_its_version, paused]


@pytest.mark.sem("SEM-BUCKET-5")
@pytest.mark.parametrize("made", NOBODY_S)
async def test_a_job_that_nobody_can_decide_is_not_told_of(world: World, made: Making) -> None:
    """Whoever tries tells of it as a bug: an alarm for the bucket would ring until that is mended, and say no more."""
    await made(world)
    world.clock.advance(10 * MINUTE)
    before = await world.heads() if made is not without_its_row else []
    await SchedulerLoop(world.kit, "s1").tick()

    assert await tell_of_ticks_left(world.kit, 0) == 0
    assert told_of(world) == []
    assert made is without_its_row or await world.heads() == before
    assert world.telemetry.counts[EventName.TICK_POISONED] == (made not in {without_its_row, paused})


@pytest.mark.sem("SEM-BUCKET-5")
@pytest.mark.parametrize("made", NOBODY_S)
async def test_what_nobody_can_decide_hides_no_job_behind_it(
    world: World, monkeypatch: pytest.MonkeyPatch, made: Making
) -> None:
    """More than a page of them, all due before it."""
    monkeypatch.setattr(undecided, "_PAGE", 2)
    for _ in range(5):
        await made(world)
    world.clock.advance(1_000)
    behind = await world.submit(schedule={"every": "PT1M"})
    world.clock.advance(3 * MINUTE)

    assert await tell_of_ticks_left(world.kit, 0) == 1
    assert [one.about["jobId"] for one in told_of(world)] == [behind.job_id]


async def test_an_index_that_lags_behind_a_decision_is_not_believed(world: World) -> None:
    """It shows a head where it was; the store has moved it on."""
    await world.submit(schedule={"every": "PT1M"})
    world.clock.advance(5 * MINUTE)
    kit, store, _ = world.a_process_with()
    store.show_heads(await world.due())
    await SchedulerLoop(world.kit, "s1").tick()

    assert await tell_of_ticks_left(kit, 0) == 0


async def test_ticks_that_are_made_up_one_by_one_are_not_left(world: World) -> None:
    """Each from the decision before it: at a rate of one a minute, a job that is served is never told of."""
    await world.submit(schedule={"every": "PT1M"}, catchup={"mode": "all", "ratePerMin": 1}, overlap={"mode": "allow"})
    world.clock.advance(HOUR)

    await for_a_while(world, 20 * MINUTE, SchedulerLoop(world.kit, "s1"))
    for _ in range(100):
        world.clock.advance(1_000)
        await SchedulerLoop(world.kit, "s2", alone=True).tick()
        assert await tell_of_ticks_left(world.kit, 0) == 0

    due = await world.due()
    assert due[0].next_run_at is not None
    assert due[0].next_run_at < world.clock.now() - 10 * MINUTE


async def test_ticks_that_are_made_up_are_told_of_once_nobody_makes_them_up(world: World) -> None:
    """A minute after the rate allows the next one."""
    await world.submit(schedule={"every": "PT1M"}, catchup={"mode": "all", "ratePerMin": 1}, overlap={"mode": "allow"})
    world.clock.advance(HOUR)
    await SchedulerLoop(world.kit, "s1").tick()

    told = []
    for _ in range(4):
        world.clock.advance(30_000 + 1)
        told.append(await tell_of_ticks_left(world.kit, 0))

    assert told == [0, 0, 0, 1]


@pytest.mark.sem("SEM-BUCKET-5")
async def test_an_edit_whose_time_has_come_and_that_nobody_carries_out_is_told_of(world: World) -> None:
    """Until then the old schedule counts, which has no tick before it."""
    job = await world.submit(schedule={"every": "PT24H"})
    spec = world.spec(schedule={"every": "PT1H"})
    answer = await edit_job(world.kit, TENANT, job.job_id, spec, 1, Instant(world.clock.now() + MINUTE))
    assert isinstance(answer, JobView)

    told = []
    for _ in range(3):
        world.clock.advance(MINUTE)
        told.append(await tell_of_ticks_left(world.kit, 0))

    assert told == [0, 1, 1]


async def test_a_job_that_goes_on_with_what_its_pause_held_back_is_told_of_if_nobody_does(world: World) -> None:
    """What it makes up was due long ago."""
    job = await world.submit(schedule={"every": "PT1M"}, catchup={"mode": "all", "onResume": "catchup"})
    await pause_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(HOUR)
    await resume_job(world.kit, TENANT, job.job_id, None)

    told = [await tell_of_ticks_left(world.kit, 0)]
    world.clock.advance(MINUTE + 1)
    told.append(await tell_of_ticks_left(world.kit, 0))

    assert told == [0, 1]


async def test_of_a_bucket_the_tick_that_is_left_for_longest_is_told_of(world: World) -> None:
    """One event, whatever its lane."""
    for after_s, lane in ((30, "high"), (10, "low"), (20, "normal")):
        await world.submit(schedule={"runAt": world.text(after_s * 1_000)}, priority=lane)
    world.clock.advance(2 * MINUTE)

    assert await tell_of_ticks_left(world.kit, 0) == 3
    assert [one.measured["waitedMs"] for one in told_of(world)] == [2 * MINUTE - 10_000]
