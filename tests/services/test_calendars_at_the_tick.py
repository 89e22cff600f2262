"""What a calendar closes does not run, leaves a row that names the calendar's version, and delays nothing else."""

from contextlib import suppress

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Crash, Fate, Script
from tests.support.kits import World
from tests.support.ledger import check_all, check_covered
from tests.support.steps import DAY, HOUR, MINUTE
from tickwright.domain.changes.heads import Advance
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.instants import Instant, from_rfc3339, to_rfc3339
from tickwright.domain.jobs import Head
from tickwright.domain.schedules import read_calendar, tzdata_version
from tickwright.domain.transitions import State
from tickwright.ports.faults import Unavailable
from tickwright.services.calendars import put_calendar, retire_calendar
from tickwright.services.fire import fire
from tickwright.services.memory import Memory


async def freeze(world: World, since_ms: int, until_ms: int, name: str = "freeze") -> None:
    """A calendar that closes a stretch from so long after now to so long after now."""
    window = {"start": world.text(since_ms), "end": world.text(until_ms)}
    answer = await put_calendar(world.kit, TENANT, name, read_calendar({"type": "exclude", "windows": [window]}), None)
    assert not hasattr(answer, "code"), answer


async def rows_of(world: World, head: Head) -> tuple[list[Execution], list[Execution]]:
    """The runs and the rows of ranges."""
    rows = await world.executions(head.job_id)
    return [row for row in rows if row.passed is None], [row for row in rows if row.passed is not None]


@pytest.mark.sem("SEM-CAL-3")
async def test_ticks_of_a_closed_stretch_are_told_of_and_the_others_run(world: World) -> None:
    """Ten minutes of which four are closed: six runs, one row for the four, with the calendar's version."""
    await freeze(world, 3 * MINUTE, 7 * MINUTE)
    schedule = {"every": "PT1M", "endAt": world.text(10 * MINUTE), "calendars": ["freeze"]}
    job = await world.submit(schedule=schedule)

    await world.drain_until(Instant(job.created_at + 11 * MINUTE))

    runs, ranges = await rows_of(world, job)
    minutes = [(run.scheduled_at - job.created_at) // MINUTE for run in runs]
    assert minutes == [1, 2, 7, 8, 9, 10]
    assert sum(row.passed.count for row in ranges if row.passed is not None) == 4
    told = {(row.state, row.reason, row.passed.by) for row in ranges if row.passed is not None}
    assert told == {(State.SKIPPED, Reason.BLACKOUT, "freeze@1")}
    await check_covered(world, job, until=world.clock.now())
    await world.drain()
    await check_all(world)


@pytest.mark.sem("SEM-CAL-3")
async def test_a_stretch_that_is_lifted_is_over_within_a_minute(world: World) -> None:
    """A freeze of a day is withdrawn after ten minutes: the job goes on at the end of the minute that was told of."""
    await freeze(world, 0, DAY)
    job = await world.submit(schedule={"every": "PT10S", "endAt": world.text(15 * MINUTE), "calendars": ["freeze"]})
    await world.drain_until(Instant(job.created_at + 10 * MINUTE))

    await freeze(world, -HOUR, -HOUR + 1)
    await world.drain_until(Instant(job.created_at + 16 * MINUTE))

    runs, ranges = await rows_of(world, job)
    assert runs[0].scheduled_at - job.created_at <= 11 * MINUTE + 10_000
    assert {row.passed.count for row in ranges if row.passed is not None} == {7}
    await check_covered(world, job, until=world.clock.now())


@pytest.mark.sem("SEM-CAL-3")
async def test_a_long_stretch_is_told_of_by_the_minute(world: World) -> None:
    """A job of each second through an hour off: a row a minute, and not one a second."""
    await freeze(world, 0, HOUR)
    job = await world.submit(schedule={"every": "PT1S", "endAt": world.text(HOUR), "calendars": ["freeze"]})

    await world.drain_until(Instant(job.created_at + HOUR))

    runs, ranges = await rows_of(world, job)
    told = [row.passed.count for row in ranges if row.passed is not None]
    assert len(runs) == 1
    assert (sum(told), max(told)) == (3_599, 61)
    assert len(told) == world.telemetry.counts[EventName.TICKS_PASSED_OVER] == 59


@pytest.mark.sem("SEM-CAL-3", "SEM-CATCHUP-1")
async def test_the_latest_missed_tick_that_is_made_up_is_an_open_one(world: World) -> None:
    """Down for half an hour of which the last ten minutes are closed: the tick before them runs, the rest is told."""
    await freeze(world, 20 * MINUTE, 40 * MINUTE)
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(45 * MINUTE), "calendars": ["freeze"]})
    world.clock.advance(30 * MINUTE)

    await world.drain_until(Instant(job.created_at + 46 * MINUTE))

    runs, ranges = await rows_of(world, job)
    assert [(run.scheduled_at - job.created_at) // MINUTE for run in runs] == [19, 40, 41, 42, 43, 44, 45]
    assert ranges[0].reason is Reason.MISSED
    assert {row.reason for row in ranges[1:]} == {Reason.BLACKOUT}
    await check_covered(world, job, until=world.clock.now())


@pytest.mark.sem("SEM-CAL-3", "SEM-CATCHUP-1")
async def test_catching_up_all_leaves_out_what_was_closed(world: World) -> None:
    """Six minutes missed of which two were closed: four are made up."""
    await freeze(world, 3 * MINUTE, 5 * MINUTE)
    schedule = {"every": "PT1M", "endAt": world.text(6 * MINUTE), "calendars": ["freeze"]}
    job = await world.submit(schedule=schedule, catchup={"mode": "all"}, overlap={"mode": "allow"})
    world.clock.advance(10 * MINUTE)

    await world.drain_until(Instant(job.created_at + 11 * MINUTE))

    runs, ranges = await rows_of(world, job)
    assert [(run.scheduled_at - job.created_at) // MINUTE for run in runs] == [1, 2, 5, 6]
    assert [(row.reason, row.passed.count) for row in ranges if row.passed] == [(Reason.BLACKOUT, 2)]
    await check_covered(world, job, until=world.clock.now())


@pytest.mark.sem("SEM-CAL-2")
async def test_a_retired_calendar_goes_on_closing(world: World) -> None:
    """Nothing starts to fire because a list was deleted."""
    await freeze(world, 0, HOUR)
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(5 * MINUTE), "calendars": ["freeze"]})

    await retire_calendar(world.kit, TENANT, "freeze", None)
    await world.drain_until(Instant(job.created_at + 6 * MINUTE))

    runs, ranges = await rows_of(world, job)
    assert runs == []
    assert sum(row.passed.count for row in ranges if row.passed is not None) == 5


@pytest.mark.sem("SEM-CAL-3", "SEM-TICK-2")
@pytest.mark.parametrize("fate", [Fate.CRASH_BEFORE, Fate.CRASH_AFTER, Fate.LOST_BEFORE, Fate.LOST_AFTER])
async def test_whoever_dies_at_the_decision_leaves_one_row(world: World, fate: Fate) -> None:
    """The decision and its row are one write: after any death or lost reply the ledger is whole."""
    await freeze(world, 0, HOUR)
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(5 * MINUTE), "calendars": ["freeze"]})
    world.clock.advance(MINUTE)
    with suppress(Crash, Unavailable):
        await fire(world.a_process(Script(of=Advance, at=1, fate=fate)), 0, await world.due(), Memory())

    await world.drain_until(Instant(job.created_at + 6 * MINUTE))

    runs, ranges = await rows_of(world, job)
    assert (runs, sum(row.passed.count for row in ranges if row.passed is not None)) == ([], 5)
    await world.drain()
    await check_all(world)


@pytest.mark.sem("SEM-SCHED-9")
async def test_a_local_time_that_the_clock_jumped_over_has_its_row(world: World) -> None:
    """With `gap: skip` nothing runs for 02:30 on the day of the change, and the ledger says why."""
    world.clock.advance_to(from_rfc3339("2027-03-26T12:00:00Z"))
    schedule = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "dst": {"gap": "skip"}}
    job = await world.submit(schedule={**schedule, "endAt": "2027-03-30T12:00:00Z"})

    await world.drain_until(from_rfc3339("2027-03-31T12:00:00Z"))

    runs, ranges = await rows_of(world, job)
    times = [to_rfc3339(run.scheduled_at) for run in runs]
    assert times == ["2027-03-27T01:30:00.000Z", "2027-03-29T00:30:00.000Z", "2027-03-30T00:30:00.000Z"]
    (row,) = ranges
    assert (row.state, row.reason, to_rfc3339(row.scheduled_at)) == (
        State.SKIPPED,
        Reason.DST_GAP,
        "2027-03-28T01:00:00.000Z",
    )


@pytest.mark.sem("SEM-SCHED-9", "SEM-TZ-2")
async def test_a_shifted_tick_says_which_local_time_it_stands_for(world: World) -> None:
    """With `gap: shift` 02:30 runs at the first instant after the gap, and its row names 02:30 and the zone rules."""
    world.clock.advance_to(from_rfc3339("2027-03-27T12:00:00Z"))
    job = await world.submit(schedule={"cron": "30 2 * * *", "timezone": "Europe/Berlin", "maxRuns": 1})

    await world.drain_until(from_rfc3339("2027-03-28T12:00:00Z"))

    run = await world.only_execution(job.job_id)
    assert (to_rfc3339(run.scheduled_at), run.nominal) == ("2027-03-28T01:00:00.000Z", "2027-03-28T02:30:00")
    assert run.tzdata == tzdata_version()


@pytest.mark.sem("SEM-SCHED-22")
async def test_a_tick_in_a_window_says_where_the_window_begins(world: World) -> None:
    """The run is due in its slot, and its row names the instant that the schedule says."""
    job = await world.submit(schedule={"every": "PT1H", "window": 1_800, "maxRuns": 1})

    await world.drain_until(Instant(job.created_at + 3 * HOUR))

    run = await world.only_execution(job.job_id)
    assert run.nominal is not None
    assert 0 <= run.scheduled_at - from_rfc3339(run.nominal) < 1_800_000
    assert from_rfc3339(run.nominal) % HOUR == 0
