"""After a cancel is acknowledged nothing of it starts, ever: what was decided is found, or finds a tombstone."""

from contextlib import suppress

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Crash, Fate, Interject, Recorder, Script
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import DAY, MINUTE, a_minutely_job, claimed, fired, lease_over_ms
from tickwright.domain.changes.executions import Insert
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.services import retract
from tickwright.services.cancel import cancel_execution
from tickwright.services.change_job import cancel_job
from tickwright.services.fire import fire
from tickwright.services.jobs import JobView
from tickwright.services.memory import Memory
from tickwright.services.run_now import run_now


async def cancelled(world: World, job_id: str) -> JobView:
    """The job, after the cancel was acknowledged."""
    answer = await cancel_job(world.kit, TENANT, job_id, None)
    assert isinstance(answer, JobView)
    return answer


@pytest.mark.sem("SEM-CANCEL-1")
async def test_a_cancelled_job_starts_nothing(world: World) -> None:
    """What waits is CANCELLED at once, what runs is asked to stop, and no tick is decided any more."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    await claimed(world, await fired(world))
    world.clock.advance(MINUTE)
    await fired(world)

    view = await cancelled(world, job.job_id)

    assert [row.state for row in await world.executions()] == [State.CANCELLING, State.CANCELLED]
    assert {row.reason for row in await world.executions()} == {Reason.JOB_CANCELLED}
    assert (view.head.status, view.head.next_run_at) == (JobStatus.CANCELLED, None)
    await world.drain()
    await check_all(world)
    assert world.runner.starts == []


@pytest.mark.sem("SEM-CANCEL-2")
async def test_a_decided_tick_without_its_execution_gets_a_tombstone(world: World) -> None:
    """A scheduler stopped between A and I: when it goes on, its key is taken."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    shown = await world.due()

    cancels = Interject("write_each", lambda: cancelled(world, job.job_id), nth=2)
    await fire(world.a_process(cancels), 0, shown, Memory())

    row = await world.only_execution()
    assert (row.state, row.reason, row.lease_epoch) == (State.CANCELLED, Reason.JOB_CANCELLED, 0)
    assert await world.hints() == 0
    assert world.telemetry.counts[EventName.EXECUTION_CANCELLED] == 1


@pytest.mark.sem("SEM-CANCEL-2")
async def test_a_refused_tombstone_cancels_what_is_there(world: World) -> None:
    """The query shows no execution, then the scheduler's insert comes, then the tombstone is refused (W4, R4)."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    shown = await world.due()
    with suppress(Crash):
        await fire(world.a_process(Script(of=Insert, at=1)), 0, shown, Memory())
    helps = Interject("write", lambda: fire(world.kit, 0, shown, Memory()), nth=2)  # before the tombstone

    await cancel_job(world.a_process(helps), TENANT, job.job_id, None)

    row = await world.only_execution()
    assert (row.state, row.reason) == (State.CANCELLED, Reason.JOB_CANCELLED)
    await world.drain()
    assert world.runner.starts == []


@pytest.mark.sem("SEM-CANCEL-2")
async def test_an_older_decided_tick_cannot_hide(world: World) -> None:
    """One scheduler stopped between A and I of tick 1; before tick 2 is decided tick 1 exists (W3, R3)."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    shown = await world.due()

    async def others() -> None:
        world.clock.advance(MINUTE)
        await fire(world.kit, 0, await world.due(), Memory())
        await cancelled(world, job.job_id)

    await fire(world.a_process(Interject("write_each", others, nth=2)), 0, shown, Memory())

    assert [row.state for row in await world.executions()] == [State.CANCELLED] * 2
    await world.drain()
    assert world.runner.starts == []


@pytest.mark.sem("SEM-CANCEL-1")
async def test_a_cancel_that_races_a_claim_wins_or_stops_it(world: World) -> None:
    """The claim comes between the look and the cancel: the run is found again where it is now."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    execution = await fired(world)
    rival = Interject("write", lambda: claimed(world, execution), nth=2)

    await cancel_job(world.a_process(rival), TENANT, job.job_id, None)

    row = await world.only_execution()
    assert (row.state, row.lease_epoch) == (State.CANCELLING, 1)


@pytest.mark.sem("SEM-CANCEL-1")
async def test_a_repeated_cancel_goes_on_where_it_was_cut_off(world: World) -> None:
    """The process died after the head was written; the same request again, If-Match and all, cancels the rest."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    await fired(world)
    with suppress(Crash):
        await cancel_job(world.a_process(Script(at=1, fate=Fate.CRASH_AFTER)), TENANT, job.job_id, 1)
    assert (await world.only_execution()).state is State.QUEUED

    answer = await cancel_job(world.kit, TENANT, job.job_id, 1)

    assert isinstance(answer, JobView)
    assert (await world.only_execution()).state is State.CANCELLED


@pytest.mark.sem("SEM-CANCEL-1")
async def test_a_caught_up_tick_of_long_ago_is_found(world: World) -> None:
    """An outage of ten days and a window of twenty: what was caught up may be older than any run may last."""
    job = await world.submit(
        schedule={"every": "PT24H"}, catchup={"mode": "all", "windowSec": 20 * 86_400}, overlap={"mode": "allow"}
    )
    world.clock.advance(10 * DAY + MINUTE)
    for _ in range(3):
        await fired(world)
    assert len(await world.executions()) == 3

    await cancelled(world, job.job_id)

    assert {row.state for row in await world.executions()} == {State.CANCELLED}


@pytest.mark.sem("SEM-CANCEL-1")
async def test_many_runs_are_cancelled_page_by_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than one query shows: the cancel goes on until all have been seen."""
    monkeypatch.setattr(retract, "_PAGE", 200)
    job = await world.submit(schedule={"every": "PT1S"}, overlap={"mode": "allow"}, catchup={"mode": "all"})
    for _ in range(250):
        world.clock.advance(1_000)
        await fire(world.kit, 0, await world.due(), Memory())
    recorder = Recorder()

    await cancel_job(world.a_process(recorder), TENANT, job.job_id, None)

    assert {row.state for row in await world.executions()} == {State.CANCELLED}
    assert [call.name for call in recorder.calls].count("executions_of") == 2


@pytest.mark.sem("SEM-CANCEL-1")
async def test_a_cancelled_job_takes_no_manual_run(world: World) -> None:
    """Also not one whose request had read the job before: its transaction names the version."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    late = Interject("write_together", lambda: cancelled(world, job.job_id))

    racing = await run_now(world.a_process(late), TENANT, job.job_id, None)
    after = await run_now(world.kit, TENANT, job.job_id, None)

    assert isinstance(racing, Refusal)
    assert isinstance(after, Refusal)
    assert after.code is Code.JOB_OVER
    await world.drain()
    assert world.runner.starts == []


@pytest.mark.sem("SEM-CANCEL-1")
async def test_cancelling_again_changes_nothing(world: World) -> None:
    """A cancelled job stays as it is, and the name that it gave up stays with its next owner."""
    job = await world.submit(name="nightly")
    first = await cancelled(world, job.job_id)
    successor = await world.submit(name="nightly")

    again = await cancelled(world, job.job_id)

    assert again.head.version == first.head.version
    named = await world.kit.store.named(TENANT, "nightly")
    assert named is not None
    assert (named.job_id, named.released) == (successor.job_id, False)


@pytest.mark.sem("SEM-TENANT-1")
async def test_another_tenants_job_cannot_be_cancelled(world: World) -> None:
    """It does not exist for them."""
    job = await a_minutely_job(world)

    answer = await cancel_job(world.kit, TenantId("globex"), job.job_id, None)

    assert isinstance(answer, Refusal)
    assert answer.code is Code.NOT_FOUND
    assert (await world.head(job.job_id)).status is JobStatus.ACTIVE


# --- one execution ----------------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-CANCEL-3")
async def test_each_state_has_its_answer_to_a_cancel(world: World) -> None:
    """Queued: CANCELLED. Running: CANCELLING. Finished: refused. And the same again, the same (B172)."""
    await a_minutely_job(world, overlap={"mode": "allow"})
    states: list[object] = []
    for step in ("queued", "running", "finished"):
        world.clock.advance(MINUTE)
        execution = await fired(world)
        if step == "running":
            await claimed(world, execution)
        if step == "finished":
            await world.work()
        for _ in range(2):
            answer = await cancel_execution(world.kit, TENANT, execution.ref.id)
            states.append(answer.state if isinstance(answer, Execution) else answer.code)

    assert states == [
        *[State.CANCELLED] * 2,
        *[State.CANCELLING] * 2,
        *[Code.ALREADY_FINISHED] * 2,
    ]


@pytest.mark.sem("SEM-CANCEL-3")
async def test_a_cancelled_run_frees_its_job(world: World) -> None:
    """The next tick of a job with *skip* fires once the cancelled one has ended, and is skipped while it stops."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    await cancel_execution(world.kit, TENANT, held.ref.id)
    world.clock.advance_to(Instant(job.created_at + 2 * MINUTE))
    await fire(world.kit, 0, await world.due(), Memory())
    world.clock.advance_to(Instant((held.lease_until or 0) + lease_over_ms(world) - world.durations.lease_ms))

    await world.drain()

    assert [row.state for row in await world.executions()] == [State.CANCELLED, State.SKIPPED, State.SUCCEEDED]
    await check_all(world)
