"""What attempts say is kept, whatever became of them, without the job's secrets; a log that is lost is all that is."""

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Down, Recorder
from tests.support.kits import World
from tests.support.steps import DAY, HOUR, MINUTE, a_minutely_job, fired, lease_over_ms, running, work
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, HandedOver, NotRun, Success, UserResult, an_error
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import TenantId
from tickwright.domain.logs import Tail
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.secrets import MASK
from tickwright.domain.stored_logs import SaidBy, StoredLog
from tickwright.domain.transitions import State
from tickwright.ports.queue import Hint
from tickwright.ports.runner import Invocation
from tickwright.services.cancel import cancel_execution
from tickwright.services.claim import Over
from tickwright.services.hints import hint_of
from tickwright.services.redrive import redrive
from tickwright.services.report import report_failure, report_success
from tickwright.services.run_logs import list_logs

SECRET = "4111-1111-1111-1111"
CARD = {"payload": {"card": SECRET}, "secrets": ["/payload/card"]}


async def a_hint(world: World, **body: object) -> Hint:
    """The hint of an execution whose time has come."""
    await a_minutely_job(world, 1, **body)
    world.clock.advance(MINUTE)
    return hint_of(await fired(world))


def says(world: World, *results: UserResult, text: str = "attempt {attempt}\n") -> None:
    """Each attempt says so, and ends with the next of the results."""
    left = list(results)

    async def does(invocation: Invocation) -> UserResult:
        invocation.log.write(text.format(attempt=invocation.execution.attempt))
        return left.pop(0)

    world.runner.does = does


async def logs(world: World) -> list[StoredLog]:
    """What the API would list."""
    row = await world.only_execution()
    found = await list_logs(world.kit, TENANT, row.ref.id, limit=10)
    assert not isinstance(found, Refusal)
    return list(found.page.items)


async def work_again(world: World) -> None:
    """The next attempt, at its time."""
    row = await world.only_execution()
    assert row.retry_at is not None
    world.clock.advance(row.retry_at - world.clock.now())
    await work(world.worker(), hint_of(row))


@pytest.mark.sem("SEM-LOG-1")
async def test_each_attempt_has_its_log(world: World) -> None:
    """Of one that failed, of one that was given back and counts for nothing, and of the one that succeeded."""
    hint = await a_hint(world)
    says(world, Failure(error=an_error("Flaky", "once")), NotRun(), Success())

    await work(world.worker(), hint)
    await work_again(world)
    await work_again(world)

    assert [(log.text, log.epoch, log.attempt, log.said_by) for log in await logs(world)] == [
        ("attempt 2\n", 3, 2, SaidBy.WORKER),
        ("attempt 2\n", 2, 2, SaidBy.WORKER),
        ("attempt 1\n", 1, 1, SaidBy.WORKER),
    ]
    assert (await world.only_execution()).state is State.SUCCEEDED


@pytest.mark.sem("SEM-LOG-1")
async def test_the_end_of_a_long_log_is_kept_and_the_rest_is_counted(world: World) -> None:
    """For as long as a run is kept, from the end of the attempt on."""
    hint = await a_hint(world)
    says(world, Success(), text="x" * 100_000 + "the end")

    await work(world.worker(), hint)

    (log,) = await logs(world)
    assert log.text.endswith("the end")
    assert len(log.text) == limits.LOG_BYTES_MAX
    assert log.cut == 100_007 - limits.LOG_BYTES_MAX
    assert (log.written_at, log.expires_at - log.written_at) == (world.clock.now(), 30 * DAY)


@pytest.mark.sem("SEM-LOG-1")
async def test_an_attempt_that_says_nothing_costs_no_write(world: World) -> None:
    """A plain run is as cheap as it was."""
    hint, recorder = await a_hint(world), Recorder()

    await work(world.worker(world.a_process(recorder)), hint)

    assert [call.name for call in recorder.calls if call.name == "put_log"] == []
    assert await logs(world) == []


@pytest.mark.sem("SEM-LOG-1")
@pytest.mark.parametrize("name", ["put_log", "definition"])
async def test_a_log_that_cannot_be_kept_costs_nothing_else(world: World, name: str) -> None:
    """The run has succeeded, its hint is done with, and an event says what is lost."""
    hint = await a_hint(world)
    down = Down(frozenset({name}), is_down=False)

    async def does(invocation: Invocation) -> UserResult:
        invocation.log.write("said")
        down.is_down = True
        return Success()

    world.runner.does = does
    answer = await work(world.worker(world.a_process(down)), hint)

    row = await world.only_execution()
    assert (answer, row.state, down.refused) == (Over(), State.SUCCEEDED, 1)
    assert world.telemetry.counts[EventName.LOG_NOT_KEPT] == 1
    assert await logs(world) == []


@pytest.mark.sem("SEM-LOG-1")
async def test_the_log_of_a_cancelled_run_is_kept(world: World) -> None:
    """What it said until it stopped may say why somebody had to cancel it."""
    hint = await a_hint(world)

    async def does(invocation: Invocation) -> UserResult:
        invocation.log.write("working\n")
        row = await world.only_execution()
        await cancel_execution(world.kit, TENANT, row.ref.id)
        await invocation.wait_cancelled()
        invocation.log.write("told to stop\n")
        return Success()

    world.runner.does = does
    await work(world.worker(), hint)

    assert (await world.only_execution()).state is State.CANCELLED
    assert [log.text for log in await logs(world)] == ["working\ntold to stop\n"]


@pytest.mark.sem("SEM-LOG-1")
async def test_a_zombie_keeps_its_log_beside_that_of_its_successor(world: World) -> None:
    """Each under its own epoch: neither writes over the other."""
    hint = await a_hint(world)

    async def frozen(invocation: Invocation) -> UserResult:
        invocation.log.write("first\n")
        world.clock.advance(lease_over_ms(world))
        says(world, Success(), text="second\n")
        await work(world.worker(), hint)
        return Success()

    world.runner.does = frozen
    await work(world.worker(), hint)

    row = await world.only_execution()
    assert (row.state, row.lease_epoch) == (State.SUCCEEDED, 2)
    assert [(log.epoch, log.text) for log in await logs(world)] == [(2, "second\n"), (1, "first\n")]


@pytest.mark.sem("SEM-LOG-1")
async def test_a_redriven_run_has_the_logs_of_both_generations(world: World) -> None:
    """The generation tells whose they are."""
    hint = await a_hint(world, retryPolicy={"maxAttempts": 1})
    says(world, Failure(error=an_error("Flaky", "once")), Success())
    await work(world.worker(), hint)
    dead = await world.only_execution()
    assert dead.state is State.DEAD

    await redrive(world.kit, TENANT, dead.ref.id, None)
    await work(world.worker(), hint_of(await world.only_execution()))

    assert [(log.generation, log.attempt) for log in await logs(world)] == [(2, 2), (1, 1)]


@pytest.mark.sem("SEM-LOG-1", "SEM-SECRET-1")
async def test_masks_make_no_log_longer_than_what_is_kept(world: World) -> None:
    """The mask of a short secret is longer than it is."""
    hint = await a_hint(world, payload={"pin": "4711"}, secrets=["/payload/pin"])
    says(world, Success(), text="4711" * 4_000 + "the end")

    await work(world.worker(), hint)

    (log,) = await logs(world)
    assert log.text.endswith(f"{MASK}the end")
    assert len(log.text) == limits.LOG_BYTES_MAX
    assert log.cut == 4_000 * len(MASK) + 7 - limits.LOG_BYTES_MAX


@pytest.mark.sem("SEM-SECRET-1")
async def test_secrets_are_in_no_log_and_in_no_error(world: World) -> None:
    """User code may print its payload, and put it into what it raises."""
    hint = await a_hint(world, **CARD, retryPolicy={"maxAttempts": 1})
    error = an_error("BadCard", f"{SECRET} is refused", f"File card.py: charge({SECRET!r})")
    says(world, Failure(error=error), text=f"charging {SECRET}\n")

    await work(world.worker(), hint)

    row = await world.only_execution()
    assert row.error == an_error("BadCard", f"{MASK} is refused", f"File card.py: charge('{MASK}')")
    assert [log.text for log in await logs(world)] == [f"charging {MASK}\n"]


@pytest.mark.sem("SEM-SECRET-1")
async def test_no_event_tells_what_a_run_was_given_or_what_it_said(world: World) -> None:
    """What goes to the logs of the installation are ids, times and reasons, whatever the run does."""
    marks = ("the-payload", "the-result", "the-message", "the-log")
    hint = await a_hint(world, payload={"any": marks[0]})
    says(world, Failure(error=an_error("Flaky", marks[2])), Success(result=f'"{marks[1]}"'), text=marks[3])

    await work(world.worker(), hint)
    await work_again(world)

    told = [repr(happening) for happening in world.telemetry.happenings]
    assert (await world.only_execution()).result == f'"{marks[1]}"'
    assert len(told) >= 5
    assert [line for line in told if any(mark in line for mark in marks)] == []


async def reported(world: World, held: Execution, said: Tail, epoch: int = 1) -> Execution | Refusal:
    """What a worker is answered that reports a failure and what it has said."""
    failed = Failure(error=an_error("BadCard", f"{SECRET} is refused"))
    return await report_failure(world.kit, TENANT, held.ref.id, epoch=epoch, failed=failed, said=said)


@pytest.mark.sem("SEM-LOG-1", "SEM-SECRET-1")
async def test_a_log_that_comes_with_a_report_is_kept_once(world: World) -> None:
    """Without the secrets that stand in it and in the error; the same report again is the same again (B136)."""
    held = await running(world, **CARD)
    said = Tail(text=f"charging {SECRET}", cut=9)

    first = await reported(world, held, said)
    again = await reported(world, held, said)

    assert isinstance(first, Execution)
    assert again == first
    assert first.reason is Reason.FAILED
    assert first.error == an_error("BadCard", f"{MASK} is refused")
    found = await list_logs(world.kit, TENANT, held.ref.id, limit=10)
    assert not isinstance(found, Refusal)
    assert [(log.text, log.cut, log.attempt, log.said_by) for log in found.page.items] == [
        (f"charging {MASK}", 9, 1, SaidBy.REPORT)
    ]


@pytest.mark.sem("SEM-LOG-1", "SEM-FENCE-1")
async def test_what_a_refused_report_says_is_not_kept(world: World) -> None:
    """An old epoch is a zombie's, and whoever reports another end after the end writes over no log."""
    held = await running(world)
    await report_success(world.kit, TENANT, held.ref.id, epoch=1, result=None, said=Tail(text="done", cut=0))

    late = await reported(world, held, Tail(text="late", cut=0))
    zombie = await reported(world, held, Tail(text="zombie", cut=0), epoch=7)

    assert [isinstance(answer, Refusal) for answer in (late, zombie)] == [True, True]
    found = await list_logs(world.kit, TENANT, held.ref.id, limit=10)
    assert not isinstance(found, Refusal)
    assert [log.text for log in found.page.items] == ["done"]


@pytest.mark.sem("SEM-LOG-1", "SEM-HANDOVER-1")
async def test_a_run_that_was_handed_over_has_two_logs(world: World) -> None:
    """What our worker said of it, and what came with the report."""
    hint = await a_hint(world)
    says(world, HandedOver(), text="202 Accepted\n")
    await work(world.worker(), hint)
    world.clock.advance(MINUTE)
    held = await world.only_execution()

    await report_success(world.kit, TENANT, held.ref.id, epoch=1, result=None, said=Tail(text="done", cut=0))

    assert [(log.said_by, log.text) for log in await logs(world)] == [
        (SaidBy.WORKER, "202 Accepted\n"),
        (SaidBy.REPORT, "done"),
    ]


@pytest.mark.sem("SEM-LOG-1", "SEM-TENANT-1")
async def test_nobody_else_reads_a_log(world: World) -> None:
    """Another tenant's execution answers as if it did not exist."""
    hint = await a_hint(world)
    says(world, Success())
    await work(world.worker(), hint)
    row = await world.only_execution()
    world.clock.advance(HOUR)

    answer = await list_logs(world.kit, TenantId("other"), row.ref.id, limit=10)

    assert isinstance(answer, Refusal)
    assert answer.code is Code.NOT_FOUND
