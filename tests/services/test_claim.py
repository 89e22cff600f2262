"""Claim: one worker an attempt, and a refusal that says why and repairs what it finds."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from tests.support.builders import TENANT
from tests.support.clocks import SkewedClock
from tests.support.faulty import AnswerT, Call, Down, Fate, Interject, Script
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import HOUR, MINUTE, a_minutely_job, claimed, fired, lease_over_ms, running
from tickwright.adapters.embedded.entities import EXECUTIONS
from tickwright.domain.attempts import Failure, RetryLater, Success, UserResult, an_error
from tickwright.domain.changes.executions import Claim
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import Epoch, WorkerId
from tickwright.domain.transitions import State
from tickwright.loops.worker import run_hints
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.runner import Invocation
from tickwright.services.cancel import cancel_execution
from tickwright.services.claim import Claimed, NotNow, Over, Wanted, claim
from tickwright.services.kit import Kit
from tickwright.services.report import heartbeat, report


async def asked(kit: Kit, execution: Execution, worker: str = "worker-9") -> Claimed | Over | NotNow:
    """What a worker is told that wants an execution."""
    (answer,) = await claim(kit, [Wanted(ref=execution.ref, timeout_ms=300_000)], WorkerId(worker))
    return answer


async def queued(world: World, **body: object) -> Execution:
    """An execution whose time has come."""
    await a_minutely_job(world, 1, **body)
    world.clock.advance(MINUTE)
    return await fired(world)


@pytest.mark.sem("SEM-LEASE-1")
async def test_of_two_workers_one_gets_it(world: World) -> None:
    """The first claim raises epoch and attempt and grants a lease; the second is told when that lease ends."""
    execution = await queued(world)

    first, second = await asked(world.kit, execution, "a"), await asked(world.kit, execution, "b")

    assert isinstance(first, Claimed)
    row = first.execution
    assert (row.state, row.lease_epoch, row.attempt, row.lease_owner) == (State.RUNNING, 1, 1, "a")
    assert row.lease_until == world.clock.now() + world.durations.lease_ms
    assert second == NotNow(after_ms=lease_over_ms(world))


@pytest.mark.sem("SEM-LEASE-1")
async def test_a_lease_is_taken_over_by_twice_the_clock_error_and_not_before(world: World) -> None:
    """Two machines' clocks may differ by that much: a claim at its very end is refused, a millisecond later granted."""
    held = await running(world)
    world.clock.advance(lease_over_ms(world) - 1)
    early = await asked(world.kit, held)
    world.clock.advance(1)

    late = await asked(world.kit, held)

    assert early == NotNow(after_ms=1)
    assert isinstance(late, Claimed)
    assert (late.execution.lease_epoch, late.execution.attempt) == (2, 2)


@pytest.mark.sem("SEM-LEASE-1")
@pytest.mark.parametrize("skew_ms", [-1_000, 1_000])
async def test_no_two_hold_it_while_clocks_differ_by_the_assumed_error(world: World, skew_ms: int) -> None:
    """A worker whose clock is a second off cannot take a lease that its holder may still count on (B123)."""
    held = await running(world)
    other = world.a_process(clock=SkewedClock(world.clock, skew_ms))

    world.clock.advance(world.durations.lease_ms)

    assert isinstance(await asked(other, held), NotNow)


@pytest.mark.sem("SEM-LEASE-2")
async def test_a_claim_whose_reply_was_lost_is_ones_own(world: World) -> None:
    """The store tries again, finds the fresh token, and answers the claim as granted: no attempt is burnt."""
    execution = await queued(world, retryPolicy={"maxAttempts": 1})

    answer = await asked(world.a_process(_RepliesLost()), execution)

    assert isinstance(answer, Claimed)
    assert (answer.execution.attempt, answer.execution.lease_epoch) == (1, 1)


class _RepliesLost:
    """Each write arrives, its reply is lost, and the store's adapter sends it again."""

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        if call.writes:
            await do()
        return await do()


@pytest.mark.sem("SEM-LEASE-2")
async def test_an_unknown_outcome_gives_the_hint_back(world: World) -> None:
    """A claim that may have won is found held, and taken over when its lease is over: late, never twice at once."""
    await queued(world)
    (received,) = await world.receive()
    kit = world.a_process(Script(of=Claim, at=1, fate=Fate.LOST_AFTER))

    await world.work_on(world.worker(kit), received)
    await world.drain()

    assert [start.epoch for start in world.runner.starts] == [2]
    await check_all(world)


@pytest.mark.sem("SEM-LEASE-2")
async def test_a_finished_one_is_over(world: World) -> None:
    """A hint that comes again after the end is deleted, and nothing runs."""
    execution = await queued(world)
    await world.work()

    assert await asked(world.kit, execution) == Over()
    assert len(world.runner.starts) == 1


@pytest.mark.sem("SEM-LEASE-2")
async def test_a_dead_one_that_owes_is_settled_by_the_refused_claim(world: World) -> None:
    """The redelivered hint of a worker that died before its letter was sent does what is left."""
    held = await running(world, retryPolicy={"maxAttempts": 1})
    down = world.a_process(Down(frozenset({"send_dead"})))
    with pytest.raises(Exception, match="send_dead"):
        await report(down, held, Failure(error=an_error("Broken", "for good")))

    answer = await asked(world.kit, held)

    assert answer == Over()
    assert not next(iter(await world.executions())).owed
    assert len(await world.dead_letters()) == 1


@pytest.mark.sem("SEM-LEASE-2")
async def test_the_last_attempt_of_a_dead_worker_is_reaped_at_once(world: World) -> None:
    """Lease over and no attempt left: the claim is refused and ends it as DEAD(lease_expired) (R17)."""
    held = await running(world, retryPolicy={"maxAttempts": 1})
    world.clock.advance(lease_over_ms(world))

    answer = await asked(world.kit, held)

    row = next(iter(await world.executions()))
    assert (answer, row.state, row.reason) == (Over(), State.DEAD, Reason.LEASE_EXPIRED)


@pytest.mark.sem("SEM-LEASE-2")
async def test_a_stopping_one_whose_lease_is_over_is_cancelled_at_once(world: World) -> None:
    """CANCELLING and its worker is gone: the refused claim ends it (W25)."""
    held = await running(world)
    await cancel_execution(world.kit, TENANT, held.ref.id)
    world.clock.advance(lease_over_ms(world))

    answer = await asked(world.kit, held)

    assert (answer, next(iter(await world.executions())).state) == (Over(), State.CANCELLED)


@pytest.mark.sem("SEM-LEASE-2")
async def test_a_holder_that_lives_after_all_keeps_its_hint(world: World) -> None:
    """Its heartbeat comes between the look and the reap: the reap is refused, and the hint comes again later."""
    held = await running(world, retryPolicy={"maxAttempts": 1})
    world.clock.advance(lease_over_ms(world))
    beats = Interject("definition", lambda: heartbeat(world.kit, held, held.lease_epoch))

    answer = await asked(world.a_process(beats), held)

    assert answer == NotNow(after_ms=world.durations.lease_ms)


@pytest.mark.sem("SEM-LEASE-2")
async def test_a_retry_is_shown_again_at_its_time(world: World) -> None:
    """Too early: the hint waits as long as the backoff."""
    held = await running(world, retryPolicy={"backoff": {"initialSec": 100, "jitter": "none"}})
    await report(world.kit, held, Failure(error=an_error("Flaky", "once")))

    assert await asked(world.kit, held) == NotNow(after_ms=100_000)


@pytest.mark.sem("SEM-LEASE-2")
async def test_what_waits_on_an_index_needs_no_hint(world: World) -> None:
    """Its list sends a fresh one when its time has come."""
    held = await running(world)
    await report(world.kit, held, RetryLater(after_s=3_600))

    assert await asked(world.kit, held) == Over()


async def test_a_hint_without_its_row_is_over(world: World) -> None:
    """A hint is sent after the insert: a missing row has been forgotten since."""
    execution = await queued(world)
    await world.forget(execution)

    assert await asked(world.kit, execution) == Over()


async def test_a_retry_past_its_run_deadline_expires_when_it_is_asked_for(world: World) -> None:
    """The refused claim of one that waits for a backoff that it will not see ends it."""
    held = await running(world, runDeadlineSec=300, retryPolicy={"backoff": {"initialSec": 200, "jitter": "none"}})
    await report(world.kit, held, Failure(error=an_error("Flaky", "once")))
    world.clock.advance(HOUR)
    behind = world.a_process(clock=SkewedClock(world.clock, 0))
    row = next(iter(await world.executions()))
    assert row.run_deadline_at is not None

    await world.work(behind)

    row = next(iter(await world.executions()))
    assert (row.state, row.reason) == (State.DEAD, Reason.EXPIRED)
    assert world.runner.starts == []


async def test_the_claims_of_a_batch_stand_when_a_repair_beside_them_fails(world: World) -> None:
    """Two hints together: the first needs a reap whose letter cannot be sent, the second starts all the same."""
    for _ in range(2):
        await world.submit(schedule={"runAt": world.text(2_000)}, retryPolicy={"maxAttempts": 1})
    world.clock.advance(2_000)
    first, second = await world.executions()
    await claimed(world, first)
    world.clock.advance(lease_over_ms(world))
    received = await world.receive()

    answers = await run_hints(world.worker(world.a_process(Down(frozenset({"send_dead"})))), received)

    assert [start.execution_id for start in world.runner.starts] == [second.ref.id]
    assert sorted(type(answer).__name__ for answer in answers) == ["NotNow", "Over"]
    await world.drain()
    await check_all(world)


async def test_how_late_a_retry_starts_is_counted_from_the_end_of_its_backoff(world: World) -> None:
    """The wait that its policy demands is no lag of the platform's; of a first attempt all of it is."""

    async def fails(_invocation: Invocation) -> UserResult:
        return Failure(error=an_error("Broken", "once"))

    world.runner.does = fails
    execution = await queued(world)
    world.clock.advance(700)
    await run_hints(world.worker(), await world.receive())
    row = await world.only_execution(execution.job_id)
    assert row.retry_at is not None
    world.clock.advance(row.retry_at + 300 - world.clock.now())
    await run_hints(world.worker(), await world.receive())

    claims = [one for one in world.telemetry.happenings if one.name is EventName.EXECUTION_CLAIMED]
    first, second = [(one.measured["attempt"], one.measured["startLagMs"]) for one in claims]
    assert {one.about["lane"] for one in claims} == {row.lane.value}
    assert row.retry_at - execution.scheduled_at > 1_000
    assert (first, second) == ((1, 700), (2, 300))


@pytest.mark.sem("SEM-RETRY-1")
async def test_a_run_that_kills_its_worker_uses_its_attempts_up(world: World) -> None:
    """Attempts count at the claim: three workers die of it, and it is DEAD, with a letter (B143)."""
    execution = await queued(world)
    for attempt in range(1, 4):
        answer = await asked(world.kit, execution)
        assert isinstance(answer, Claimed)
        assert answer.execution.attempt == attempt
        world.clock.advance(lease_over_ms(world))

    answer = await asked(world.kit, execution)

    row = await world.only_execution()
    assert (answer, row.state, row.reason, row.attempt) == (Over(), State.DEAD, Reason.LEASE_EXPIRED, 3)
    assert len(await world.dead_letters()) == 1
    assert isinstance(await asked(world.kit, execution), Over)


@pytest.mark.sem("SEM-FENCE-1")
async def test_the_epoch_never_falls(world: World) -> None:
    """Through claims, failures, give-backs and take-overs it rises by one at each claim, and only then."""
    execution = await queued(world, retryPolicy={"maxAttempts": 5, "backoff": {"initialSec": 0}})
    epochs = []
    for result in (Failure(error=an_error("Flaky", "1")), RetryLater(after_s=0), None, Success()):
        answer = await asked(world.kit, execution)
        assert isinstance(answer, Claimed)
        epochs.append(answer.execution.lease_epoch)
        if result is None:
            world.clock.advance(lease_over_ms(world))
        else:
            await report(world.kit, answer.execution, result)
            epochs.append((await world.only_execution()).lease_epoch)

    assert epochs == [1, 1, 2, 2, 3, 4, 4]


@pytest.mark.sem("SEM-EPOCH-1")
@pytest.mark.parametrize(("told", "stands"), [(0, 0), (0, 50_003), (50_003, 7)])
async def test_a_hint_of_another_era_than_its_row_costs_one_more_write(world: World, told: int, stands: int) -> None:
    """A hint says at which epoch it was sent: where the row is elsewhere by now, the other form is tried."""
    execution = await queued(world)
    await set_epoch(world, execution, stands)
    kit = replace(world.kit, era=Era(base=Epoch(50_000)))
    wanted = Wanted(ref=execution.ref, timeout_ms=300_000, epoch=Epoch(told))

    (answer,) = await claim(kit, [wanted], WorkerId("worker-9"))

    assert isinstance(answer, Claimed)
    assert answer.execution.lease_epoch == max(50_000, stands) + 1


@pytest.mark.sem("SEM-EPOCH-1")
async def test_of_a_batch_each_is_claimed_by_its_own_era(world: World) -> None:
    """One that was left by an installation before this one stands beside one that this one has claimed already."""
    rows = [await queued(world), await queued(world)]
    await set_epoch(world, rows[1], 50_001)
    kit = replace(world.kit, era=Era(base=Epoch(50_000)))

    answers = await claim(kit, [Wanted(ref=row.ref, timeout_ms=300_000) for row in rows], WorkerId("worker-9"))

    assert [answer.execution.lease_epoch for answer in answers if isinstance(answer, Claimed)] == [50_001, 50_002]


@pytest.mark.sem("SEM-EPOCH-2")
async def test_what_was_claimed_as_often_as_an_era_has_epochs_ends_at_its_deadline(world: World) -> None:
    """Nobody is handed a later epoch: its hints are deleted, and the watch ends it when its time is over."""
    execution = await queued(world, runDeadlineSec=600)
    await set_epoch(world, execution, FIRST_ERA.highest)

    refused = await asked(world.kit, execution)
    await world.drain()

    assert refused == Over()
    row = await world.only_execution()
    assert (row.state, row.reason, row.lease_epoch) == (State.DEAD, Reason.EXPIRED, FIRST_ERA.highest)
    assert world.runner.starts == []


async def set_epoch(world: World, execution: Execution, epoch: int) -> None:
    """Make a row be at an epoch, as one is that was restored, or was claimed so often."""
    row = replace(execution, lease_epoch=Epoch(epoch))
    doc = EXECUTIONS.codec.dump(row)
    where = "UPDATE executions SET doc = ? WHERE job_id = ? AND key = ?"
    await world.database.write(lambda connection: connection.execute(where, (doc, *row.ref)), StoreUnavailable)
