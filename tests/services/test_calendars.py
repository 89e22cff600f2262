"""Calendars at work: a closed tick never runs, its row says which version closed it, and open ones are not touched."""

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Fate, Interject, Script
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import MINUTE
from tickwright.domain.calendar_rules import CHANGED_MEANWHILE
from tickwright.domain.executions import Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.schedules import read_calendar
from tickwright.domain.transitions import State
from tickwright.ports.faults import StoreUnavailable
from tickwright.services.calendars import Put, put_calendar, retire_calendar

END = 20
CHRISTMAS, EASTER, NEW_YEAR = (
    read_calendar({"type": "exclude", "days": [day]}) for day in ("--12-25", "2027-03-28", "--01-01")
)


async def freeze(world: World, start: int, end: int) -> None:
    """The calendar `freeze` is closed from and up to so many minutes from now."""
    window = {"start": world.text(start * MINUTE), "end": world.text(end * MINUTE)}
    content = read_calendar({"type": "exclude", "windows": [window]})
    assert isinstance(await put_calendar(world.kit, TENANT, "freeze", content, None), Put)


async def a_closing_job(world: World) -> Head:
    """It fires each minute for twenty minutes, but where `freeze` is closed."""
    schedule = {"every": "PT1M", "endAt": world.text(END * MINUTE), "calendars": ["freeze"]}
    return await world.submit(schedule=schedule, overlap={"mode": "allow"})


async def after(world: World, job: Head, minutes: int) -> list[int]:
    """The minutes whose ticks have run, so many minutes after the job's creation."""
    await world.drain_until(Instant(job.created_at + minutes * MINUTE))
    return [(start.scheduled_at - job.created_at) // MINUTE for start in world.runner.starts]


async def closed(world: World) -> list[tuple[str | None, int]]:
    """By which calendar, and how many ticks, each row of closed ones stands for."""
    rows = [row for row in await world.executions() if row.reason is Reason.BLACKOUT]
    assert all(row.state is State.SKIPPED for row in rows)
    return [(row.passed.by, row.passed.count) for row in rows if row.passed is not None]


@pytest.mark.sem("SEM-CAL-3")
async def test_closed_ticks_do_not_run_and_have_their_rows(world: World) -> None:
    """The end of a window is open again; the row names the calendar and its version."""
    await freeze(world, 5, 9)
    job = await a_closing_job(world)

    ran = await after(world, job, END + 1)

    assert ran == [1, 2, 3, 4, *range(9, END + 1)]
    assert await closed(world) == [("freeze@1", 2), ("freeze@1", 2)]  # of a minute ahead each
    await world.drain()
    await check_all(world)


@pytest.mark.sem("SEM-CAL-3")
async def test_a_tick_is_judged_by_the_version_that_stands_when_it_is_decided(world: World) -> None:
    """A version that is put while the job goes on counts for the ticks that are not decided yet."""
    await freeze(world, 100, 101)
    job = await a_closing_job(world)
    await after(world, job, 8)
    await freeze(world, 2, 4)

    ran = await after(world, job, END + 1)

    assert ran == [*range(1, 10), *range(12, END + 1)]
    assert await closed(world) == [("freeze@2", 2)]


@pytest.mark.sem("SEM-CAL-3", "SEM-CAL-5")
async def test_a_retired_calendar_goes_on_closing(world: World) -> None:
    """Nothing begins to fire because a list was taken away."""
    await freeze(world, 5, 9)
    job = await a_closing_job(world)
    await retire_calendar(world.kit, TENANT, "freeze", None)

    ran = await after(world, job, END + 1)

    assert ran == [1, 2, 3, 4, *range(9, END + 1)]
    assert await closed(world) == [("freeze@1", 2), ("freeze@1", 2)]  # of a minute ahead each


@pytest.mark.sem("SEM-CAL-4")
async def test_two_that_put_at_once_make_two_versions(world: World) -> None:
    """The slower write is refused, sees the quicker one, and follows it: no version is lost."""
    await put_calendar(world.kit, TENANT, "freeze", CHRISTMAS, None)
    quicker = Interject("write_together", lambda: put_calendar(world.kit, TENANT, "freeze", EASTER, None))

    slower = await put_calendar(world.a_process(quicker), TENANT, "freeze", NEW_YEAR, None)

    assert isinstance(slower, Put)
    assert slower.calendar.version == 3
    kept = await world.kit.store.calendar_versions(TENANT, "freeze", [1, 2, 3])
    assert [kept[version].content for version in (1, 2, 3)] == [CHRISTMAS, EASTER, NEW_YEAR]


@pytest.mark.sem("SEM-CAL-4", "SEM-API-4")
async def test_a_put_on_a_version_that_another_replaces_is_refused(world: World) -> None:
    """Though it was still there when it was read."""
    await put_calendar(world.kit, TENANT, "freeze", CHRISTMAS, None)
    quicker = Interject("write_together", lambda: put_calendar(world.kit, TENANT, "freeze", EASTER, None))

    slower = await put_calendar(world.a_process(quicker), TENANT, "freeze", NEW_YEAR, 1)

    assert slower == CHANGED_MEANWHILE
    assert (await world.kit.store.calendars(TENANT, ["freeze"]))["freeze"].content == EASTER


@pytest.mark.sem("SEM-CAL-4")
async def test_a_put_whose_reply_was_lost_makes_no_second_version(world: World) -> None:
    """It is sent again by its caller, and finds its own content."""
    flaky = world.a_process(Script(at=1, fate=Fate.LOST_AFTER))
    with pytest.raises(StoreUnavailable):
        await put_calendar(flaky, TENANT, "freeze", CHRISTMAS, None)

    again = await put_calendar(flaky, TENANT, "freeze", CHRISTMAS, None)

    assert isinstance(again, Put)
    assert (again.calendar.version, again.is_new) == (1, False)
