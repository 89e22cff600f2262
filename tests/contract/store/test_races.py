"""Of any number who try at once on any stale reading, does exactly one win, and does nobody's write get lost?

Each contender is a thread with an event loop and a store of its own. Counts, not timing, are asserted: whatever the
order of a round, the promise holds.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import pytest

from tests.contract.places import Place
from tests.contract.racing import race
from tests.contract.store.cases import CLAIM, E_MS, ENDS, ERROR, OVER, TTL
from tests.contract.store.cases_of_jobs import ADVANCE, FIRED, HEAD, bring
from tests.support.builders import (
    JOB,
    LEASE_MS,
    TICK,
    a_head,
    a_job_id,
    a_name_record,
    a_ref,
    an_execution,
    an_id,
    an_idempotency_record,
)
from tickwright.domain.changes.executions import Claim, Failing, Heartbeat, Insert, Reap, Succeed
from tickwright.domain.changes.heads import Occupy, PutHead, Rewrite, StillOpen
from tickwright.domain.changes.moves import Cancel, Stop
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import Epoch, WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobStatus
from tickwright.domain.leases import TakeBucket
from tickwright.domain.tenants import PutIdempotency, PutName
from tickwright.domain.transitions import State
from tickwright.ports.store import AnyChange, Applied, Refused, Store

ResultT = TypeVar("ResultT")
ROUNDS = 100
FEW_ROUNDS = 30
CONTENDERS = 8
INCREMENTS_EACH = 100
TRIES_MAX = 10_000

RUNS = [an_execution(job_id=a_job_id(turn), state=State.RUNNING) for turn in range(ROUNDS)]
QUEUED = [an_execution(job_id=a_job_id(turn)) for turn in range(ROUNDS)]


def prepared(place: Place[Store], work: Callable[[Store], Coroutine[Any, Any, ResultT]]) -> ResultT:
    """Ask a store of the place outside of the race."""

    async def ask() -> ResultT:
        async with place.open() as store:
            return await work(store)

    return asyncio.run(ask())


def insert_all(place: Place[Store], executions: list[Execution]) -> None:
    prepared(place, lambda store: store.write_each([Insert(execution=execution) for execution in executions]))


def writing(change_of: Callable[[int], AnyChange]) -> Callable[[Store, int], Awaitable[Any]]:
    """A contender that carries out one change a round."""

    async def contend(store: Store, turn: int) -> Any:  # noqa: ANN401 - items of any kind
        return await store.write(change_of(turn))

    return contend


def won(results: list[Any]) -> int:
    return sum(isinstance(result, Applied) for result in results)


def a_claim(turn: int, by: int) -> Claim:
    return replace(CLAIM, ref=a_ref(turn), worker=WorkerId(f"worker-{by}"), token=an_id(1_000 * by + turn))


@pytest.mark.sem("SEM-LEASE-1")
def test_of_two_claimers_exactly_one_wins(place: Place[Store]) -> None:
    """In each of a hundred rounds; the other is given the winner's item."""
    insert_all(place, QUEUED)
    claimers = [writing(partial(a_claim, by=by)) for by in (1, 2)]

    rounds = race(place, claimers, rounds=ROUNDS)

    assert [won(results) for results in rounds] == [1] * ROUNDS
    for applied, refused in (sorted(results, key=lambda result: isinstance(result, Refused)) for results in rounds):
        assert refused.old == applied.new
        assert applied.new.lease_epoch == applied.new.attempt == 1


@pytest.mark.sem("SEM-LEASE-1")
def test_of_eight_claimers_exactly_one_wins(place: Place[Store]) -> None:
    """Also in a batch beside others: the same execution in eight batches."""
    insert_all(place, QUEUED[: 2 * FEW_ROUNDS])

    def claimer(by: int) -> Callable[[Store, int], Awaitable[list[Any]]]:
        async def contend(store: Store, turn: int) -> list[Any]:
            return list(await store.write_each([a_claim(2 * turn, by), a_claim(2 * turn + 1, by)]))

        return contend

    rounds = race(place, [claimer(by) for by in range(CONTENDERS)], rounds=FEW_ROUNDS)

    assert [[won(list(side)) for side in zip(*results, strict=True)] for results in rounds] == [[1, 1]] * FEW_ROUNDS


@pytest.mark.sem("SEM-FENCE-1", "SEM-LEASE-2")
def test_a_result_and_a_reap_never_both_count(place: Place[Store]) -> None:
    """The lease is over: the holder's late result and the reaper's verdict race for the same epoch."""
    insert_all(place, RUNS)

    def succeed(turn: int) -> Succeed:
        return Succeed(ref=a_ref(turn), epoch=Epoch(1), result='"late"', **ENDS)

    def reap(turn: int) -> Reap:
        failing = Failing(
            now=OVER,
            reason=Reason.LEASE_EXPIRED,
            error=ERROR,
            retry_at=Instant(OVER + 1_000),
            wait_key=None,
            owed=frozenset(),
            ttl=None,
        )
        ends_at = Instant(TICK + LEASE_MS)
        return Reap(
            ref=a_ref(turn), seen_epoch=Epoch(1), seen_lease_until=ends_at, clock_error_ms=E_MS, failing=failing
        )

    rounds = race(place, [writing(succeed), writing(reap)], rounds=ROUNDS)

    assert [won(results) for results in rounds] == [1] * ROUNDS
    _hold_that_the_store_agrees(place, rounds)


@pytest.mark.sem("SEM-LEASE-2", "SEM-FENCE-1")
def test_a_heartbeat_and_a_takeover_never_both_count(place: Place[Store]) -> None:
    """The lease is over: either the holder keeps it, or another claims and the heartbeat is refused by its epoch."""
    insert_all(place, RUNS)

    def beat(turn: int) -> Heartbeat:
        return Heartbeat(ref=a_ref(turn), epoch=Epoch(1), now=OVER, lease_until=Instant(OVER + LEASE_MS))

    def take_over(turn: int) -> Claim:
        return replace(a_claim(turn, 2), now=OVER)

    rounds = race(place, [writing(beat), writing(take_over)], rounds=ROUNDS)

    assert [won(results) for results in rounds] == [1] * ROUNDS
    _hold_that_the_store_agrees(place, rounds)


@pytest.mark.sem("SEM-CANCEL-1", "SEM-CANCEL-2")
def test_a_result_and_a_cancel_never_both_count(place: Place[Store]) -> None:
    """Either the run has succeeded and cannot be cancelled, or it is asked to stop and its result is refused."""
    insert_all(place, RUNS)

    def succeed(turn: int) -> Succeed:
        return Succeed(ref=a_ref(turn), epoch=Epoch(1), result=None, **ENDS)

    def cancel(turn: int) -> Cancel:
        return Cancel(ref=a_ref(turn), seen_state=State.RUNNING, seen_epoch=Epoch(1), reason=Reason.CANCELLED, **ENDS)

    rounds = race(place, [writing(succeed), writing(cancel)], rounds=ROUNDS)

    assert [won(results) for results in rounds] == [1] * ROUNDS
    _hold_that_the_store_agrees(place, rounds)


@pytest.mark.sem("SEM-CANCEL-1")
def test_a_claim_and_a_cancel_never_both_count(place: Place[Store]) -> None:
    """What was cancelled before it started is never claimed; what was claimed first is not cancelled unseen."""
    insert_all(place, QUEUED)

    def cancel(turn: int) -> Cancel:
        return Cancel(ref=a_ref(turn), seen_state=State.QUEUED, seen_epoch=Epoch(0), reason=Reason.CANCELLED, **ENDS)

    rounds = race(place, [writing(partial(a_claim, by=1)), writing(cancel)], rounds=ROUNDS)

    assert [won(results) for results in rounds] == [1] * ROUNDS
    _hold_that_the_store_agrees(place, rounds)


@pytest.mark.sem("SEM-STORE-5")
def test_ones_own_write_in_flight_twice_is_one_write(place: Place[Store]) -> None:
    """A client that gave up waiting and tried again races with itself: both are told that it won; it counts once."""
    insert_all(place, QUEUED[:FEW_ROUNDS])

    rounds = race(place, [writing(partial(a_claim, by=1))] * 2, rounds=FEW_ROUNDS)

    assert [won(results) for results in rounds] == [2] * FEW_ROUNDS
    assert all(result.new.attempt == 1 for results in rounds for result in results)


@pytest.mark.sem("SEM-TICK-1")
def test_of_two_schedulers_on_one_tick_exactly_one_decides(place: Place[Store]) -> None:
    """The other is given the head that says what was decided, and by it helps (R1)."""
    heads = [replace(HEAD, job_id=a_job_id(turn)) for turn in range(ROUNDS)]
    prepared(place, lambda store: store.write_each([PutHead(head=head) for head in heads]))

    def advance(turn: int, by: int) -> AnyChange:
        return replace(ADVANCE, job_id=a_job_id(turn), fired_at=Instant(TICK + by), takes_active=f"run@{by}")

    rounds = race(place, [writing(partial(advance, by=by)) for by in (1, 2)], rounds=ROUNDS)

    assert [won(results) for results in rounds] == [1] * ROUNDS
    for applied, refused in (sorted(results, key=lambda result: isinstance(result, Refused)) for results in rounds):
        assert refused.old == applied.new
        assert refused.old.fired_through == TICK


@pytest.mark.sem("SEM-CANCEL-1", "SEM-TICK-2")
def test_a_decision_and_a_cancel_of_the_job_are_in_one_order(place: Place[Store]) -> None:
    """The cancel first: the decision is refused. The decision first: the cancel, whose version holds, keeps it."""
    heads = [replace(HEAD, job_id=a_job_id(turn)) for turn in range(ROUNDS)]
    prepared(place, lambda store: store.write_each([PutHead(head=head) for head in heads]))

    def cancel(turn: int) -> Rewrite:
        new = a_head(job_id=a_job_id(turn), status=JobStatus.CANCELLED, version=2, write_token=an_id(turn))
        return Rewrite(new=new, seen_version=1, seen_next_run_at=None, pins_decision=False)

    def advance(turn: int) -> AnyChange:
        return replace(ADVANCE, job_id=a_job_id(turn))

    rounds = race(place, [writing(advance), writing(cancel)], rounds=ROUNDS)

    for turn, (advanced, cancelled) in enumerate(rounds):
        stored = prepared(place, lambda store, turn=turn: store.head(a_job_id(turn)))  # type: ignore[misc]
        assert isinstance(cancelled, Applied)
        assert stored == cancelled.new
        assert stored.status is JobStatus.CANCELLED
        assert stored.fired_through == (TICK if isinstance(advanced, Applied) else None)


async def increment(store: Store, turn: int, *, by: int) -> int:
    """Raise the version of the one head by a write that names the version seen; says how many tries it took."""
    for tries in range(1, TRIES_MAX):
        head = await store.head(JOB)
        assert head is not None
        new = replace(head, version=head.version + 1, write_token=f"{by}.{turn}")
        rewrite = Rewrite(new=new, seen_version=head.version, seen_next_run_at=head.next_run_at, pins_decision=True)
        if isinstance(await store.write(rewrite), Applied):
            return tries
    raise TimeoutError(f"contender {by} never won")


@pytest.mark.sem("SEM-STORE-1")
def test_no_increment_of_eight_contenders_is_lost(place: Place[Store]) -> None:
    """Eight times a hundred version-checked writes of one head, each tried until it wins: its version counts all."""
    prepared(place, lambda store: bring(store, HEAD))

    rounds = race(place, [partial(increment, by=by) for by in range(CONTENDERS)], rounds=INCREMENTS_EACH)

    stored = prepared(place, lambda store: store.head(JOB))
    assert stored is not None
    assert stored.version == 1 + len(rounds) * CONTENDERS == 1 + CONTENDERS * INCREMENTS_EACH


@pytest.mark.sem("SEM-STORE-3")
def test_transactions_that_meet_are_in_one_order(place: Place[Store]) -> None:
    """Two submissions of one request: one creates its job whole, the other nothing at all."""

    def submission(turn: int, by: int) -> list[AnyChange]:
        job_id = a_job_id(2 * turn + by)
        record = an_idempotency_record(key=f"POST {turn}", job_id=job_id, token=f"{by}.{turn}")
        return [
            PutIdempotency(record=record, now=TICK),
            PutName(record=a_name_record(name=f"job-{turn}", job_id=job_id)),
            PutHead(head=a_head(job_id=job_id)),
        ]

    async def submit(store: Store, turn: int, by: int) -> bool:
        outcomes = await store.write_together(submission(turn, by))
        return all(isinstance(outcome, Applied) for outcome in outcomes)

    rounds = race(place, [partial(submit, by=by) for by in (0, 1)], rounds=FEW_ROUNDS)

    assert [sum(results) for results in rounds] == [1] * FEW_ROUNDS
    for turn, results in enumerate(rounds):
        ids = [a_job_id(2 * turn), a_job_id(2 * turn + 1)]
        heads = prepared(place, lambda store, ids=ids: store.heads(ids))  # type: ignore[misc]
        assert list(heads) == [ids[results.index(True)]]


@pytest.mark.sem("SEM-CANCEL-1", "SEM-STORE-3")
def test_no_run_comes_into_being_after_its_job_was_cancelled(place: Place[Store]) -> None:
    """A run by hand checks its job in the transaction that puts it: a cancel before that write refuses it."""
    heads = [replace(HEAD, job_id=a_job_id(turn)) for turn in range(FEW_ROUNDS)]
    prepared(place, lambda store: store.write_each([PutHead(head=head) for head in heads]))

    async def cancel_and_look(store: Store, turn: int) -> bool:
        new = a_head(job_id=a_job_id(turn), status=JobStatus.CANCELLED, version=2, write_token=an_id(turn))
        await store.write(Rewrite(new=new, seen_version=1, seen_next_run_at=None, pins_decision=False))
        return await store.execution(a_ref(turn)) is not None

    async def run_now(store: Store, turn: int) -> bool:
        check = StillOpen(job_id=a_job_id(turn), version=1)
        outcomes = await store.write_together([check, Insert(execution=an_execution(job_id=a_job_id(turn)))])
        return all(isinstance(outcome, Applied) for outcome in outcomes)

    rounds = race(place, [cancel_and_look, run_now], rounds=FEW_ROUNDS)

    assert all(seen_after_cancel == came_into_being for seen_after_cancel, came_into_being in rounds)


@pytest.mark.sem("SEM-BUCKET-1")
def test_of_two_takers_of_a_bucket_exactly_one_wins(place: Place[Store]) -> None:
    """Both have seen that nobody owns it; the epoch tells the winner from all who come later."""

    def take(turn: int, by: int) -> TakeBucket:
        return TakeBucket(bucket=turn, owner=f"loop-{by}", rvn=f"{by}.{turn}", seen_rvn=None)

    rounds = race(place, [writing(partial(take, by=by)) for by in (1, 2)], rounds=FEW_ROUNDS)

    assert [won(results) for results in rounds] == [1] * FEW_ROUNDS


@pytest.mark.sem("SEM-CANCEL-2")
def test_a_stopping_run_ends_once(place: Place[Store]) -> None:
    """The holder says twice that it has stopped, and a zombie of an older epoch says it once: there is one end."""
    stopping = [
        an_execution(job_id=a_job_id(turn), state=State.CANCELLING, lease_epoch=2) for turn in range(FEW_ROUNDS)
    ]
    insert_all(place, stopping)

    def stop(turn: int, epoch: int) -> Stop:
        return Stop(ref=a_ref(turn), epoch=Epoch(epoch), **ENDS)

    rounds = race(place, [writing(partial(stop, epoch=epoch)) for epoch in (2, 2, 1)], rounds=FEW_ROUNDS)

    assert all(isinstance(zombie, Refused) for *_, zombie in rounds)
    assert all(won(results) == 2 for results in rounds)
    assert all(result.new.ttl == TTL for *holders, _ in rounds for result in holders)


@pytest.mark.sem("SEM-TICK-1")
def test_a_tick_has_one_execution_whoever_inserts_it(place: Place[Store]) -> None:
    """Eight put their own idea of the same execution: one is stored, and the seven others are given it."""

    def insert(turn: int, by: int) -> Insert:
        return Insert(execution=an_execution(job_id=a_job_id(turn), created_at=Instant(TICK + by)))

    rounds = race(place, [writing(partial(insert, by=by)) for by in range(CONTENDERS)], rounds=FEW_ROUNDS)

    for results in rounds:
        stored = {result.new if isinstance(result, Applied) else result.old for result in results}
        assert len(stored) == 1
        assert Counter(type(result) for result in results) == {Applied: 1, Refused: CONTENDERS - 1}


def test_whoever_occupies_a_job_has_it_alone(place: Place[Store]) -> None:
    """Two runs by hand of a job that allows no overlap."""
    heads = [replace(FIRED, job_id=a_job_id(turn)) for turn in range(FEW_ROUNDS)]
    prepared(place, lambda store: store.write_each([PutHead(head=head) for head in heads]))

    def occupy(turn: int, by: int) -> Occupy:
        return Occupy(job_id=a_job_id(turn), version=1, seen_active=None, active=f"M#{by}@1")

    rounds = race(place, [writing(partial(occupy, by=by)) for by in (1, 2)], rounds=FEW_ROUNDS)

    assert [won(results) for results in rounds] == [1] * FEW_ROUNDS


def _hold_that_the_store_agrees(place: Place[Store], rounds: list[list[Any]]) -> None:
    """What is stored is what the winner was told, and the loser was given just that."""
    refs = [a_ref(turn) for turn in range(len(rounds))]
    stored = prepared(place, lambda store: store.executions(refs))
    for ref, results in zip(refs, rounds, strict=True):
        (winner,) = [result.new for result in results if isinstance(result, Applied)]
        (loser,) = [result.old for result in results if isinstance(result, Refused)]
        assert winner == loser == stored[ref]
