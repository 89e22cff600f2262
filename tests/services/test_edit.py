"""An edit keeps what is due or decided, retracts nothing, and begins anew after now and after all that was decided."""

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Interject, Recorder
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import HOUR, MINUTE, a_minutely_job, fired
from tickwright.domain.changes.heads import Rewrite
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.services.change_job import cancel_job, edit_job, pause_job, resume_job
from tickwright.services.jobs import JobView


async def edited(world: World, job: Head, version: int = 1, **body: object) -> Head:
    """The job, after the edit was acknowledged."""
    answer = await edit_job(world.kit, TENANT, job.job_id, world.spec(**body), version)
    assert isinstance(answer, JobView)
    assert answer.definition.version == answer.head.definition_version
    return answer.head


@pytest.mark.sem("SEM-EDIT-1")
async def test_an_edit_starts_nothing_at_once(world: World) -> None:
    """From 01:15 to 02:15, edited at 14:00: the next run is tomorrow at 02:15 (B096)."""
    job = await world.submit(schedule={"cron": "15 1 * * 1-5"})
    world.clock.advance(2 * HOUR)

    head = await edited(world, job, schedule={"cron": "15 2 * * 1-5"})

    assert head.next_run_at is not None
    assert head.next_run_at - world.clock.now() == 12 * HOUR + 15 * MINUTE
    assert await world.executions() == []


@pytest.mark.sem("SEM-EDIT-1")
async def test_a_tick_decided_ahead_is_kept(world: World) -> None:
    """An edit of the payload three seconds before the tick: it runs once, as it was decided (W7, R5)."""
    job = await a_minutely_job(world, 3)
    world.clock.advance(MINUTE - 3_000)
    await fired(world)

    head = await edited(world, job, schedule={"every": "PT1M", "endAt": world.text(2 * MINUTE)}, payload={"n": 2})

    assert (head.next_run_at or 0) > (head.fired_through or 0) == job.next_run_at
    await world.drain()
    await check_all(world)
    assert [(start.scheduled_at, start.job_version) for start in world.runner.starts] == [
        (job.next_run_at, 1),
        (job.created_at + 2 * MINUTE, 2),
    ]


@pytest.mark.sem("SEM-EDIT-1")
async def test_a_due_tick_is_kept_and_runs_with_the_new_version(world: World) -> None:
    """It was due and nobody had decided it yet: the edit does not lose it (B088)."""
    job = await a_minutely_job(world, 3)
    world.clock.advance(MINUTE + 100)

    await edited(world, job, schedule={"every": "PT1H", "endAt": world.text(HOUR)})
    await world.drain()

    assert [(start.scheduled_at, start.job_version) for start in world.runner.starts] == [
        (job.next_run_at, 2),
        (job.created_at + HOUR, 2),
    ]


@pytest.mark.sem("SEM-EDIT-1")
async def test_a_schedule_moved_back_does_not_move_behind_what_was_decided(world: World) -> None:
    """Decided ahead for 12:01; edited to every second: the next is after 12:01, so nothing is decided twice (W8)."""
    job = await a_minutely_job(world, 3)
    world.clock.advance(MINUTE - 3_000)
    await fired(world)

    head = await edited(world, job, schedule={"every": "PT1S", "endAt": world.text(10_000)})

    assert head.next_run_at == (job.next_run_at or 0) + 1_000


@pytest.mark.sem("SEM-EDIT-1")
async def test_a_tick_that_is_decided_meanwhile_costs_no_conflict(world: World) -> None:
    """A scheduler decides between the read and the write: the edit looks again and goes through."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    rival = Interject("write_together", lambda: fired(world))
    recorder = Recorder()

    answer = await edit_job(world.a_process(rival), TENANT, job.job_id, world.spec(schedule={"every": "PT1H"}), 1)
    await edit_job(world.a_process(recorder), TENANT, job.job_id, world.spec(schedule={"every": "PT2H"}), 1)

    assert isinstance(answer, JobView)
    assert answer.head.fired_through == job.next_run_at
    assert recorder.written(Rewrite) == []


@pytest.mark.sem("SEM-EDIT-1")
async def test_of_two_edits_on_one_reading_one_wins(world: World) -> None:
    """The other is told to read again, and writes nothing, not even a definition."""
    job = await a_minutely_job(world)
    rival = Interject("write_together", lambda: edited(world, job, payload="rival"))

    answer = await edit_job(world.a_process(rival), TENANT, job.job_id, world.spec(payload="mine"), 1)

    assert isinstance(answer, Refusal)
    assert (answer.code, answer.retryable) == (Code.VERSION_CONFLICT, True)
    definition = await world.kit.store.definition(job.job_id, 2)
    assert definition is not None
    assert definition.spec.payload == '"rival"'
    assert await world.kit.store.definition(job.job_id, 3) is None


@pytest.mark.sem("SEM-EDIT-1")
async def test_names_move_with_their_job(world: World) -> None:
    """The new one is taken, the old one is free; one that another job holds is refused and nothing changes."""
    job = await a_minutely_job(world, name="nightly")
    await world.submit(name="weekly")

    taken = await edit_job(world.kit, TENANT, job.job_id, world.spec(name="weekly"), 1)
    head = await edited(world, job, name="hourly")
    successor = await world.submit(name="nightly")

    assert isinstance(taken, Refusal)
    assert taken.code is Code.NAME_TAKEN
    assert (head.listed_as, head.version) == ("hourly", 2)
    assert successor.job_id != job.job_id


@pytest.mark.sem("SEM-EDIT-1")
async def test_a_name_can_be_given_up_and_the_job_found_by_its_id(world: World) -> None:
    """A job without a name is listed by its id."""
    job = await a_minutely_job(world, name="nightly")

    head = await edited(world, job)

    assert head.listed_as == job.job_id
    assert not head.has_name
    assert (await world.submit(name="nightly")).job_id != job.job_id


@pytest.mark.sem("SEM-EDIT-1")
async def test_a_paused_job_can_be_edited_and_stays_paused(world: World) -> None:
    """It goes on by its new schedule when it is resumed."""
    job = await a_minutely_job(world)
    await pause_job(world.kit, TENANT, job.job_id, None)
    head = await edited(world, job, version=2, schedule={"every": "PT2H"})

    answer = await resume_job(world.kit, TENANT, job.job_id, 3)

    assert (head.status, head.next_run_at) == (JobStatus.PAUSED, None)
    assert isinstance(answer, JobView)
    assert answer.head.next_run_at == job.created_at + 2 * HOUR


@pytest.mark.sem("SEM-EDIT-1")
async def test_an_edit_without_a_tick_ahead_ends_the_job(world: World) -> None:
    """Its new schedule is over but for the tick that is due: that one fires, and the job has ended."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)

    await edited(world, job, schedule={"every": "PT1H", "endAt": world.text(1_000), "startAt": world.text(-HOUR)})
    await world.drain()

    assert (await world.head(job.job_id)).status is JobStatus.ENDED
    assert len(world.runner.starts) == 1


async def test_a_cancelled_job_cannot_be_edited(world: World) -> None:
    """It is over; a new one is to be submitted."""
    job = await a_minutely_job(world)
    await cancel_job(world.kit, TENANT, job.job_id, None)

    answer = await edit_job(world.kit, TENANT, job.job_id, world.spec(), 2)

    assert isinstance(answer, Refusal)
    assert answer.code is Code.JOB_OVER


@pytest.mark.sem("SEM-JOB-1")
async def test_what_an_old_version_meant_stays_readable(world: World) -> None:
    """Definitions are never changed: each edit writes one of its own, and the head stays small."""
    job = await a_minutely_job(world, payload={"n": 1})

    head = await edited(world, job, schedule={"every": "PT1H"}, payload={"n": 2})

    versions = [await world.kit.store.definition(job.job_id, version) for version in (1, 2)]
    assert [found.spec.payload for found in versions if found is not None] == ['{"n":1}', '{"n":2}']
    assert head.definition_version == 2
