"""Rows on leases, clocks and zombies: who may write, from when, and who is too late."""

import pytest

from tests.support.builders import TENANT
from tests.support.clocks import SkewedClock
from tests.support.faulty import Interject
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import MINUTE, a_minutely_job, a_worker, claimed, fired, for_a_while, lease_over_ms, running
from tickwright.domain.attempts import Failure, Success, UserResult, an_error
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.runner import Invocation
from tickwright.services.cancel import cancel_execution
from tickwright.services.change_job import cancel_job
from tickwright.services.claim import Claimed, NotNow, Wanted, claim
from tickwright.services.end import reap
from tickwright.services.leases import Leases, holds, take
from tickwright.services.report import heartbeat, report, report_success
from tickwright.services.resolve import resolve


@pytest.mark.sem("SEM-FENCE-1")
async def test_b121_a_paused_worker_cannot_write_after_its_successor(world: World) -> None:
    """A stalls past its lease, B takes over and finishes, A wakes and reports: refused, and B's result stands."""
    a = await running(world)
    world.clock.advance(lease_over_ms(world))
    b = await claimed(world, a, "b")
    await report(world.kit, b, Success(result='"b"'))

    answer = await report(world.kit, a, Success(result='"a"'))

    assert isinstance(answer, Refusal)
    assert answer.code is Code.LEASE_LOST
    row = next(iter(await world.executions()))
    assert (row.result, row.lease_epoch, a.lease_epoch) == ('"b"', 2, 1)


@pytest.mark.sem("SEM-FENCE-1")
async def test_b121_a_paused_worker_cannot_write_while_its_successor_runs(world: World) -> None:
    """The same in the middle of B's attempt: A's result does not end it."""
    a = await running(world)
    world.clock.advance(lease_over_ms(world))
    b = await claimed(world, a, "b")

    await report(world.kit, a, Success(result='"a"'))

    assert next(iter(await world.executions())) == b


@pytest.mark.sem("SEM-LEASE-1")
async def test_b122_a_dead_holders_lease_is_taken_at_the_first_poll_after_it_is_over(world: World) -> None:
    """No watching for a whole lease, no waiting without an end: a worker that polls once a minute gets it."""
    held = await running(world)
    waits = 0
    while True:
        world.clock.advance(MINUTE)
        waits += 1
        (answer,) = await claim(world.kit, [Wanted(ref=held.ref, timeout_ms=60_000)], WorkerId("next"))
        if isinstance(answer, Claimed):
            break

    assert waits == 2  # the lease is over after one minute and its bound


@pytest.mark.sem("SEM-LEASE-1")
async def test_b123_clocks_that_differ_make_no_two_holders(world: World) -> None:
    """Every skew within the bound, in both directions: a take-over is granted only after the holder has let go."""
    held = await running(world)
    e_ms = world.durations.clock_error_ms
    holder_lets_go = (held.lease_until or 0) - e_ms
    for skew_ms in range(-e_ms, e_ms + 1, 250):
        other = world.a_process(clock=SkewedClock(world.clock, skew_ms))
        world.clock.set(Instant(holder_lets_go))

        (answer,) = await claim(other, [Wanted(ref=held.ref, timeout_ms=60_000)], WorkerId("other"))

        assert isinstance(answer, NotNow)


@pytest.mark.sem("SEM-BUCKET-1")
async def test_b124_holders_count_from_before_their_write_and_takers_from_after_their_read(world: World) -> None:
    """A read and a write that take three seconds each: leases grow longer for others, shorter for oneself."""
    holder, taker = Leases(owner="holder"), Leases(owner="taker")

    async def slow() -> None:
        world.clock.advance(3_000)

    await take(world.a_process(Interject("write", slow, after=True)), holder, 0)
    await take(world.a_process(Interject("lease", slow)), taker, 0)
    world.clock.advance(world.durations.bucket_lease_ms - 6_001)
    still_held = holds(world.kit, holder, 0)
    world.clock.advance(6_000)

    taken = await take(world.kit, taker, 0)

    assert (still_held, holds(world.kit, holder, 0), taken) == (True, False, False)


@pytest.mark.sem("SEM-LEASE-3")
async def test_b126_a_heartbeat_survives_one_error(world: World) -> None:
    """The third beat fails; the run goes on, is not handed to anybody else, and ends by one attempt."""
    await world.submit(schedule={"runAt": world.text(1_000)})

    async def two_minutes(invocation: Invocation) -> UserResult:
        await world.clock.sleep_ms(2 * MINUTE)
        return Success()

    world.runner.does = two_minutes
    tap = Interject("write", _fails, nth=4)
    await for_a_while(world, 3 * MINUTE, a_worker(world, world.a_process(tap)))

    row = await world.only_execution()
    assert (row.state, row.attempt, len(world.runner.starts)) == (State.SUCCEEDED, 1, 1)


async def _fails() -> None:
    raise StoreUnavailable("one connection error")


@pytest.mark.sem("SEM-LEASE-3")
async def test_b127_a_heartbeat_in_flight_revives_nothing(world: World) -> None:
    """The run has ended, or was given back, when the beat arrives: the row stays as it is."""
    held = await running(world)
    await report(world.kit, held, Success())
    ended = next(iter(await world.executions()))

    late = await heartbeat(world.kit, held, held.lease_epoch)

    assert isinstance(late, Refusal)
    assert next(iter(await world.executions())) == ended


async def test_b128_a_rows_time_to_live_is_in_seconds(world: World) -> None:
    """And nothing waits for it: a lease is judged by its own instant."""
    held = await running(world)
    ended = await report(world.kit, held, Success())

    assert isinstance(ended, Execution)
    assert ended.ttl == world.clock.now() // 1_000 + world.kit.retention_s
    assert held.ttl is None


@pytest.mark.sem("SEM-BUCKET-1")
async def test_b133_a_worker_that_starts_again_under_its_name_does_not_keep_orphans_alive(world: World) -> None:
    """A lease belongs to a claim, not to a name: the old run is free when its lease is over, whoever is called so."""
    held = await running(world)
    reborn = a_worker(world, name="worker-0")
    assert held.lease_owner == "worker-0"

    await for_a_while(world, 3 * MINUTE, reborn)

    row = next(iter(await world.executions()))
    assert (row.state, row.attempt) == (State.SUCCEEDED, 2)


@pytest.mark.sem("SEM-LEASE-3")
async def test_b135_a_run_longer_than_the_lease_and_the_visibility_is_handed_to_nobody_else(world: World) -> None:
    """Twenty minutes under a lease of one, beside another worker that sees its message again every minute."""
    await world.submit(schedule={"runAt": world.text(1_000)}, timeoutSec=3_600)

    async def twenty_minutes(invocation: Invocation) -> UserResult:
        await world.clock.sleep_ms(20 * MINUTE)
        return Success()

    world.runner.does = twenty_minutes
    await for_a_while(world, 21 * MINUTE, a_worker(world, name="w1"), a_worker(world, world.a_process(), "w2"))

    row = await world.only_execution()
    assert (row.state, row.attempt, len(world.runner.starts)) == (State.SUCCEEDED, 1, 1)
    assert await world.hints() == 0


@pytest.mark.sem("SEM-FENCE-1")
async def test_b136_a_late_reaper_and_a_repeated_report_leave_a_success_a_success(world: World) -> None:
    """The reaper read the row a second before the success; the report is sent twice."""
    held = await running(world)
    world.clock.advance(lease_over_ms(world))
    once = await report_success(world.kit, TENANT, held.ref.id, epoch=1, result=None)

    await reap(world.kit, held)
    again = await report_success(world.kit, TENANT, held.ref.id, epoch=1, result=None)

    assert isinstance(once, Execution)
    assert again == once
    assert next(iter(await world.executions())).state is State.SUCCEEDED
    assert world.telemetry.counts[EventName.EXECUTION_REAPED] == 0


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_b138_a_lost_attempt_is_told_of_once(world: World) -> None:
    """Three reapers find the same dead run on the same reading: one failure, one event."""
    held = await running(world)
    world.clock.advance(lease_over_ms(world))
    (page, *_) = await world.pages()

    await reap(world.kit, held)
    await reap(world.a_process(), held)
    await resolve(world.kit, page)

    assert world.telemetry.counts[EventName.EXECUTION_REAPED] == 1
    row = next(iter(await world.executions()))
    assert (row.state, row.reason, row.attempt) == (State.RETRY, Reason.LEASE_EXPIRED, 1)


@pytest.mark.sem("SEM-FENCE-1")
async def test_a_reaper_with_an_old_reading_ends_nothing_of_a_successor(world: World) -> None:
    """It judged the first lease; by now the second one is over too, and that one it has not looked at."""
    first = await running(world)
    world.clock.advance(lease_over_ms(world))
    second = await claimed(world, first, "second")
    world.clock.advance(lease_over_ms(world))

    await reap(world.kit, first)

    assert next(iter(await world.executions())) == second


async def test_b143_a_job_that_kills_its_workers_ends_after_its_attempts(world: World) -> None:
    """Three workers claim it and are never heard of again: three attempts, a letter, and other runs are not harmed."""
    job = await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    execution = await fired(world)
    for number in range(3):
        await claimed(world, execution, f"victim-{number}")
        world.clock.advance(lease_over_ms(world))
    other = await world.submit(schedule={"runAt": world.text(1_000)})

    await world.drain()

    row = await world.only_execution(job.job_id)
    assert (row.state, row.reason, row.attempt) == (State.DEAD, Reason.LEASE_EXPIRED, 3)
    assert len(await world.dead_letters()) == 1
    assert (await world.only_execution(other.job_id)).state is State.SUCCEEDED
    await check_all(world)


async def test_b144_a_message_of_a_leased_run_comes_back_when_the_lease_may_be_over(world: World) -> None:
    """A hundred doubles of runs that are held: each is received once a lease, not once a second."""
    kit, _, queue = world.a_process_with()
    queue.copies = 101
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    await claimed(world, await fired(world, kit))
    loop = WorkerLoop(world.kit, {"python": world.runner}, WorkerId("w"))

    await for_a_while(world, 30_000, loop)

    refused = world.telemetry.counts[EventName.CLAIM_REFUSED]
    assert refused <= 101
    assert world.runner.starts == []


# --- cancellation -----------------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-CANCEL-3", "SEM-CANCEL-4")
async def test_b170_a_cancel_just_before_the_end_stays_a_cancel(world: World) -> None:
    """Ten milliseconds before the end: the result is not taken; ten after it: the cancel is refused."""
    early = await running(world)
    await cancel_execution(world.kit, TENANT, early.ref.id)
    world.clock.advance(10)
    await report(world.kit, early, Success(result='"done"'))

    world.clock.advance_to(Instant(early.scheduled_at + MINUTE))
    late = await claimed(world, await fired(world))
    await report(world.kit, late, Success(result='"done"'))
    refused = await cancel_execution(world.kit, TENANT, late.ref.id)

    states = [(row.state, row.result) for row in (await world.executions())[:2]]
    assert states == [(State.CANCELLED, None), (State.SUCCEEDED, '"done"')]
    assert isinstance(refused, Refusal)
    assert refused.code is Code.ALREADY_FINISHED


@pytest.mark.sem("SEM-CANCEL-1")
async def test_b172_each_run_of_a_cancelled_job_ends_in_its_own_way(world: World) -> None:
    """One finished, one running, one queued: SUCCEEDED stays, CANCELLING becomes CANCELLED, CANCELLED at once."""
    job = await a_minutely_job(world, 3, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    await fired(world)
    await world.work()
    world.clock.advance(MINUTE)
    await claimed(world, await fired(world))
    world.clock.advance(MINUTE)
    await fired(world)

    await cancel_job(world.kit, TENANT, job.job_id, None)
    at_the_answer = [row.state for row in await world.executions()]
    await world.drain()

    assert at_the_answer == [State.SUCCEEDED, State.CANCELLING, State.CANCELLED]
    assert [row.state for row in await world.executions()] == [State.SUCCEEDED, State.CANCELLED, State.CANCELLED]


async def test_b185_retries_and_doubles_do_not_skew_the_counts(world: World) -> None:
    """Two failures, one success, and every hint doubled: attempts three, runs one, nothing queued at the end."""
    kit, _, queue = world.a_process_with()
    queue.copies = 2

    async def flaky(invocation: Invocation) -> UserResult:
        attempt = invocation.execution.attempt
        return Success() if attempt == 3 else Failure(error=an_error("Flaky", str(attempt)))

    world.runner.does = flaky
    await world.submit(schedule={"runAt": world.text(60_000)}, retryPolicy={"backoff": {"initialSec": 1}})
    world.clock.advance(MINUTE - 2_000)
    await fired(world, kit)
    await for_a_while(world, MINUTE, a_worker(world, kit))
    await world.drain()

    counts = world.telemetry.counts
    assert [start.attempt for start in world.runner.starts] == [1, 2, 3]
    assert (counts[EventName.EXECUTION_QUEUED], counts[EventName.EXECUTION_SUCCEEDED], await world.hints()) == (1, 1, 0)
    assert counts[EventName.EXECUTION_RETRYING] == 2
