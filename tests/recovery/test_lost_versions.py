"""A copy of tables may have a job's head without its version: such a job stands in nobody's way."""

from tests.recovery.places import Installations
from tests.recovery.test_deletion import deleted, submitted
from tests.support.builders import TENANT
from tickwright.adapters.exchange import line_of
from tickwright.domain.changes.heads import PutHead
from tickwright.domain.exports import Closing, JobExport
from tickwright.domain.ids import JobId
from tickwright.domain.jobs import JobStatus
from tickwright.domain.outcomes import VERSION_LOST
from tickwright.services.change_job import cancel_job, edit_job
from tickwright.services.export_tenant import export_tenant
from tickwright.services.jobs import get_job, get_newest, list_jobs


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
