"""Code that hangs, kills its worker, is never heard of again or cannot be run: what counts, and when it is over."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import AnswerT, Call
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import DAY, HOUR, MINUTE, a_worker, for_a_while, lease_over_ms
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, HandedOver, NotRun, Success, UserResult, an_error
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Noted, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.limits import STANDARD
from tickwright.domain.suspects import LOST_IN_A_ROW, is_suspect
from tickwright.domain.transitions import State
from tickwright.loops.watch import WatchLoop
from tickwright.ports.runner import Invocation
from tickwright.services.redrive import redrive
from tickwright.services.report import Extended, report_heartbeat

Hangs = Callable[[World, Invocation], Awaitable[UserResult]]
FAST = {"maxAttempts": 3, "backoff": {"initialSec": 1, "jitter": "none"}}


# --- time limits ------------------------------------------------------------------------------------------------
async def _says_that_it_lives(world: World, invocation: Invocation) -> UserResult:
    """It hangs in a loop that sends a heartbeat each second, notes and all, and never looks at the answer."""
    for row in range(HOUR // 1_000):
        await invocation.beat(Noted(checkpoint=str(row)))
        await world.clock.sleep_ms(1_000)
    return Success()


async def _is_deaf(world: World, _invocation: Invocation) -> UserResult:
    """It listens to nobody, and goes on when it is cancelled."""
    try:
        await world.clock.sleep_ms(HOUR)
    except asyncio.CancelledError:
        await world.clock.sleep_ms(HOUR)
    return Success()


@pytest.mark.sem("SEM-TIMEOUT-1", "SEM-RETRY-1")
@pytest.mark.parametrize("hangs", [_says_that_it_lives, _is_deaf])
async def test_hung_code_ends_at_each_attempts_time_limit(world: World, hangs: Hangs) -> None:
    """Whatever it says meanwhile: three attempts of a minute, one after the other, then DEAD(timed_out) (B119)."""
    world.runner.does = lambda invocation: hangs(world, invocation)
    await world.submit(schedule={"runAt": world.text(1_000)}, timeoutSec=60, retryPolicy=FAST)

    await for_a_while(world, 5 * MINUTE, a_worker(world))

    row = await world.only_execution()
    begun = [start.at for start in world.runner.starts]
    assert (row.state, row.reason, row.attempt) == (State.DEAD, Reason.TIMED_OUT, 3)
    assert all(MINUTE <= after - before <= MINUTE + 10_000 for before, after in pairwise(begun))
    assert len(await world.dead_letters()) == 1


@pytest.mark.sem("SEM-TIMEOUT-1")
@pytest.mark.parametrize("hangs", [_says_that_it_lives, _is_deaf])
async def test_hung_code_ends_at_the_deadline_of_the_whole_run(world: World, hangs: Hangs) -> None:
    """In its second attempt of three: no attempt outlives the run, and none follows."""
    world.runner.does = lambda invocation: hangs(world, invocation)
    await world.submit(schedule={"runAt": world.text(1_000)}, timeoutSec=60, runDeadlineSec=90, retryPolicy=FAST)

    await for_a_while(world, 5 * MINUTE, a_worker(world))

    row = await world.only_execution()
    assert (row.state, row.reason, row.attempt) == (State.DEAD, Reason.EXPIRED, 2)
    assert row.run_deadline_at is not None
    assert row.run_deadline_at <= (row.finished_at or 0) <= row.run_deadline_at + 10_000


# --- poison -----------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Life:
    """All that a process asks of store and queue goes through here: once it is over, nothing does."""

    is_over: bool = False

    async def through(self, _call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """No answer ever comes to the dead."""
        if self.is_over:
            await asyncio.Event().wait()
        return await do()


@dataclass(slots=True)
class Fleet:
    """A worker, in whose place another one comes when it is killed."""

    world: World
    lives: list[Life] = field(default_factory=list)
    going: list["asyncio.Task[None]"] = field(default_factory=list)

    def begin(self) -> None:
        """One more worker comes up."""
        self.lives.append(Life())
        loop = a_worker(self.world, self.world.a_process(self.lives[-1]), f"worker-{len(self.lives)}")
        self.going.append(asyncio.create_task(loop.run(asyncio.Event())))

    def kill(self) -> None:
        """It is gone without a word."""
        self.lives[-1].is_over = True

    async def work(self, duration_ms: int) -> None:
        """Beside a watch, for a while."""
        self.begin()
        await for_a_while(self.world, duration_ms, WatchLoop(self.world.kit))
        self.kill()


Poison = Callable[[Fleet, Invocation], Awaitable[UserResult]]


async def _kills_its_worker(fleet: Fleet, _invocation: Invocation) -> UserResult:
    """After a second the machine has no memory left; another one is started."""
    await fleet.world.clock.sleep_ms(1_000)
    fleet.kill()
    fleet.begin()
    await fleet.world.clock.sleep_ms(HOUR)
    return Success()


async def _says_nonsense(_fleet: Fleet, _invocation: Invocation) -> UserResult:
    """It breaks the contract: what it returns is no result."""
    return "done"  # type: ignore[return-value]


async def _raises(_fleet: Fleet, _invocation: Invocation) -> UserResult:
    raise MemoryError


async def _is_never_heard_of_again(_fleet: Fleet, _invocation: Invocation) -> UserResult:
    """Somebody else took it over, and died."""
    return HandedOver()


async def _hangs(fleet: Fleet, invocation: Invocation) -> UserResult:
    return await _is_deaf(fleet.world, invocation)


@pytest.mark.sem("SEM-RETRY-1", "SEM-DEAD-1")
@pytest.mark.parametrize("poison", [_kills_its_worker, _says_nonsense, _raises, _hangs, _is_never_heard_of_again])
async def test_b143_poison_ends_after_its_attempts_whatever_it_does_to_its_worker(poison: Poison) -> None:
    """Three attempts, one letter; a short run beside its first attempt and one after its last are not harmed."""
    world = World(durations=STANDARD.scaled(0.1))
    fleet = Fleet(world)
    bad = await world.submit(schedule={"runAt": world.text(400)}, timeoutSec=6, retryPolicy=FAST)

    async def does(invocation: Invocation) -> UserResult:
        return await poison(fleet, invocation) if invocation.execution.job_id == bad.job_id else Success()

    world.runner.does = does
    beside = await world.submit(schedule={"runAt": world.text(400)})
    await fleet.work(MINUTE)
    after = await world.submit(schedule={"runAt": world.text(400)})
    await fleet.work(10_000)

    row = await world.only_execution(bad.job_id)
    assert (row.state, row.attempt) == (State.DEAD, 3)
    assert [start.attempt for start in world.runner.starts if start.execution_id == row.ref.id] == [1, 2, 3]
    assert [letter.ref for letter in await world.dead_letters()] == [row.ref]
    for head in (beside, after):
        done = await world.only_execution(head.job_id)
        assert (done.state, done.attempt) == (State.SUCCEEDED, 1)
        assert (done.finished_at or 0) - done.scheduled_at < 10_000
    await world.close()


@pytest.mark.sem("SEM-SDK-17", "SEM-RETRY-1")
async def test_b143_whoever_is_beside_poison_is_cut_twice_at_most_and_does_not_die_of_it() -> None:
    """Poison of ten attempts takes its worker along twice, is alone from then on, and is tried no less often."""
    world = World(durations=STANDARD.scaled(0.1))
    fleet = Fleet(world)
    often = {"maxAttempts": 10, "backoff": {"initialSec": 1, "maxSec": 1, "jitter": "none"}}
    bad = await world.submit(schedule={"runAt": world.text(400)}, retryPolicy=often)

    async def does(invocation: Invocation) -> UserResult:
        if invocation.execution.job_id != bad.job_id:
            await world.clock.sleep_ms(20_000)
            return Success()
        if is_suspect(invocation.execution):  # its child dies, and nobody else
            return Failure(error=an_error("ChildKilled", "by SIGKILL"))
        return await _kills_its_worker(fleet, invocation)

    world.runner.does = does
    beside = [await world.submit(schedule={"runAt": world.text(400)}, retryPolicy=FAST) for _ in range(4)]
    await fleet.work(5 * MINUTE)

    row = await world.only_execution(bad.job_id)
    rows = [await world.only_execution(head.job_id) for head in beside]
    assert (row.state, row.attempt, row.reason) == (State.DEAD, 10, Reason.FAILED)
    assert len(fleet.lives) == 1 + LOST_IN_A_ROW
    assert [(one.state, one.attempt) for one in rows] == [(State.SUCCEEDED, 1 + LOST_IN_A_ROW)] * 4
    await world.close()


@pytest.mark.sem("SEM-SDK-17", "SEM-RETRY-1")
@pytest.mark.parametrize("attempts", [1, 2])
async def test_what_was_beside_poison_is_begun_no_more_often_than_its_attempts(attempts: int) -> None:
    """Nobody knows what it had done when its process ended: it is for a person to say that it may begin once more."""
    world = World(durations=STANDARD.scaled(0.1))
    fleet = Fleet(world)
    bad = await world.submit(schedule={"runAt": world.text(400)}, retryPolicy=FAST)

    async def does(invocation: Invocation) -> UserResult:
        if invocation.execution.job_id == bad.job_id and not is_suspect(invocation.execution):
            return await _kills_its_worker(fleet, invocation)
        await world.clock.sleep_ms(20_000)
        return Success()

    world.runner.does = does
    head = await world.submit(schedule={"runAt": world.text(400)}, retryPolicy=FAST | {"maxAttempts": attempts})
    await fleet.work(MINUTE)
    row = await world.only_execution(head.job_id)
    begun = [start.attempt for start in world.runner.starts if start.execution_id == row.ref.id]
    listed = await world.kit.store.attention_eventually(TENANT, limit=10)
    await redrive(world.kit, TENANT, row.ref.id, None)
    await fleet.work(MINUTE)

    assert (row.state, row.reason, row.attempt) == (State.DEAD, Reason.LEASE_EXPIRED, attempts)
    assert begun == list(range(1, attempts + 1))
    assert row.ref in listed.items
    assert (await world.only_execution(head.job_id)).state is State.SUCCEEDED
    await world.close()


# --- elsewhere --------------------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-HANDOVER-1", "SEM-LEASE-3")
@pytest.mark.parametrize("after_ms", [5_000, 10 * MINUTE, 3 * HOUR])
async def test_who_keeps_a_run_elsewhere_and_dies_is_missed_within_a_lease_and_a_look(
    world: World, after_ms: int
) -> None:
    """It was handed over for half a day, and is kept by one heartbeat, soon or late: the next attempt does not wait."""

    async def once(invocation: Invocation) -> UserResult:
        return HandedOver() if invocation.execution.attempt == 1 else Success()

    world.runner.does = once
    await world.submit(schedule={"runAt": world.text(1_000)}, timeoutSec=43_200, retryPolicy=FAST)
    await world.drain_until(Instant(world.clock.now() + after_ms))
    held, kept_at = await world.only_execution(), world.clock.now()

    told = await report_heartbeat(world.kit, TENANT, held.ref.id, epoch=1, worker="elsewhere")
    await world.drain()

    row = await world.only_execution()
    longest_ms = lease_over_ms(world) + world.durations.watch_ms + 1_000  # and the backoff
    assert told == Extended(until=Instant(kept_at + world.durations.lease_ms))
    assert (row.state, row.attempt) == (State.SUCCEEDED, 2)
    assert world.durations.lease_ms < world.runner.starts[1].at - kept_at <= longest_ms
    await check_all(world)


# --- what is no attempt -----------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-RETRY-3")
async def test_a_platform_that_throttles_costs_no_attempt(world: World) -> None:
    """Twenty refusals, each with a wait: then it runs as the first attempt of the only one that it has."""
    refusals = 20

    async def throttled(invocation: Invocation) -> UserResult:
        return NotRun(after_s=5) if invocation.epoch <= refusals else Success()

    world.runner.does = throttled
    await world.submit(schedule={"runAt": world.text(1_000)}, retryPolicy={"maxAttempts": 1})
    await for_a_while(world, 3 * MINUTE, a_worker(world))

    row = await world.only_execution()
    begun = [start.at for start in world.runner.starts]
    assert (row.state, row.attempt, row.lease_epoch) == (State.SUCCEEDED, 1, refusals + 1)
    assert {start.attempt for start in world.runner.starts} == {1}
    assert min(after - before for before, after in pairwise(begun)) >= 5_000
    assert world.telemetry.counts[EventName.EXECUTION_GIVEN_BACK] == refusals
    assert world.telemetry.counts[EventName.EXECUTION_RETRYING] == 0


@pytest.mark.sem("SEM-DRAIN-1", "SEM-RETRY-3")
async def test_workers_that_are_replaced_one_after_the_other_cost_no_attempt(world: World) -> None:
    """A roll-out under a long run: each worker gives it back, with its checkpoint, and the last one finishes it."""
    begun_with: list[Noted | None] = []

    async def long(invocation: Invocation) -> UserResult:
        begun_with.append(invocation.execution.noted)
        await invocation.beat(Noted(checkpoint=str(len(begun_with))))
        if len(begun_with) < 4:
            await invocation.wait_cancelled()
            return NotRun()
        return Success()

    world.runner.does = long
    await world.submit(schedule={"runAt": world.text(1_000)}, timeoutSec=3_600, retryPolicy={"maxAttempts": 1})
    for number in range(4):
        await for_a_while(world, 10_000, a_worker(world, name=f"worker-{number}"))

    row = await world.only_execution()
    assert (row.state, row.attempt, row.noted) == (State.SUCCEEDED, 1, None)
    assert begun_with == [None, Noted(checkpoint="1"), Noted(checkpoint="2"), Noted(checkpoint="3")]


# --- long waits -------------------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-JOURNAL-4", "SEM-RETRY-1", "SEM-RETRY-2")
async def test_a_backoff_of_hours_waits_on_the_index_and_is_over_in_time(world: World) -> None:
    """No message is kept for it; it starts two hours after the failure, and within seconds of that."""

    async def flaky(invocation: Invocation) -> UserResult:
        once = invocation.execution.attempt == 1
        return Failure(error=an_error("Flaky", "once")) if once else Success()

    world.runner.does = flaky
    policy = {"maxAttempts": 2, "backoff": {"initialSec": 7_200, "maxSec": 7_200, "jitter": "none"}}
    await world.submit(schedule={"runAt": world.text(1_000)}, retryPolicy=policy)
    await for_a_while(world, MINUTE, a_worker(world))
    waiting = await world.only_execution()
    assert waiting.retry_at is not None
    assert (waiting.state, waiting.wait_at, await world.hints()) == (State.RETRY, waiting.retry_at, 0)
    assert waiting.retry_at - world.runner.starts[0].at == 2 * HOUR > limits.QUEUE_DELAY_MS_MAX

    await world.drain()

    row = await world.only_execution()
    late_ms = world.runner.starts[1].at - waiting.retry_at
    assert (row.state, row.attempt, row.wait_key) == (State.SUCCEEDED, 2, None)
    assert 0 <= late_ms <= world.durations.watch_ms
    await check_all(world)


# --- the dead ---------------------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-DEAD-1", "SEM-REDRIVE-1")
async def test_b147_what_is_dead_stays_dead_until_somebody_redrives_it(world: World) -> None:
    """A day of loops sends nothing back by itself; each redrive is one more generation, counted in the row."""

    async def broken(_invocation: Invocation) -> UserResult:
        return Failure(error=an_error("Broken", "always"))

    world.runner.does = broken
    await world.submit(schedule={"runAt": world.text(1_000)}, retryPolicy={"maxAttempts": 1})
    for generation in (1, 2, 3):
        await world.drain()
        await world.drain_until(Instant(world.clock.now() + DAY))
        row = await world.only_execution()
        assert (row.state, row.generation, len(world.runner.starts)) == (State.DEAD, generation, generation)
        assert (len(await world.dead_letters()), await world.hints()) == (generation, 0)
        assert isinstance(await redrive(world.kit, TENANT, row.ref.id, None), Execution)
