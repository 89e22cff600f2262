"""A tick that did not run has one row that says why, whatever else befell its job at that time."""

from dataclasses import replace

import pytest

from tests.support.builders import TENANT, a_head
from tests.support.clocks import NOON
from tests.support.kits import World
from tests.support.steps import DAY, HOUR, MINUTE
from tickwright.adapters.embedded.entities import HEADS
from tickwright.domain.choice import choose
from tickwright.domain.executions import Reason
from tickwright.domain.instants import Instant, from_rfc3339, to_rfc3339
from tickwright.domain.jobs import CatchUp, CatchUpMode, Head, JobStatus
from tickwright.domain.schedules import Stretch, from_compact, read_calendar, tzdata_version
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.services.calendars import put_calendar
from tickwright.services.change_job import edit_job, pause_job, resume_job
from tickwright.services.jobs import JobView
from tickwright.services.zone_changes import zone_changes

SKIPPING = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "dst": {"gap": "skip"}}
GAP = "2027-03-28T01:00:00.000Z"


async def edited(world: World, job: Head, **body: object) -> Head:
    """The job after an edit."""
    version = (await world.head(job.job_id)).version
    answer = await edit_job(world.kit, TENANT, job.job_id, world.spec(**body), version)
    assert isinstance(answer, JobView), answer
    return answer.head


async def ranges(world: World, job: Head) -> list[tuple[Reason | None, str, int]]:
    """Reason, first tick and count of each row of a range."""
    return [
        (row.reason, to_rfc3339(row.passed.first), row.passed.count)
        for row in await world.executions(job.job_id)
        if row.passed is not None
    ]


@pytest.mark.sem("SEM-SCHED-9", "SEM-CAL-3")
async def test_a_skipped_local_time_has_its_row_though_the_tick_after_it_is_closed(world: World) -> None:
    """02:30 does not exist on Sunday and is closed on Monday: a row for each, each with its own reason."""
    world.clock.advance_to(from_rfc3339("2027-03-26T12:00:00Z"))
    await put_calendar(world.kit, TENANT, "off", read_calendar({"type": "exclude", "days": ["2027-03-29"]}), None)
    job = await world.submit(schedule=SKIPPING | {"calendars": ["off"]})

    await world.drain_until(from_rfc3339("2027-03-31T12:00:00Z"))

    assert await ranges(world, job) == [
        (Reason.DST_GAP, GAP, 1),
        (Reason.BLACKOUT, "2027-03-29T00:30:00.000Z", 1),
    ]
    assert len(world.runner.starts) == 3


@pytest.mark.sem("SEM-SCHED-9", "SEM-CATCHUP-1")
@pytest.mark.parametrize("mode", ["latest", "none", "all"])
async def test_a_skipped_local_time_has_its_row_though_the_tick_after_it_is_missed(world: World, mode: str) -> None:
    """Nobody looks between the gap on Sunday and Tuesday noon: the gap and what was missed are told of."""
    world.clock.advance_to(from_rfc3339("2027-03-27T12:00:00Z"))
    job = await world.submit(schedule=SKIPPING, catchup={"mode": mode, "windowSec": DAY // 1_000})
    world.clock.advance_to(from_rfc3339("2027-03-30T12:00:00Z"))

    await world.drain_until(from_rfc3339("2027-03-31T12:00:00Z"))

    told = await ranges(world, job)
    assert (Reason.DST_GAP, GAP, 1) in told
    assert next(first for reason, first, _ in told if reason is Reason.MISSED) == "2027-03-29T00:30:00.000Z"
    assert len(told) == 2


@pytest.mark.sem("SEM-CATCHUP-1", "SEM-CAL-2")
def test_where_the_search_for_the_latest_open_tick_ends_nothing_older_is_fired() -> None:
    """Three weeks of hours, each closed by a stretch of its own but the first: the first is not the latest."""
    due = Instant(NOON - NOON % HOUR)
    now = Instant(due + 500 * HOUR)
    hourly = '{"p":3600000}'
    weeks = CatchUp(mode=CatchUpMode.LATEST, window_s=31 * DAY // 1_000)
    head = a_head(schedule=hourly, next_run_at=due, created_at=Instant(due - 1), catch_up=weeks)

    choice = choose(
        head,
        from_compact(hourly),
        now=now,
        missed_after_ms=MINUTE,
        closed=lambda at: None if at == due else Stretch(at, Instant(at + 1), "freeze@1"),
    )

    assert choice.fire is None
    assert choice.passed is not None
    assert (choice.passed.first, choice.passed.last, choice.passed.count) == (due, now, 501)


@pytest.mark.sem("SEM-SCHED-9", "SEM-PAUSE-2")
async def test_a_skipped_local_time_within_a_pause_has_its_row(world: World) -> None:
    """Paused from Saturday to Monday noon: Monday's tick was held back, and Sunday's did not exist."""
    world.clock.advance_to(from_rfc3339("2027-03-27T12:00:00Z"))
    job = await world.submit(schedule=SKIPPING)
    assert isinstance(await pause_job(world.kit, TENANT, job.job_id, None), JobView)
    world.clock.advance_to(from_rfc3339("2027-03-29T12:00:00Z"))

    assert isinstance(await resume_job(world.kit, TENANT, job.job_id, None), JobView)
    await world.drain_until(from_rfc3339("2027-03-30T12:00:00Z"))

    assert await ranges(world, job) == [(Reason.DST_GAP, GAP, 1), (Reason.PAUSED, "2027-03-29T00:30:00.000Z", 1)]
    assert len(world.runner.starts) == 1


@pytest.mark.sem("SEM-PAUSE-2", "SEM-EDIT-1")
async def test_an_edit_of_a_paused_job_tells_of_what_the_pause_held_back_so_far(world: World) -> None:
    """Every minute, paused from 1:30, every hour from 4:30 on: minutes 2 to 4 are told of, though edited away."""
    job = await world.submit(schedule={"every": "PT1M", "startAt": world.text(0)})
    start = job.created_at
    await world.drain_until(Instant(start + 90_000))
    assert isinstance(await pause_job(world.kit, TENANT, job.job_id, None), JobView)
    world.clock.advance(3 * MINUTE)

    await edited(world, job, schedule={"every": "PT1H", "startAt": to_rfc3339(start)})
    world.clock.advance(MINUTE)
    assert isinstance(await resume_job(world.kit, TENANT, job.job_id, None), JobView)

    assert await ranges(world, job) == [(Reason.PAUSED, to_rfc3339(Instant(start + 2 * MINUTE)), 3)]


@pytest.mark.sem("SEM-EDIT-1")
@pytest.mark.parametrize("before_ms", [0, 30_000])
async def test_an_edit_to_a_time_that_is_just_past_runs_at_once(world: World, before_ms: int) -> None:
    """As with a new job: up to a minute past counts as now."""
    job = await world.submit(schedule={"every": "PT1H"})
    world.clock.advance(MINUTE)

    await edited(world, job, schedule={"runAt": world.text(-before_ms)})
    await world.drain_until(Instant(job.created_at + 5 * MINUTE))

    assert len(world.runner.starts) == 1
    assert (await world.head(job.job_id)).status is JobStatus.ENDED


async def in_a_zone_that_is_gone(world: World, job: Head) -> None:
    """The job as an older release has left it: its zone was dropped since."""
    broken = replace(job, schedule='{"c":["0 9 * * *"],"z":"Nowhere/Gone"}', tzdata="2022.4")
    row = (HEADS.codec.dump(broken), job.job_id)
    await world.database.write(
        lambda connection: connection.execute("UPDATE heads SET doc = ? WHERE job_id = ?", row), StoreUnavailable
    )


@pytest.mark.sem("SEM-TZ-1", "SEM-TZ-2")
async def test_a_job_whose_zone_is_gone_stops_neither_the_sweep_nor_the_report(world: World) -> None:
    """New rules drop a zone: the other jobs of its bucket are aimed, and its tenant's report is readable."""
    broken = await world.submit(schedule={"cron": "0 9 * * *", "timezone": "Europe/Berlin"})
    await in_a_zone_that_is_gone(world, broken)
    loop = SchedulerLoop(world.kit, "one")
    for _ in range(8):
        await loop.tick()
        world.clock.advance(1_000)

    lease = await world.kit.store.lease(0)
    assert lease is not None
    assert lease.tzdata == tzdata_version()
    assert (await zone_changes(world.kit, TENANT, limit=10)).items == []
