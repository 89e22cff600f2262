"""Are batches answered write by write, and transactions all or none?"""

from dataclasses import replace

import pytest

from tests.contract.store.cases_of_jobs import bring
from tests.support.builders import (
    JOB,
    TICK,
    WORKER,
    a_definition,
    a_head,
    a_job_id,
    a_name_record,
    an_execution,
    an_id,
    an_idempotency_record,
)
from tickwright.domain import limits
from tickwright.domain.changes.executions import Claim, Insert, Succeed
from tickwright.domain.changes.heads import Occupy, PutDefinition, PutHead, StillOpen
from tickwright.domain.ids import Epoch, ExecutionRef
from tickwright.domain.instants import Instant
from tickwright.domain.tenants import PutIdempotency, PutName
from tickwright.domain.transitions import State
from tickwright.ports.store import AnyChange, Applied, Refused, Store

SEVERAL_BATCHES = 2 * limits.WRITES_A_BATCH + 3
NOW = Instant(TICK + 1_000)


def a_claim(ref: ExecutionRef) -> Claim:
    return Claim(
        ref=ref, worker=WORKER, token=an_id(9), now=NOW, lease_ms=60_000, timeout_ms=300_000, clock_error_ms=1_000
    )


def inserts_of(count: int) -> list[Insert]:
    return [Insert(execution=an_execution(job_id=a_job_id(number))) for number in range(count)]


@pytest.mark.sem("SEM-STORE-2")
async def test_a_batch_of_any_size_is_answered_in_its_order(store: Store) -> None:
    """More than the engine takes at once: each outcome stands where its write stood."""
    inserts = inserts_of(SEVERAL_BATCHES)

    outcomes = await store.write_each(inserts)

    assert outcomes == [Applied(insert.execution) for insert in inserts]


@pytest.mark.sem("SEM-STORE-2")
async def test_each_write_of_a_batch_is_decided_on_its_own(store: Store) -> None:
    """Every third execution is held by another, every third is absent: the others are claimed all the same."""
    held = [an_execution(job_id=a_job_id(number), state=State.RUNNING) for number in range(0, SEVERAL_BATCHES, 3)]
    free = [an_execution(job_id=a_job_id(number)) for number in range(1, SEVERAL_BATCHES, 3)]
    await store.write_each([Insert(execution=execution) for execution in held + free])
    claims = [a_claim(an_execution(job_id=a_job_id(number)).ref) for number in range(SEVERAL_BATCHES)]

    outcomes = await store.write_each(claims)

    stored = {execution.ref: execution for execution in held + free}
    olds = [stored.get(claim.ref) for claim in claims]
    news = [claim.decide(old) for claim, old in zip(claims, olds, strict=True)]
    assert outcomes == [Refused(old) if new is None else Applied(new) for old, new in zip(olds, news, strict=True)]
    assert sum(isinstance(outcome, Applied) for outcome in outcomes) == len(free)


@pytest.mark.sem("SEM-STORE-5")
async def test_a_batch_that_is_seen_twice_is_recognised_as_ones_own(store: Store) -> None:
    """After a lost reply the same claims are sent again: all are mine."""
    inserts = inserts_of(SEVERAL_BATCHES)
    await store.write_each(inserts)
    claims = [a_claim(insert.ref) for insert in inserts]
    first = await store.write_each(claims)

    second = await store.write_each(claims)

    assert second == first


async def test_a_batch_may_hold_writes_of_every_kind(store: Store) -> None:
    """A head, a definition, an execution, a name and a request side by side."""
    changes: list[AnyChange] = [
        PutHead(head=a_head()),
        PutDefinition(definition=a_definition()),
        Insert(execution=an_execution()),
        PutName(record=a_name_record()),
        PutIdempotency(record=an_idempotency_record(), now=NOW),
    ]

    outcomes = await store.write_each(changes)

    assert outcomes == [Applied(change.decide(None)) for change in changes]


@pytest.mark.parametrize("way", ["write_each", "write_together"])
async def test_nothing_to_write_is_nothing_written(store: Store, way: str) -> None:
    """An empty batch and an empty transaction are answered with no outcome."""
    outcomes = await getattr(store, way)([])

    assert list(outcomes) == []


@pytest.mark.sem("SEM-STORE-3")
async def test_a_transaction_holds_a_hundred_writes(store: Store) -> None:
    """As many as the protocol allows, all applied."""
    inserts = inserts_of(limits.TRANSACTION_WRITES_MAX)

    outcomes = await store.write_together(inserts)

    assert outcomes == [Applied(insert.execution) for insert in inserts]
    assert len(await store.executions([insert.ref for insert in inserts])) == limits.TRANSACTION_WRITES_MAX


@pytest.mark.sem("SEM-STORE-3")
@pytest.mark.parametrize("place_of_refused", [0, 57, 99])
async def test_one_refused_write_of_a_hundred_leaves_nothing_written(store: Store, place_of_refused: int) -> None:
    """Wherever it stands: it comes back with the item that refused it, the others with what is there or nothing."""
    inserts = inserts_of(limits.TRANSACTION_WRITES_MAX)
    there = replace(inserts[place_of_refused].execution, lane=a_head().lane, created_at=NOW)
    await bring(store, there)

    outcomes = await store.write_together(inserts)

    assert outcomes[place_of_refused] == Refused(there)
    assert all(outcome == Refused(None) for at, outcome in enumerate(outcomes) if at != place_of_refused)
    assert await store.executions([insert.ref for insert in inserts]) == {there.ref: there}


@pytest.mark.sem("SEM-STORE-3")
async def test_a_refused_transaction_changes_no_item_that_was_there(store: Store) -> None:
    """A head that would have been moved stays as it is where the run beside it exists already."""
    head, running = a_head(), an_execution(state=State.RUNNING)
    await bring(store, head)
    await bring(store, running)
    occupy = Occupy(job_id=JOB, version=1, seen_active=None, active=running.occupant())

    outcomes = await store.write_together([occupy, Insert(execution=an_execution())])

    assert outcomes[0] in (Refused(head), Refused(None))
    assert outcomes[1] == Refused(running)
    assert await store.head(JOB) == head


@pytest.mark.sem("SEM-STORE-5", "SEM-STORE-3")
async def test_a_transaction_that_is_seen_twice_is_recognised_as_ones_own(store: Store) -> None:
    """A submission whose reply was lost: the same transaction again is answered as the first."""
    changes: list[AnyChange] = [
        PutHead(head=a_head()),
        PutDefinition(definition=a_definition()),
        PutName(record=a_name_record()),
        PutIdempotency(record=an_idempotency_record(), now=NOW),
    ]
    first = await store.write_together(changes)

    second = await store.write_together(changes)

    assert all(isinstance(outcome, Applied) for outcome in first)
    assert second == first


@pytest.mark.sem("SEM-STORE-3")
async def test_a_check_in_a_transaction_refuses_what_stands_beside_it(store: Store) -> None:
    """The job has moved on: the run that was asked for does not come into being, and both say so."""
    head = a_head(version=2)
    await bring(store, head)
    run = an_execution()

    outcomes = await store.write_together([StillOpen(job_id=JOB, version=1), Insert(execution=run)])

    assert outcomes == [Refused(head), Refused(None)]
    assert await store.execution(run.ref) is None


@pytest.mark.sem("SEM-STORE-3")
async def test_a_check_in_a_transaction_writes_nothing(store: Store) -> None:
    """The job is as it was seen: the run is put, and the head stays byte for byte what it was."""
    head, run = a_head(), an_execution()
    await bring(store, head)

    outcomes = await store.write_together([StillOpen(job_id=JOB, version=1), Insert(execution=run)])

    assert outcomes == [Applied(head), Applied(run)]
    assert await store.head(JOB) == head


@pytest.mark.sem("SEM-FENCE-1")
async def test_a_batch_of_results_refuses_the_zombie_among_them(store: Store) -> None:
    """Of two results for runs of two epochs, the one that names an old epoch is refused and the other counts."""
    mine = an_execution(job_id=a_job_id(1), state=State.RUNNING, lease_epoch=2)
    lost = an_execution(job_id=a_job_id(2), state=State.RUNNING, lease_epoch=3)
    await store.write_each([Insert(execution=mine), Insert(execution=lost)])
    ends = [
        Succeed(ref=run.ref, epoch=Epoch(2), now=NOW, result=None, owed=frozenset(), ttl=NOW // 1_000 + 86_400)
        for run in (mine, lost)
    ]

    outcomes = await store.write_each(ends)

    assert outcomes == [Applied(ends[0].decide(mine)), Refused(lost)]
