"""A target says that somebody else goes on with the run: who reports it, until when, and what if nobody does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import AnswerT, Call, Fate, Script
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import (
    MINUTE,
    a_minutely_job,
    a_worker,
    claimed,
    fired,
    for_a_while,
    lease_over_ms,
    running,
    work,
)
from tickwright.domain.attempts import Failure, HandedOver, Success, UserResult, an_error
from tickwright.domain.changes.executions import Heartbeat
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Noted, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.queue import Hint
from tickwright.ports.runner import Invocation
from tickwright.services.cancel import cancel_execution
from tickwright.services.claim import NotNow, Over
from tickwright.services.hints import hint_of
from tickwright.services.report import Extended, heartbeat, report, report_failure, report_heartbeat, report_success

FLAKY = Failure(error=an_error("Flaky", "over there"))


async def a_hint(world: World, **body: object) -> Hint:
    """The hint of an execution whose time has come."""
    await a_minutely_job(world, 1, **body)
    world.clock.advance(MINUTE)
    execution = await fired(world)
    await world.lose_hints()
    return hint_of(execution)


async def hands_over(_invocation: Invocation) -> UserResult:
    """Somebody else goes on with it."""
    return HandedOver()


async def hands_over_once(invocation: Invocation) -> UserResult:
    """The first attempt is handed over, the second is done here."""
    return HandedOver() if invocation.execution.attempt == 1 else Success()


async def a_run_elsewhere(world: World, **body: object) -> Execution:
    """A run that was handed over, as it stands."""
    hint = await a_hint(world, **body)
    world.runner.does = hands_over
    await work(world.worker(), hint)
    return await world.only_execution()


@pytest.mark.sem("SEM-HANDOVER-1")
async def test_a_run_that_was_handed_over_has_its_whole_time_limit(world: World) -> None:
    """The worker is done with it, and so is its hint: its page says when nobody can be at it any more."""
    hint = await a_hint(world, timeoutSec=600)
    world.runner.does = hands_over
    began = world.clock.now()

    answer = await work(world.worker(), hint)

    row = await world.only_execution()
    deadline = began + 600_000
    assert (row.state, row.attempt, row.lease_until, row.deadline_at) == (State.RUNNING, 1, deadline, deadline)
    assert answer == Over()
    assert world.telemetry.counts[EventName.EXECUTION_HANDED_OVER] == 1


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-TIMEOUT-1")
async def test_a_short_run_elsewhere_keeps_its_hint(world: World) -> None:
    """It is over before its page is first looked at: its hint comes again then."""
    hint = await a_hint(world, timeoutSec=60)
    world.runner.does = hands_over

    answer = await work(world.worker(), hint)

    assert answer == NotNow(after_ms=60_000 + 2 * world.durations.clock_error_ms + 1)


@pytest.mark.sem("SEM-HANDOVER-1")
async def test_a_hint_of_a_run_elsewhere_is_kept_by_nobody(world: World) -> None:
    """A double of it that comes later would be in flight until the time limit: it is deleted too."""
    hint = await a_hint(world, timeoutSec=43_200)
    world.runner.does = hands_over
    await work(world.worker(), hint)

    answer = await work(world.worker(), hint)

    assert answer == Over()
    assert (await world.only_execution()).state is State.RUNNING


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-FENCE-1")
async def test_it_ends_by_what_is_reported_with_its_epoch(world: World) -> None:
    """Another epoch is refused; its own ends it, and its hint finds nothing to do any more."""
    await world.submit(schedule={"runAt": world.text(1_000)}, timeoutSec=600)
    world.runner.does = hands_over
    await for_a_while(world, 10_000, a_worker(world))
    held = await world.only_execution()

    other = await report_success(world.kit, TENANT, held.ref.id, epoch=2, result='"other"')
    done = await report_success(world.kit, TENANT, held.ref.id, epoch=1, result='"done"')
    await world.drain()

    row = await world.only_execution()
    assert isinstance(other, Refusal)
    assert done == row
    assert (row.state, row.result, row.attempt) == (State.SUCCEEDED, '"done"', 1)
    assert len(world.runner.starts) == 1
    await check_all(world)


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-RETRY-1")
async def test_a_failure_over_there_is_tried_again_here(world: World) -> None:
    """By the job's policy, with a hint of its own."""
    held = await a_run_elsewhere(world)
    world.runner.does = hands_over_once

    failed = await report_failure(world.kit, TENANT, held.ref.id, epoch=1, failed=FLAKY)
    await world.drain()

    row = await world.only_execution()
    assert isinstance(failed, Execution)
    assert (failed.state, failed.reason) == (State.RETRY, Reason.FAILED)
    assert (row.state, row.attempt) == (State.SUCCEEDED, 2)
    await check_all(world)


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-TIMEOUT-1")
async def test_what_is_never_heard_of_again_ends_at_its_time_limit(world: World) -> None:
    """Nobody reports: the attempt is counted as timed out, and the next one follows."""
    await world.submit(schedule={"runAt": world.text(1_000)}, timeoutSec=600)
    world.runner.does = hands_over_once
    await for_a_while(world, 10_000, a_worker(world))
    limit = (await world.only_execution()).deadline_at

    await world.drain()

    row = await world.only_execution()
    assert (row.state, row.attempt) == (State.SUCCEEDED, 2)
    assert limit is not None
    assert limit + 2 * world.durations.clock_error_ms < world.runner.starts[1].at < limit + MINUTE
    await check_all(world)


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-LEASE-3")
async def test_whoever_sends_a_heartbeat_is_held_to_the_lease(world: World) -> None:
    """From the first one on: then it is silent, and the watch ends the attempt long before its time limit."""
    await world.submit(schedule={"runAt": world.text(1_000)}, timeoutSec=43_200)
    world.runner.does = hands_over_once
    await for_a_while(world, 10_000, a_worker(world))
    held = await world.only_execution()

    told = await report_heartbeat(world.kit, TENANT, held.ref.id, epoch=1, worker="w", noted=Noted(checkpoint="7"))
    await world.drain()

    row = await world.only_execution()
    assert isinstance(told, Extended)
    assert row.state is State.SUCCEEDED
    assert world.runner.starts[1].at - world.runner.starts[0].at < world.durations.recheck_ms_max


@pytest.mark.sem("SEM-HANDOVER-1")
async def test_a_result_that_comes_before_the_hand_over_stands(world: World) -> None:
    """The other side is quicker than its own 202: that is a success, not a zombie's result."""
    hint = await a_hint(world)

    async def quick(invocation: Invocation) -> UserResult:
        await report_success(world.kit, TENANT, invocation.execution.ref.id, epoch=1, result='"quick"')
        return HandedOver()

    world.runner.does = quick
    answer = await work(world.worker(), hint)

    row = await world.only_execution()
    assert (answer, row.state, row.result) == (Over(), State.SUCCEEDED, '"quick"')
    assert world.telemetry.counts[EventName.RESULT_REFUSED] == 0


@pytest.mark.sem("SEM-HANDOVER-1")
async def test_a_failure_that_comes_before_the_hand_over_stands(world: World) -> None:
    """It is in RETRY when the worker says so: nothing is taken from it."""
    hint = await a_hint(world)

    async def quick(invocation: Invocation) -> UserResult:
        await report_failure(world.kit, TENANT, invocation.execution.ref.id, epoch=1, failed=FLAKY)
        return HandedOver()

    world.runner.does = quick
    answer = await work(world.worker(), hint)

    row = await world.only_execution()
    assert (answer, row.state, row.reason) == (Over(), State.RETRY, Reason.FAILED)


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-LEASE-3")
@pytest.mark.parametrize("slow_ms", [1_000, 20_000])
async def test_a_heartbeat_that_comes_before_the_hand_over_stands(world: World, slow_ms: int) -> None:
    """Whoever went on keeps the lease already, also after one that the worker has kept: it is not undone."""
    hint = await a_hint(world, timeoutSec=3_600)

    async def quick(invocation: Invocation) -> UserResult:
        await world.clock.sleep_ms(slow_ms)
        await report_heartbeat(world.kit, TENANT, invocation.execution.ref.id, epoch=1, worker="w")
        return HandedOver()

    world.runner.does = quick
    answer = await work(world.worker(), hint)

    row = await world.only_execution()
    assert row.state is State.RUNNING
    assert row.lease_until == world.clock.now() + world.durations.lease_ms
    assert answer == NotNow(after_ms=world.durations.lease_ms + 2 * world.durations.clock_error_ms + 1)


@dataclass(slots=True)
class First:
    """A process before whose first heartbeat something else happens, between its read and its write."""

    happens: Callable[[], Awaitable[object]] | None

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Once."""
        if self.happens is not None and isinstance(call.what, Heartbeat):
            happens, self.happens = self.happens, None
            await happens()
        return await do()


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-LEASE-3")
async def test_a_heartbeat_that_meets_the_hand_over_holds_to_the_lease_all_the_same(world: World) -> None:
    """It was read before the hand-over and is written after it: read again, it is watched like any other."""
    held = await running(world, timeoutSec=43_200)
    meeting = world.a_process(First(lambda: report(world.kit, held, HandedOver(), held.lease_until)))

    told = await report_heartbeat(meeting, TENANT, held.ref.id, epoch=1, worker="w", noted=Noted(checkpoint="7"))

    row = await world.only_execution()
    assert told == Extended(until=Instant(world.clock.now() + world.durations.lease_ms))
    assert row.lease_until == told.until
    assert world.telemetry.counts[EventName.EXECUTION_HANDED_OVER] == 1
    assert world.clock.now() + lease_over_ms(world) in {page.check_at for page in await world.pages()}


@pytest.mark.sem("SEM-LEASE-3")
async def test_a_heartbeat_that_loses_to_another_each_time_is_to_be_sent_again(world: World) -> None:
    """Somebody else keeps the lease all the time: it is told that it did not come through, not that it is lost."""
    held = await running(world, timeoutSec=43_200)

    async def another() -> None:
        world.clock.advance(1)
        await heartbeat(world.kit, held, held.lease_epoch)
        tap.happens = another

    tap = First(another)
    with pytest.raises(StoreUnavailable, match="by others"):
        await report_heartbeat(world.a_process(tap), TENANT, held.ref.id, epoch=1, worker="w")

    assert (await world.only_execution()).lease_until == world.clock.now() + world.durations.lease_ms


@pytest.mark.sem("SEM-HANDOVER-1")
async def test_only_a_heartbeat_that_takes_time_away_is_watched_by_a_page_of_its_own(world: World) -> None:
    """The first one after the hand-over; those that follow move the lease out, as everybody's do."""
    held = await a_run_elsewhere(world, timeoutSec=43_200)
    pages = len(await world.pages())

    for _ in range(3):
        await report_heartbeat(world.kit, TENANT, held.ref.id, epoch=1, worker="w")
        world.clock.advance(world.durations.heartbeat_ms)

    assert len(await world.pages()) == pages + 1


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-LEASE-3")
async def test_a_worker_that_does_not_know_its_lease_hands_over_all_the_same(world: World) -> None:
    """Its heartbeat was written and not answered: the lease is its own, and whoever goes on has its whole time."""
    hint = await a_hint(world, timeoutSec=3_600)
    shaky = world.a_process(Script(at=1, fate=Fate.LOST_AFTER, of=Heartbeat))

    async def slow(_invocation: Invocation) -> UserResult:
        await world.clock.sleep_ms(20_000)
        return HandedOver()

    world.runner.does = slow
    await work(world.worker(shaky), hint)

    row = await world.only_execution()
    assert (row.state, row.lease_until) == (State.RUNNING, row.deadline_at)


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-CANCEL-4")
async def test_a_cancel_that_meets_a_hand_over_waits_for_whoever_goes_on(world: World) -> None:
    """Cancelled while it was handed over: it is not called stopped by a worker that has not stopped it."""
    hint = await a_hint(world)

    async def is_cancelled(invocation: Invocation) -> UserResult:
        await cancel_execution(world.kit, TENANT, invocation.execution.ref.id)
        return HandedOver()

    world.runner.does = is_cancelled
    answer = await work(world.worker(), hint)
    meanwhile = await world.only_execution()
    beat = await report_heartbeat(world.kit, TENANT, hint.ref.id, epoch=1, worker="w")
    told = await report_success(world.kit, TENANT, hint.ref.id, epoch=1, result='"too late"')

    row = await world.only_execution()
    assert (answer, meanwhile.state) == (Over(), State.CANCELLING)
    assert isinstance(beat, Refusal)
    assert isinstance(told, Refusal)
    assert (beat.code, told.code) == (Code.CANCELLED, Code.CANCELLED)
    assert (row.state, row.result) == (State.CANCELLED, None)


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-CANCEL-4")
async def test_a_cancelled_run_of_somebody_who_is_silent_ends_at_its_time_limit(world: World) -> None:
    """Nobody knows whether it still runs: until then it is CANCELLING, and nothing starts in its place."""
    held = await a_run_elsewhere(world, timeoutSec=600)
    await cancel_execution(world.kit, TENANT, held.ref.id)
    limit = held.deadline_at
    assert limit is not None

    await world.drain_until(limit)
    before = await world.only_execution()
    await world.drain()

    row = await world.only_execution()
    assert (before.state, row.state, row.attempt) == (State.CANCELLING, State.CANCELLED, 1)
    assert (row.finished_at or 0) > limit
    await check_all(world)


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-FENCE-1")
async def test_a_zombie_hands_nothing_over(world: World) -> None:
    """Its lease was lost to a successor: that one's lease stays as it is."""
    hint = await a_hint(world)
    first = await claimed(world, await world.only_execution(), "frozen")
    world.clock.advance(lease_over_ms(world))
    second = await claimed(world, first, "successor")

    answer = await report(world.kit, first, HandedOver())

    assert isinstance(answer, Refusal)
    assert answer.code is Code.LEASE_LOST
    assert await world.only_execution() == second
    assert hint.ref == second.ref


@pytest.mark.sem("SEM-HANDOVER-1", "SEM-DRAIN-1")
async def test_a_draining_worker_has_nothing_to_give_back_of_it(world: World) -> None:
    """It was told to let go when the target had handed the run over: it is elsewhere, and stays there."""
    hint = await a_hint(world)
    worker = world.worker()

    async def drained(invocation: Invocation) -> UserResult:
        await world.clock.sleep_ms(5_000)
        worker.draining.set_result(None)
        await invocation.wait_cancelled()
        return HandedOver()

    world.runner.does = drained
    answer = await work(worker, hint)

    row = await world.only_execution()
    assert answer == Over()
    assert (row.state, row.attempt, row.lease_until) == (State.RUNNING, 1, row.deadline_at)
