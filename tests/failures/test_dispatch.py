"""Rows on duplicate and lost dispatch: a slot has one run, whoever dispatches it, and none goes missing."""

from contextlib import suppress
from dataclasses import replace

import pytest

from tests.support.builders import TENANT
from tests.support.clocks import SkewedClock
from tests.support.faulty import Crash, Down, Fate, Script
from tests.support.kits import World
from tests.support.ledger import check_all, check_ledger
from tests.support.steps import DAY, HOUR, MINUTE, a_minutely_job, claimed, fired, lease_over_ms
from tickwright.domain.changes.heads import Advance
from tickwright.domain.events import EventName
from tickwright.domain.ids import tick_key
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.jobs import JobStatus
from tickwright.domain.lanes import LANES
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.services.fire import fire
from tickwright.services.memory import Memory
from tickwright.services.run_now import run_now
from tickwright.services.submit import Submitted, submit


async def test_b072_a_run_that_was_decided_ahead_is_keyed_by_its_instant(world: World) -> None:
    """Ticks are not made days ahead and their key is the UTC instant: a change of the offset doubles none."""
    world.clock.advance_to(from_rfc3339("2027-03-27T12:00:00.000Z"))
    job = await world.submit(schedule={"cron": "30 9 * * *", "timezone": "Europe/Berlin", "endAt": world.text(3 * DAY)})

    await world.drain()

    hours = [(start.scheduled_at - from_rfc3339("2027-03-28T00:00:00.000Z")) / HOUR for start in world.runner.starts]
    assert hours == [7.5, 31.5, 55.5]  # summer time begins on the 28th: 09:30 there is 07:30 in UTC
    await check_ledger(world, job)


async def test_b077_every_path_computes_the_next_tick_in_the_zone_of_the_schedule(world: World) -> None:
    """A scheduler that starts anew in the morning does not run 19:00 in Paris again, and the next is 19:00 in Paris."""
    job = await world.submit(schedule={"cron": "0 19 * * *", "timezone": "Europe/Paris"})
    assert job.next_run_at == from_rfc3339("2026-12-01T18:00:00.000Z")
    await world.drain_until(Instant(job.next_run_at + 60_000))
    world.clock.advance_to(from_rfc3339("2026-12-02T09:21:00.000Z"))

    await SchedulerLoop(world.kit, "anew").tick()

    assert len(world.runner.starts) == 1
    assert (await world.head(job.job_id)).next_run_at == from_rfc3339("2026-12-02T18:00:00.000Z")


async def test_b097_slots_are_emitted_in_order_and_none_is_jumped_over(world: World) -> None:
    """The next tick is computed from the last that was decided, not from the clock that read it."""
    job = await world.submit(
        schedule={"every": "PT1M", "endAt": world.text(5 * MINUTE)}, overlap={"mode": "allow"}, catchup={"mode": "all"}
    )
    world.clock.advance(3 * MINUTE)

    await world.drain()

    ticks = [start.scheduled_at for start in world.runner.starts]
    assert ticks == sorted(ticks)
    assert len(ticks) == 5
    await check_ledger(world, job)


async def test_b100_a_scheduler_that_was_refused_its_lease_by_a_fault_does_not_dispatch(world: World) -> None:
    """The store answers with faults at its first take: it fires nothing before it holds the bucket."""
    await a_minutely_job(world)
    world.clock.advance(MINUTE)
    down = Down(frozenset({"lease", "write"}))
    scheduler = SchedulerLoop(world.a_process(down), "second")

    await scheduler.tick()
    without_a_lease = (dict(scheduler.leases.mine), await world.executions())
    down.is_down = False
    world.clock.advance(1_000)
    await scheduler.tick()

    assert without_a_lease == ({}, [])
    assert len(await world.executions()) == 1


def test_b102_a_slots_key_has_one_fixed_form() -> None:
    """UTC, millisecond digits, fixed width: no library's way of printing a time is part of it."""
    assert tick_key(from_rfc3339("2026-12-01T12:00:00.000Z")) == "20261201T120000000Z"
    assert tick_key(Instant(0)) == "19700101T000000000Z"


async def test_b106_a_dispatcher_whose_clock_is_set_back_fires_nothing_again(world: World) -> None:
    """A minute back: what it has fired stays fired, and the next tick comes at its time."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    await fired(world)
    world.clock.set(Instant(world.clock.now() - MINUTE))

    await fire(world.kit, 0, await world.due(), Memory())
    await world.drain()

    await check_all(world)
    await check_ledger(world, job)
    assert len(world.runner.starts) == 3


async def test_b107_a_timer_that_wakes_early_fires_the_slot_once(world: World) -> None:
    """Ten milliseconds before noon the slot is decided, its hint is held until noon, and the next is after it."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE - 10)
    await fired(world)
    early = await world.receive()
    world.clock.advance(10)
    await world.work()

    assert early == []
    assert world.runner.starts[0].at == job.next_run_at
    await world.drain()
    assert len(world.runner.starts) == 3
    await check_ledger(world, job)


async def test_b108_two_dispatchers_start_one_run_a_slot(world: World) -> None:
    """Both think that the bucket is theirs, on the same reading, tick after tick."""
    job = await a_minutely_job(world, 5, overlap={"mode": "allow"})
    for minute in range(1, 6):
        world.clock.advance_to(Instant(job.created_at + minute * MINUTE))
        shown = await world.due()
        await fire(world.a_process(), 0, shown, Memory())
        await fire(world.a_process(), 0, shown, Memory())
        await world.work()

    assert len(world.runner.starts) == 5
    await world.drain()
    await check_ledger(world, job)


async def test_b109_two_workers_that_advance_one_run_make_one_attempt(world: World) -> None:
    """State, epoch and attempt stand in the condition: the second write is refused."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    execution = await fired(world)
    await claimed(world, execution, "first")

    with pytest.raises(AssertionError):
        await claimed(world, execution, "second")

    assert (await world.only_execution()).attempt == 1


async def test_b110_only_an_absent_slot_is_inserted(world: World) -> None:
    """A second insert does not touch the row of a run that has gone on meanwhile, and sends nothing."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    shown = await world.due()
    await fire(world.kit, 0, shown, Memory())
    await world.work()
    ended = await world.only_execution()

    await fire(world.kit, 0, shown, Memory())

    assert await world.only_execution() == ended
    assert await world.hints() == 0


async def test_b113_a_dispatcher_that_starts_anew_adopts_what_runs(world: World) -> None:
    """Killed in mid-run and started again: the run keeps its lease, its epoch and its attempt."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))

    scheduler = SchedulerLoop(world.kit, "anew")
    for _ in range(20):
        world.clock.advance(1_000)
        await scheduler.tick()

    assert await world.only_execution() == held


async def test_b114_the_loser_of_a_slot_is_not_counted_as_its_dispatcher(world: World) -> None:
    """Dispatched counts one; the other counts as refused."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    shown = await world.due()

    counts = [await fire(world.a_process(), 0, shown, Memory()) for _ in range(2)]

    assert counts == [1, 0]
    assert world.telemetry.counts[EventName.TICK_DECIDED] == 1
    assert world.telemetry.counts[EventName.TICK_REFUSED] == 1
    assert world.telemetry.counts[EventName.EXECUTION_QUEUED] == 1


async def test_b117_a_killed_worker_loses_no_run(world: World) -> None:
    """Five runs in its hands: each comes back within a lease and its bound, and ends well."""
    for _ in range(5):
        await world.submit(schedule={"runAt": world.text(1_000)})
    world.clock.advance(1_000)
    killed_at = world.clock.now()
    assert len(await world.receive()) == 5
    for execution in await world.executions():
        await claimed(world, execution, "killed")

    await world.drain()

    assert {row.state for row in await world.executions()} == {State.SUCCEEDED}
    assert all(start.at - killed_at <= lease_over_ms(world) + 2_000 for start in world.runner.starts)
    await check_all(world)


async def test_b118_a_worker_that_is_killed_has_not_acknowledged(world: World) -> None:
    """The message is deleted after the end, never at the start: a death half-way leaves it; attempts are counted."""
    await world.submit(schedule={"runAt": world.text(1_000)}, retryPolicy={"maxAttempts": 2})
    world.clock.advance(1_000)
    (received,) = await world.receive()
    kit = world.a_process(Script(at=2, fate=Fate.CRASH_BEFORE))  # claimed, and dead before it can report
    with suppress(Crash):
        await world.work_on(world.worker(kit), received)
    assert await world.hints() == 1

    await world.drain()

    assert [start.attempt for start in world.runner.starts] == [1, 2]
    await check_all(world)


async def test_b119_a_hard_time_limit_ends_in_a_retry_and_one_message(world: World) -> None:
    """A limit of five seconds, a target of sixty: timed out, tried again by the policy, the old message gone."""

    async def sixty_seconds(invocation: object) -> object:
        await world.clock.sleep_ms(60_000)
        return None

    await world.submit(schedule={"runAt": world.text(1_000)}, timeoutSec=5, retryPolicy={"maxAttempts": 2})
    world.runner.does = sixty_seconds  # type: ignore[assignment]  # it never gets to return
    world.clock.advance(1_000)

    await world.work()

    row = await world.only_execution()
    assert (row.state, row.reason, await world.hints()) == (
        State.RETRY,
        row.reason.TIMED_OUT if row.reason else None,
        1,
    )
    await world.drain()
    assert (await world.only_execution()).state is State.DEAD


async def test_b163_a_request_that_dies_after_its_send_does_not_do_its_work_twice(world: World) -> None:
    """The send has gone out and the answer has not: the second try finds the first one's job and its one run."""
    spec, key = world.spec(schedule={"runAt": world.text(1_000)}), world.key()
    script = Script()
    await submit(world.a_process(script), TENANT, world.spec(schedule={"runAt": world.text(1_000)}), world.key())
    with suppress(Crash):
        await submit(world.a_process(Script(at=script.writes, fate=Fate.CRASH_AFTER)), TENANT, spec, key)

    again = await submit(world.kit, TENANT, spec, key)

    assert isinstance(again, Submitted)
    assert again.replayed
    await world.drain()
    assert len(world.runner.starts) == 2  # of the two different requests
    await check_all(world)


async def test_b168_a_slots_insert_and_its_jobs_write_go_together(world: World) -> None:
    """A manual run and the head that it occupies are one transaction: neither is there without the other."""
    job = await a_minutely_job(world)
    for at in (1, 2):
        with suppress(Crash):
            await run_now(world.a_process(Script(at=at, fate=Fate.CRASH_BEFORE)), TENANT, job.job_id, None)
        assert await world.executions() == []
        assert (await world.head(job.job_id)).active is None

    await run_now(world.kit, TENANT, job.job_id, None)

    assert (await world.head(job.job_id)).active == (await world.only_execution()).occupant()


async def test_a_lost_decision_leaves_the_job_where_it_was(world: World) -> None:
    """The write that decides does not arrive: the tick is still due, still listed, and fired by the next look."""
    job = await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    with suppress(Exception):
        await fire(world.a_process(Script(of=Advance, at=1, fate=Fate.LOST_BEFORE)), 0, await world.due(), Memory())
    assert (await world.head(job.job_id)).next_run_at == job.next_run_at

    await world.drain()

    assert (await world.head(job.job_id)).status is JobStatus.ENDED
    await check_ledger(world, job)


@pytest.mark.parametrize("copies", [0, 2, 3])
async def test_lost_and_doubled_hints_change_nothing_but_the_time(world: World, copies: int) -> None:
    """A queue that loses or repeats every message: each tick runs once all the same."""
    job = await a_minutely_job(world, 3, overlap={"mode": "allow"})
    kit, _, queue = world.a_process_with()
    queue.copies = copies
    for minute in range(1, 4):
        world.clock.advance_to(Instant(job.created_at + minute * MINUTE))
        await fire(kit, 0, await world.due(), Memory())

    await world.drain()

    assert len(world.runner.starts) == 3
    await check_all(world)
    await check_ledger(world, job)


async def test_late_hints_find_their_execution_wherever_it_is(world: World) -> None:
    """Messages an hour late, after the journal has had the work done: they are taken, refused and deleted."""
    await a_minutely_job(world, 2, overlap={"mode": "allow"})
    kit, _, queue = world.a_process_with()
    queue.late_ms = HOUR
    for _ in range(2):
        world.clock.advance(MINUTE)
        await fire(kit, 0, await world.due(), Memory())

    await world.drain()

    assert len(world.runner.starts) == 2
    await check_all(world)


async def test_a_stale_index_fires_nothing_twice(world: World) -> None:
    """The due index stands still for five minutes while the head goes on."""
    job = await a_minutely_job(world, 8, overlap={"mode": "allow"})
    kit, store, _ = world.a_process_with()
    store.show_heads(await world.due())
    lagging = SchedulerLoop(kit, "lagging")
    for _ in range(5):
        world.clock.advance(MINUTE)
        await lagging.tick()
        await world.drain_until(Instant(world.clock.now() + 1_000))

    await world.drain()

    await check_all(world)
    await check_ledger(world, job)
    assert {lane for lane in LANES if lane.value == "normal"}


async def test_a_scheduler_ahead_of_its_time_starts_nothing_early(world: World) -> None:
    """Its clock is ahead by the assumed error: it decides early, and workers wait for the instant."""
    job = await a_minutely_job(world, 3, overlap={"mode": "allow"})
    ahead = world.a_process(clock=SkewedClock(world.clock, world.durations.clock_error_ms))
    world.clock.advance(MINUTE - 5_500)
    await fire(ahead, 0, await world.due(), Memory())

    await world.drain()

    await check_all(world)
    await check_ledger(world, replace(job))
