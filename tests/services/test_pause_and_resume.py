"""After a pause no later tick starts; a resume tells of what the pause held back, or catches it up."""

from contextlib import suppress

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Crash, Fate, Interject, Script
from tests.support.kits import World
from tests.support.ledger import check_all, check_ledger
from tests.support.steps import DAY, HOUR, MINUTE, a_minutely_job, claimed, fired
from tickwright.domain.attempts import Success
from tickwright.domain.changes.executions import Insert
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.services.change_job import edit_job, pause_job, resume_job
from tickwright.services.fire import fire
from tickwright.services.jobs import JobView
from tickwright.services.memory import Memory
from tickwright.services.report import report
from tickwright.services.run_now import run_now


async def paused(world: World, job_id: str) -> Head:
    """The job, after the pause was acknowledged."""
    answer = await pause_job(world.kit, TENANT, job_id, None)
    assert isinstance(answer, JobView)
    return answer.head


async def resumed(world: World, job_id: str) -> Head:
    """The job, after the resume was acknowledged."""
    answer = await resume_job(world.kit, TENANT, job_id, None)
    assert isinstance(answer, JobView)
    return answer.head


@pytest.mark.sem("SEM-PAUSE-1")
async def test_a_pause_retracts_later_ticks_and_lets_runs_go_on(world: World) -> None:
    """What runs may end well; what was decided ahead of its time is CANCELLED(paused)."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    world.clock.advance(MINUTE - 3_000)
    await fired(world)

    await paused(world, job.job_id)

    first, second = await world.executions()
    assert (first.state, second.state, second.reason) == (State.RUNNING, State.CANCELLED, Reason.PAUSED)
    assert isinstance(await report(world.kit, held, Success()), Execution)
    world.clock.advance(HOUR)
    await world.drain()
    assert world.runner.starts == []


@pytest.mark.sem("SEM-PAUSE-1")
async def test_a_due_run_that_has_not_started_yet_goes_on(world: World) -> None:
    """A tick before the pause that was decided is not later than the pause."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    await fired(world)
    world.clock.advance(1)

    await paused(world, job.job_id)
    await world.drain()

    assert [start.scheduled_at for start in world.runner.starts] == [job.next_run_at]


@pytest.mark.sem("SEM-PAUSE-1")
async def test_a_scheduler_between_its_writes_finds_a_tombstone(world: World) -> None:
    """It decided the tick ahead, the pause came, and its insert is refused."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE - 3_000)
    shown = await world.due()

    await fire(world.a_process(Interject("write_each", lambda: paused(world, job.job_id), nth=2)), 0, shown, Memory())

    row = await world.only_execution()
    assert (row.state, row.reason) == (State.CANCELLED, Reason.PAUSED)
    assert await world.hints() == 0


@pytest.mark.sem("SEM-PAUSE-1")
async def test_a_tick_retracted_by_a_pause_stays_retracted(world: World) -> None:
    """Resumed before its time it does not run all the same, and the job goes on behind it (W10, R5)."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE - 3_000)
    await fired(world)
    await paused(world, job.job_id)

    head = await resumed(world, job.job_id)

    assert head.next_run_at == job.created_at + 2 * MINUTE
    await world.drain()
    await check_all(world)
    await check_ledger(world, job)
    assert len(world.runner.starts) == 2


@pytest.mark.sem("SEM-PAUSE-2")
async def test_paused_time_is_skipped_in_one_row(world: World) -> None:
    """Three days of hours: nothing for the span but a row with its count, then the next normal tick (B080, B082)."""
    job = await world.submit(schedule={"every": "PT1H"}, catchup={"mode": "latest"})
    await paused(world, job.job_id)
    world.clock.advance(3 * DAY + 1_000)

    head = await resumed(world, job.job_id)

    row = await world.only_execution()
    assert row.passed is not None
    assert (row.state, row.reason, row.passed.count) == (State.SKIPPED, Reason.PAUSED, 72)
    assert head.next_run_at == job.created_at + 3 * DAY + HOUR


@pytest.mark.sem("SEM-PAUSE-2")
async def test_paused_time_is_caught_up_if_the_job_says_so(world: World) -> None:
    """With onResume *catchup* the ticks of the pause count as missed: of several, *latest* runs one (B084)."""
    job = await world.submit(
        schedule={"cron": ["0 8 * * 2", "0 11 * * 4"], "endAt": world.text(5 * DAY)},
        catchup={"mode": "latest", "windowSec": 5 * 86_400, "onResume": "catchup"},
    )
    await paused(world, job.job_id)  # Tuesday noon: after Tuesday's tick
    world.clock.advance(3 * DAY)

    await resumed(world, job.job_id)
    await world.drain()

    assert [start.scheduled_at for start in world.runner.starts] == [job.next_run_at]
    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-PAUSE-2")
async def test_a_due_tick_that_nobody_has_decided_is_told_of_too(world: World) -> None:
    """It was due a moment before the pause: not lost, but part of the row (or caught up)."""
    job = await a_minutely_job(world, 5)
    world.clock.advance(MINUTE + 10_000)
    await paused(world, job.job_id)
    world.clock.advance(2 * MINUTE)

    await resumed(world, job.job_id)
    await world.drain()

    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-PAUSE-2")
async def test_a_one_off_that_was_paused_over_is_told_of(world: World) -> None:
    """Its time came and went: the job ends with a row that says why it never ran."""
    job = await world.submit()
    await paused(world, job.job_id)
    world.clock.advance(HOUR)

    head = await resumed(world, job.job_id)

    assert head.status is JobStatus.ENDED
    row = await world.only_execution()
    assert (row.reason, row.scheduled_at) == (Reason.PAUSED, job.next_run_at)


@pytest.mark.sem("SEM-PAUSE-2")
async def test_a_long_pause_keeps_the_job(world: World) -> None:
    """Two months are longer than any row is kept; the schedule is still there (B091)."""
    job = await world.submit(schedule={"every": "PT24H"})
    await paused(world, job.job_id)
    world.clock.advance(60 * DAY)
    await world.drain_until(Instant(world.clock.now() + 5_000))

    head = await resumed(world, job.job_id)

    assert head.status is JobStatus.ACTIVE
    assert 0 < (head.next_run_at or 0) - world.clock.now() <= DAY


@pytest.mark.sem("SEM-PAUSE-2")
async def test_a_clock_that_steps_back_does_not_lock_the_job(world: World) -> None:
    """Paused, resumed, and paused again by a machine that is half a second behind: the second resume goes through."""
    job = await a_minutely_job(world, 10)
    world.clock.advance(MINUTE - 500)
    await paused(world, job.job_id)
    world.clock.advance(700)
    await resumed(world, job.job_id)
    world.clock.set(Instant(world.clock.now() - 600))
    await paused(world, job.job_id)
    world.clock.advance(MINUTE + 30_000)

    await resumed(world, job.job_id)

    await world.drain()
    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-PAUSE-2", "SEM-EDIT-1")
@pytest.mark.parametrize("on_resume", ["skip", "catchup"])
async def test_a_tick_that_an_edit_kept_is_held_back_by_a_pause_as_any_other(world: World, on_resume: str) -> None:
    """It was due when the job was edited, and is none of the new schedule: the resume tells of it, or makes it up."""
    catchup = {"mode": "all", "onResume": on_resume, "windowSec": 7_200}
    job = await a_minutely_job(world, catchup=catchup)
    kept = job.next_run_at
    world.clock.advance(MINUTE + 500)
    later = {"every": "PT1M", "phase": "PT40S", "endAt": world.text(3 * MINUTE)}
    spec = world.spec(schedule=later, catchup=catchup)
    with suppress(Crash):  # before it could decide what is due
        await edit_job(world.a_process(Script(at=1, fate=Fate.CRASH_AFTER)), TENANT, job.job_id, spec, 1)
    edited = await world.head(job.job_id)
    assert (edited.version, edited.next_run_at) == (2, kept)
    before = await paused(world, job.job_id)
    world.clock.advance(3 * MINUTE)

    head = await resumed(world, job.job_id)

    assert (before.held, head.held) == (kept, None)
    if on_resume == "catchup":
        assert head.next_run_at == kept
        await world.drain()
        made_up = [row.scheduled_at for row in await world.executions()]
        assert made_up[0] == kept
        assert len(made_up) == 4
    else:
        (row,) = await world.executions()
        assert row.passed is not None
        assert (row.reason, row.passed.first, row.passed.count) == (Reason.PAUSED, kept, 4)


@pytest.mark.sem("SEM-PAUSE-1")
async def test_pausing_again_changes_nothing(world: World) -> None:
    """Neither the version nor a run that somebody asked for while the job was paused."""
    job = await a_minutely_job(world)
    first = await paused(world, job.job_id)
    world.clock.advance(10_000)
    run = await run_now(world.kit, TENANT, job.job_id, None)
    assert isinstance(run, Execution)

    again = await paused(world, job.job_id)

    assert (again.version, again.paused_at) == (first.version, first.paused_at)
    assert (await world.only_execution()).state is State.QUEUED
    await world.work()
    assert len(world.runner.starts) == 1


@pytest.mark.sem("SEM-PAUSE-1")
async def test_a_repeated_pause_goes_on_where_it_was_cut_off(world: World) -> None:
    """The process died after the head was written: the same request again retracts what was decided ahead."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE - 3_000)
    await fired(world)
    with suppress(Crash):
        await pause_job(world.a_process(Script(at=1, fate=Fate.CRASH_AFTER)), TENANT, job.job_id, 1)

    answer = await pause_job(world.kit, TENANT, job.job_id, 1)

    assert isinstance(answer, JobView)
    assert (await world.only_execution()).reason is Reason.PAUSED


@pytest.mark.sem("SEM-PAUSE-2")
async def test_resuming_an_active_job_changes_nothing(world: World) -> None:
    """It answers the job as it is."""
    job = await a_minutely_job(world)

    head = await resumed(world, job.job_id)

    assert head == await world.head(job.job_id)
    assert head.version == 1


async def test_a_change_of_a_job_that_is_over_is_refused(world: World) -> None:
    """An ended job can neither be paused nor resumed nor edited."""
    job = await world.submit(schedule={"runAt": world.text(0)})

    answers = [
        await pause_job(world.kit, TENANT, job.job_id, None),
        await resume_job(world.kit, TENANT, job.job_id, None),
        await edit_job(world.kit, TENANT, job.job_id, world.spec(), 1),
    ]

    assert [answer.code for answer in answers if isinstance(answer, Refusal)] == [Code.JOB_OVER] * 3


async def test_a_change_on_an_old_reading_is_refused(world: World) -> None:
    """If-Match on a version that another change has left behind."""
    job = await a_minutely_job(world)
    await paused(world, job.job_id)
    await resumed(world, job.job_id)

    answers = [
        await pause_job(world.kit, TENANT, job.job_id, 1),
        await resume_job(world.kit, TENANT, job.job_id, 1),
        await edit_job(world.kit, TENANT, job.job_id, world.spec(), 1),
    ]

    assert [answer.code for answer in answers if isinstance(answer, Refusal)] == [Code.VERSION_CONFLICT] * 3
    assert (await world.head(job.job_id)).version == 3


@pytest.mark.sem("SEM-PAUSE-1")
async def test_a_paused_job_decides_nothing_on_an_old_index(world: World) -> None:
    """Entries from before the pause are refused by the head, and those of executions missing stay tombstones."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE - 3_000)
    before = await world.due()
    with suppress(Crash):
        await fire(world.a_process(Script(of=Insert, at=1)), 0, before, Memory())
    between = await world.due()
    await paused(world, job.job_id)
    world.clock.advance(MINUTE)

    await fire(world.kit, 0, before, Memory())
    await fire(world.kit, 0, between, Memory())
    await world.drain()

    assert (await world.only_execution()).reason is Reason.PAUSED
    assert world.runner.starts == []
