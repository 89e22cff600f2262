"""Do the sparse indexes hold what waits, in order, and nothing that does not?"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from tests.contract.store.cases import TRY_LATER
from tests.contract.store.cases_of_jobs import ADVANCE, LAST, REWRITE, bring
from tests.contract.store.cases_of_redrives import ORDER
from tests.support.builders import (
    JOB,
    TENANT,
    TICK,
    a_head,
    a_job_id,
    a_ref,
    an_execution,
    an_id,
)
from tickwright.domain.changes.executions import Fail, Insert, StrikeOwed
from tickwright.domain.changes.heads import PutHead, Rewrite
from tickwright.domain.changes.moves import Cancel, Discard, Release
from tickwright.domain.executions import Discarded, Owed, Reason
from tickwright.domain.ids import Epoch, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobStatus
from tickwright.domain.lanes import Lane
from tickwright.domain.redrive_orders import OrderId, PutOrder
from tickwright.domain.transitions import State
from tickwright.ports.store import AnyChange, Applied, Listing, Store

ItemT = TypeVar("ItemT")
ALL = Instant(TICK + 10**9)
OTHER_TENANT = TenantId("globex")


async def due(
    store: Store, *, bucket: int = 0, lane: Lane = Lane.NORMAL, until: Instant = ALL, limit: int = 100
) -> list[str]:
    return [head.job_id for head in (await store.due_eventually(bucket, lane, until=until, limit=limit)).items]


@pytest.mark.sem("SEM-STORE-9")
async def test_due_jobs_come_oldest_first(store: Store) -> None:
    """The head comes whole, as a decision needs it; no more than asked for."""
    heads = [a_head(job_id=a_job_id(number), next_run_at=Instant(TICK - number)) for number in range(5)]
    await store.write_each([PutHead(head=head) for head in heads])

    assert list((await store.due_eventually(0, Lane.NORMAL, until=ALL, limit=100)).items) == heads[::-1]
    assert list((await store.due_eventually(0, Lane.NORMAL, until=ALL, limit=2)).items) == [heads[4], heads[3]]


async def test_a_job_is_due_at_its_instant_and_not_before(store: Store) -> None:
    """`until` is inclusive, to the millisecond."""
    await bring(store, a_head())

    assert await due(store, until=Instant(TICK - 1)) == []
    assert await due(store, until=TICK) == [JOB]


async def test_a_job_is_due_in_its_own_bucket_and_lane(store: Store) -> None:
    """A herd in one partition is not read with another."""
    await bring(store, a_head(bucket=1, lane=Lane.HIGH))

    assert await due(store, bucket=1, lane=Lane.HIGH) == [JOB]
    assert await due(store, bucket=1, lane=Lane.LOW) == []
    assert await due(store, bucket=10, lane=Lane.HIGH) == []
    assert await due(store, bucket=0, lane=Lane.HIGH) == []


@pytest.mark.parametrize("status", [JobStatus.PAUSED, JobStatus.CANCELLED, JobStatus.ENDED])
async def test_a_job_that_does_not_fire_is_not_due(store: Store, status: JobStatus) -> None:
    """The index is sparse."""
    await bring(store, a_head(status=status))

    assert await due(store) == []


async def test_a_decision_moves_a_job_on_in_the_index(store: Store) -> None:
    """From t to the next tick, and off the index after the last."""
    await bring(store, a_head())
    await bring(store, a_head(job_id=a_job_id(1)))

    await store.write(ADVANCE)
    await store.write(replace(LAST, job_id=a_job_id(1)))

    assert await due(store, until=TICK) == []
    assert await due(store) == [JOB]


async def test_a_paused_job_leaves_the_index_and_a_resumed_one_returns(store: Store) -> None:
    """By the API's write alone."""
    await bring(store, a_head())
    await store.write(REWRITE)
    while_paused = await due(store)
    resumed = replace(a_head(), version=3, write_token=an_id(11), next_run_at=Instant(TICK + 60_000))

    await store.write(Rewrite(new=resumed, seen_version=2, seen_next_run_at=None, pins_decision=True))

    assert while_paused == []
    assert await due(store) == [JOB]


async def waiting(store: Store, key: str = "3", *, until: Instant = ALL, limit: int = 100) -> list[object]:
    return list(await store.waiting_eventually(key, until=until, limit=limit))


@pytest.mark.sem("SEM-STORE-9")
async def test_executions_that_wait_come_oldest_first(store: Store) -> None:
    """By the instant at which their wait is over, under one key."""
    retries = [
        an_execution(job_id=a_job_id(number), state=State.RETRY, wait_key="3", wait_at=Instant(TICK - number))
        for number in range(4)
    ]
    await store.write_each([Insert(execution=retry) for retry in retries])
    refs = [retry.ref for retry in retries[::-1]]

    assert await waiting(store) == refs
    assert await waiting(store, limit=3) == refs[:3]
    assert await waiting(store, until=Instant(TICK - 2)) == refs[:2]
    assert await waiting(store, "30") == []


async def test_a_late_retry_enters_the_waiting_index(store: Store) -> None:
    """With the write of the failure itself."""
    await bring(store, an_execution(state=State.RUNNING))

    await store.write(Fail(ref=a_ref(), epoch=Epoch(1), failing=TRY_LATER))

    assert await waiting(store) == [a_ref()]


@pytest.mark.parametrize(
    "change",
    [
        Release(ref=a_ref(), seen_epoch=Epoch(1), seen_wait_key="3"),
        Cancel(
            ref=a_ref(),
            seen_state=State.RETRY,
            seen_epoch=Epoch(1),
            now=TICK,
            reason=Reason.CANCELLED,
            owed=frozenset(),
            ttl=TICK // 1_000 + 86_400,
        ),
    ],
    ids=["release", "cancel"],
)
async def test_whoever_moves_a_waiting_execution_takes_it_off_the_index(store: Store, change: AnyChange) -> None:
    """Released or cancelled, in the same write."""
    await bring(store, an_execution(state=State.RETRY, retry_at=TICK, wait_key="3", wait_at=TICK))

    outcome = await store.write(change)

    assert isinstance(outcome, Applied)
    assert await waiting(store) == []


@pytest.mark.sem("SEM-TENANT-1")
async def test_a_tenants_jobs_are_listed_by_name_and_no_others(store: Store) -> None:
    """In the order of their names' bytes; another tenant's jobs are not among them."""
    names = ["Zoo", "a", "a/b", "ab", "b", "é"]
    mine = [a_head(job_id=a_job_id(number), listed_as=name) for number, name in enumerate(names)]
    await store.write_each([PutHead(head=head) for head in reversed(mine)])
    await bring(store, a_head(job_id=a_job_id(99), tenant_id=OTHER_TENANT, listed_as="a"))

    listing = await store.jobs_eventually(TENANT, limit=100)

    assert list(listing.items) == [head.job_id for head in mine]
    assert listing.next_key is None


@pytest.mark.parametrize(("prefix", "expected"), [("", 4), ("a", 2), ("a/", 1), ("é", 1), ("c", 0), ("%", 0), ("_", 0)])
async def test_jobs_are_listed_by_the_beginning_of_their_names(store: Store, prefix: str, expected: int) -> None:
    """A prefix is text, not a pattern."""
    names = ["a/b", "ab", "b", "é"]
    heads = [a_head(job_id=a_job_id(number), listed_as=name) for number, name in enumerate(names)]
    await store.write_each([PutHead(head=head) for head in heads])

    listing = await store.jobs_eventually(TENANT, limit=100, prefix=prefix)

    assert list(listing.items) == [head.job_id for head in heads if head.listed_as.startswith(prefix)]
    assert len(listing.items) == expected


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
async def test_a_tenants_jobs_are_read_to_the_end_by_pages(store: Store, limit: int) -> None:
    """Also where several jobs bear the same name, an old one that was cancelled and the new one: in whatever order."""
    heads = [a_head(job_id=a_job_id(number), listed_as=f"job-{number // 2}") for number in range(6)]
    await store.write_each([PutHead(head=head) for head in heads])

    read = await _to_the_end(
        lambda after_key: store.jobs_eventually(TENANT, limit=limit, prefix="job", after_key=after_key)
    )

    names = {head.job_id: head.listed_as for head in heads}
    assert sorted(read) == sorted(names)
    assert [names[job_id] for job_id in read] == sorted(names.values())


async def test_a_job_that_is_renamed_moves_in_its_tenants_list(store: Store) -> None:
    """It is found under its new name and not under the old one."""
    await bring(store, a_head(listed_as="old"))
    renamed = a_head(listed_as="new", version=2, write_token=an_id(12))

    await store.write(Rewrite(new=renamed, seen_version=1, seen_next_run_at=renamed.next_run_at, pins_decision=True))

    assert list((await store.jobs_eventually(TENANT, limit=10, prefix="old")).items) == []
    assert list((await store.jobs_eventually(TENANT, limit=10, prefix="new")).items) == [JOB]


@pytest.mark.sem("SEM-TENANT-1")
async def test_a_tenants_dead_executions_come_newest_first(store: Store) -> None:
    """Only what is dead, and only the tenant's own."""
    dead = [
        an_execution(job_id=a_job_id(number), state=State.DEAD, failed_at=Instant(TICK + number)) for number in range(3)
    ]
    others = [
        an_execution(job_id=a_job_id(7), state=State.DEAD, tenant_id=OTHER_TENANT),
        an_execution(job_id=a_job_id(8), state=State.SUCCEEDED),
    ]
    await store.write_each([Insert(execution=execution) for execution in (*dead, *others)])

    listing = await store.attention_eventually(TENANT, limit=10)

    assert list(listing.items) == [execution.ref for execution in reversed(dead)]
    assert listing.next_key is None


@pytest.mark.parametrize("limit", [1, 2, 5, 6])
async def test_dead_executions_are_read_to_the_end_by_pages(store: Store, limit: int) -> None:
    """Also where several have died in the same millisecond: each comes once, newest first."""
    dead = [
        an_execution(job_id=a_job_id(number), state=State.DEAD, failed_at=Instant(TICK + number // 3))
        for number in range(5)
    ]
    await store.write_each([Insert(execution=execution) for execution in dead])

    read = await _to_the_end(lambda after_key: store.attention_eventually(TENANT, limit=limit, after_key=after_key))

    assert len(read) == len(dead)
    assert set(read[:2]) == {execution.ref for execution in dead[3:]}
    assert set(read[2:]) == {execution.ref for execution in dead[:3]}


@pytest.mark.sem("SEM-DLQ-1")
async def test_dead_executions_of_a_stretch_of_time(store: Store) -> None:
    """Both ends belong to it, and its pages go on within it."""
    dead = [
        an_execution(job_id=a_job_id(number), state=State.DEAD, failed_at=Instant(TICK + number)) for number in range(6)
    ]
    await store.write_each([Insert(execution=execution) for execution in dead])
    ends = {"since": Instant(TICK + 1), "until": Instant(TICK + 4)}

    read = await _to_the_end(lambda after_key: store.attention_eventually(TENANT, limit=3, after_key=after_key, **ends))

    assert read == [execution.ref for execution in dead[4:0:-1]]
    assert list((await store.attention_eventually(TENANT, limit=9, until=TICK)).items) == [dead[0].ref]
    assert list((await store.attention_eventually(TENANT, limit=9, since=Instant(TICK + 5))).items) == [dead[5].ref]


@pytest.mark.sem("SEM-DLQ-3")
async def test_a_discarded_execution_leaves_the_list_and_a_redrive_finds_it_still(store: Store) -> None:
    """It is dead as before, with the reason; a person may think better of it."""
    await bring(store, an_execution(state=State.DEAD, ttl=TICK // 1_000 + 86_400))

    await store.write(Discard(ref=a_ref(), seen_epoch=Epoch(1), now=TICK, reason="not wanted"))

    assert list((await store.attention_eventually(TENANT, limit=10)).items) == []
    row = await store.execution(a_ref())
    assert row is not None
    assert (row.state, row.discarded) == (State.DEAD, Discarded(at=TICK, reason="not wanted"))


@pytest.mark.sem("SEM-DLQ-2", "SEM-TENANT-1")
async def test_orders_are_read_to_the_end_all_or_a_tenants_own(store: Store) -> None:
    """One tenant's name may begin as another's."""
    mine = [replace(ORDER, order_id=OrderId(a_job_id(number))) for number in range(5)]
    others = [replace(ORDER, tenant_id=TenantId(f"{TENANT}{number}")) for number in range(2)]
    for order in (*mine, *others):
        await store.write(PutOrder(order=order))

    of_tenant = await _to_the_end(lambda key: store.redrive_orders(TENANT, limit=2, after_key=key))
    of_all = await _to_the_end(lambda key: store.redrive_orders(None, limit=3, after_key=key))

    assert of_tenant == mine
    assert sorted(of_all, key=str) == sorted([*mine, *others], key=str)
    assert list((await store.redrive_orders(TenantId("nobody"), limit=2)).items) == []


async def test_a_dead_execution_stays_listed_when_nothing_is_owed_any_more(store: Store) -> None:
    """Its effects are applied; a person may still have to look at it."""
    await bring(store, an_execution(state=State.DEAD, owed=frozenset({Owed.DEAD_LETTER})))

    await store.write(StrikeOwed(ref=a_ref(), seen_epoch=Epoch(1), ttl=TICK // 1_000 + 86_400))

    assert list((await store.attention_eventually(TENANT, limit=10)).items) == [a_ref()]


async def _to_the_end(read: Callable[[str | None], Awaitable[Listing[ItemT]]]) -> list[ItemT]:
    """All items, page by page."""
    listing = await read(None)
    items = list(listing.items)
    while listing.next_key is not None:
        listing = await read(listing.next_key)
        items += listing.items
    return items
