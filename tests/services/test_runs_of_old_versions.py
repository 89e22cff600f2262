"""Is what is kept of a run of an old version without what its job has called secret since, and the run itself whole?"""

from dataclasses import replace

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Down, Recorder
from tests.support.kits import World
from tests.support.steps import MINUTE, a_minutely_job, fired, work
from tickwright.domain.attempts import Failure, Fatal, Success, UserResult, a_note, an_error
from tickwright.domain.executions import Execution, Noted
from tickwright.domain.jobs import Head
from tickwright.domain.outcomes import Refusal
from tickwright.domain.secrets import MASK
from tickwright.domain.transitions import State
from tickwright.ports.runner import Invocation
from tickwright.services.change_job import edit_job
from tickwright.services.hints import hint_of
from tickwright.services.redrive import redrive
from tickwright.services.shown import as_shown

SECRET = "4111-1111-1111-1111"
PAYLOAD = {"card": SECRET}
BROKEN = an_error("BadCard", f"{SECRET} is refused", f"charge({SECRET!r})")
CLEAN = an_error("BadCard", f"{MASK} is refused", f"charge('{MASK}')")
NOTED = a_note(checkpoint=f'{{"card":"{SECRET}"}}')


async def edited(world: World, head: Head, **body: object) -> None:
    """The next version of the job."""
    current = await world.kit.store.head(head.job_id)
    assert current is not None
    view = await edit_job(world.kit, TENANT, head.job_id, world.spec(**body), current.version)
    assert not isinstance(view, Refusal), view


async def a_run_of_an_old_version(world: World, result: UserResult) -> Execution:
    """Its first attempt ended so; since then a version has named its secret, and the next has another value."""

    async def does(invocation: Invocation) -> UserResult:
        await invocation.beat(NOTED)
        return result

    world.runner.does = does
    job = await a_minutely_job(world, 60, payload=PAYLOAD, retryPolicy={"maxAttempts": 2})
    world.clock.advance(MINUTE)
    await work(world.worker(), hint_of(await fired(world)))
    await edited(world, job, payload=PAYLOAD, secrets=["/payload/card"])
    await edited(world, job, payload={"card": "none"})
    return await world.only_execution()


async def work_again(world: World, result: UserResult, down: Down | None = None) -> list[Invocation]:
    """Its next attempt says so; what it was given."""
    given = list[Invocation]()

    async def does(invocation: Invocation) -> UserResult:
        given.append(invocation)
        invocation.log.write(f"charging {SECRET}\n")
        return result

    world.runner.does = does
    row = await world.only_execution()
    world.clock.advance(max(0, (row.retry_at or 0) - world.clock.now()))
    await work(world.worker(None if down is None else world.a_process(down)), hint_of(row))
    return given


@pytest.mark.sem("SEM-SECRET-2")
@pytest.mark.parametrize("first", [Failure(error=BROKEN), Fatal(error=BROKEN)], ids=["tried again", "redriven"])
async def test_a_later_attempt_keeps_no_secret_that_was_named_meanwhile(world: World, first: UserResult) -> None:
    """Neither in its error, nor in the letter that goes to the queue of the dead, nor in its log."""
    old = await a_run_of_an_old_version(world, first)
    assert old.error == BROKEN
    if old.state is State.DEAD:
        await redrive(world.kit, TENANT, old.ref.id, None)

    await work_again(world, Fatal(error=BROKEN))

    row = await world.only_execution()
    assert (row.state, row.job_version, row.error) == (State.DEAD, 1, CLEAN)
    assert (await world.dead_letters())[-1].message == CLEAN.message
    assert [log.text for log in (await world.kit.store.logs_of(row.ref, limit=10)).items] == [f"charging {MASK}\n"]


@pytest.mark.sem("SEM-SECRET-2", "SEM-SECRET-3", "SEM-CHECKPOINT-1")
async def test_the_next_attempt_is_given_everything_as_it_was(world: World) -> None:
    """Its payload and the checkpoint: masks are for whoever looks, and nothing that is stored is changed for them."""
    old = await a_run_of_an_old_version(world, Failure(error=BROKEN))
    looked_at = await as_shown(world.kit, old)

    (invocation,) = await work_again(world, Success(result=f'"{SECRET}"'))

    assert looked_at.noted == Noted(checkpoint=f'{{"card":"{MASK}"}}')
    assert invocation.execution.noted == NOTED
    assert invocation.definition.spec.payload == f'{{"card":"{SECRET}"}}'
    row = await world.only_execution()
    assert (row.result, (await as_shown(world.kit, row)).result) == (f'"{SECRET}"', f'"{MASK}"')


@pytest.mark.sem("SEM-SECRET-2")
async def test_a_job_that_cannot_be_asked_costs_no_attempt(world: World) -> None:
    """What is hidden by now is found again whenever somebody looks."""
    await a_run_of_an_old_version(world, Failure(error=BROKEN))

    await work_again(world, Fatal(error=BROKEN), Down(frozenset({"head"})))

    row = await world.only_execution()
    assert (row.state, row.error) == (State.DEAD, BROKEN)
    assert (await as_shown(world.kit, row)).error == replace(CLEAN, fingerprint=BROKEN.fingerprint)


@pytest.mark.sem("SEM-SECRET-2")
@pytest.mark.parametrize("while_it_runs", [False, True], ids=["in a backlog", "while it runs"])
async def test_a_first_attempt_keeps_no_secret_that_was_named_meanwhile(world: World, *, while_it_runs: bool) -> None:
    """It waited for a worker, or ran, for long enough that its job has named its secret since."""

    async def named() -> None:
        await edited(world, job, payload=PAYLOAD, secrets=["/payload/card"])
        world.clock.advance(MINUTE // 3)

    async def does(invocation: Invocation) -> UserResult:
        if while_it_runs:
            await named()
        invocation.log.write(f"charging {SECRET}\n")
        return Fatal(error=BROKEN)

    world.runner.does = does
    job = await a_minutely_job(world, 60, payload=PAYLOAD)
    world.clock.advance(MINUTE)
    hint = hint_of(await fired(world))
    if not while_it_runs:
        await named()

    await work(world.worker(), hint)

    row = await world.only_execution()
    assert (row.state, row.lease_epoch, row.error) == (State.DEAD, 1, CLEAN)
    assert (await world.dead_letters())[-1].message == CLEAN.message
    assert [log.text for log in (await world.kit.store.logs_of(row.ref, limit=10)).items] == [f"charging {MASK}\n"]


@pytest.mark.sem("SEM-SECRET-2")
async def test_a_first_attempt_asks_for_no_head(world: World) -> None:
    """It follows its decision at once: a plain run costs no read more than it did."""
    await a_minutely_job(world, 1, payload=PAYLOAD, secrets=["/payload/card"])
    world.clock.advance(MINUTE)
    hint, recorder = hint_of(await fired(world)), Recorder()

    await work(world.worker(world.a_process(recorder)), hint)

    assert (await world.only_execution()).state is State.SUCCEEDED
    assert [call.name for call in recorder.calls if call.name in {"head", "heads"}] == []
