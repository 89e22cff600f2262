"""Reports from outside: tenant-checked, fenced by the epoch, and the same again answers the same."""

import pytest

from tests.support.builders import TENANT
from tests.support.kits import World
from tests.support.steps import MINUTE, a_minutely_job, claimed, fired, lease_over_ms, running
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Fatal, NotRun, RetryLater, Success, an_error
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.services.cancel import cancel_execution
from tickwright.services.end import reap
from tickwright.services.report import Extended, report, report_failure, report_heartbeat, report_success

BROKEN = Failure(error=an_error("Flaky", "row 7"))


async def first(world: World) -> Execution:
    """The execution as it is now."""
    return (await world.executions())[0]


async def told_of_success(world: World, held: Execution, epoch: int) -> Execution | Refusal:
    """What a worker is answered that reports a success."""
    return await report_success(world.kit, TENANT, held.ref.id, epoch=epoch, result='"ok"')


def code_of(answer: object) -> Code:
    """Why it was refused."""
    assert isinstance(answer, Refusal)
    return answer.code


@pytest.mark.sem("SEM-LEASE-3")
async def test_a_heartbeat_moves_the_lease_out(world: World) -> None:
    """By a lease from now, and never past the attempt's time limit."""
    held = await running(world)
    world.clock.advance(15_000)

    answer = await report_heartbeat(world.kit, TENANT, held.ref.id, epoch=1, worker="worker-0")

    assert answer == Extended(until=(await first(world)).lease_until or world.clock.now())
    assert (await first(world)).lease_until == world.clock.now() + world.durations.lease_ms


@pytest.mark.sem("SEM-LEASE-3")
async def test_a_heartbeat_after_the_time_limit_is_refused(world: World) -> None:
    """The reason is `deadline`, and the lease stays as it was."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world), timeout_ms=30_000)
    world.clock.advance(30_000)

    answer = await report_heartbeat(world.kit, TENANT, held.ref.id, epoch=1, worker="worker-0")

    assert code_of(answer) is Code.DEADLINE
    assert (await first(world)).lease_until == held.lease_until


@pytest.mark.sem("SEM-CANCEL-4")
async def test_a_heartbeat_of_a_cancelled_run_says_so(world: World) -> None:
    """While it is to stop, and after it has ended."""
    held = await running(world)
    await cancel_execution(world.kit, TENANT, held.ref.id)
    stopping = await report_heartbeat(world.kit, TENANT, held.ref.id, epoch=1, worker="worker-0")
    await told_of_success(world, held, 1)

    ended = await report_heartbeat(world.kit, TENANT, held.ref.id, epoch=1, worker="worker-0")

    assert (code_of(stopping), code_of(ended)) == (Code.CANCELLED, Code.CANCELLED)
    assert (await first(world)).state is State.CANCELLED


@pytest.mark.sem("SEM-FENCE-1")
async def test_a_zombie_changes_nothing(world: World) -> None:
    """Whatever it reports under its old epoch is refused as lost, while its successor runs and after it has ended."""
    held = await running(world)
    world.clock.advance(lease_over_ms(world))
    successor = await claimed(world, held, "worker-2")

    async def old_reports() -> list[Code]:
        answers = [
            await told_of_success(world, held, 1),
            await report_failure(world.kit, TENANT, held.ref.id, epoch=1, failed=BROKEN),
            await report_failure(world.kit, TENANT, held.ref.id, epoch=1, failed=RetryLater(after_s=1)),
            await report_heartbeat(world.kit, TENANT, held.ref.id, epoch=1, worker="worker-0"),
            await report(world.kit, held, Success(result='"old"')),
            await report(world.kit, held, Fatal(error=BROKEN.error)),
            await report(world.kit, held, NotRun()),
        ]
        return [code_of(answer) for answer in answers]

    while_it_runs = await old_reports()
    assert await first(world) == successor
    await told_of_success(world, successor, 2)
    ended = await first(world)
    afterwards = await old_reports()

    assert {*while_it_runs, *afterwards} == {Code.LEASE_LOST}
    assert await first(world) == ended
    assert world.telemetry.counts[EventName.RESULT_REFUSED] == 6


@pytest.mark.sem("SEM-FENCE-1")
async def test_an_epoch_of_the_future_is_refused(world: World) -> None:
    """A number that nobody was given opens nothing."""
    held = await running(world)

    assert code_of(await told_of_success(world, held, 2)) is Code.LEASE_LOST
    assert await first(world) == held


@pytest.mark.sem("SEM-FENCE-1")
async def test_the_same_success_again_answers_the_same(world: World) -> None:
    """A worker whose reply was lost repeats its report, and nothing changes (B136)."""
    held = await running(world)
    once = await told_of_success(world, held, 1)

    again = await told_of_success(world, held, 1)

    assert isinstance(once, Execution)
    assert again == once == await first(world)


@pytest.mark.sem("SEM-FENCE-1")
@pytest.mark.parametrize(
    "failed", [BROKEN, Fatal(error=BROKEN.error), RetryLater(after_s=60)], ids=lambda failed: type(failed).__name__
)
async def test_the_same_failure_again_answers_the_same(world: World, failed: Failure | Fatal | RetryLater) -> None:
    """Whatever it led to: a retry, the end, or a wait; the attempt is counted once."""
    held = await running(world)
    once = await report_failure(world.kit, TENANT, held.ref.id, epoch=1, failed=failed)
    world.clock.advance(1_000)

    again = await report_failure(world.kit, TENANT, held.ref.id, epoch=1, failed=failed)

    assert isinstance(once, Execution)
    assert again == once == await first(world)


@pytest.mark.sem("SEM-FENCE-1")
async def test_another_report_after_the_end_is_refused(world: World) -> None:
    """Terminal is final: a success stays one, whatever is said of it later (B136)."""
    held = await running(world)
    await told_of_success(world, held, 1)

    failed = await report_failure(world.kit, TENANT, held.ref.id, epoch=1, failed=BROKEN)

    assert code_of(failed) is Code.LEASE_LOST
    assert (await first(world)).state is State.SUCCEEDED


@pytest.mark.sem("SEM-FENCE-1")
async def test_a_failure_does_not_follow_a_reap(world: World) -> None:
    """The lease ran out and a watcher ended the attempt: what the worker says then is refused (B138)."""
    held = await running(world)
    world.clock.advance(lease_over_ms(world))
    await reap(world.kit, held)
    await reap(world.kit, held)

    answer = await report_failure(world.kit, TENANT, held.ref.id, epoch=1, failed=BROKEN)

    assert code_of(answer) is Code.LEASE_LOST
    assert (await first(world)).reason is Reason.LEASE_EXPIRED
    assert world.telemetry.counts[EventName.EXECUTION_REAPED] == 1


@pytest.mark.sem("SEM-TENANT-1")
async def test_another_tenants_execution_does_not_exist(world: World) -> None:
    """Its id is as good as made up, for every report."""
    held = await running(world)
    other = TenantId("globex")

    answers = [
        await report_success(world.kit, other, held.ref.id, epoch=1, result=None),
        await report_failure(world.kit, other, held.ref.id, epoch=1, failed=BROKEN),
        await report_heartbeat(world.kit, other, held.ref.id, epoch=1, worker="worker-0"),
        await cancel_execution(world.kit, other, held.ref.id),
        await report_success(world.kit, TENANT, "no-such-id", epoch=1, result=None),
    ]

    assert {code_of(answer) for answer in answers} == {Code.NOT_FOUND}
    assert await first(world) == held


@pytest.mark.sem("SEM-RETRY-3")
async def test_a_wish_to_be_tried_later_counts_no_attempt_and_is_bounded(world: World) -> None:
    """A hundred times; the next is a failure like any other."""
    held = await running(world, retryPolicy={"maxAttempts": 2, "backoff": {"initialSec": 0}})
    for _ in range(limits.RETRY_AFTER_MAX):
        put_off = await report(world.kit, held, RetryLater(after_s=0))
        assert isinstance(put_off, Execution)
        assert (put_off.state, put_off.attempt) == (State.RETRY, 0)
        held = await claimed(world, put_off)

    last = await report(world.kit, held, RetryLater(after_s=0))

    assert isinstance(last, Execution)
    assert last.error is not None
    assert (last.state, last.attempt, last.error.error_class) == (State.RETRY, 1, "RetryLaterTooOften")


@pytest.mark.sem("SEM-RETRY-3", "SEM-DRAIN-1")
async def test_what_is_given_back_again_and_again_waits_ever_longer(world: World) -> None:
    """The first time, as a drain does it, it comes again at once; attempts that ended and wishes do not add to it."""
    held = await running(world, retryPolicy={"maxAttempts": 3, "backoff": {"initialSec": 0}})
    for result in (RetryLater(after_s=0), BROKEN):
        ended = await report(world.kit, held, result)
        assert isinstance(ended, Execution)
        held = await claimed(world, ended)
    waits = []
    for _ in range(8):
        given = await report_failure(world.kit, TENANT, held.ref.id, epoch=held.lease_epoch, failed=NotRun())
        assert isinstance(given, Execution)
        assert (given.state, given.reason, given.attempt) == (State.RETRY, Reason.GIVEN_BACK, 1)
        waits.append((given.retry_at or 0) - world.clock.now())
        world.clock.advance_to(given.retry_at or world.clock.now())
        held = await claimed(world, given)

    assert waits == [0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]


@pytest.mark.sem("SEM-RETRY-3")
@pytest.mark.parametrize(("after_s", "waits"), [(5, [5_000] * 4), (0.4, [400, 1_000, 2_000, 4_000])])
async def test_a_wait_that_is_named_with_what_is_given_back_holds(
    world: World, after_s: float, waits: list[int]
) -> None:
    """As often as it is named, unless it is less than a second."""
    held, found = await running(world), []
    for _ in waits:
        given = await report(world.kit, held, NotRun(after_s=after_s))
        assert isinstance(given, Execution)
        found.append((given.retry_at or 0) - world.clock.now())
        world.clock.advance_to(given.retry_at or world.clock.now())
        held = await claimed(world, given)

    assert found == waits


@pytest.mark.sem("SEM-JOURNAL-4")
@pytest.mark.parametrize(("after_s", "on_the_index"), [(900, False), (900.001, True), (86_400, True)])
async def test_a_wait_beyond_the_queues_delay_goes_to_the_index(
    world: World, after_s: float, *, on_the_index: bool
) -> None:
    """Up to a quarter of an hour a delayed hint is enough, which the journal repeats if it is lost."""
    held = await running(world)
    await world.lose_hints()

    put_off = await report(world.kit, held, RetryLater(after_s=after_s))

    assert isinstance(put_off, Execution)
    assert (put_off.wait_key is not None) is on_the_index
    assert await world.hints() == int(not on_the_index)


@pytest.mark.sem("SEM-RETRY-2")
async def test_the_backoff_grows_and_is_spread(world: World) -> None:
    """Full jitter: a fraction of ten, twenty, forty seconds, drawn anew each time."""
    held = await running(world, retryPolicy={"maxAttempts": 4})
    waits = []
    for _ in range(3):
        failed = await report(world.kit, held, BROKEN)
        assert isinstance(failed, Execution)
        waits.append((failed.retry_at or 0) - world.clock.now())
        world.clock.advance_to(failed.retry_at or world.clock.now())
        held = await claimed(world, failed)

    fractions = (0.5, 0.0, 0.999)  # what this world's chance answers
    assert waits == [
        round(fraction * whole) for fraction, whole in zip(fractions, (10_000, 20_000, 40_000), strict=True)
    ]


@pytest.mark.sem("SEM-RETRY-1")
async def test_a_server_that_names_a_wait_is_not_asked_sooner(world: World) -> None:
    """Retry-After longer than the backoff is honoured."""
    held = await running(world)

    failed = await report(world.kit, held, Failure(error=BROKEN.error, after_s=120))

    assert isinstance(failed, Execution)
    assert (failed.retry_at or 0) - world.clock.now() == 120_000


@pytest.mark.sem("SEM-RETRY-1")
async def test_a_class_of_error_can_be_given_up_on(world: World) -> None:
    """The policy names what is not worth another try."""
    held = await running(world, retryPolicy={"giveUpOn": ["Flaky"]})

    failed = await report(world.kit, held, BROKEN)

    assert isinstance(failed, Execution)
    assert (failed.state, failed.reason) == (State.DEAD, Reason.FAILED)
