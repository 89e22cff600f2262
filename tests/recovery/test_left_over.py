"""What no head and no standing pool leads to goes with its tenant as well."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.recovery.places import Installations, Place, embedded
from tests.recovery.test_deletion import OTHER, KilledError, deleted, of, passed, submitted
from tests.recovery.test_moving import jobs_exported
from tests.support.builders import TENANT
from tickwright.domain.changes.heads import PutDefinition
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.jobs import Definition
from tickwright.ports.store import Listing
from tickwright.services.delete_tenant import Stage
from tickwright.services.kit import Kit
from tickwright.services.pools import delete_pool, put_pool

pytestmark = pytest.mark.sem("SEM-TENANT-2")
SECRET = "kept-from-everybody-4711"


async def with_versions(installations: Installations) -> tuple[Place, tuple[Definition, ...]]:
    """The second installation, and versions of a job that has none there."""
    await submitted(installations.first, TENANT, schedule={"every": "PT1M"}, payload={"card": SECRET})
    (export,) = await jobs_exported(installations.first, with_secrets=True)
    return installations.second, export.definitions


async def left_of(installations: Installations, place: Place, tenant_id: TenantId = TENANT) -> list[str]:
    """What of a tenant is stored."""
    return [text for texts in of(tenant_id, dict(await installations.stored(place))).values() for text in texts]


async def test_versions_of_an_import_that_was_cut_off_go(installations: Installations) -> None:
    """Its head was to come after them; another tenant's of the same job stay."""
    place, versions = await with_versions(installations)
    anothers = [replace(one, tenant_id=OTHER, version=2) for one in versions]
    for version in (*versions, *anothers):
        await place.world.kit.store.write(PutDefinition(definition=version))

    said = await deleted(place)

    left = await left_of(installations, place)
    assert said[-1].stage is Stage.GONE
    assert ["DELETION" in text for text in left] == [True]
    assert await place.world.kit.store.definition(anothers[0].job_id, 2) == anothers[0]


async def test_executions_go_whose_job_did_not_arrive(installations: Installations) -> None:
    """In a copy neither head nor version may be there; another tenant's rows stay."""
    place = installations.first
    for tenant_id in (TENANT, OTHER):
        await submitted(place, tenant_id, schedule={"every": "PT1M"})
    await place.play(3 * 60)
    (lost,) = {row.job_id for row in await place.rows() if row.tenant_id == TENANT}
    await place.whole.forget_job(TENANT, lost)

    said = await deleted(place)

    assert said[-1].rows > 0
    assert {row.tenant_id for row in await place.rows()} == {OTHER}


class Unseen:
    """A whole in which the look through all jobs finds one that no list has shown yet."""

    def __init__(self, place: Place) -> None:
        self._place, self._whole = place, place.whole
        self.came: list[JobId] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """As the whole, but for that look."""
        called: Callable[..., Any] = getattr(self._whole, name)
        return called

    async def jobs_kept_of_eventually(
        self, tenant_id: TenantId, *, limit: int, after_key: str | None = None
    ) -> Listing[JobId]:
        """The first look finds the job that has come a moment before."""
        if not self.came:
            self.came.append((await submitted(self._place, tenant_id, schedule={"every": "PT1M"})).head.job_id)
        return await self._whole.jobs_kept_of_eventually(tenant_id, limit=limit, after_key=after_key)


async def test_a_job_that_no_list_has_shown_is_stopped_before_it_goes(installations: Installations) -> None:
    """It is not removed while it is active: all is stopped once more, and rests."""
    place = installations.first
    await submitted(place, TENANT, schedule={"every": "PT1M"})
    unseen = Unseen(place)
    place.whole = unseen

    said = await deleted(place)

    since = said[next(number for number, one in enumerate(said) if one.jobs_removed) :]
    assert Stage.RESTING in {one.stage for one in since}
    assert await place.world.kit.store.heads(unseen.came) == {}
    assert said[-1].stage is Stage.GONE


class Queues:
    """Which pools have queues, of a process that may die before it removes one."""

    def __init__(self, kit: Kit) -> None:
        self._queue = kit.queue
        self.there = set[str]()
        self.dies = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """As the queue, but for those."""
        called: Callable[..., Any] = getattr(self._queue, name)
        return called

    async def prepare(self, pool: str) -> None:
        """They are there."""
        await self._queue.prepare(pool)
        self.there.add(pool)

    async def remove(self, pool: str) -> None:
        """They are not."""
        if self.dies:
            raise KilledError
        await self._queue.remove(pool)
        self.there.discard(pool)


def with_queues(place: Place) -> Queues:
    """The place's own, watched."""
    queues = Queues(place.world.kit)
    place.world.kit = replace(place.world.kit, queue=queues)
    return queues


async def test_queues_go_that_somebody_died_before(installations: Installations) -> None:
    """Between the record of a pool and its queues."""
    place = installations.first
    queues = with_queues(place)
    await put_pool(place.world.kit, TENANT, "gpu", None)
    await put_pool(place.world.kit, OTHER, "gpu", None)
    queues.dies = True
    with pytest.raises(KilledError):
        await passed(place)
    queues.dies = False

    await deleted(place)

    assert queues.there == {f"{OTHER}/gpu"}


async def test_a_pool_goes_behind_any_number_that_were_deleted() -> None:
    """More than a page of records of a week."""
    async with embedded() as made:
        place = made.first
        queues = with_queues(place)
        for number in range(101):
            await put_pool(place.world.kit, TENANT, f"build-{number:03d}", None)
            await delete_pool(place.world.kit, TENANT, f"build-{number:03d}")
        await put_pool(place.world.kit, TENANT, "gpu", None)

        await deleted(place)

        assert queues.there == set()
