"""A copy of tables may have a job's head without its version: such a job stands in nobody's way."""

from dataclasses import replace

import pytest

from tests.recovery.places import Installations
from tests.recovery.test_deletion import deleted, submitted
from tests.support.builders import TENANT, a_calendar
from tickwright.adapters.exchange import line_of
from tickwright.domain.changes.calendars import PutCalendarVersion
from tickwright.domain.changes.heads import PutDefinition, PutHead
from tickwright.domain.events import EventName
from tickwright.domain.exports import Closing, JobExport
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition, JobStatus
from tickwright.domain.outcomes import VERSION_LOST, Code, Refusal
from tickwright.services.calendars import Put, put_calendar
from tickwright.services.change_job import cancel_job, edit_job, pause_job, resume_job
from tickwright.services.export_tenant import export_tenant
from tickwright.services.jobs import JobView, get_job, get_newest, list_jobs
from tickwright.services.preview import Edit, name_refusal, preview_edit
from tickwright.services.submit import ID_TAKEN, Submitted, submit


async def with_one_lost(installations: Installations) -> tuple[JobId, JobId]:
    """Two jobs; of the first the version did not arrive in the second installation."""
    place = installations.first
    lost, kept = [await submitted(place, TENANT, schedule={"every": "PT1H"}, name=name) for name in ("lost", "kept")]
    await place.whole.forget_job(TENANT, lost.head.job_id)
    await place.world.kit.store.write(PutHead(head=lost.head))
    await installations.copied()
    return lost.head.job_id, kept.head.job_id


async def test_a_job_without_its_version_is_refused_by_itself_and_can_be_cancelled(
    installations: Installations,
) -> None:
    """Whoever asks for it is told; the tenant's other jobs are listed; a cancel is done."""
    place = installations.second
    lost, kept = await with_one_lost(installations)
    kit = place.world.kit
    spec = place.world.spec(schedule={"every": "PT2M"}, name="lost")

    told = [
        await get_job(kit, TENANT, lost),
        await get_newest(kit, TENANT, lost),
        await edit_job(kit, TENANT, lost, spec, 1),
        await cancel_job(kit, TENANT, lost, None),
    ]

    assert told == [VERSION_LOST] * 4
    assert [view.head.job_id for view in (await list_jobs(kit, TENANT, limit=10)).items] == [kept]
    head = await kit.store.head(lost)
    assert head is not None
    assert head.status is JobStatus.CANCELLED


async def test_a_request_whose_job_was_lost_is_told_so_when_it_is_repeated(installations: Installations) -> None:
    """Its record has arrived, in another table; it is no fault of ours, and nothing is created under its key."""
    first, second = installations.first, installations.second
    world, key = first.world, first.world.key()
    made = await submit(world.kit, TENANT, world.spec(name="lost"), key)
    assert isinstance(made, Submitted)
    await first.whole.forget_job(TENANT, made.head.job_id)
    await installations.copied()

    told = await submit(second.world.kit, TENANT, world.spec(name="lost"), key)

    assert isinstance(told, Refusal)
    assert (told.code, told.retryable) == (Code.JOB_OVER, False)
    assert made.head.job_id in told.detail
    assert await second.world.kit.store.heads([made.head.job_id]) == {}


async def test_the_name_of_a_job_that_did_not_arrive_may_be_taken(installations: Installations) -> None:
    """Its record has arrived, in another table, and names a job that is nowhere: nobody could cancel it."""
    first, second = installations.first, installations.second
    lost = await submitted(first, TENANT, schedule={"every": "PT1H"}, name="nightly")
    await first.whole.forget_job(TENANT, lost.head.job_id)
    await installations.copied()
    kit = second.world.kit

    assert await name_refusal(kit, TENANT, "nightly", None) is None
    made = await submit(kit, TENANT, second.world.spec(name="nightly"), first.world.key())
    assert isinstance(made, Submitted)

    named = await kit.store.named(TENANT, "nightly")
    assert named is not None
    assert (named.job_id, named.released) == (made.head.job_id, False)


@pytest.mark.parametrize("is_paused", [False, True])
async def test_an_edit_that_waited_and_was_lost_stands_in_nobodys_way(
    installations: Installations, *, is_paused: bool
) -> None:
    """Its time has come: the job stops and is told of, others run; whoever changes it is told, and can cancel it."""
    first, second = installations.first, installations.second
    world = first.world
    lost, kept = [await submitted(first, TENANT, schedule={"every": "PT1M"}, name=name) for name in ("lost", "kept")]
    job_id, spec = lost.head.job_id, world.spec(schedule={"every": "PT2M"}, name="lost")
    at = Instant(world.clock.now() + 90_000)
    edited = await edit_job(world.kit, TENANT, job_id, spec, 1, at)
    assert isinstance(edited, JobView)
    paused = await pause_job(world.kit, TENANT, job_id, None) if is_paused else edited
    assert isinstance(paused, JobView)
    await first.whole.forget_job(TENANT, job_id)
    await world.kit.store.write(PutDefinition(definition=lost.definition))
    await world.kit.store.write(PutHead(head=paused.head))
    await installations.copied()
    kit = second.world.kit
    await second.play(200)

    told = [
        await edit_job(kit, TENANT, job_id, spec, paused.head.version),
        await preview_edit(kit, None, TENANT, Edit(job_id=job_id, spec=spec, if_match=paused.head.version)),
        await resume_job(kit, TENANT, job_id, None),
        await cancel_job(kit, TENANT, job_id, None),
    ]

    assert told == [VERSION_LOST] * 4
    poisoned = {
        (one.about["jobId"], one.about["fault"])
        for one in second.world.telemetry.happenings
        if one.name is EventName.TICK_POISONED
    }
    assert poisoned == (set() if is_paused else {(job_id, "DefinitionMissing")})
    assert {row.job_version for row in await second.rows() if row.job_id == job_id} <= {1}
    assert len([row for row in await second.rows() if row.job_id == kept.head.job_id]) >= 3


@pytest.mark.parametrize("later_ms", [None, 3_600_000], ids=["now", "later"])
async def test_a_version_that_arrived_without_its_head_stands_in_no_edit_s_way(
    installations: Installations, later_ms: int | None
) -> None:
    """The edit of whoever was answered in the lag: the next one takes the number after it."""
    place = installations.first
    kit, world = place.world.kit, place.world
    made = await submitted(place, TENANT, schedule={"every": "PT1H"})
    stray = replace(made.definition, version=2, spec=world.spec(schedule={"every": "PT3M"}))
    await kit.store.write(PutDefinition(definition=stray))
    spec = world.spec(schedule={"every": "PT2M"})
    at = None if later_ms is None else Instant(world.clock.now() + later_ms)

    edited = await edit_job(kit, TENANT, made.head.job_id, spec, 1, at)

    assert isinstance(edited, JobView)
    assert (edited.head.version, edited.head.newest_version) == (2, 3)
    newest = await get_newest(kit, TENANT, made.head.job_id)
    assert isinstance(newest, Definition)
    assert newest.spec == spec


async def test_a_first_version_that_arrived_alone_leaves_its_request_another_id(installations: Installations) -> None:
    """The id is made from the request, where there is an intake; neither head nor record has arrived."""
    place = installations.first
    made = await submitted(place, TENANT, schedule={"every": "PT1H"})
    await place.whole.forget_job(TENANT, made.head.job_id)
    await place.world.kit.store.write(PutDefinition(definition=made.definition))

    told = await submit(place.world.kit, TENANT, place.world.spec(), place.world.key(), job_id=made.head.job_id)

    assert told is ID_TAKEN


@pytest.mark.parametrize("version", [1, 2])
async def test_a_calendar_s_version_that_arrived_alone_stands_in_no_put_s_way(
    installations: Installations, version: int
) -> None:
    """The same of calendars, be it the first one or a later."""
    kit, content = installations.first.world.kit, a_calendar().content
    if version > 1:
        assert isinstance(await put_calendar(kit, TENANT, "holidays", content, None), Put)
    stray = a_calendar(version=version, content=replace(content, weekdays=("mon",)), write_token="x" * 26)
    await kit.store.write(PutCalendarVersion(calendar=stray))

    put = await put_calendar(kit, TENANT, "holidays", replace(content, weekdays=("tue",)), None)

    assert isinstance(put, Put)
    assert (put.calendar.version, put.calendar.content.weekdays) == (version + 1, ("tue",))
    kept = await kit.store.calendar_versions(TENANT, "holidays", [version + 1])
    assert kept == {version + 1: put.calendar}


async def test_an_export_leaves_it_out_and_says_so(installations: Installations) -> None:
    """The other job is in it, and its end counts what is there."""
    place = installations.second
    lost, kept = await with_one_lost(installations)
    left_out = list[JobId]()

    records = [record async for record in export_tenant(place.world.kit, TENANT, lost=left_out)]

    assert [record.head.job_id for record in records if isinstance(record, JobExport)] == [kept]
    assert left_out == [lost]
    assert records[-1] == Closing(records=len(records) - 1)
    assert all(map(line_of, records))


async def test_its_tenant_can_be_deleted(installations: Installations) -> None:
    """Both jobs go."""
    place = installations.second
    lost, kept = await with_one_lost(installations)

    said = await deleted(place)

    assert said[-1].jobs_removed == 2
    assert await place.world.kit.store.heads([lost, kept]) == {}
