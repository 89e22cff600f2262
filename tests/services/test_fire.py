"""A tick, from due to queue: decided once, by whomever, on whatever reading; what is missed, skipped, passed over."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from tests.support.builders import TENANT, an_execution
from tests.support.clocks import SkewedClock
from tests.support.faulty import Call, Crash, Down, Fate, Interject, Recorder, Script
from tests.support.kits import World
from tests.support.ledger import check_all, check_ledger
from tests.support.steps import DAY, HOUR, MINUTE, a_minutely_job, claimed, fired
from tickwright.domain.attempts import Success
from tickwright.domain.changes.executions import Insert
from tickwright.domain.changes.heads import Advance
from tickwright.domain.events import EventName
from tickwright.domain.executions import Reason
from tickwright.domain.ids import tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.journal import Page
from tickwright.domain.transitions import State
from tickwright.ports.faults import StoreUnavailable, Unavailable
from tickwright.services.change_job import cancel_job, edit_job
from tickwright.services.fire import fire
from tickwright.services.memory import Memory
from tickwright.services.report import heartbeat, report
from tickwright.services.run_now import run_now


@pytest.mark.sem("SEM-TICK-1", "SEM-EXEC-1", "SEM-EVENT-1")
async def test_two_schedulers_on_one_reading_decide_once(world: World) -> None:
    """The second one's decision is refused, it helps with the first one's, and nothing exists twice."""
    await a_minutely_job(world)
    world.clock.advance(MINUTE)
    shown = await world.due()

    first = await fire(world.a_process(), 0, shown, Memory())
    second = await fire(world.a_process(), 0, shown, Memory())

    assert (first, second) == (1, 0)
    assert len(await world.executions()) == 1
    assert world.telemetry.counts[EventName.TICK_DECIDED] == 1
    assert world.telemetry.counts[EventName.TICK_REFUSED] == 1


@pytest.mark.sem("SEM-TICK-1")
async def test_a_process_that_remembers_does_not_try_a_stale_entry_again(world: World) -> None:
    """An index that lags behind one's own decision costs neither a page nor a refused write."""
    await a_minutely_job(world)
    world.clock.advance(MINUTE)
    shown, memory = await world.due(), Memory()
    await fire(world.kit, 0, shown, memory)
    recorder = Recorder()

    await fire(world.a_process(recorder), 0, shown, memory)

    assert recorder.calls == []


@pytest.mark.sem("SEM-TICK-2")
async def test_the_order_is_journal_advance_insert_send(world: World) -> None:
    """A decided tick is always on a list, and a hint always has an execution."""
    await a_minutely_job(world)
    world.clock.advance(MINUTE)
    recorder = Recorder()

    await fire(world.a_process(recorder), 0, await world.due(), Memory())

    writes = [call for call in recorder.calls if call.writes]
    assert [call.name for call in writes] == ["put_page", "write_each", "write_each", "send"]
    assert [type(call.what) for call in writes[:3]] == [Page, Advance, Insert]


@pytest.mark.sem("SEM-TICK-1")
async def test_help_is_only_for_the_very_tick_that_was_decided(world: World) -> None:
    """A scheduler whose tick was passed over by another's catch-up does not run it all the same (R1)."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(7 * MINUTE)}, overlap={"mode": "allow"})
    world.clock.advance(5 * MINUTE)
    shown = await world.due()
    rival = Interject("write_together", lambda: _fire_a_minute_later(world, shown))

    await fire(world.a_process(rival), 0, shown, Memory())

    assert (await world.head(job.job_id)).fired_through == job.created_at + 6 * MINUTE
    assert [row.key for row in await world.executions() if row.passed is None] == [
        tick_key(Instant(job.created_at + 6 * MINUTE))
    ]
    await world.drain()
    await check_all(world)
    await check_ledger(world, job)


async def _fire_a_minute_later(world: World, shown: Sequence[Head]) -> None:
    world.clock.advance(MINUTE)
    await fire(world.kit, 0, shown, Memory())


@pytest.mark.sem("SEM-CATCHUP-1")
async def test_two_schedulers_catching_up_at_different_times_run_one_tick(world: World) -> None:
    """Policy *latest*: whoever decides picks the tick, and the ledger tells of every other one exactly once."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(11 * MINUTE)}, overlap={"mode": "allow"})
    world.clock.advance(8 * MINUTE)
    with suppress(Crash):  # planned, journalled, and never decided
        await fire(world.a_process(Script(of=Advance, at=1)), 0, await world.due(), Memory())
    world.clock.advance(MINUTE)
    with suppress(Crash):  # decided, and then nothing more
        await fire(world.a_process(Script(of=Advance, at=1, fate=Fate.CRASH_AFTER)), 0, await world.due(), Memory())

    await world.drain()

    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-CATCHUP-1")
async def test_of_two_plans_to_pass_over_only_the_decided_one_is_told(world: World) -> None:
    """Policy *none*: a plan that lost leaves no row, though its page is looked at first."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(11 * MINUTE)}, catchup={"mode": "none"})
    world.clock.advance(8 * MINUTE)
    with suppress(Crash):
        await fire(world.a_process(Script(of=Advance, at=1)), 0, await world.due(), Memory())
    world.clock.advance(MINUTE)
    with suppress(Crash):
        await fire(world.a_process(Script(of=Advance, at=1, fate=Fate.CRASH_AFTER)), 0, await world.due(), Memory())

    await world.drain()

    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-CATCHUP-1")
async def test_a_helper_with_an_old_reading_tells_of_no_range(world: World) -> None:
    """It sees the tick that it would have fired decided, and its own range begins with a tick that ran."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(11 * MINUTE)}, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    old = await world.due()
    await fired(world)
    await world.work()
    world.clock.advance(8 * MINUTE)
    await fired(world)

    await fire(world.kit, 0, old, Memory())
    await world.drain()

    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-CATCHUP-1")
@pytest.mark.parametrize(
    ("mode", "minutes_of_ticks_that_run"), [("latest", [10, 11]), ("all", [8, 9, 10, 11]), ("none", [11])]
)
async def test_missed_ticks_follow_the_policy(world: World, mode: str, minutes_of_ticks_that_run: list[int]) -> None:
    """Ten minutes without a scheduler, a window of three: what runs, runs oldest first, and each tick has its row."""
    job = await world.submit(
        schedule={"every": "PT1M", "endAt": world.text(11 * MINUTE)},
        catchup={"mode": mode, "windowSec": 180},
        overlap={"mode": "allow"},
    )
    world.clock.advance(10 * MINUTE + 100)

    await world.drain()

    ran = [(start.scheduled_at - job.created_at) // MINUTE for start in world.runner.starts]
    assert ran == minutes_of_ticks_that_run
    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-CATCHUP-1")
async def test_a_tick_a_little_late_is_not_missed(world: World) -> None:
    """A scheduler that was held up for under a minute fires the tick itself, late (B092)."""
    job = await world.submit(schedule={"every": "PT1H"}, catchup={"mode": "none"})
    world.clock.advance(HOUR + 60_000)

    execution = await fired(world)

    assert execution.scheduled_at == job.next_run_at
    assert execution.state is State.QUEUED


@pytest.mark.sem("SEM-CATCHUP-1")
async def test_a_one_off_that_is_too_late_is_dead_and_not_silent(world: World) -> None:
    """A day after its time it expires, with a letter and a place on the attention list."""
    job = await world.submit()
    world.clock.advance(DAY + 2 * MINUTE)

    await world.drain()

    execution = await world.only_execution()
    assert (execution.state, execution.reason) == (State.DEAD, Reason.EXPIRED)
    assert (await world.head(job.job_id)).status is JobStatus.ENDED
    assert [letter.ref for letter in await world.dead_letters()] == [execution.ref]
    (died,) = [one for one in world.telemetry.happenings if one.name is EventName.EXECUTION_DEAD]
    assert died.about["tenantId"] == execution.tenant_id  # whose deaths they are is asked at night
    assert world.runner.starts == []


@pytest.mark.sem("SEM-CATCHUP-1")
async def test_a_thousand_missed_ticks_cost_one_step(world: World) -> None:
    """Eight hours of minutes: one decision, one row for the rest, and the next tick on time (B079)."""
    job = await world.submit(schedule={"every": "PT1M"}, overlap={"mode": "allow"})
    world.clock.advance(8 * HOUR + 100)
    recorder = Recorder()

    await fire(world.a_process(recorder), 0, await world.due(), Memory())

    assert len(recorder.written(Advance)) == 1
    (row,) = [row for row in await world.executions() if row.passed is not None]
    assert row.passed is not None
    assert (row.passed.count, row.passed.exact) == (479, True)
    assert (await world.head(job.job_id)).next_run_at == job.created_at + 8 * HOUR + MINUTE


@pytest.mark.sem("SEM-OVERLAP-1", "SEM-OVERLAP-2")
async def test_a_busy_job_skips_its_tick_with_a_row(world: World) -> None:
    """A run of two hours and a tick every quarter of one: seven are skipped, each with its reason (B139)."""
    job = await world.submit(
        schedule={"every": "PT15M", "endAt": world.text(3 * HOUR)}, timeoutSec=10_000, runDeadlineSec=20_000
    )
    await world.drain_until(Instant(job.created_at + 15 * MINUTE - 1))
    held = await claimed(world, await fired(world), timeout_ms=10_000_000)
    for minute in range(15, 135):
        world.clock.advance_to(Instant(job.created_at + minute * MINUTE))
        await heartbeat(world.kit, held, held.lease_epoch)
        await fire(world.kit, 0, await world.due(), Memory())
    await report(world.kit, held, Success())

    await world.drain()

    rows = await world.executions()
    assert [row.reason for row in rows].count(Reason.OVERLAP) == 7
    assert world.telemetry.counts[EventName.EXECUTION_SKIPPED] == 7
    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-OVERLAP-2")
async def test_a_tick_is_not_judged_busy_before_its_time(world: World) -> None:
    """In the look-ahead the run before it is unfinished; it ends in time, so the tick fires (R10)."""
    await a_minutely_job(world)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    world.clock.advance(MINUTE - 2_000)
    early = await fire(world.kit, 0, await world.due(), Memory())
    await report(world.kit, held, Success())

    on_time = await fire(world.kit, 0, await world.due(), Memory())

    assert (early, on_time) == (0, 1)
    assert [row.state for row in await world.executions()] == [State.SUCCEEDED, State.QUEUED]


@pytest.mark.sem("SEM-OVERLAP-2")
async def test_a_read_that_began_before_the_tick_judges_nothing(world: World) -> None:
    """The read shows the run before it busy, and its answer is so slow that the tick comes: no skip (R10)."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    world.clock.advance(MINUTE - 1_000)

    async def ends_while_the_answer_is_on_its_way() -> None:
        await report(world.kit, held, Success())
        world.clock.advance(1_500)

    slow = Interject("executions", ends_while_the_answer_is_on_its_way, after=True)
    await fire(world.a_process(slow), 0, await world.due(), Memory())
    await world.drain()

    assert [row.state for row in await world.executions()] == [State.SUCCEEDED] * 3
    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-OVERLAP-1")
async def test_a_helper_inserts_what_the_head_says_not_what_it_thinks(world: World) -> None:
    """It saw the job free; the one that decided saw it busy and skipped: the row is the skip (R9)."""
    await a_minutely_job(world)
    world.clock.advance(MINUTE)
    first = await fired(world)
    await world.work()
    world.clock.advance(MINUTE)
    shown = await world.due()
    assert (await world.only_execution()).is_terminal

    async def decided_as_busy() -> None:
        with suppress(Crash):  # another scheduler read the run before it ended; it dies between A and I
            await fire(world.a_process(_BusyThenDead(first.ref.id)), 0, shown, Memory())

    await fire(world.a_process(Interject("write_each", decided_as_busy)), 0, shown, Memory())

    assert [row.reason for row in await world.executions()] == [None, Reason.OVERLAP]


class _BusyThenDead(Script):
    """Sees executions as running, whatever they are, and dies at its first insert."""

    def __init__(self, execution_id: str) -> None:
        super().__init__(of=Insert, at=1)
        self._execution_id = execution_id

    async def through(self, call: Call, do: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - of any call
        answer = await super().through(call, do)
        if call.name != "executions":
            return answer
        return {
            ref: an_execution(job_id=row.job_id, key=row.key, state=State.RUNNING, lease_epoch=1)
            for ref, row in answer.items()
        }


@pytest.mark.sem("SEM-TICK-2")
async def test_nothing_is_decided_on_a_job_whose_last_tick_is_not_known_to_exist(world: World) -> None:
    """An insert of unknown outcome keeps its job where it is: a cancel needs a tombstone at one key only (R3)."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    with suppress(Crash):
        await fire(world.a_process(Script(of=Insert, at=1)), 0, await world.due(), Memory())
    world.clock.advance(MINUTE)

    with pytest.raises(Unavailable):
        await fire(world.a_process(Script(of=Insert, at=1, fate=Fate.LOST_BEFORE)), 0, await world.due(), Memory())

    assert (await world.head(job.job_id)).fired_through == job.next_run_at
    await cancel_job(world.kit, TENANT, job.job_id, None)
    await world.drain()
    assert world.runner.starts == []


@pytest.mark.sem("SEM-TICK-2")
async def test_the_last_tick_is_inserted_before_the_next_is_decided(world: World) -> None:
    """A scheduler that finds a decided tick without its execution puts it there first (R3)."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    with suppress(Crash):
        await fire(world.a_process(Script(of=Insert, at=1)), 0, await world.due(), Memory())
    world.clock.advance(MINUTE)
    recorder = Recorder()

    await fire(world.a_process(recorder), 0, await world.due(), Memory())

    kinds = [type(call.what) for call in recorder.calls if call.name == "write_each"]
    assert kinds == [Insert, Advance, Insert]
    await world.drain()
    await check_ledger(world, job)


@pytest.mark.sem("SEM-TICK-1")
async def test_the_last_run_of_a_yearly_job_is_not_put_again_after_its_row_was_forgotten(world: World) -> None:
    """A year later its execution is gone by retention: that it once existed is taken as known (R8)."""
    job = await world.submit(schedule={"cron": "0 0 1 1 *"})
    assert job.next_run_at is not None
    world.clock.advance_to(job.next_run_at)
    await fired(world)
    await world.work()
    await world.forget(await world.only_execution())
    world.clock.advance_to((await world.head(job.job_id)).next_run_at or world.clock.now())

    await fired(world)
    await world.work()

    assert [row.scheduled_at for row in await world.executions()] == [world.clock.now()]
    assert len(world.runner.starts) == 2


@pytest.mark.sem("SEM-TICK-1")
async def test_within_the_guard_a_forgotten_row_cannot_be(world: World) -> None:
    """A row is kept for a day at least, and inserts are refused after half of one."""
    await world.submit(schedule={"runAt": world.text(0)})
    await world.work()

    row = await world.only_execution()

    assert row.ttl is not None
    assert row.finished_at is not None
    assert row.ttl * 1_000 - row.finished_at > 2 * world.durations.insert_guard_ms


@pytest.mark.sem("SEM-TICK-3")
async def test_an_edit_in_time_refuses_the_old_plan(world: World) -> None:
    """A scheduler with an entry from before the edit decides nothing that the schedule no longer has."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE - 4_000)
    shown = await world.due()
    await edit_job(world.kit, TENANT, job.job_id, world.spec(schedule={"every": "PT1H"}), 1)

    await fire(world.kit, 0, shown, Memory())

    assert await world.executions() == []


@pytest.mark.sem("SEM-TICK-3")
async def test_a_due_tick_runs_with_the_version_that_decides_it(world: World) -> None:
    """An edit keeps a due tick; whoever inserts it takes the version from the head, not from the entry (R6)."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    with suppress(Crash):  # decided under version 1, and not inserted
        await fire(world.a_process(Script(of=Insert, at=1)), 0, await world.due(), Memory())
    spec = world.spec(schedule={"every": "PT1M", "endAt": world.text(2 * MINUTE)}, overlap={"mode": "allow"})
    await edit_job(world.kit, TENANT, job.job_id, spec, 1)

    await world.drain()

    assert [start.job_version for start in world.runner.starts] == [1, 2, 2]


async def test_one_broken_job_does_not_stop_the_others(world: World) -> None:
    """Twenty late jobs, the first unreadable to its own schedule: nineteen run, and an event says which one did not."""
    jobs = [await a_minutely_job(world, 1) for _ in range(20)]
    broken = min(job.job_id for job in jobs)
    await world.database.write(
        lambda connection: connection.execute(
            """UPDATE heads SET doc = json_set(doc, '$.schedule', 'gibberish') WHERE job_id = ?""", (broken,)
        ),
        StoreUnavailable,
    )
    world.clock.advance(MINUTE)

    decided = await fire(world.kit, 0, await world.due(), Memory())

    assert decided == 19
    poisoned = [event for event in world.telemetry.happenings if event.name is EventName.TICK_POISONED]
    assert [event.about["jobId"] for event in poisoned] == [broken]


async def test_a_stopped_clock_step_costs_no_tick_and_fires_none_twice(world: World) -> None:
    """A scheduler whose clock is set back a minute finds nothing due that it has fired (B106)."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    await fired(world)
    behind = world.a_process(clock=SkewedClock(world.clock, -MINUTE))

    await fire(behind, 0, await world.due(), Memory())
    await world.drain()

    await check_all(world)
    await check_ledger(world, job)


async def test_the_next_tick_is_computed_from_the_tick_not_from_the_clock(world: World) -> None:
    """A timer that wakes ten milliseconds early fires the tick once, not its predecessor's successor twice (B107)."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE - 10)

    await fired(world)

    assert (await world.head(job.job_id)).next_run_at == job.created_at + 2 * MINUTE
    await world.drain()
    await check_ledger(world, job)


async def test_a_manual_run_occupies_the_job_for_its_ticks(world: World) -> None:
    """Under *skip* a tick that finds a run that somebody asked for is skipped like any other."""
    job = await a_minutely_job(world)
    await run_now(world.kit, TENANT, job.job_id, None)
    await claimed(world, await world.only_execution())
    world.clock.advance(MINUTE)

    await fire(world.kit, 0, await world.due(), Memory())

    assert [row.reason for row in await world.executions() if row.key == tick_key(Instant(job.next_run_at or 0))] == [
        Reason.OVERLAP
    ]


async def test_the_last_of_max_runs_ends_the_job(world: World) -> None:
    """After so many runs there is no next tick, and the job has ended."""
    job = await world.submit(schedule={"every": "PT1M", "maxRuns": 2}, overlap={"mode": "allow"})

    await world.drain()

    assert len(world.runner.starts) == 2
    assert (await world.head(job.job_id)).status is JobStatus.ENDED


async def test_what_is_not_told_to_the_queue_is_said(world: World) -> None:
    """A queue that takes nothing leaves the execution to the journal, and fire says that something is left."""
    await a_minutely_job(world)
    world.clock.advance(MINUTE)
    with pytest.raises(Unavailable):
        await fire(world.a_process(Down(frozenset({"send"}))), 0, await world.due(), Memory())

    assert (await world.only_execution()).state is State.QUEUED
    await world.drain()
    await check_all(world)
