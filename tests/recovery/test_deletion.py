"""A tenant is deleted: first it stops, then it rests, then it is gone, and nobody else's rows are touched."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from infra.door_settings import AUTHORIZER_CACHE_S_MAX
from tests.recovery.places import Installations, Place, embedded
from tests.support.builders import TENANT, a_calendar
from tests.support.steps import MINUTE
from tickwright.api.keys import make_key
from tickwright.domain import limits
from tickwright.domain.deletions import PutDeletion
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.job_rules import read_spec
from tickwright.domain.outcomes import Refusal
from tickwright.domain.schedules import HashIdentity
from tickwright.domain.tenants import Scope
from tickwright.domain.transitions import State
from tickwright.ports.whole import Whole
from tickwright.services.calendars import put_calendar
from tickwright.services.delete_tenant import Progress, Stage, delete_tenant
from tickwright.services.keys import keys_of
from tickwright.services.pools import put_pool
from tickwright.services.report import report_success
from tickwright.services.submit import Submitted, submit

OTHER = TenantId("other")
TARGET = {"type": "python", "handler": "echo"}


async def submitted(place: Place, tenant_id: TenantId, **body: object) -> Submitted:
    """A job of a tenant."""
    world = place.world
    spec = read_spec({"target": TARGET, **body}, identity=HashIdentity(tenant_id, "job"), now=world.clock.now())
    made = await submit(world.kit, tenant_id, spec, world.key())
    assert isinstance(made, Submitted)
    return made


async def furnished(place: Place, tenant_id: TenantId) -> None:
    """A tenant with one of everything: keys, a calendar, a pool, jobs with and without a name, ended and held runs."""
    kit = place.world.kit
    await make_key(kit, tenant_id, scopes=frozenset(Scope), label="its own")
    calendar = a_calendar(tenant_id=tenant_id)
    assert not isinstance(await put_calendar(kit, tenant_id, calendar.name, calendar.content, None), Refusal)
    await put_pool(kit, tenant_id, "gpu", None)
    await submitted(place, tenant_id, schedule={"every": "PT1M"}, name="nightly")
    await submitted(place, tenant_id, schedule={"runAt": place.world.text(MINUTE)})
    await submitted(place, tenant_id, schedule={"runAt": place.world.text(60 * MINUTE)})


async def with_two_tenants(place: Place) -> None:
    """Both have run for a while, and of each a silent worker holds a run."""
    for tenant_id in (TENANT, OTHER):
        await furnished(place, tenant_id)
    await place.play(100)
    place.world.clock.advance(20_000)
    await place.look_ahead()
    for row in await place.waiting():
        await place.hold(row)


async def deleted(place: Place, tenant_id: TenantId = TENANT) -> list[Progress]:
    """Ask for it until it is done, waiting as long as each answer says."""
    said: list[Progress] = []
    begun: Instant | None = None
    for _ in range(100):
        said += await passed(place, begun, tenant_id)
        begun = said[-1].asked_at
        if said[-1].until is None:
            return said
        place.world.clock.advance_to(said[-1].until)
    raise AssertionError(said[-1])


async def passed(place: Place, asked_at: Instant | None = None, tenant_id: TenantId = TENANT) -> list[Progress]:
    """One pass of it: the first, or one of the deletion that was asked for then."""
    steps = delete_tenant(place.world.kit, place.whole, tenant_id, asked_at=asked_at)
    return [progress async for progress in steps]


def of(tenant_id: TenantId, stored: dict[str, list[Any]]) -> dict[str, list[str]]:
    """What is stored that names a tenant, but for journal and idle messages; as text."""
    return {
        table: sorted(text for item in items if tenant_id in (text := repr(item)))
        for table, items in stored.items()
        if table != "journal"
    }


@pytest.mark.sem("SEM-TENANT-2")
async def test_of_a_deleted_tenant_nothing_is_left_and_of_the_others_everything(installations: Installations) -> None:
    """Only the record that it was deleted stays for a while."""
    place = installations.first
    await with_two_tenants(place)
    others = of(OTHER, dict(await installations.stored(place)))

    said = await deleted(place)

    stored = dict(await installations.stored(place))
    left = [text for texts in of(TENANT, stored).values() for text in texts]
    assert len(left) == 1
    assert "DELETION" in left[0]
    assert of(OTHER, stored) == others
    assert (said[-1].jobs_removed, said[-1].rows > 0, said[-1].records > 0) == (3, True, True)
    assert {progress.stage for progress in said} == set(Stage) - {Stage.OVER}


@pytest.mark.sem("SEM-TENANT-2")
async def test_keys_are_revoked_and_jobs_stopped_before_anything_is_removed(installations: Installations) -> None:
    """What is held is asked to stop, and its holder's result refused; everything is still there to be looked at."""
    place = installations.first
    await with_two_tenants(place)
    before = await place.rows()

    (*_, last) = await passed(place)

    assert (last.stage, last.keys, last.rows) == (Stage.RESTING, 1, 0)
    now = place.world.clock.now()
    assert not any(key.is_valid(now) for key in await keys_of(place.world.kit, TENANT))
    assert all(key.is_valid(now) for key in await keys_of(place.world.kit, OTHER))
    rows = await place.rows()
    assert [row.ref for row in rows] == [row.ref for row in before]
    assert {row.state for row in rows if row.tenant_id == TENANT} <= {State.SUCCEEDED, State.CANCELLING}
    (held,) = [row for row in place.held if row.tenant_id == TENANT]
    told = await report_success(place.world.kit, TENANT, held.ref.id, epoch=held.lease_epoch, result=None)
    assert isinstance(told, Refusal)


@pytest.mark.sem("SEM-TENANT-3")
async def test_rows_go_only_once_nothing_has_moved_for_a_function_s_life(installations: Installations) -> None:
    """A job that came meanwhile, from whoever was let in a moment before, is cancelled, and the rest begins anew."""
    place = installations.first
    await furnished(place, TENANT)
    kit, clock = place.world.kit, place.world.clock
    both = [await passed(place) for _ in range(2)]
    first = both[-1][-1]
    clock.advance(limits.DELETED_TENANT_RESTS_S * 1_000 - 1)
    late = await submitted(place, TENANT, schedule={"every": "PT1M"})

    said = await deleted(place)

    assert first.until == late.head.created_at + 1
    removing = next(number for number, progress in enumerate(said) if progress.stage is Stage.REMOVING)
    rested = [progress.until for progress in said[:removing] if progress.until is not None]
    assert max(rested) >= late.head.created_at + limits.DELETED_TENANT_RESTS_S * 1_000
    assert await kit.store.head(late.head.job_id) is None
    assert said[-1].jobs_removed == 4


class Late:
    """A whole into which somebody who was let in late submits a job, at the first row that is removed."""

    def __init__(self, place: Place) -> None:
        self._place, self._whole = place, place.whole
        self.came: list[Submitted] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """As the whole, but for the first job."""
        called: Callable[..., Any] = getattr(self._whole, name)
        return called

    async def forget_job(self, tenant_id: TenantId, job_id: JobId) -> None:
        """The job, and another one comes."""
        await self._whole.forget_job(tenant_id, job_id)
        if not self.came:
            self.came.append(await submitted(self._place, TENANT, schedule={"every": "PT1M"}, name="aaa-late"))


@pytest.mark.sem("SEM-TENANT-3")
async def test_a_job_that_comes_while_rows_go_is_stopped_and_rests_before_it_goes(
    installations: Installations,
) -> None:
    """Wherever it lies among the others: it never loses its rows while it is active, and nothing of it stays."""
    place = installations.first
    await furnished(place, TENANT)
    late = Late(place)
    place.whole = late

    said = await deleted(place)

    assert [one.stage for one in said if one.stage is not Stage.REMOVING].count(Stage.RESTING) >= 2
    since = said[next(number for number, one in enumerate(said) if one.rows or one.jobs_removed) :]
    assert Stage.RESTING in {one.stage for one in since}
    assert await place.world.kit.store.head(late.came[0].head.job_id) is None
    assert [one.stage for one in said][-1] is Stage.GONE


def test_the_rest_is_longer_than_a_revoked_key_opens_any_door() -> None:
    """A process may know it, API Gateway may have asked that last, and a function may have begun then."""
    assert AUTHORIZER_CACHE_S_MAX == limits.AUTHORIZER_CACHE_S_MAX
    assert limits.DELETED_TENANT_RESTS_S >= limits.KNOWN_KEY_S_MAX + AUTHORIZER_CACHE_S_MAX + 900


def test_the_rest_is_longer_than_any_process_remembers_a_version() -> None:
    """Twice and more, so that whoever looked late has forgotten by the time it may have come back."""
    assert limits.DELETED_TENANT_RESTS_S > 2 * limits.DEFINITION_KEPT_S


@pytest.mark.sem("SEM-TENANT-3")
async def test_whoever_wakes_after_the_deletion_starts_nothing(installations: Installations) -> None:
    """Hints and pages of before lead nowhere: no run starts, and no row comes back."""
    place = installations.first
    await with_two_tenants(place)
    await deleted(place)
    place.world.runner.starts.clear()

    await place.play(600)

    rows: list[Execution] = await place.rows()
    assert {row.tenant_id for row in rows} == {OTHER}
    assert {start.execution_id for start in place.world.runner.starts} <= {row.ref.id for row in rows}


@pytest.mark.sem("SEM-TENANT-2")
async def test_an_order_that_wakes_late_leaves_whoever_has_the_name_since_alone(installations: Installations) -> None:
    """Two operators wait for the end of one rest; the first ends it, and the name is somebody else's."""
    place = installations.first
    await furnished(place, TENANT)
    both = [(await passed(place))[-1] for _ in range(2)]
    assert both[0].asked_at == both[1].asked_at
    assert (await deleted(place))[-1].stage is Stage.GONE
    place.world.clock.advance(MINUTE)
    await furnished(place, TENANT)
    stored = of(TENANT, dict(await installations.stored(place)))

    late = await passed(place, both[1].asked_at)

    assert [progress.stage for progress in late] == [Stage.OVER]
    assert of(TENANT, dict(await installations.stored(place))) == stored


@pytest.mark.sem("SEM-TENANT-2")
async def test_a_name_that_was_deleted_is_deleted_once_more_if_that_is_said(installations: Installations) -> None:
    """A command that is repeated by habit, or by a script, does nothing to whoever has the name since."""
    place = installations.first
    await furnished(place, TENANT)
    await deleted(place)
    place.world.clock.advance(MINUTE)
    late = await submitted(place, TENANT, schedule={"every": "PT1M"})

    repeated = await passed(place)
    untouched = await place.world.kit.store.head(late.head.job_id)
    said = [step async for step in delete_tenant(place.world.kit, place.whole, TENANT, again=True)]

    assert [(progress.stage, progress.asked_at) for progress in repeated] == [(Stage.OVER, None)]
    assert untouched == late.head
    assert (said[-1].stage, said[-1].jobs) == (Stage.RESTING, 1)


@pytest.mark.sem("SEM-TENANT-3")
async def test_nothing_goes_by_a_rest_that_somebody_else_has_begun_anew(installations: Installations) -> None:
    """The other has found something that moves since this look began; rows had begun to go once before."""
    place = installations.first
    await furnished(place, TENANT)
    begun = [(await passed(place))[-1], (await passed(place))[-1]][-1]
    assert begun.until is not None
    place.world.clock.advance_to(begun.until)
    whole, rows = place.whole, await place.rows()
    seen = await whole.deletion(TENANT)
    assert seen is not None
    resting = replace(seen, removes_at=place.world.clock.now())
    assert await whole.put_deletion(PutDeletion(deletion=resting, seen=seen))

    said = list[Progress]()
    async for progress in delete_tenant(place.world.kit, whole, TENANT, asked_at=begun.asked_at):
        if not said:
            moving = replace(resting, still_at=None)
            assert await whole.put_deletion(PutDeletion(deletion=moving, seen=resting))
        said.append(progress)

    assert {progress.stage for progress in said} == {Stage.STOPPING, Stage.RESTING}
    assert said[-1].until is not None
    assert await place.rows() == rows


class Overtaken:
    """A whole in which, at the first row that is removed, somebody else ends the deletion."""

    def __init__(self, whole: Whole) -> None:
        self._whole = whole

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """As the whole, but for the rows."""
        called: Callable[..., Any] = getattr(self._whole, name)
        return called

    async def forget_executions(self, refs: Sequence[ExecutionRef]) -> None:
        """The rows, and the end."""
        await self._whole.forget_executions(refs)
        seen = await self._whole.deletion(TENANT)
        assert seen is not None
        ended = replace(seen, ended_at=seen.asked_at)
        assert await self._whole.put_deletion(PutDeletion(deletion=ended, seen=seen))


@pytest.mark.sem("SEM-TENANT-2")
async def test_a_removal_ends_where_somebody_else_has_ended_it(installations: Installations) -> None:
    """Before its next step: what lies under the name then may be somebody else's."""
    place = installations.first
    await furnished(place, TENANT)
    await place.play(70)
    place.whole = Overtaken(place.whole)

    said = await deleted(place)

    assert (said[-1].stage, said[-1].records) == (Stage.OVER, 0)
    assert len((await place.world.kit.store.jobs_eventually(TENANT, limit=100)).items) == 3


class KilledError(Exception):
    """The process is gone."""


class Mortal:
    """A port of a process that dies at the n-th call to whatever it leads to."""

    def __init__(self, port: object, calls: list[int], at: int) -> None:
        self._port, self._calls, self._at = port, calls, at

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Count, and die in time."""
        method = getattr(self._port, name)

        async def called(*args: object, **options: object) -> Any:  # noqa: ANN401 - as the port
            self._calls[0] += 1
            if self._calls[0] == self._at:
                raise KilledError
            return await method(*args, **options)

        return called


@pytest.mark.sem("SEM-TENANT-2")
async def test_a_deletion_that_is_killed_at_any_call_goes_on() -> None:
    """At each call to the store in turn: whoever repeats it comes to the same end."""
    at, was_killed = 1, True
    while was_killed:
        async with embedded() as made:
            place = made.first
            await furnished(place, TENANT)
            await place.play(70)

            was_killed = await _deleted_dying(place, at)
            await deleted(place)

            left = [text for texts in of(TENANT, dict(await made.stored(place))).values() for text in texts]
            assert ["DELETION" in text for text in left] == [True], at
        at += 1
    assert at > 40


async def _deleted_dying(place: Place, at: int) -> bool:
    calls = [0]
    kit, whole = place.world.kit, place.whole
    place.world.kit = replace(kit, store=Mortal(kit.store, calls, at))
    place.whole = Mortal(whole, calls, at)
    try:
        await deleted(place)
    except KilledError:
        return True
    else:
        return False
    finally:
        place.world.kit, place.whole = kit, whole
