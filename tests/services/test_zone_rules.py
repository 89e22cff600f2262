"""When the zone rules are replaced, what is stored is aimed by the new ones, and the tenant can see what has moved."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import ModuleType

import pytest

from tests.support.builders import TENANT
from tests.support.kits import World
from tests.support.steps import HOUR, MINUTE
from tickwright.adapters.embedded.entities import HEADS
from tickwright.domain.events import EventName
from tickwright.domain.instants import Instant, from_rfc3339, to_rfc3339
from tickwright.domain.jobs import RUN, Head, JobStatus
from tickwright.domain.schedules import tzdata_version, zones
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.services.change_job import edit_job, pause_job, resume_job
from tickwright.services.jobs import JobView
from tickwright.services.preview import Edit, PreviewedEdit, preview_edit
from tickwright.services.zone_changes import zone_changes

OLD = "2022.4"


async def aimed_by_old_rules(world: World, head: Head, next_run_at: Instant) -> Head:
    """The head as a release with older rules has left it."""
    old = replace(head, next_run_at=next_run_at, tzdata=OLD)
    statement = "UPDATE heads SET doc = ?, next_run_at = ? WHERE job_id = ?"
    row = (HEADS.codec.dump(old), next_run_at, head.job_id)
    await world.database.write(lambda connection: connection.execute(statement, row), StoreUnavailable)
    return old


async def a_job_in_mexico(world: World) -> Head:
    """At nine in the morning, in a zone that ended summer time with days of notice (B074)."""
    world.clock.advance_to(from_rfc3339("2027-04-03T20:00:00Z"))
    return await world.submit(schedule={"cron": "0 9 * * *", "timezone": "America/Mexico_City", "maxRuns": 1})


@pytest.mark.sem("SEM-TZ-1")
@pytest.mark.parametrize("off_h", [-1, 1])
async def test_b074_a_stored_tick_is_found_anew_when_the_rules_change(world: World, off_h: int) -> None:
    """An hour early or an hour late by the old rules: it runs once, when it is nine by the new ones (B074)."""
    job = await a_job_in_mexico(world)
    right = from_rfc3339("2027-04-04T15:00:00Z")
    assert job.next_run_at == right
    await aimed_by_old_rules(world, job, Instant(right + off_h * HOUR))

    await world.drain_until(Instant(right + 2 * HOUR))

    run = await world.only_execution(job.job_id)
    assert (to_rfc3339(run.scheduled_at), run.tzdata) == (to_rfc3339(right), tzdata_version())
    assert [start.at - right for start in world.runner.starts] == [0]
    assert world.telemetry.counts[EventName.JOB_AIMED_ANEW] == 1


@pytest.mark.sem("SEM-TZ-1")
async def test_what_the_new_rules_make_overdue_is_caught_up(world: World) -> None:
    """The release comes half an hour after the new time and half an hour before the old one: it runs at once."""
    job = await a_job_in_mexico(world)
    right = from_rfc3339("2027-04-04T15:00:00Z")
    await aimed_by_old_rules(world, job, Instant(right + HOUR))
    world.clock.advance_to(Instant(right + 30 * MINUTE))

    await world.drain_until(Instant(right + 2 * HOUR))

    assert [start.scheduled_at for start in world.runner.starts] == [right]
    assert world.runner.starts[0].at - right < 31 * MINUTE


NINE = {"cron": "0 9 * * *", "timezone": "America/Mexico_City"}


async def a_daily_job_that_was_due_by_old_rules(world: World) -> tuple[Head, Instant]:
    """Nine was half an hour ago by the old rules, and is in half an hour by the new ones, which nobody has applied."""
    world.clock.advance_to(from_rfc3339("2027-04-03T20:00:00Z"))
    job = await world.submit(schedule=NINE)
    right = from_rfc3339("2027-04-04T15:00:00Z")
    await aimed_by_old_rules(world, job, Instant(right - HOUR))
    world.clock.advance_to(Instant(right - 30 * MINUTE))
    return job, right


@pytest.mark.sem("SEM-TZ-1", "SEM-EDIT-1")
@pytest.mark.parametrize("effective_h", [None, 20])
async def test_an_edit_keeps_what_is_due_by_the_new_rules(world: World, effective_h: int | None) -> None:
    """Kept where the old rules had it, nine o'clock would come twice that day."""
    job, right = await a_daily_job_that_was_due_by_old_rules(world)
    counts_from = None if effective_h is None else Instant(right + effective_h * HOUR)

    edited = await edit_job(
        world.kit, TENANT, job.job_id, world.spec(schedule=NINE, payload="new"), job.version, counts_from
    )

    assert isinstance(edited, JobView)
    assert edited.head.next_run_at == right
    await world.drain_until(Instant(right + 2 * HOUR))
    assert [start.scheduled_at for start in world.runner.starts] == [right]


@pytest.mark.sem("SEM-TZ-1", "SEM-PAUSE-1")
async def test_a_pause_holds_back_what_is_due_by_the_new_rules(world: World) -> None:
    """Paused before nine and gone on with before nine: nothing was held back, and nine comes once."""
    job, right = await a_daily_job_that_was_due_by_old_rules(world)
    await pause_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(10 * MINUTE)

    await resume_job(world.kit, TENANT, job.job_id, None)

    await world.drain_until(Instant(right + 2 * HOUR))
    assert [row.scheduled_at for row in await world.executions()] == [right]
    assert [start.scheduled_at for start in world.runner.starts] == [right]


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The zone rules of a release that has no Mexico City any more."""
    load = zones.load_zone

    def loaded(name: str) -> object:
        if name == NINE["timezone"]:
            raise ValueError(f"no zone {name}")
        return load(name)

    ours = [module for name, module in list(sys.modules.items()) if name.startswith("tickwright")]
    for module in ours:
        if getattr(module, "load_zone", None) is load:
            monkeypatch.setattr(module, "load_zone", loaded)
    _forget(ours)
    yield
    _forget(ours)


def _forget(modules: Sequence[ModuleType]) -> None:
    for clear in [getattr(of, "cache_clear", None) for module in modules for of in vars(module).values()]:
        if clear is not None:
            clear()


@pytest.mark.sem("SEM-EDIT-1")
async def test_a_job_whose_zone_is_gone_can_be_edited(world: World, request: pytest.FixtureRequest) -> None:
    """Nobody can say any more when it is due: the edit is what mends it, and may be looked at before."""
    job, _right = await a_daily_job_that_was_due_by_old_rules(world)
    request.getfixturevalue("gone")
    spec = world.spec(schedule={"cron": "0 9 * * *", "timezone": "UTC"})

    shown = await preview_edit(world.kit, None, TENANT, Edit(job_id=job.job_id, spec=spec, if_match=job.version))
    edited = await edit_job(world.kit, TENANT, job.job_id, spec, job.version)

    assert isinstance(shown, PreviewedEdit)
    assert (shown.before, len(shown.after) > 1) == ((), True)
    assert isinstance(edited, JobView)
    assert edited.head.definition_version == 2
    assert world.telemetry.counts[EventName.TICK_POISONED] > 0


ENDS = from_rfc3339("2027-04-06T14:30:00Z")


@pytest.mark.sem("SEM-TZ-1")
@pytest.mark.parametrize("how", ["ends", "edit waits"])
@pytest.mark.parametrize("change", ["none", "edit", "pause"])
async def test_a_tick_that_new_rules_move_past_the_end_is_not_that_of_the_day_before(
    world: World, how: str, change: str
) -> None:
    """Nine was at 14Z by the old rules, and is at 15Z by the new ones; the schedule ends, or is edited, at 14:30Z.

    Yesterday's nine ran at 14Z: by the new rules it would have been an hour later, and is not run again.
    """
    world.clock.advance_to(from_rfc3339("2027-04-05T10:00:00Z"))
    ran, catchup = from_rfc3339("2027-04-05T14:00:00Z"), {"mode": "latest", "windowSec": 86_400}
    until = {"endAt": to_rfc3339(ENDS)} if how == "ends" else {}
    head = await world.submit(schedule={**NINE, **until}, catchup=catchup)
    later = world.spec(schedule={"cron": "0 0 1 1 *"}, catchup=catchup)
    if how == "edit waits":
        waits = await edit_job(world.kit, TENANT, head.job_id, later, head.version, ENDS)
        assert isinstance(waits, JobView)
        head = waits.head
    head = replace(head, fired_through=ran, fired_at=ran, fired_as=RUN, fired_version=1, runs=1)
    head = await aimed_by_old_rules(world, head, Instant(ran + 24 * HOUR))
    world.clock.advance_to(Instant(ran + 20 * HOUR))

    if change == "edit":
        await edit_job(world.kit, TENANT, head.job_id, later, head.version, drops_waiting=True)
    if change == "pause":
        await pause_job(world.kit, TENANT, head.job_id, None)
        await resume_job(world.kit, TENANT, head.job_id, None)
    await world.drain_until(Instant(ran + 30 * HOUR))

    assert [row.scheduled_at for row in await world.executions() if row.scheduled_at > ran] == []
    assert world.runner.starts == []


@pytest.mark.sem("SEM-TZ-1")
async def test_a_slot_that_an_end_moves_stays_the_same_tick(world: World) -> None:
    """The window's last slot ends with the schedule: by other rules it is found in its place, and runs."""
    world.clock.advance_to(from_rfc3339("2027-04-06T10:00:00Z"))
    schedule = {**NINE, "endAt": "2027-04-06T15:10:00Z", "window": 3_600}
    head = await world.submit(schedule=schedule)
    assert head.next_run_at is not None
    await aimed_by_old_rules(world, head, Instant(head.next_run_at - HOUR))

    await world.drain_until(from_rfc3339("2027-04-06T18:00:00Z"))

    assert [start.scheduled_at for start in world.runner.starts] == [head.next_run_at]


@pytest.mark.sem("SEM-TZ-1")
async def test_a_tick_that_the_new_rules_leave_where_it_is_costs_nothing(world: World) -> None:
    """No write, no event: only the version is noted, with the next decision."""
    job = await a_job_in_mexico(world)
    assert job.next_run_at is not None
    await aimed_by_old_rules(world, job, job.next_run_at)

    await SchedulerLoop(world.kit, "one").tick()

    head = await world.head(job.job_id)
    assert (head.version, head.tzdata) == (1, OLD)
    assert world.telemetry.counts[EventName.JOB_AIMED_ANEW] == 0


@pytest.mark.sem("SEM-TZ-1")
async def test_a_bucket_is_looked_through_once_after_the_rules_have_changed(world: World) -> None:
    """The first owner looks at each head, a page a look; its lease says so, and the next owner does not look again."""
    jobs = [await a_job_in_mexico(world) for _ in range(3)]
    for job in jobs:
        await aimed_by_old_rules(world, job, Instant((job.next_run_at or 0) + 24 * HOUR + HOUR))
    loop = SchedulerLoop(world.kit, "one")
    for _ in range(8):
        await loop.tick()
        world.clock.advance(1_000)
    moved = world.telemetry.counts[EventName.JOB_AIMED_ANEW]

    lease = await world.kit.store.lease(0)

    assert moved == len(jobs)
    assert lease is not None
    assert lease.tzdata == tzdata_version()


@pytest.mark.sem("SEM-TZ-2")
async def test_the_report_says_what_moved_and_what_will(world: World) -> None:
    """Before the scheduler has come by and after it: the same change, from the same old tick."""
    job = await a_job_in_mexico(world)
    right = from_rfc3339("2027-04-05T15:00:00Z")
    await aimed_by_old_rules(world, job, Instant(right + HOUR))

    before = await zone_changes(world.kit, TENANT, limit=10)
    loop = SchedulerLoop(world.kit, "one")
    for _ in range(8):
        await loop.tick()
        world.clock.advance(1_000)
    after = await zone_changes(world.kit, TENANT, limit=10)

    told = [(change.was, change.tzdata_was, change.now) for listing in (before, after) for change in listing.items]
    assert told == [(right + HOUR, OLD, right)] * 2
    assert (await world.head(job.job_id)).status is JobStatus.ACTIVE
