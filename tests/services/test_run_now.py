"""A run outside the schedule: once for a request, under the job's overlap rule, and listed before it exists."""

from contextlib import suppress

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Crash, Fate, Interject, Recorder, Script
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import HOUR, MINUTE, a_minutely_job, claimed, fired
from tickwright.domain.changes.executions import Insert
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.services.change_job import pause_job
from tickwright.services.fire import fire
from tickwright.services.memory import Memory
from tickwright.services.resolve import resolve
from tickwright.services.run_now import run_now


def code_of(answer: object) -> Code:
    """Why it was refused."""
    assert isinstance(answer, Refusal)
    return answer.code


@pytest.mark.sem("SEM-RUN-1")
async def test_a_run_starts_now_and_leaves_the_schedule_alone(world: World) -> None:
    """It has a key of its own, and the next tick stays what it was."""
    job = await world.submit(schedule={"every": "PT1H"})

    execution = await run_now(world.kit, TENANT, job.job_id, None)
    await world.work()

    assert isinstance(execution, Execution)
    row = await world.only_execution()
    assert (row.ref, row.cause, row.state) == (execution.ref, Cause.MANUAL, State.SUCCEEDED)
    assert (await world.head(job.job_id)).next_run_at == job.next_run_at


@pytest.mark.sem("SEM-RUN-1")
async def test_the_order_is_journal_transaction_send(world: World) -> None:
    """The run is on a list before it exists, and exists before anybody is told."""
    job = await world.submit(schedule={"every": "PT1H"})
    recorder = Recorder()

    await run_now(world.a_process(recorder), TENANT, job.job_id, None)

    assert [call.name for call in recorder.calls if call.writes] == ["put_page", "write_together", "send"]


@pytest.mark.sem("SEM-RUN-1", "SEM-IDEM-1")
async def test_the_same_request_starts_one_run(world: World) -> None:
    """A repeat answers the run as it is by now; another body under the key is refused."""
    job = await world.submit(schedule={"every": "PT1H"})
    key = world.key()
    first = await run_now(world.kit, TENANT, job.job_id, key)
    await world.work()

    again = await run_now(world.kit, TENANT, job.job_id, key)
    other = await run_now(world.kit, TENANT, job.job_id, type(key)(key=key.key, body_hash="b" * 64))

    assert isinstance(first, Execution)
    assert isinstance(again, Execution)
    assert (again.ref, again.state) == (first.ref, State.SUCCEEDED)
    assert code_of(other) is Code.IDEMPOTENCY_KEY_REUSED
    assert len(await world.executions()) == 1


@pytest.mark.sem("SEM-RUN-1", "SEM-IDEM-1")
async def test_two_requests_at_one_instant_start_one_run(world: World) -> None:
    """Under one key: the one that comes while the other writes gets the other's run."""
    job = await world.submit(schedule={"every": "PT1H"}, overlap={"mode": "allow"})
    key = world.key()
    rival = Interject("write_together", lambda: run_now(world.kit, TENANT, job.job_id, key))

    answer = await run_now(world.a_process(rival), TENANT, job.job_id, key)

    assert isinstance(answer, Execution)
    assert (await world.only_execution()).ref == answer.ref


@pytest.mark.sem("SEM-OVERLAP-1")
async def test_a_busy_job_refuses_a_run_beside_it(world: World) -> None:
    """Under *skip*: while a tick runs, while another manual run waits; free again once it has ended."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    await fired(world)
    busy = await run_now(world.kit, TENANT, job.job_id, None)
    await world.work()
    free = await run_now(world.kit, TENANT, job.job_id, None)

    second = await run_now(world.kit, TENANT, job.job_id, None)

    assert (code_of(busy), code_of(second)) == (Code.OVERLAP, Code.OVERLAP)
    assert isinstance(free, Execution)


@pytest.mark.sem("SEM-OVERLAP-1")
async def test_a_decided_tick_without_its_execution_occupies_the_job(world: World) -> None:
    """A scheduler between A and I: the run that is about to exist counts."""
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    with suppress(Crash):
        await fire(world.a_process(Script(of=Insert, at=1)), 0, await world.due(), Memory())

    assert code_of(await run_now(world.kit, TENANT, job.job_id, None)) is Code.OVERLAP


@pytest.mark.sem("SEM-OVERLAP-1")
async def test_a_tick_that_is_decided_meanwhile_wins(world: World) -> None:
    """The job was free when it was read, and is occupied when the run is written: refused, and nothing runs twice."""
    job = await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    rival = Interject("write_together", lambda: fired(world))

    answer = await run_now(world.a_process(rival), TENANT, job.job_id, None)

    assert isinstance(answer, Refusal)
    assert answer.retryable
    await world.drain()
    await check_all(world)
    assert len(world.runner.starts) == 1


async def test_runs_may_stand_side_by_side_if_the_job_allows_it(world: World) -> None:
    """Under *allow* a run needs nobody's leave."""
    job = await a_minutely_job(world, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    await claimed(world, await fired(world))

    answers = [await run_now(world.kit, TENANT, job.job_id, None) for _ in range(2)]

    assert all(isinstance(answer, Execution) for answer in answers)
    assert len(await world.executions()) == 3


async def test_a_paused_job_can_be_run(world: World) -> None:
    """Paused means that no tick fires; somebody who asks gets a run."""
    job = await a_minutely_job(world)
    await pause_job(world.kit, TENANT, job.job_id, None)

    assert isinstance(await run_now(world.kit, TENANT, job.job_id, None), Execution)


async def test_a_job_that_is_over_cannot_be_run(world: World) -> None:
    """An ended one, another tenant's, and one that never was."""
    job = await world.submit(schedule={"runAt": world.text(0)})

    answers = [
        await run_now(world.kit, TENANT, job.job_id, None),
        await run_now(world.kit, TenantId("globex"), job.job_id, None),
        await run_now(world.kit, TENANT, "no-such-job", None),
    ]

    assert [code_of(answer) for answer in answers] == [Code.JOB_OVER, Code.NOT_FOUND, Code.NOT_FOUND]


@pytest.mark.sem("SEM-RUN-1")
async def test_a_slow_request_whose_entry_was_abandoned_is_refused(world: World) -> None:
    """The API stopped after its page; the watch put a tombstone at its key; then the API went on (W17, R11)."""
    job = await a_minutely_job(world)

    async def watch() -> None:
        world.clock.advance(world.durations.first_check_ms)
        for page in await world.pages():
            await resolve(world.kit, page)

    slow = world.a_process(Interject("write_together", watch))
    answer = await run_now(slow, TENANT, job.job_id, None)

    assert isinstance(answer, Refusal)
    assert answer.retryable
    row = await world.only_execution()
    assert (row.state, row.reason) == (State.CANCELLED, Reason.ABANDONED)
    assert (await world.head(job.job_id)).active is None


@pytest.mark.sem("SEM-RUN-1")
async def test_a_run_whose_hint_was_never_sent_starts_all_the_same(world: World) -> None:
    """The API died after its transaction: the page names the run."""
    job = await world.submit(schedule={"every": "PT1H", "endAt": world.text(HOUR)})
    script = Script(at=2, fate=Fate.CRASH_AFTER)
    with suppress(Crash):
        await run_now(world.a_process(script), TENANT, job.job_id, world.key())
    assert await world.hints() == 0

    await world.drain()

    assert len(world.runner.starts) == 2
    await check_all(world)


@pytest.mark.sem("SEM-OVERLAP-1")
async def test_a_run_that_comes_between_look_and_decision_keeps_the_tick_out(world: World) -> None:
    """The scheduler read the job free; somebody's run occupies it before A: refused, and skipped at the next look."""
    await a_minutely_job(world, 1)
    job = next(iter(await world.heads()))
    world.clock.advance(MINUTE)
    comes = Interject("write_each", lambda: run_now(world.kit, TENANT, job.job_id, None))

    decided = await fire(world.a_process(comes), 0, await world.due(), Memory())
    await fire(world.kit, 0, await world.due(), Memory())

    assert decided == 0
    assert sorted(row.state.value for row in await world.executions()) == ["QUEUED", "SKIPPED"]
    await world.drain()
    await check_all(world)
