"""Rows on missed runs, overlap and broken jobs: what happens to a tick that cannot run as it should."""

import pytest

from tests.support.builders import TENANT
from tests.support.kits import World
from tests.support.ledger import check_all, check_ledger
from tests.support.steps import DAY, HOUR, MINUTE, a_minutely_job, a_worker, claimed, fired, for_a_while
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.events import EventName
from tickwright.domain.executions import Reason
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.outcomes import Refusal
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.runner import Invocation
from tickwright.services.change_job import edit_job, pause_job, resume_job
from tickwright.services.fire import fire
from tickwright.services.memory import Memory


async def test_b079_eight_hours_of_missed_minutes_cost_one_run_and_then_it_goes_on(world: World) -> None:
    """Policy *latest*: the last of 480 runs, the rest is one row, and no number of misses stops a job for ever."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(8 * HOUR + 2 * MINUTE)})
    world.clock.advance(8 * HOUR + 200)

    await world.drain()

    assert [(start.scheduled_at - job.created_at) // MINUTE for start in world.runner.starts] == [480, 481, 482]
    assert len(await world.executions()) == 4


async def test_b080_a_pause_of_three_days_ends_in_the_next_normal_tick(world: World) -> None:
    """Nothing runs for the paused span."""
    job = await world.submit(schedule={"every": "PT1M"})
    await pause_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(3 * DAY)

    assert not isinstance(await resume_job(world.kit, TENANT, job.job_id, None), Refusal)

    assert (await world.head(job.job_id)).next_run_at == world.clock.now() + MINUTE
    assert [row.state for row in await world.executions()] == [State.SKIPPED]


async def test_b082_no_skipped_tick_runs_when_a_job_is_resumed(world: World) -> None:
    """Paused from 11:31 to 11:35 with catch-up off: no run for the gap."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(8 * MINUTE)}, catchup={"mode": "none"})
    world.clock.advance(30_000)
    await pause_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(4 * MINUTE)
    await resume_job(world.kit, TENANT, job.job_id, None)

    await world.drain()

    assert [(start.scheduled_at - job.created_at) // MINUTE for start in world.runner.starts] == [5, 6, 7, 8]
    await check_ledger(world, job)


async def test_b084_a_list_of_expressions_catches_up_as_one(world: World) -> None:
    """Tuesday 08:00 and Thursday 11:00, paused from Monday to Friday, policy *latest*: one run, Thursday's."""
    world.clock.advance_to(from_rfc3339("2026-12-07T09:00:00.000Z"))
    catch_up = {"mode": "latest", "windowSec": 6 * 86_400, "onResume": "catchup"}
    job = await world.submit(
        schedule={"cron": ["0 8 * * 2", "0 11 * * 4"], "endAt": world.text(4 * DAY)}, catchup=catch_up
    )
    await pause_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(4 * DAY)

    await resume_job(world.kit, TENANT, job.job_id, None)
    await world.drain()

    assert [start.scheduled_at for start in world.runner.starts] == [from_rfc3339("2026-12-10T11:00:00.000Z")]
    await check_ledger(world, job)


async def test_b087_all_missed_ticks_run_oldest_first_each_with_its_time(world: World) -> None:
    """Five minutes down, policy *all*."""
    job = await world.submit(
        schedule={"every": "PT1M", "endAt": world.text(5 * MINUTE)}, catchup={"mode": "all"}, overlap={"mode": "allow"}
    )
    world.clock.advance(5 * MINUTE + 100)

    await world.drain()

    assert [(start.scheduled_at - job.created_at) // MINUTE for start in world.runner.starts] == [1, 2, 3, 4, 5]
    await check_ledger(world, job)


async def test_b088_an_edit_of_the_same_schedule_loses_no_due_tick(world: World) -> None:
    """PUT of the same spec when the tick is due and nobody has fired it yet: it runs, once."""
    job = await a_minutely_job(world, 3)
    world.clock.advance(MINUTE + 50)
    until = {"every": "PT1M", "endAt": world.text(2 * MINUTE - 50)}

    await edit_job(world.kit, TENANT, job.job_id, world.spec(schedule=until), 1)
    await world.drain()

    assert world.runner.starts[0].scheduled_at == job.next_run_at
    assert len(world.runner.starts) == 3
    await check_all(world)


async def test_b088_an_edit_between_a_tick_and_its_slot_loses_no_run(world: World) -> None:
    """In a window the run comes after the nominal time: PUT of the same spec in between, and it runs then, once."""
    schedule = {"every": "PT5M", "window": 60, "endAt": world.text(7 * MINUTE)}
    job = await world.submit(schedule=schedule)
    slot = Instant(job.next_run_at or 0)
    delay_ms = slot % (5 * MINUTE)
    assert 1_000 < delay_ms < MINUTE
    world.clock.advance_to(Instant(slot - delay_ms // 2))

    await edit_job(world.kit, TENANT, job.job_id, world.spec(schedule=schedule), 1)
    await world.drain()

    assert [start.scheduled_at for start in world.runner.starts] == [slot, slot + 5 * MINUTE]
    await check_all(world)


async def test_b091_a_pause_longer_than_the_retention_keeps_the_job(world: World) -> None:
    """Heads have no time to live."""
    job = await world.submit(schedule={"every": "PT1H"})
    await pause_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(world.kit.retention_s * 1_000 + 30 * DAY)

    assert not isinstance(await resume_job(world.kit, TENANT, job.job_id, None), Refusal)
    assert (await world.head(job.job_id)).next_run_at is not None


async def test_b092_a_late_dispatcher_fires_late_and_skips_nothing(world: World) -> None:
    """Blocked for 1.8 s at the due time: the run starts 1.8 s late, and its lag is measured."""
    job = await a_minutely_job(world, 1)
    world.clock.advance(MINUTE + 1_800)
    await SchedulerLoop(world.kit, "blocked").tick()

    await world.work()

    (start,) = world.runner.starts
    assert start.at - start.scheduled_at == 1_800
    decided = next(event for event in world.telemetry.happenings if event.name is EventName.TICK_DECIDED)
    assert decided.measured["dispatchLagMs"] == 1_800
    await check_ledger(world, job)


async def test_b094_one_unreadable_schedule_does_not_stop_the_other_nineteen(world: World) -> None:
    """The broken one is set aside with an event; it costs no other job its tick."""
    jobs = [await a_minutely_job(world, 1) for _ in range(20)]
    await _break(world, jobs[0].job_id, "$.schedule", "unparseable")
    world.clock.advance(MINUTE + 30_000)
    scheduler = SchedulerLoop(world.kit, "s")
    await scheduler.tick()

    await world.work()
    await world.work()

    assert len(world.runner.starts) == 19
    assert world.telemetry.counts[EventName.TICK_POISONED] == 1


async def _break(world: World, job_id: str, path: str, value: str) -> None:
    statement = "UPDATE heads SET doc = json_set(doc, ?, ?) WHERE job_id = ?"
    await world.database.write(
        lambda connection: connection.execute(statement, (path, value, job_id)), StoreUnavailable
    )


async def test_b096_an_edit_in_the_afternoon_starts_nothing_at_once(world: World) -> None:
    """From 01:15 to 02:15, at 14:00: tomorrow at 02:15."""
    world.clock.advance_to(from_rfc3339("2026-12-01T14:00:00.000Z"))
    job = await world.submit(schedule={"cron": "15 1 * * 1-5"})

    await edit_job(world.kit, TENANT, job.job_id, world.spec(schedule={"cron": "15 2 * * 1-5"}), 1)

    assert (await world.head(job.job_id)).next_run_at == from_rfc3339("2026-12-02T02:15:00.000Z")
    assert await world.executions() == []


async def test_b139_a_long_run_skips_the_slots_that_it_covers(world: World) -> None:
    """A run of eight intervals, two dispatchers in turn: overlap is read from the rows, so seven are skipped."""
    job = await a_minutely_job(world, 10, timeoutSec=1_000)

    async def first_takes_long(invocation: Invocation) -> UserResult:
        if len(world.runner.starts) == 1:
            await world.clock.sleep_ms(8 * MINUTE - 1)
        return Success()

    world.runner.does = first_takes_long
    schedulers = [SchedulerLoop(world.a_process(), f"s{n}", slot=n, slots=2) for n in range(2)]
    await for_a_while(world, 12 * MINUTE, *schedulers, a_worker(world))

    rows = await world.executions(job.job_id)
    assert [row.reason for row in rows].count(Reason.OVERLAP) == 7
    assert [row.state for row in rows].count(State.SUCCEEDED) == 3
    assert world.telemetry.counts[EventName.EXECUTION_SKIPPED] == 7
    await check_ledger(world, job)


async def test_b140_overlap_survives_a_new_dispatcher(world: World) -> None:
    """A run in progress, the dispatcher starts anew, the next slot comes: no second run."""
    await a_minutely_job(world)
    world.clock.advance(MINUTE)
    await claimed(world, await fired(world))
    world.clock.advance(MINUTE)

    await SchedulerLoop(world.kit, "anew").tick()

    assert [row.state for row in await world.executions()] == [State.RUNNING, State.SKIPPED]


async def test_b142_a_slow_job_does_not_starve_the_others(world: World) -> None:
    """Seven jobs each minute, one of which takes five: six are on time, the slow one skips by its policy."""
    jobs = [await a_minutely_job(world, 6) for _ in range(7)]

    async def one_is_slow(invocation: Invocation) -> UserResult:
        if invocation.execution.job_id == jobs[0].job_id:
            await world.clock.sleep_ms(5 * MINUTE - 1)
        return Success()

    world.runner.does = one_is_slow
    await for_a_while(world, 12 * MINUTE, SchedulerLoop(world.kit, "s"), a_worker(world))

    assert all(start.at == start.scheduled_at for start in world.runner.starts)
    assert len(world.runner.starts) == 6 * 6 + 2
    for job in jobs:
        await check_ledger(world, job)


async def test_b186_every_skip_is_an_event_and_a_row_with_its_reason(world: World) -> None:
    """By overlap and by window: counted by reason, told of in the ledger."""
    await a_minutely_job(world, 10, catchup={"mode": "latest", "windowSec": 60})
    world.clock.advance(MINUTE)
    await claimed(world, await fired(world))
    world.clock.advance(MINUTE)
    await fire(world.kit, 0, await world.due(), Memory())
    world.clock.advance_to(Instant(world.clock.now() + 5 * MINUTE))
    await fire(world.kit, 0, await world.due(), Memory())

    reasons = [row.reason for row in await world.executions() if row.state is State.SKIPPED]
    skipped = [event.about["reason"] for event in world.telemetry.happenings if event.name.value == "execution_skipped"]
    passed = [
        event.measured["count"] for event in world.telemetry.happenings if event.name.value == "ticks_passed_over"
    ]
    assert sorted(reason.value for reason in reasons if reason) == ["missed", "overlap", "overlap"]
    assert (skipped, passed) == (["overlap", "overlap"], [4])


@pytest.mark.parametrize("down_ms", [59_000, 61_000, 3_599_000])
async def test_a_job_is_on_time_again_after_any_outage(world: World, down_ms: int) -> None:
    """Whatever was missed, the tick after the outage is the next of the schedule."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(down_ms + 10 * MINUTE)})
    world.clock.advance(MINUTE + down_ms)
    await world.drain()

    assert all(start.at == start.scheduled_at for start in world.runner.starts[1:])
    await check_all(world)
    await check_ledger(world, job)
