"""Whoever wrote the lines of an export may have changed any: an import makes nothing that the API would refuse."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.recovery.places import Installations, embedded
from tests.recovery.test_deletion import submitted
from tests.recovery.test_moving import exported, furnished, imported, jobs_exported
from tests.support.builders import TENANT, a_calendar
from tests.support.steps import HOUR
from tickwright.adapters.exchange import line_of, record_of
from tickwright.domain import limits
from tickwright.domain.exports import CalendarVersion, JobExport, Record
from tickwright.domain.imports import unfit
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import CatchUp, CatchUpMode, JobStatus, Overlap, Target
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import Pool, PoolName
from tickwright.domain.retry import RetryPolicy
from tickwright.domain.webhooks import Rotation
from tickwright.services.calendars import put_calendar
from tickwright.services.import_tenant import Imported, import_record

pytestmark = pytest.mark.sem("SEM-TENANT-4")
NEVER = Instant(10**15)


def _spec(**changes: Any) -> Callable[[JobExport], JobExport]:  # noqa: ANN401 - any field of the class
    def forged(export: JobExport) -> JobExport:
        (one,) = export.definitions
        return replace(export, definitions=(replace(one, spec=replace(one.spec, **changes)),))

    return forged


def _head(**changes: Any) -> Callable[[JobExport], JobExport]:  # noqa: ANN401 - any field of the class
    return lambda export: replace(export, head=replace(export.head, **changes))


def _masked(export: JobExport) -> JobExport:
    """Masks excuse what lies at their places alone."""
    return _spec(secrets=("/payload/card",), payload='{"card":"********"}', timeout_s=10**9)(export)


def _masked_by_a_pointer_to_all(export: JobExport) -> JobExport:
    target = Target(kind="nonsense", settings={"x": "********"})
    return _spec(secrets=("/target",), target=target)(export)


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(_spec(schedule="nonsense"), id="a schedule that cannot be read"),
        pytest.param(_spec(source={"every": "PT2M"}), id="a schedule that is not the one that was written"),
        pytest.param(_spec(source={"cron": "0 0 30 2 *"}), id="a schedule that never fires"),
        pytest.param(_spec(payload=json.dumps("x" * 900_000)), id="a payload of 900 KB"),
        pytest.param(_spec(payload="1" + " " * 900_000), id="a payload of blanks"),
        pytest.param(_spec(payload="{"), id="a payload that is no JSON"),
        pytest.param(_spec(payload="NaN"), id="a payload that is no number"),
        pytest.param(_spec(payload="[" * 100_000), id="a payload without a bottom"),
        pytest.param(_spec(retry=RetryPolicy(retry_on=("x",) * 1_000)), id="a thousand classes of errors"),
        pytest.param(_spec(timeout_s=10**9), id="an attempt for ever"),
        pytest.param(_spec(lane=Lane.BACKFILL), id="a lane that is no tenant's"),
        pytest.param(_spec(catch_up=CatchUp(mode=CatchUpMode.ALL, window_s=10**9)), id="a window of thirty years"),
        pytest.param(
            _spec(catch_up=CatchUp(mode=CatchUpMode.ALL, window_s=60, max_runs=10**6)), id="a million runs caught up"
        ),
        pytest.param(_spec(target=Target(kind="spell")), id="a target of no kind"),
        pytest.param(_spec(target=Target(kind="spell", settings={"type": "http"})), id="a target of two kinds"),
        pytest.param(_masked, id="what masks do not excuse"),
        pytest.param(_masked_by_a_pointer_to_all, id="a target that hides itself"),
        pytest.param(_head(next_run_at=NEVER), id="a time after all times"),
        pytest.param(_head(created_at=Instant(-1)), id="a time before all times"),
        pytest.param(_head(runs=-1), id="fewer runs than none"),
        pytest.param(_head(version=10**30), id="a version that no number is for"),
        pytest.param(_head(tzdata="x" * 9_000), id="a head of nine kilobytes"),
        pytest.param(_head(status=JobStatus.ENDED, next_run_at=None, bucket=None), id="a job that is over"),
    ],
)
async def test_a_job_that_the_api_would_refuse_is_not_made(forged: Callable[[JobExport], JobExport]) -> None:
    """Whatever part of it asks for too much; the reason is told, and nothing is written."""
    async with embedded() as made:
        await submitted(made.first, TENANT, schedule={"every": "PT1M"})
        (export,) = await jobs_exported(made.first, with_secrets=True)
        before = await made.stored(made.second)
        record = record_of(line_of(forged(export)))

        came = await import_record(made.second.world.kit, TENANT, record)

        assert came is Imported.UNFIT
        assert unfit(record)
        assert await made.stored(made.second) == before


async def test_a_head_has_from_its_line_only_what_moves() -> None:
    """Lane, overlap, catch-up, attempts and reach follow from the version, whatever the line says."""
    async with embedded() as made:
        await submitted(made.first, TENANT, schedule={"every": "PT1H"}, name="nightly")
        (export,) = await jobs_exported(made.first, with_secrets=True)
        changes: dict[str, Any] = {
            "lane": Lane.BACKFILL,
            "schedule": "nonsense",
            "overlap": Overlap.ALLOW,
            "catch_up": CatchUp(mode=CatchUpMode.ALL, window_s=10**9, max_runs=10**6),
            "max_attempts": 10**6,
            "listed_as": "another",
            "pool": PoolName("another"),
            "run_deadline_s": 1,
            "reach_s": 10**12,
        }
        kit = made.second.world.kit

        came = await import_record(kit, TENANT, replace(export, head=replace(export.head, **changes)))

        assert came is Imported.MADE
        head = await kit.store.head(export.head.job_id)
        assert head is not None
        assert {name: getattr(head, name) for name in changes} == {name: getattr(export.head, name) for name in changes}


async def test_a_head_counts_no_more_versions_than_could_have_been_lost() -> None:
    """Whoever deletes or exports the job asks for each of them."""
    async with embedded() as made:
        await submitted(made.first, TENANT, schedule={"every": "PT1M"})
        (export,) = await jobs_exported(made.first, with_secrets=True)

        def counting(newest: int) -> JobExport:
            last = replace(export.definitions[0], version=newest)
            head = replace(export.head, definition_version=newest, version=newest)
            return replace(export, head=head, definitions=(export.definitions[0], last))

        kit = made.second.world.kit
        too_many = await import_record(kit, TENANT, counting(2 + limits.LOST_VERSIONS_MAX + 1))
        enough = await import_record(kit, TENANT, counting(2 + limits.LOST_VERSIONS_MAX))

        assert (too_many, enough) == (Imported.FOREIGN, Imported.MADE)


async def test_a_rotation_is_one_write_whatever_its_number(installations: Installations) -> None:
    """And the next is its tenant's, from there."""
    kit = installations.second.world.kit
    rotation = Rotation(tenant_id=TENANT, number=20_000, rotated_at=Instant(HOUR))

    came = [await import_record(kit, TENANT, one) for one in (rotation, rotation, replace(rotation, number=30_000))]

    assert came == [Imported.MADE, Imported.THERE, Imported.MADE]
    assert await kit.store.webhook_rotation(TENANT) == replace(rotation, number=30_000)


def _calendar(**changes: Any) -> CalendarVersion:  # noqa: ANN401 - any field of the class
    return CalendarVersion(calendar=a_calendar(**changes), stands=True)


@pytest.mark.parametrize(
    "record",
    [
        Rotation(tenant_id=TENANT, number=10**12, rotated_at=Instant(1)),
        Rotation(tenant_id=TENANT, number=2, rotated_at=NEVER),
        Pool(tenant_id=TENANT, name=PoolName("gpu"), description="x" * 2_000, created_at=Instant(1)),
        _calendar(name="../victim"),
        _calendar(version=10**9),
        _calendar(content=replace(a_calendar().content, weekdays=("mon", "doomsday"))),
        _calendar(content=replace(a_calendar().content, weekdays=("mon", "mon"))),
        _calendar(content=replace(a_calendar().content, days=("2026-12-25",) * 1_001)),
        _calendar(updated_at=NEVER),
        _calendar(write_token="x" * 9_000),
    ],
)
async def test_nothing_else_is_made_that_the_api_would_refuse(record: Record) -> None:
    """Rotations, pools, calendars."""
    async with embedded() as made:
        before = await made.stored(made.second)

        came = await import_record(made.second.world.kit, TENANT, record)

        assert came is Imported.UNFIT
        assert unfit(record)
        assert await made.stored(made.second) == before


async def test_a_tenant_gets_no_more_calendars_than_it_may_have() -> None:
    """As from the API."""
    async with embedded() as made:
        kit = made.second.world.kit
        for number in range(100):
            await put_calendar(kit, TENANT, f"c{number}", a_calendar().content, None)

        assert await import_record(kit, TENANT, _calendar()) is Imported.REFUSED


async def test_a_job_whose_masks_stand_where_a_rule_looks_is_made_and_paused() -> None:
    """A whole object or a URL may be a secret: what the mask breaks is not held against the job."""
    async with embedded() as made:
        await submitted(
            made.first,
            TENANT,
            schedule={"every": "PT1M"},
            target={"type": "http", "url": "https://example.com/4711", "headers": {"X-Api-Key": "4711"}},
            payload={"card": {"number": "4711"}},
            secrets=["/target/url", "/target/headers", "/payload/card", "/payload/card/number"],
        )
        lines = await exported(made.first, with_secrets=False)

        came = await imported(made.second, lines)

        assert "4711" not in "".join(lines)
        assert came == [None, Imported.PAUSED, None]


async def test_what_was_exported_is_fit() -> None:
    """All of a tenant with one of everything, with its secrets and without."""
    async with embedded() as made:
        await furnished(made.first)
        for with_secrets in (True, False):
            records = [record_of(line) for line in await exported(made.first, with_secrets=with_secrets)]
            assert [unfit(record) for record in records] == [None] * len(records)
