"""Submit: once for a request, whole or not at all, and dispatched at once if it is due."""

from dataclasses import replace

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Interject, Recorder
from tests.support.kits import World
from tests.support.steps import DAY, MINUTE
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.jobs import JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.services.change_job import cancel_job
from tickwright.services.submit import RequestKey, Submitted, submit


async def test_a_one_off_runs_once_at_its_instant(world: World) -> None:
    """A job in a minute starts neither before nor after its time, and ends with it."""
    head = await world.submit()

    await world.drain()

    assert [start.at for start in world.runner.starts] == [head.next_run_at]
    assert (await world.only_execution()).state is State.SUCCEEDED
    assert (await world.head(head.job_id)).status is JobStatus.ENDED


@pytest.mark.sem("SEM-IDEM-1")
async def test_the_same_request_creates_one_job(world: World) -> None:
    """A repeat with the same key and body answers the job as it was first created, also after it has run."""
    key, spec = world.key(), world.spec()
    first = await submit(world.kit, TENANT, spec, key)
    await world.drain()

    again = await submit(world.kit, TENANT, spec, key)

    assert isinstance(first, Submitted)
    assert again == replace(first, replayed=True)
    assert len(await world.heads()) == 1


@pytest.mark.sem("SEM-IDEM-1")
async def test_a_key_stands_for_one_body(world: World) -> None:
    """Another body under a used key is refused, and creates nothing (B159)."""
    key, spec = world.key(), world.spec()
    await submit(world.kit, TENANT, spec, key)

    other = await submit(world.kit, TENANT, spec, replace(key, body_hash="b" * 64))

    assert isinstance(other, Refusal)
    assert other.code is Code.IDEMPOTENCY_KEY_REUSED
    assert len(await world.heads()) == 1


@pytest.mark.sem("SEM-IDEM-1")
async def test_two_requests_at_one_instant_create_one_job(world: World) -> None:
    """The one that comes while the other writes gets the other's job, or another body's refusal."""
    key, spec = world.key(), world.spec()
    rival = Interject("write_together", lambda: submit(world.kit, TENANT, spec, key))
    other_body = Interject("write_together", lambda: submit(world.kit, TENANT, spec, world.key()))

    same = await submit(world.a_process(rival), TENANT, spec, key)
    other = await submit(world.a_process(other_body), TENANT, spec, replace(key, body_hash="b" * 64))

    assert isinstance(same, Submitted)
    assert same.replayed
    assert isinstance(other, Refusal)
    assert other.code is Code.IDEMPOTENCY_KEY_REUSED
    assert len(await world.heads()) == 1


@pytest.mark.sem("SEM-IDEM-1")
async def test_a_key_belongs_to_its_tenant_and_its_operation(world: World) -> None:
    """The same words used by another tenant, or on another path, are another key (B160)."""
    spec = world.spec()
    await submit(world.kit, TENANT, spec, RequestKey(key="POST /v1/jobs k", body_hash="a" * 64))

    await submit(world.kit, TenantId("globex"), spec, RequestKey(key="POST /v1/jobs k", body_hash="a" * 64))
    await submit(world.kit, TENANT, spec, RequestKey(key="POST /v1/schedules k", body_hash="a" * 64))

    assert len(await world.heads()) == 3


@pytest.mark.sem("SEM-IDEM-1")
async def test_a_key_is_forgotten_after_two_days_not_before(world: World) -> None:
    """An expired record counts as none, whether the store has removed it or not."""
    key = world.key()
    far = world.text(10 * DAY)
    first = await submit(world.kit, TENANT, world.spec(schedule={"runAt": far}), key)
    world.clock.advance(2 * DAY - 1)
    before = await submit(world.kit, TENANT, world.spec(schedule={"runAt": far}), key)
    world.clock.advance(1)

    after = await submit(world.kit, TENANT, world.spec(schedule={"runAt": far}), key)

    assert isinstance(first, Submitted)
    assert isinstance(before, Submitted)
    assert isinstance(after, Submitted)
    assert (before.head.job_id, before.replayed) == (first.head.job_id, True)
    assert after.head.job_id != first.head.job_id


@pytest.mark.sem("SEM-JOB-2")
async def test_a_name_belongs_to_one_open_job(world: World) -> None:
    """It is refused while its job is open, and free again once the job has ended or was cancelled."""
    first = await world.submit(name="nightly")
    taken = await submit(world.kit, TENANT, world.spec(name="nightly"), world.key())
    other_tenant = await submit(world.kit, TenantId("globex"), world.spec(name="nightly"), world.key())
    await world.drain()

    after_its_end = await world.submit(name="nightly", schedule={"every": "PT1H"})
    await cancel_job(world.kit, TENANT, after_its_end.job_id, None)
    after_a_cancel = await world.submit(name="nightly")

    assert isinstance(taken, Refusal)
    assert taken.code is Code.NAME_TAKEN
    assert first.job_id in taken.detail
    assert isinstance(other_tenant, Submitted)
    assert len({first.job_id, after_its_end.job_id, after_a_cancel.job_id}) == 3


@pytest.mark.sem("SEM-JOB-2")
async def test_a_refused_submit_leaves_nothing(world: World) -> None:
    """Neither a head nor a definition nor a record of the request: the same key may be used for another try."""
    await world.submit(name="nightly")
    key = world.key()
    refused = await submit(world.kit, TENANT, world.spec(name="nightly"), key)

    fresh = await submit(world.kit, TENANT, world.spec(name="weekly"), key)

    assert isinstance(refused, Refusal)
    assert isinstance(fresh, Submitted)
    assert not fresh.replayed
    assert len(await world.heads()) == 2


@pytest.mark.sem("SEM-JOB-2")
@pytest.mark.parametrize("in_ms", [0, 1, 4_999, 5_000])
async def test_what_is_due_within_the_look_ahead_is_dispatched_at_once(world: World, in_ms: int) -> None:
    """No scheduler is needed: the hint is on its way when submit answers, and the worker waits for the instant."""
    head = await world.submit(schedule={"runAt": world.text(in_ms)})

    assert (await world.head(head.job_id)).fired_through == head.next_run_at
    assert await world.hints() == 1
    world.clock.advance(in_ms)
    await world.work()
    assert [start.at for start in world.runner.starts] == [head.next_run_at]


async def test_what_is_due_later_waits_for_the_scheduler(world: World) -> None:
    """A job beyond the look-ahead costs its own writes and no more."""
    recorder = Recorder()

    answer = await submit(world.a_process(recorder), TENANT, world.spec(schedule={"every": "PT1H"}), world.key())

    assert isinstance(answer, Submitted)
    assert [call.name for call in recorder.calls if call.writes] == ["write_together"]


async def test_a_just_missed_one_off_fires_at_once(world: World) -> None:
    """A caller's clock and the way here take a moment: an instant half a minute ago is now."""
    head = await world.submit(schedule={"runAt": world.text(-30_000)})

    await world.work()

    assert len(world.runner.starts) == 1
    assert (await world.head(head.job_id)).status is JobStatus.ENDED


async def test_an_interval_begins_after_its_creation(world: World) -> None:
    """The first tick of a recurring job lies ahead, though one falls on this very instant."""
    head = await world.submit(schedule={"every": "PT1M"})

    assert head.next_run_at == world.clock.now() + MINUTE


async def test_a_job_is_of_the_tenant_that_submitted_it(world: World) -> None:
    """Head, definition and execution carry the tenant of the credential."""
    answer = await submit(world.kit, TenantId("globex"), world.spec(schedule={"runAt": world.text(0)}), world.key())

    assert isinstance(answer, Submitted)
    assert answer.head.tenant_id == answer.definition.tenant_id == (await world.only_execution()).tenant_id == "globex"
    assert answer.head.job_id == JobId(answer.definition.job_id)
