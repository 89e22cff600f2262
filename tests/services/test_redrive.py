"""A redrive: a new generation of what is dead, once for a request, by the overlap rule, found by every cancel."""

from contextlib import suppress

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Crash, Down, Fate, Interject, Recorder, Script
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import HOUR, MINUTE, a_minutely_job, claimed, fired
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Fatal, Success, UserResult, an_error
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Owed
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.runner import Invocation
from tickwright.services.cancel import cancel_execution
from tickwright.services.change_job import cancel_job, pause_job
from tickwright.services.fire import fire
from tickwright.services.memory import Memory
from tickwright.services.redrive import redrive
from tickwright.services.report import report
from tickwright.services.run_now import run_now
from tickwright.services.settle import settle

WEEK = 7 * 24 * HOUR
BROKEN = Fatal(error=an_error("Broken", "for good"))


async def a_dead_one(world: World, minutes: int = 1, **body: object) -> Execution:
    """The first run of a minutely job, dead at its first attempt and settled."""
    await a_minutely_job(world, minutes, **body)
    world.clock.advance(MINUTE)
    answer = await report(world.kit, await claimed(world, await fired(world)), BROKEN)
    assert isinstance(answer, Execution)
    assert (answer.state, answer.owed) == (State.DEAD, frozenset())
    return answer


async def redriven(world: World, dead: Execution) -> Execution:
    """Opened again."""
    answer = await redrive(world.kit, TENANT, dead.ref.id, None)
    assert isinstance(answer, Execution)
    return answer


def code_of(answer: object) -> Code:
    """Why it was refused."""
    assert isinstance(answer, Refusal)
    return answer.code


@pytest.mark.sem("SEM-REDRIVE-1")
async def test_it_is_the_same_execution_with_its_attempts_anew(world: World) -> None:
    """One generation and one epoch later; off the attention list, and no longer to be forgotten."""
    dead = await a_dead_one(world, retryPolicy={"maxAttempts": 2})
    world.clock.advance(HOUR)

    opened = await redriven(world, dead)

    assert (opened.ref, opened.scheduled_at, opened.state) == (dead.ref, dead.scheduled_at, State.QUEUED)
    assert (opened.generation, opened.lease_epoch) == (2, dead.lease_epoch + 1)
    assert (opened.attempt, opened.max_attempts) == (1, 3)
    assert opened.run_deadline_at == world.clock.now() + limits.RUN_DEADLINE_S_DEFAULT * 1_000
    assert (opened.failed_at, opened.finished_at, opened.ttl) == (None, None, None)
    assert (await world.kit.store.attention_eventually(TENANT, limit=10)).items == []
    assert (await world.only_execution()) == opened


@pytest.mark.sem("SEM-REDRIVE-1")
async def test_it_runs_to_its_end_as_any_other(world: World) -> None:
    """A failing attempt is tried again by the job's policy; a success ends it and takes the error away."""
    dead = await a_dead_one(world, retryPolicy={"maxAttempts": 2})
    await redriven(world, dead)

    async def target(invocation: Invocation) -> UserResult:
        failed = Failure(error=an_error("Flaky", "once more"))
        return failed if invocation.execution.attempt == 2 else Success(result="1")

    world.runner.does = target
    await world.drain()

    row = await world.only_execution()
    assert (row.state, row.attempt, row.error) == (State.SUCCEEDED, 3, None)
    assert [start.epoch for start in world.runner.starts] == [3, 4]
    await check_all(world)


@pytest.mark.sem("SEM-REDRIVE-1", "SEM-DEAD-1")
async def test_each_generation_that_dies_has_its_letter(world: World) -> None:
    """The old one stays; the new one names its generation."""
    dead = await a_dead_one(world)
    opened = await redriven(world, dead)

    await report(world.kit, await claimed(world, opened), BROKEN)

    letters = await world.dead_letters()
    assert [(letter.ref, letter.generation) for letter in letters] == [(dead.ref, 1), (dead.ref, 2)]
    row = await world.only_execution()
    assert (row.failed_at, row.owed) == (world.clock.now(), frozenset())


@pytest.mark.sem("SEM-REDRIVE-1")
async def test_a_letter_that_is_still_owed_goes_first(world: World) -> None:
    """The queue of the dead was down when it died: the redrive settles it, so no debt is lost (R13)."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    with pytest.raises(QueueUnavailable):
        await report(world.a_process(Down(frozenset({"send_dead"}))), held, BROKEN)
    dead = await world.only_execution()
    assert dead.owed == {Owed.DEAD_LETTER}

    opened = await redriven(world, dead)
    await settle(world.kit, dead)  # somebody with an old reading: the letter comes twice, and strikes nothing

    assert {letter.generation for letter in await world.dead_letters()} == {1}
    assert (await world.only_execution()) == opened


@pytest.mark.sem("SEM-REDRIVE-1", "SEM-FENCE-1")
async def test_the_holder_of_the_dead_generation_is_a_zombie(world: World) -> None:
    """Its report is refused before and after the next claim."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    dead = await report(world.kit, held, BROKEN)
    assert isinstance(dead, Execution)
    opened = await redriven(world, dead)

    early = await report(world.kit, held, Success(result="1"))
    again = await claimed(world, opened)
    late = await report(world.kit, held, BROKEN)

    assert (code_of(early), code_of(late)) == (Code.LEASE_LOST, Code.LEASE_LOST)
    assert await world.only_execution() == again


@pytest.mark.sem("SEM-REDRIVE-1")
async def test_only_what_is_dead_is_redriven(world: World) -> None:
    """One that waits, that runs, that was redriven a moment ago, another tenant's, and none."""
    job = await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    waits = await fired(world)
    answers = [await redrive(world.kit, TENANT, waits.ref.id, None)]
    held = await claimed(world, waits)
    answers.append(await redrive(world.kit, TENANT, waits.ref.id, None))
    await report(world.kit, held, BROKEN)
    await redriven(world, waits)
    answers.append(await redrive(world.kit, TENANT, waits.ref.id, None))
    answers.append(await redrive(world.kit, TenantId("globex"), waits.ref.id, None))
    answers.append(await redrive(world.kit, TENANT, f"{job.job_id}.nothing", None))

    assert [code_of(answer) for answer in answers] == [Code.NOT_DEAD] * 3 + [Code.NOT_FOUND] * 2


@pytest.mark.sem("SEM-REDRIVE-2", "SEM-IDEM-1")
async def test_the_same_request_redrives_once(world: World) -> None:
    """A repeat answers the execution as it is by now, though it died again; another body under the key is refused."""
    dead = await a_dead_one(world)
    key = world.key()
    first = await redrive(world.kit, TENANT, dead.ref.id, key)
    assert isinstance(first, Execution)
    await report(world.kit, await claimed(world, first), BROKEN)

    again = await redrive(world.kit, TENANT, dead.ref.id, key)
    other = await redrive(world.kit, TENANT, dead.ref.id, type(key)(key=key.key, body_hash="b" * 64))

    assert isinstance(again, Execution)
    assert (again.state, again.generation) == (State.DEAD, 2)
    assert code_of(other) is Code.IDEMPOTENCY_KEY_REUSED


@pytest.mark.sem("SEM-REDRIVE-2")
@pytest.mark.parametrize("overlap", ["skip", "allow"])
async def test_two_requests_at_one_instant_open_one_generation(world: World, overlap: str) -> None:
    """Without a key: one opens it, the other finds it open."""
    dead = await a_dead_one(world, overlap={"mode": overlap})
    rival = Interject("write_together", lambda: redrive(world.kit, TENANT, dead.ref.id, None))

    await redrive(world.a_process(rival), TENANT, dead.ref.id, None)

    assert (await world.only_execution()).generation == 2
    await world.drain()
    assert len(world.runner.starts) == 1
    await check_all(world)


@pytest.mark.sem("SEM-REDRIVE-2")
async def test_the_page_and_the_execution_are_one_write(world: World) -> None:
    """Then the hint; its event is announced once."""
    dead = await a_dead_one(world)
    recorder = Recorder()

    await redrive(world.a_process(recorder), TENANT, dead.ref.id, None)

    assert [call.name for call in recorder.calls if call.writes] == ["write_together", "send"]
    assert dead.key in {entry.key for page in await world.pages() for entry in page.entries}
    told = [happening for happening in world.telemetry.happenings if happening.name is EventName.EXECUTION_REDRIVEN]
    assert [happening.measured["generation"] for happening in told] == [2]


@pytest.mark.sem("SEM-REDRIVE-2", "SEM-JOURNAL-1")
async def test_one_whose_hint_was_never_sent_starts_all_the_same(world: World) -> None:
    """The API died after its transaction: the page names the execution."""
    dead = await a_dead_one(world)
    await world.drain()
    with suppress(Crash):
        await redrive(world.a_process(Script(at=1, fate=Fate.CRASH_AFTER)), TENANT, dead.ref.id, None)
    assert await world.hints() == 0

    await world.drain()

    assert (await world.only_execution()).state is State.SUCCEEDED
    await check_all(world)


@pytest.mark.sem("SEM-REDRIVE-2", "SEM-OVERLAP-1")
async def test_a_busy_job_refuses_a_redrive(world: World) -> None:
    """Under *skip*: while another run is unfinished; and a redriven one keeps others out in its turn."""
    dead = await a_dead_one(world, 3)
    job = (await world.heads())[0]
    manual = await run_now(world.kit, TENANT, job.job_id, None)
    assert isinstance(manual, Execution)
    busy = await redrive(world.kit, TENANT, dead.ref.id, None)
    await report(world.kit, await claimed(world, manual), Success())
    opened = await redriven(world, dead)
    kept_out = await run_now(world.kit, TENANT, job.job_id, None)
    world.clock.advance(MINUTE)
    await fire(world.kit, 0, await world.due(), Memory())

    assert (code_of(busy), code_of(kept_out)) == (Code.OVERLAP, Code.OVERLAP)
    assert (await world.head(job.job_id)).active == opened.occupant()
    assert [row.state for row in await world.executions()][-1] is State.SKIPPED


@pytest.mark.sem("SEM-REDRIVE-2", "SEM-OVERLAP-1")
async def test_a_tick_that_is_decided_meanwhile_wins(world: World) -> None:
    """The job was free when it was read, and is occupied when the redrive is written: refused whole."""
    dead = await a_dead_one(world, 2)
    world.clock.advance(MINUTE)
    rival = Interject("write_together", lambda: fired(world))

    answer = await redrive(world.a_process(rival), TENANT, dead.ref.id, world.key())

    assert isinstance(answer, Refusal)
    assert answer.retryable
    assert (await world.executions())[0] == dead
    await world.drain()
    await check_all(world)


@pytest.mark.sem("SEM-REDRIVE-2", "SEM-CANCEL-1")
@pytest.mark.parametrize("overlap", ["skip", "allow"])
async def test_a_cancel_finds_what_was_redriven_however_old_its_tick_is(world: World, overlap: str) -> None:
    """Its key lies three weeks back, beyond what any run of the job may last."""
    dead = await a_dead_one(world, overlap={"mode": overlap})
    world.clock.advance(3 * WEEK)
    await redriven(world, dead)

    await cancel_job(world.kit, TENANT, dead.job_id, None)

    assert (await world.only_execution()).state is State.CANCELLED


@pytest.mark.sem("SEM-REDRIVE-2", "SEM-CANCEL-1")
async def test_a_cancel_between_look_and_write_keeps_the_redrive_out(world: World) -> None:
    """The job was open when it was read: the transaction is refused whole."""
    dead = await a_dead_one(world)
    rival = Interject("write_together", lambda: cancel_job(world.kit, TENANT, dead.job_id, None))

    answer = await redrive(world.a_process(rival), TENANT, dead.ref.id, None)
    after = await redrive(world.kit, TENANT, dead.ref.id, None)

    assert (code_of(answer), code_of(after)) == (Code.VERSION_CONFLICT, Code.JOB_OVER)
    assert await world.only_execution() == dead


@pytest.mark.sem("SEM-REDRIVE-2")
async def test_the_dead_run_of_a_job_that_ended_or_is_paused_is_redriven(world: World) -> None:
    """A one-off has ended when its run dies; a pause holds ticks back, and not what somebody asks for."""
    dead = await a_dead_one(world, 3)
    await pause_job(world.kit, TENANT, dead.job_id, None)
    await redriven(world, dead)
    job = await world.submit(schedule={"runAt": world.text(0)})
    (one_off,) = await world.executions(job.job_id)
    await report(world.kit, await claimed(world, one_off), BROKEN)
    assert (await world.head(job.job_id)).status is JobStatus.ENDED

    assert (await redriven(world, one_off)).state is State.QUEUED


@pytest.mark.sem("SEM-REDRIVE-1", "SEM-CANCEL-3")
async def test_a_redriven_execution_can_be_cancelled(world: World) -> None:
    """As any that waits."""
    dead = await a_dead_one(world)
    await redriven(world, dead)

    answer = await cancel_execution(world.kit, TENANT, dead.ref.id)

    assert isinstance(answer, Execution)
    assert answer.state is State.CANCELLED


async def test_a_later_redrive_goes_on_from_the_earlier(world: World) -> None:
    """A cancel looks back to the oldest that may be open, and no longer than the last must have ended."""
    dead = await a_dead_one(world, 3, overlap={"mode": "allow"})
    await redriven(world, dead)
    world.clock.advance(MINUTE)
    (later,) = [row for row in [await fired(world)] if row.ref != dead.ref]
    await report(world.kit, await claimed(world, later), BROKEN)
    await redriven(world, later)
    both = (await world.head(dead.job_id)).reopened
    await world.drain()
    world.clock.advance(2 * WEEK)
    (died,) = [row for row in await world.executions() if row.ref == later.ref]

    assert both is not None
    assert (both.since, both.until) == (dead.scheduled_at, Instant(later.scheduled_at + WEEK))
    assert died.state is State.SUCCEEDED
