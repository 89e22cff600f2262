"""An edit that waits: until its time the job goes on as it is, from then on it is the other, and no tick is lost."""

from contextlib import suppress

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Crash, Fate, Script
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import HOUR, MINUTE
from tickwright.domain.changes.heads import Rewrite
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.ports.faults import Unavailable
from tickwright.services.change_job import cancel_job, edit_job, pause_job, resume_job
from tickwright.services.fire import fire
from tickwright.services.jobs import JobView
from tickwright.services.memory import Memory
from tickwright.services.preview import Edit, PreviewedEdit, preview_edit


async def edit_later(world: World, job: Head, after_ms: int, version: int = 1, **body: object) -> Head:
    """The job with an edit that waits until so long after its creation."""
    at = Instant(job.created_at + after_ms)
    answer = await edit_job(world.kit, TENANT, job.job_id, world.spec(**body), version, at)
    assert isinstance(answer, JobView), answer
    return answer.head


def starts(world: World, job: Head) -> list[tuple[int, int]]:
    """Minute and version of each start."""
    return [((start.scheduled_at - job.created_at) // MINUTE, start.job_version) for start in world.runner.starts]


@pytest.mark.sem("SEM-EDIT-2")
async def test_the_old_schedule_counts_until_its_time_and_the_new_one_from_it_on(world: World) -> None:
    """Every minute until 03:00, every two minutes from then on: at the boundary itself the new one fires."""
    job = await world.submit(schedule={"every": "PT1M"})

    head = await edit_later(
        world, job, 4 * MINUTE, schedule={"every": "PT2M", "phase": "PT0S", "endAt": world.text(9 * MINUTE)}
    )
    assert (head.pending_version, head.definition_version, head.next_run_at) == (2, 1, job.next_run_at)
    await world.drain_until(Instant(job.created_at + 10 * MINUTE))

    phase = job.created_at // MINUTE % 2
    after = [minute for minute in range(4, 9) if minute % 2 == phase]
    assert starts(world, job) == [(1, 1), (2, 1), (3, 1), *((minute, 2) for minute in after)]
    assert (await world.head(job.job_id)).status is JobStatus.ENDED
    await world.drain()
    await check_all(world)


@pytest.mark.sem("SEM-EDIT-2")
async def test_a_job_without_ticks_left_waits_for_its_edit(world: World) -> None:
    """The old schedule ends before the edit: the job is not over, it goes on with the new one."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(2 * MINUTE)})

    await edit_later(world, job, 10 * MINUTE, schedule={"every": "PT1M", "endAt": world.text(11 * MINUTE)})
    await world.drain_until(Instant(job.created_at + 12 * MINUTE))

    assert starts(world, job) == [(1, 1), (2, 1), (10, 2), (11, 2)]


@pytest.mark.sem("SEM-EDIT-2", "SEM-CATCHUP-1")
async def test_an_outage_across_the_time_of_an_edit_judges_each_side_by_its_own_policy(world: World) -> None:
    """Down from minute 1 to 9, the edit at minute 5: the latest tick of the old one, all of the new one."""
    job = await world.submit(schedule={"every": "PT1M"}, overlap={"mode": "allow"})
    schedule = {"every": "PT1M", "endAt": world.text(8 * MINUTE)}
    await edit_later(world, job, 5 * MINUTE, schedule=schedule, catchup={"mode": "all"}, overlap={"mode": "allow"})
    world.clock.advance(9 * MINUTE + 30_000)

    await world.drain_until(Instant(job.created_at + 11 * MINUTE))

    assert starts(world, job) == [(4, 1), (5, 2), (6, 2), (7, 2), (8, 2)]
    ranges = [row.passed for row in await world.executions() if row.passed is not None]
    assert [(passed.count, passed.last - job.created_at) for passed in ranges] == [(3, 3 * MINUTE)]


@pytest.mark.sem("SEM-EDIT-2")
@pytest.mark.parametrize("fate", [Fate.CRASH_BEFORE, Fate.CRASH_AFTER, Fate.LOST_BEFORE, Fate.LOST_AFTER])
async def test_whoever_dies_at_the_change_leaves_it_to_the_next(world: World, fate: Fate) -> None:
    """The change is one conditional write: it happens once, and the first new tick is not lost."""
    job = await world.submit(schedule={"every": "PT1M"})
    await edit_later(world, job, 2 * MINUTE, schedule={"every": "PT1M", "endAt": world.text(3 * MINUTE)})
    await world.drain_until(Instant(job.created_at + MINUTE + 50_000))
    world.clock.advance(8_000)
    with suppress(Crash, Unavailable):
        await fire(world.a_process(Script(of=Rewrite, at=1, fate=fate)), 0, await world.due(), Memory())

    await world.drain_until(Instant(job.created_at + 4 * MINUTE))

    assert starts(world, job) == [(1, 1), (2, 2), (3, 2)]


@pytest.mark.sem("SEM-EDIT-1", "SEM-EDIT-2")
async def test_an_edit_just_after_one_made_ahead_of_its_time_counts_from_its_own_moment(world: World) -> None:
    """The scheduler changes the job within the look-ahead; another edit before that time has the ticks until it too."""
    job = await world.submit(schedule={"every": "PT1M"})
    await edit_later(world, job, 3 * MINUTE, schedule={"every": "PT1H"})
    await world.drain_until(Instant(job.created_at + 2 * MINUTE))
    world.clock.advance(MINUTE - world.kit.durations.lookahead_ms // 2)
    await fire(world.kit, 0, await world.due(), Memory())
    changed = await world.head(job.job_id)
    assert (changed.definition_version, changed.effective_from) == (2, None)
    assert world.clock.now() < job.created_at + 3 * MINUTE

    later = await edit_later(world, job, 2 * HOUR, changed.version, schedule={"every": "PT1S"})
    now = world.clock.now()
    spec = world.spec(schedule={"every": "PT1S", "phase": "PT0S"})
    answer = await edit_job(world.kit, TENANT, job.job_id, spec, later.version, drops_waiting=True)

    assert later.next_run_at == changed.next_run_at
    assert isinstance(answer, JobView)
    assert answer.head.next_run_at == now - now % 1_000 + 1_000


@pytest.mark.sem("SEM-EDIT-2", "SEM-SCHED-19")
async def test_an_edit_that_leaves_the_schedule_alone_leaves_its_beginning_alone(world: World) -> None:
    """It was made ahead of its time for this very schedule: no tick before that comes of another word in the job."""
    job = await world.submit(schedule={"every": "PT1M"})
    seconds = {"every": "PT1S", "phase": "PT0S"}
    await edit_later(world, job, 3 * MINUTE, schedule=seconds)
    await world.drain_until(Instant(job.created_at + 2 * MINUTE))
    world.clock.advance(MINUTE - world.kit.durations.lookahead_ms // 2)
    await fire(world.kit, 0, await world.due(), Memory())
    changed = await world.head(job.job_id)
    spec = world.spec(schedule=seconds, description="by the second")
    edit = Edit(job_id=job.job_id, spec=spec, if_match=changed.version)

    told = await preview_edit(world.kit, None, TENANT, edit)
    answer = await edit_job(world.kit, TENANT, job.job_id, spec, changed.version)

    assert isinstance(told, PreviewedEdit)
    assert isinstance(answer, JobView)
    begins = changed.next_run_at
    assert begins is not None
    assert begins >= job.created_at + 3 * MINUTE > world.clock.now()
    assert (told.before[0], told.after[0], answer.head.next_run_at) == (begins, begins, begins)
    assert answer.head.settled_through == changed.settled_through


@pytest.mark.sem("SEM-EDIT-2")
async def test_a_later_edit_takes_the_place_of_the_one_that_waits(world: World) -> None:
    """Only if it says so: what waited is forgotten then, and no version number is used twice."""
    job = await world.submit(schedule={"every": "PT1M"})
    waiting = await edit_later(world, job, HOUR, schedule={"every": "PT2M"})

    spec = world.spec(schedule={"every": "PT3M"})
    refused = await edit_job(world.kit, TENANT, job.job_id, spec, waiting.version)
    answer = await edit_job(world.kit, TENANT, job.job_id, spec, waiting.version, drops_waiting=True)

    assert isinstance(refused, Refusal)
    assert (refused.code, "dropWaiting" in refused.detail) == (Code.EDIT_WAITS, True)
    assert isinstance(answer, JobView)
    assert (answer.head.pending_version, answer.head.effective_from, answer.head.definition_version) == (None, None, 3)


@pytest.mark.sem("SEM-EDIT-2", "SEM-PAUSE-2")
async def test_a_job_resumed_after_the_time_of_its_edit_goes_on_with_the_edit(world: World) -> None:
    """Paused across the boundary: nothing of the old schedule comes back."""
    job = await world.submit(schedule={"every": "PT1M"})
    await edit_later(world, job, 2 * MINUTE, schedule={"every": "PT1M", "endAt": world.text(6 * MINUTE)})
    await pause_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(4 * MINUTE + 30_000)

    resumed = await resume_job(world.kit, TENANT, job.job_id, None)
    await world.drain_until(Instant(job.created_at + 7 * MINUTE))

    assert isinstance(resumed, JobView)
    assert (resumed.head.definition_version, resumed.head.pending_version) == (2, None)
    assert starts(world, job) == [(5, 2), (6, 2)]


@pytest.mark.sem("SEM-EDIT-2", "SEM-CANCEL-1")
async def test_a_cancelled_job_is_not_brought_back_by_an_edit_that_waited(world: World) -> None:
    """The change needs the version that it was made from."""
    job = await world.submit(schedule={"every": "PT1M"})
    await edit_later(world, job, 2 * MINUTE, schedule={"every": "PT1M"})
    shown = await world.due()
    await cancel_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(2 * MINUTE)

    await fire(world.kit, 0, shown, Memory())

    assert (await world.head(job.job_id)).status is JobStatus.CANCELLED
    assert world.runner.starts == []


@pytest.mark.sem("SEM-EDIT-2")
async def test_an_edit_that_waits_cannot_rename(world: World) -> None:
    """A name counts at once; the refusal says how to do it."""
    job = await world.submit(schedule={"every": "PT1M"}, name="one")

    at = Instant(job.created_at + HOUR)
    answer = await edit_job(world.kit, TENANT, job.job_id, world.spec(schedule={"every": "PT1M"}, name="two"), 1, at)

    assert isinstance(answer, Refusal)
    assert "effectiveFrom" in answer.detail
    assert [problem.pointer for problem in answer.errors] == ["/name"]


@pytest.mark.sem("SEM-PAUSE-1", "SEM-EDIT-2")
async def test_a_pause_at_the_instant_of_an_edit_holds_no_tick_back(world: World) -> None:
    """The job is due then for the edit alone: no schedule has a tick there, and no row tells of one."""
    world.clock.advance_to(from_rfc3339("2027-04-04T10:00:10Z"))
    job, at = await world.submit(schedule={"cron": "0 0 * * *"}), from_rfc3339("2027-04-04T10:10:00Z")
    noon = world.spec(schedule={"cron": "0 12 * * *"})
    await edit_job(world.kit, TENANT, job.job_id, noon, job.version, at)
    world.clock.advance_to(Instant(at + 500))

    paused = await pause_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(MINUTE)
    resumed = await resume_job(world.kit, TENANT, job.job_id, None)

    assert isinstance(paused, JobView)
    assert isinstance(resumed, JobView)
    assert paused.head.held is None
    assert resumed.head.next_run_at == from_rfc3339("2027-04-04T12:00:00Z")
    assert await world.executions() == []
