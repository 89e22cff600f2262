"""One attempt, from its claim to its end: the lease is kept, time limits hold, and who has lost it stops."""

from collections.abc import Awaitable, Callable

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import AnswerT, Call, Down, Interject, Recorder
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import HOUR, MINUTE, a_minutely_job, claimed, fired, lease_over_ms, work
from tickwright.domain.attempts import Failure, Fatal, NotRun, RetryLater, Success, UserResult, an_error
from tickwright.domain.changes.executions import Heartbeat
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import WorkerId
from tickwright.domain.transitions import State
from tickwright.ports.queue import Hint
from tickwright.ports.runner import Invocation, StopReason
from tickwright.services.attempt import Worker
from tickwright.services.cancel import cancel_execution
from tickwright.services.claim import NotNow, Over
from tickwright.services.hints import hint_of
from tickwright.services.kit import Kit


async def a_hint(world: World, **body: object) -> Hint:
    """The hint of an execution whose time has come."""
    await a_minutely_job(world, 1, **body)
    world.clock.advance(MINUTE)
    execution = await fired(world)
    await world.lose_hints()
    return hint_of(execution)


async def worked(world: World, hint: Hint, kit: Kit | None = None) -> Over | NotNow:
    """What a worker makes of a hint."""
    return await work(world.worker(kit), hint)


def takes(world: World, duration_ms: int, result: UserResult | None = None) -> list[str]:
    """The target takes so long; what it saw is in the list."""
    seen: list[str] = []

    async def does(invocation: Invocation) -> UserResult:
        ends_at = world.clock.now() + duration_ms
        while world.clock.now() < ends_at:
            await world.clock.sleep_ms(500)
            if invocation.cancelled():
                seen.append("told to stop")
                drains = invocation.cancel_reason() is StopReason.DRAINING
                return NotRun() if drains else Failure(error=an_error("Stopped", "told to stop"))
        seen.append("done")
        return result or Success(result='"done"')

    world.runner.does = does
    return seen


@pytest.mark.sem("SEM-TARGET-6")
async def test_what_had_not_begun_at_its_time_limit_counts_no_attempt(world: World) -> None:
    """Its target says so when the time is over, or a moment after the worker has seen that it is."""
    hint = await a_hint(world, timeoutSec=100)

    async def waits_for_a_thread(invocation: Invocation) -> UserResult:
        await invocation.wait_cancelled()
        return NotRun(after_s=5)

    world.runner.does = waits_for_a_thread
    answer = await worked(world, hint)

    row = await world.only_execution()
    assert (answer, row.state, row.reason, row.attempt) == (Over(), State.RETRY, Reason.GIVEN_BACK, 0)


@pytest.mark.sem("SEM-LEASE-3")
async def test_heartbeats_keep_the_lease_of_a_long_run(world: World) -> None:
    """Twenty minutes under a lease of one: beats every quarter of it, one attempt, one result (B135)."""
    hint = await a_hint(world, timeoutSec=3_600)
    takes(world, 20 * MINUTE)
    recorder = Recorder()

    answer = await worked(world, hint, world.a_process(recorder))

    row = await world.only_execution()
    assert (answer, row.state, row.attempt) == (Over(), State.SUCCEEDED, 1)
    beats = recorder.written(Heartbeat)
    assert len(beats) in {79, 80}
    assert all(beat.lease_until - beat.now == world.durations.lease_ms for beat in beats)


@pytest.mark.sem("SEM-TIMEOUT-1", "SEM-LEASE-3")
async def test_a_hung_target_ends_at_its_time_limit(world: World) -> None:
    """It sleeps for an hour with live heartbeats; its lease never outlives the limit, and a retry follows (B119)."""
    hint = await a_hint(world, timeoutSec=100)
    started = world.clock.now()
    takes(world, HOUR)
    recorder = Recorder()

    answer = await worked(world, hint, world.a_process(recorder))

    row = await world.only_execution()
    assert (answer, row.state, row.reason, row.attempt) == (Over(), State.RETRY, Reason.TIMED_OUT, 1)
    assert world.clock.now() - started <= 100_000 + world.durations.heartbeat_ms
    assert max(beat.lease_until for beat in recorder.written(Heartbeat)) <= started + 100_000


@pytest.mark.sem("SEM-TIMEOUT-1")
async def test_a_target_that_does_not_listen_is_cancelled(world: World) -> None:
    """It ignores every word: it is cancelled from outside, and the attempt ends all the same."""
    hint = await a_hint(world, timeoutSec=100)
    began = world.clock.now()

    async def deaf(invocation: Invocation) -> UserResult:
        await world.clock.sleep_ms(HOUR)
        return Success()

    world.runner.does = deaf
    await worked(world, hint)

    assert (await world.only_execution()).reason is Reason.TIMED_OUT
    assert world.clock.now() - began < 2 * 100_000


@pytest.mark.sem("SEM-TIMEOUT-1")
async def test_the_deadline_of_the_whole_run_ends_it_for_good(world: World) -> None:
    """Attempts are left, but not time: DEAD(expired)."""
    hint = await a_hint(world, timeoutSec=300, runDeadlineSec=90)
    takes(world, HOUR)

    await worked(world, hint)

    row = await world.only_execution()
    assert (row.state, row.reason, row.attempt) == (State.DEAD, Reason.EXPIRED, 1)


@pytest.mark.sem("SEM-TIMEOUT-1")
async def test_what_comes_after_its_deadline_is_not_started(world: World) -> None:
    """A hint that lay in a queue for too long is claimed and ended; the target hears nothing of it."""
    hint = await a_hint(world, runDeadlineSec=60)
    world.clock.advance(2 * MINUTE)

    await worked(world, hint)

    row = await world.only_execution()
    assert (row.state, row.reason, world.runner.starts) == (State.DEAD, Reason.EXPIRED, [])


@pytest.mark.sem("SEM-TIMEOUT-1", "SEM-RETRY-3")
async def test_a_wish_to_wait_beyond_the_deadline_is_the_end(world: World) -> None:
    """Retry after two hours, with ten minutes left: it would only wait to expire."""
    hint = await a_hint(world, runDeadlineSec=600)
    takes(world, 0, RetryLater(after_s=7_200))

    await worked(world, hint)

    row = await world.only_execution()
    assert (row.state, row.reason) == (State.DEAD, Reason.EXPIRED)


@pytest.mark.sem("SEM-CANCEL-4")
async def test_a_cancelled_run_is_told_at_its_next_heartbeat(world: World) -> None:
    """Within a quarter of a lease the target is asked to stop; then it is CANCELLED, and its result is not taken."""
    hint = await a_hint(world)
    seen = takes(world, 10 * MINUTE)
    kit = world.a_process(_OnTheSecondBeat(lambda: cancel_execution(world.kit, TENANT, hint.ref.id)))

    answer = await worked(world, hint, kit)

    row = await world.only_execution()
    assert (answer, seen, row.state, row.reason) == (Over(), ["told to stop"], State.CANCELLED, Reason.CANCELLED)
    assert world.clock.now() - hint.due_at < 3 * world.durations.heartbeat_ms


class _OnTheSecondBeat:
    """Does something just before the second heartbeat arrives."""

    def __init__(self, act: Callable[[], Awaitable[object]]) -> None:
        self._act = act
        self._beats = 0

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        self._beats += isinstance(call.what, Heartbeat)
        if isinstance(call.what, Heartbeat) and self._beats == 2:
            await self._act()
        return await do()


@pytest.mark.sem("SEM-CANCEL-4")
async def test_a_result_that_meets_a_cancel_is_not_accepted(world: World) -> None:
    """Cancelled ten milliseconds before its end: CANCELLED stays CANCELLED (B170)."""
    hint = await a_hint(world)

    async def just_ended(invocation: Invocation) -> UserResult:
        await cancel_execution(world.kit, TENANT, hint.ref.id)
        return Success(result='"too late"')

    world.runner.does = just_ended
    await worked(world, hint)

    row = await world.only_execution()
    assert (row.state, row.result) == (State.CANCELLED, None)


@pytest.mark.sem("SEM-FENCE-1", "SEM-LEASE-4")
async def test_who_has_lost_the_lease_stops_and_is_not_heard(world: World) -> None:
    """Its beats did not get through for a lease; a successor has taken over: it stops, and changes nothing."""
    hint = await a_hint(world)
    seen = takes(world, 10 * MINUTE)
    successor: list[Execution] = []

    async def takes_over() -> None:
        world.clock.advance(lease_over_ms(world))
        successor.append(await claimed(world, await world.only_execution(), "worker-2"))

    answer = await worked(world, hint, world.a_process(_OnTheSecondBeat(takes_over)))

    assert answer == NotNow(after_ms=world.durations.lease_ms)
    assert seen == ["told to stop"]
    assert await world.only_execution() == successor[0]
    assert world.telemetry.counts[EventName.HEARTBEAT_REFUSED] == 1


@pytest.mark.sem("SEM-LEASE-3")
async def test_a_heartbeat_that_does_not_get_through_is_tried_again(world: World) -> None:
    """A store that is down for half a minute costs nothing: the next beats keep the lease (B126)."""
    hint = await a_hint(world)
    seen = takes(world, 3 * MINUTE)
    down = _DownBetween(world, 20_000, 50_000)

    answer = await worked(world, hint, world.a_process(down))

    row = await world.only_execution()
    assert (answer, seen, row.state, row.attempt) == (Over(), ["done"], State.SUCCEEDED, 1)
    assert down.refused >= 3


class _DownBetween:
    """The store fails every write between two times after now."""

    def __init__(self, world: World, begins_ms: int, ends_ms: int) -> None:
        self._world = world
        self._from = world.clock.now() + begins_ms
        self._until = world.clock.now() + ends_ms
        self.refused = 0

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        if call.writes and self._from <= self._world.clock.now() < self._until:
            self.refused += 1
            raise call.fault("down")
        return await do()


@pytest.mark.sem("SEM-LEASE-4")
async def test_a_holder_stops_when_its_own_clock_says_that_the_lease_may_be_over(world: World) -> None:
    """The store is down for good: the target is stopped before anybody else may take over."""
    hint = await a_hint(world)
    began = world.clock.now()
    stopped_at: list[int] = []

    async def long(invocation: Invocation) -> UserResult:
        await invocation.wait_cancelled()
        stopped_at.append(world.clock.now())
        return Failure(error=an_error("Stopped", "lease"))

    world.runner.does = long
    answer = await worked(world, hint, world.a_process(_DownBetween(world, 1, HOUR)))

    assert answer == NotNow(after_ms=world.durations.lease_ms)
    assert stopped_at[0] - began <= world.durations.lease_ms


@pytest.mark.sem("SEM-LEASE-4")
async def test_who_hears_of_a_claim_when_its_lease_is_over_does_not_begin(world: World) -> None:
    """Its process stood still, or the store was slow: nothing has begun, so nothing is counted, and another may."""
    hint = await a_hint(world)
    seen = takes(world, 10_000)
    frozen = Interject("write", lambda: world.clock.sleep_ms(lease_over_ms(world)), after=True)

    await worked(world, hint, world.a_process(frozen))

    execution = await world.only_execution()
    assert (seen, world.runner.starts) == ([], [])
    assert (execution.state, execution.attempt) == (State.RETRY, 0)


@pytest.mark.sem("SEM-LEASE-4")
async def test_who_was_overtaken_before_it_heard_of_its_claim_leaves_the_other_alone(world: World) -> None:
    """It begins nothing and gives back nothing: the run is another's by then."""
    hint = await a_hint(world)
    successor: list[Execution] = []

    async def takes_over() -> None:
        world.clock.advance(lease_over_ms(world))
        successor.append(await claimed(world, await world.only_execution(), "worker-2"))

    answer = await worked(world, hint, world.a_process(Interject("write", takes_over, after=True)))

    assert answer == NotNow(after_ms=world.durations.lease_ms)
    assert world.runner.starts == []
    assert await world.only_execution() == successor[0]


@pytest.mark.sem("SEM-LEASE-4")
async def test_a_heartbeat_that_hangs_does_not_outlive_the_lease(world: World) -> None:
    """The store neither answers nor fails for ten minutes: the holder's own clock stops the target in time."""
    hint = await a_hint(world)
    began = world.clock.now()
    stopped_at: list[int] = []

    async def long(invocation: Invocation) -> UserResult:
        await invocation.wait_cancelled()
        stopped_at.append(world.clock.now())
        return Failure(error=an_error("Stopped", "lease"))

    world.runner.does = long
    await worked(world, hint, world.a_process(_OnTheSecondBeat(lambda: world.clock.sleep_ms(10 * MINUTE))))

    beat_at = began + world.durations.heartbeat_ms
    assert stopped_at[0] <= beat_at + world.durations.lease_ms


@pytest.mark.sem("SEM-LEASE-4")
async def test_a_result_is_reported_again_until_the_store_takes_it(world: World) -> None:
    """The store is down for the moment in which the run ends: the finished work is not lost."""
    hint = await a_hint(world)
    takes(world, 10_000)

    answer = await worked(world, hint, world.a_process(_DownBetween(world, 9_000, 30_000)))

    assert (answer, (await world.only_execution()).state) == (Over(), State.SUCCEEDED)


async def test_a_result_that_cannot_be_reported_leaves_the_hint(world: World) -> None:
    """The store stays down: the worker gives up after a lease, and the run is done again by whoever comes."""
    hint = await a_hint(world)
    takes(world, 1_000)
    down = _DownBetween(world, 500, HOUR)

    with pytest.raises(Exception, match="down"):
        await worked(world, hint, world.a_process(down))

    await world.drain()
    assert [start.epoch for start in world.runner.starts] == [1, 2]
    await check_all(world)


@pytest.mark.sem("SEM-TARGET-4")
async def test_a_runner_that_raises_is_a_failed_attempt(world: World) -> None:
    """What breaks its contract is a failure like any other, with its class and message."""
    hint = await a_hint(world)

    async def broken(invocation: Invocation) -> UserResult:
        raise ZeroDivisionError("division by zero")

    world.runner.does = broken
    await worked(world, hint)

    row = await world.only_execution()
    assert row.error is not None
    assert (row.state, row.error.error_class, row.error.message) == (
        State.RETRY,
        "ZeroDivisionError",
        "division by zero",
    )


async def test_a_target_that_no_runner_knows_is_dead_with_a_word(world: World) -> None:
    """Trying again on the same fleet is of no use; the error says what this worker runs."""
    hint = await a_hint(world, target={"type": "http", "url": "https://example.com/hook"})

    await worked(world, hint)

    row = await world.only_execution()
    assert row.error is not None
    assert (row.state, row.error.error_class) == (State.DEAD, "UnknownTarget")
    assert "python" in row.error.message


@pytest.mark.sem("SEM-TICK-1")
@pytest.mark.parametrize("early_ms", [1, 900, 2_000])
async def test_nothing_starts_before_its_time(world: World, early_ms: int) -> None:
    """A queue may deliver a little early: the worker waits for the instant."""
    await world.submit(schedule={"runAt": world.text(4_000)})
    hint = hint_of(await world.only_execution())
    world.clock.advance(4_000 - early_ms)

    await worked(world, hint)

    assert [start.at for start in world.runner.starts] == [hint.due_at]


async def test_a_hint_that_is_much_too_early_is_shown_again_at_its_time(world: World) -> None:
    """A worker does not keep a place for seconds to come."""
    await world.submit(schedule={"runAt": world.text(5_000)})
    hint = hint_of(await world.only_execution())

    assert await worked(world, hint) == NotNow(after_ms=5_000)


@pytest.mark.sem("SEM-DRAIN-1", "SEM-RETRY-3")
async def test_a_draining_worker_gives_the_claim_back(world: World) -> None:
    """It is to let go of everything: the run goes to another worker at once, and no attempt is counted."""
    hint = await a_hint(world)
    takes(world, HOUR)
    worker = world.worker()
    drained = _after(world, 20_000, worker)
    world.runner.does, does = drained(world.runner.does), world.runner.does

    answer = await work(worker, hint)

    row = await world.only_execution()
    assert (answer, row.state, row.reason, row.attempt) == (Over(), State.RETRY, Reason.GIVEN_BACK, 0)
    assert row.retry_at == world.clock.now()
    assert await world.hints() == 1
    assert does is not None


def _after(
    world: World, duration_ms: int, worker: Worker
) -> Callable[[Callable[[Invocation], Awaitable[UserResult]] | None], Callable[[Invocation], Awaitable[UserResult]]]:
    def around(
        does: Callable[[Invocation], Awaitable[UserResult]] | None,
    ) -> Callable[[Invocation], Awaitable[UserResult]]:
        async def drains(invocation: Invocation) -> UserResult:
            assert does is not None
            await world.clock.sleep_ms(duration_ms)
            worker.draining.set_result(None)
            return await does(invocation)

        return drains

    return around


@pytest.mark.sem("SEM-RETRY-1")
async def test_one_job_that_fails_twice_counts_right(world: World) -> None:
    """Three attempts, one execution, one success, and nothing left in any queue (B185)."""
    await a_minutely_job(world, 1)

    async def flaky(invocation: Invocation) -> UserResult:
        if invocation.execution.attempt < 3:
            return Failure(error=an_error("Flaky", f"attempt {invocation.execution.attempt}"))
        return Success()

    world.runner.does = flaky
    await world.drain()

    counts = world.telemetry.counts
    assert [start.attempt for start in world.runner.starts] == [1, 2, 3]
    assert (counts[EventName.EXECUTION_QUEUED], counts[EventName.EXECUTION_SUCCEEDED]) == (1, 1)
    assert (counts[EventName.EXECUTION_RETRYING], counts[EventName.EXECUTION_CLAIMED]) == (2, 3)
    await check_all(world)


@pytest.mark.sem("SEM-RETRY-1", "SEM-DEAD-1")
async def test_attempts_used_up_end_in_a_letter(world: World) -> None:
    """After the last attempt: DEAD, on the attention list, with one letter and the last error."""
    await a_minutely_job(world, 1)
    takes(world, 0, Failure(error=an_error("Flaky", "always")))

    await world.drain()

    row = await world.only_execution()
    assert (row.state, row.reason, row.attempt) == (State.DEAD, Reason.FAILED, 3)
    assert row.failed_at is not None
    assert [letter.ref for letter in await world.dead_letters()] == [row.ref]
    attention = await world.kit.store.attention_eventually(TENANT, limit=10)
    assert list(attention.items) == [row.ref]


@pytest.mark.sem("SEM-RETRY-4")
async def test_a_fatal_failure_is_not_tried_again(world: World) -> None:
    """The target says that it is of no use."""
    await a_minutely_job(world, 1)
    takes(world, 0, Fatal(error=an_error("Broken", "for good")))

    await world.drain()

    row = await world.only_execution()
    assert (row.state, row.reason, len(world.runner.starts)) == (State.DEAD, Reason.FATAL, 1)


async def test_a_letter_that_cannot_be_sent_stays_owed_and_the_hint_comes_again(world: World) -> None:
    """The queue of the dead is down: DEAD is written, the letter follows when the hint comes again."""
    hint = await a_hint(world)
    takes(world, 0, Fatal(error=an_error("Broken", "for good")))
    worker = world.worker(world.a_process(Down(frozenset({"send_dead"}))))
    assert worker.worker_id == WorkerId("worker-1")

    answer = await work(worker, hint)

    assert isinstance(answer, NotNow)
    assert (await world.only_execution()).owed
    assert await worked(world, hint) == Over()
    assert not (await world.only_execution()).owed
    assert len(await world.dead_letters()) == 1
