"""Gaps a few milliseconds wide, or as old as a row's retention: between a reading and the write that it leads to."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import AnswerT, Call, Crash, Interject
from tests.support.kits import World
from tests.support.steps import DAY, HOUR, MINUTE, a_minutely_job, claimed, fired
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.services.change_job import edit_job, pause_job
from tickwright.services.fire import fire
from tickwright.services.jobs import JobView
from tickwright.services.memory import Memory
from tickwright.services.resolve import resolve
from tickwright.services.run_now import run_now


@pytest.mark.sem("SEM-RUN-1")
async def test_a_job_whose_last_row_was_forgotten_can_be_run(world: World) -> None:
    """A yearly job: its last run ended, its row has left by its time to live, and the head still names it."""
    job = await world.submit(schedule={"every": "P365D", "startAt": world.text(MINUTE)})
    world.clock.advance(MINUTE)
    await fired(world)
    await world.work()
    await world.forget(await world.only_execution(job.job_id))
    world.clock.advance(31 * DAY)

    answer = await run_now(world.kit, TENANT, job.job_id, None)

    assert isinstance(answer, Execution)


@dataclass(slots=True)
class Late:
    """A process whose transaction is not done when it is asked for; the test does it later."""

    do: Callable[[], Awaitable[object]] | None = None

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Keep the transaction back, and die for whoever waits for it."""
        if call.name != "write_together":
            return await do()
        self.do = do
        raise Crash


@pytest.mark.sem("SEM-RUN-1", "SEM-JOURNAL-1")
async def test_a_request_that_comes_through_while_it_is_given_up_starts(world: World) -> None:
    """The watch saw no run; then the run was put and nobody told; the tombstone was refused: it is still owed."""
    job = await a_minutely_job(world)
    late = Late()
    with suppress(Crash):
        await run_now(world.a_process(late), TENANT, job.job_id, None)
    world.clock.advance(world.durations.first_check_ms)
    assert late.do is not None
    watch = world.a_process(Interject("write", late.do))

    for page in await world.pages():
        await resolve(watch, page)
    await world.drain()

    rows = [row for row in await world.executions() if row.cause is Cause.MANUAL]
    assert [row.state for row in rows] == [State.SUCCEEDED]


@pytest.mark.sem("SEM-RUN-1", "SEM-JOURNAL-2")
async def test_a_take_over_gives_up_no_request_before_its_time(world: World) -> None:
    """A scheduler takes a bucket over while an API is between its page and its transaction."""
    job = await world.submit(schedule={"every": "P1D"})
    await SchedulerLoop(world.kit, "silent").tick()

    async def take_over() -> None:
        successor = SchedulerLoop(world.kit, "successor")
        await successor.tick()
        world.clock.advance(2 * world.durations.bucket_lease_ms)
        await successor.tick()
        assert successor.leases.mine

    answer = await run_now(world.a_process(Interject("write_together", take_over)), TENANT, job.job_id, None)

    assert isinstance(answer, Execution)


@pytest.mark.sem("SEM-EDIT-1", "SEM-CATCHUP-1")
async def test_an_edit_does_not_bring_back_a_tick_that_was_passed_over_meanwhile(world: World) -> None:
    """Read while the tick was due; then catch-up passed it over, which leaves `firedThrough` alone."""
    job = await world.submit(schedule={"every": "PT1H"}, catchup={"mode": "none"})
    world.clock.advance(3 * HOUR + 5 * MINUTE)

    async def pass_over() -> None:
        await fire(world.kit, 0, await world.due(), Memory())

    editor = world.a_process(Interject("write_together", pass_over))
    spec = world.spec(schedule={"every": "PT1H"}, catchup={"mode": "latest"})
    answer = await edit_job(editor, TENANT, job.job_id, spec, job.version)

    assert isinstance(answer, JobView)
    assert [(row.state, row.reason) for row in await world.executions()] == [(State.SKIPPED, Reason.MISSED)]
    assert (await world.head(job.job_id)).next_run_at == world.clock.now() + 55 * MINUTE


@pytest.mark.sem("SEM-PAUSE-1")
async def test_a_repeated_pause_leaves_a_run_alone_that_was_decided_while_the_first_was_written(world: World) -> None:
    """A late scheduler decides a due tick between the pause's reading and its write: that run goes on."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE + 500)

    async def decide() -> None:
        await fire(world.kit, 0, await world.due(), Memory())

    await pause_job(world.a_process(Interject("write", decide)), TENANT, job.job_id, None)
    await claimed(world, await world.only_execution())
    await pause_job(world.kit, TENANT, job.job_id, None)

    assert (await world.only_execution()).state is State.RUNNING


@pytest.mark.sem("SEM-PAUSE-1")
async def test_a_pause_does_not_reopen_a_job_that_ended_meanwhile(world: World) -> None:
    """The last tick is decided between the pause's reading and its write."""
    job = await world.submit()
    world.clock.advance(MINUTE)

    async def decide() -> None:
        await fire(world.kit, 0, await world.due(), Memory())

    answer = await pause_job(world.a_process(Interject("write", decide)), TENANT, job.job_id, None)

    assert isinstance(answer, Refusal)
    assert answer.code is Code.JOB_OVER
    assert (await world.head(job.job_id)).status is JobStatus.ENDED


@pytest.mark.sem("SEM-EDIT-1")
async def test_an_edit_after_a_clock_that_stepped_back_is_not_taken_for_an_old_reading(world: World) -> None:
    """A scheduler remembers the tick that it passed over; the edited job's first tick may be an earlier one."""
    memory = Memory()
    job = await world.submit(schedule={"every": "PT1H"}, catchup={"mode": "none"})
    world.clock.advance(3 * HOUR + 5 * MINUTE)
    await fire(world.kit, 0, await world.due(), memory)
    world.clock.set(Instant(world.clock.now() - 3 * HOUR))
    answer = await edit_job(world.kit, TENANT, job.job_id, world.spec(schedule={"every": "PT10M"}), job.version)
    assert isinstance(answer, JobView)
    assert answer.head.next_run_at is not None
    world.clock.advance_to(answer.head.next_run_at)

    decided = await fire(world.kit, 0, await world.due(), memory)

    assert decided == 1
