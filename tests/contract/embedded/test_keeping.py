"""Is every item kept exactly, decided as the domain decides it, and removed when its time is over and not before?"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from inspect import getmembers, isclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract import aws_strategies as moving
from tests.contract import aws_strategies_jobs as jobs
from tests.contract.store.cases_of_jobs import LEASE, bring, stored_like
from tests.support.builders import (
    TICK,
    a_definition,
    a_head,
    a_job_id,
    a_log,
    a_name_record,
    a_page,
    an_api_key,
    an_execution,
    an_id,
    an_idempotency_record,
)
from tickwright.adapters.embedded import Database, EmbeddedStore
from tickwright.adapters.embedded.codec import Codec
from tickwright.adapters.embedded.entities import DEFINITIONS, EXECUTIONS, HEADS, PAGES, PLACES
from tickwright.adapters.embedded.expiry import SWEPT_MAX
from tickwright.domain import leases, tenants
from tickwright.domain.changes import executions, heads, moves
from tickwright.domain.changes.executions import Insert
from tickwright.domain.ids import Epoch, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.journal import Entry, Page
from tickwright.domain.tenants import PutIdempotency
from tickwright.domain.transitions import State
from tickwright.ports.store import Applied, Refused

TTL = TICK // 1_000
CHANGES = st.one_of(
    moving.changes_of_executions,
    moving.changes_of_executions,
    jobs.head_changes(),
    jobs.definition_changes(),
    jobs.idempotency_changes(),
    jobs.name_changes(),
)
_entries = st.builds(Entry, job_id=moving.job_ids, key=st.just(tick_key(TICK)), version=st.integers(1, 3))
PAGES_DRAWN = st.builds(
    Page,
    bucket=st.integers(0, 1_023),
    check_at=moving.instants,
    writer=st.text(min_size=1, max_size=26),
    entries=st.lists(_entries, min_size=1, max_size=5).map(tuple),
    looks=st.integers(0, 9),
)


@pytest.fixture
async def store() -> AsyncIterator[EmbeddedStore]:
    """A store in memory."""
    database = Database.in_memory()
    yield EmbeddedStore(database)
    await database.close()


@pytest.mark.sem("SEM-STORE-6")
@settings(max_examples=150)
@given(
    st.one_of(
        st.tuples(st.just(EXECUTIONS.codec), moving.any_execution),
        st.tuples(st.just(HEADS.codec), jobs.heads()),
        st.tuples(st.just(DEFINITIONS.codec), jobs.definitions()),
        st.tuples(st.just(PAGES.codec), PAGES_DRAWN),
    )
)
def test_an_item_comes_back_as_it_was(drawn: tuple[Codec[Any], Any]) -> None:
    """Whatever it holds, and its stored form is the same again."""
    codec, item = drawn

    read = codec.load(codec.dump(item))

    assert read == item
    assert codec.load(codec.dump(read)) == read


@pytest.mark.sem("SEM-STORE-6")
def test_a_stored_item_that_breaks_a_promise_is_noticed_where_it_is_read() -> None:
    """A run without a lease is not taken for one."""
    text = EXECUTIONS.codec.dump(an_execution(state=State.RUNNING)).replace('"lease_until"', '"was_until"')

    with pytest.raises(ValueError, match="leaseUntil"):
        EXECUTIONS.codec.load(text)


@pytest.mark.sem("SEM-STORE-1")
@settings(max_examples=60)
@given(CHANGES, st.sampled_from(["write", "write_each", "write_together"]))
def test_every_write_means_what_the_domain_decides(case: tuple[Any, Any], way: str) -> None:
    """On any stored item, met or missed by one epoch, version or millisecond."""
    old, change = case
    new = change.decide(old)

    outcome, stored = asyncio.run(_written(old, change, way))

    if new is not None:
        assert (outcome, stored) == (Applied(new), new)
    elif old is not None and change.mine(old):
        assert (outcome, stored) == (Applied(old), old)
    else:
        assert (outcome, stored) == (Refused(old), old)


async def _written(old: Any, change: Any, way: str) -> tuple[Any, Any]:  # noqa: ANN401 - items of any kind
    database = Database.in_memory()
    store = EmbeddedStore(database)
    if old is not None:
        await bring(store, old)
    outcome = await store.write(change) if way == "write" else (await getattr(store, way)([change]))[0]
    about = old if old is not None else change.decide(None)
    stored = None if about is None else await stored_like(store, about)
    await database.close()
    return outcome, stored


def test_every_change_of_the_domain_has_its_place() -> None:
    """A new kind of write without a place would fail at its first use, not here."""
    modules = (executions, heads, moves, leases, tenants)
    changes = {
        kind
        for module in modules
        for _, kind in getmembers(module, isclass)
        if kind.__module__ == module.__name__ and hasattr(kind, "decide") and hasattr(kind, "mine")
    }

    assert changes
    assert changes - set(PLACES) == set()


@pytest.mark.sem("SEM-STORE-8")
async def test_a_row_whose_time_is_over_is_swept_and_no_other(store: EmbeddedStore) -> None:
    """To the second of its ttl; one without ttl stays for ever."""
    over = an_execution(job_id=a_job_id(1), state=State.SUCCEEDED, ttl=TTL)
    not_over = an_execution(job_id=a_job_id(2), state=State.SUCCEEDED, ttl=TTL + 1)
    unfinished = an_execution(job_id=a_job_id(3))
    await store.write_each([Insert(execution=execution) for execution in (over, not_over, unfinished)])

    early, due = await store.sweep(Instant(TICK - 1)), await store.sweep(TICK)

    left = await store.executions([over.ref, not_over.ref, unfinished.ref])
    assert (early, due) == (0, 1)
    assert left == {not_over.ref: not_over, unfinished.ref: unfinished}


@pytest.mark.sem("SEM-STORE-8")
async def test_a_request_that_is_kept_beyond_its_end_is_forgotten_then(store: EmbeddedStore) -> None:
    """It counts no more, and may still be asked for."""
    record = an_idempotency_record(expires_at=TICK, kept_until=Instant(TICK + 1))
    await store.write(PutIdempotency(record=record, now=Instant(0)))

    early, kept = await store.sweep(TICK), await store.idempotency(record.tenant_id, record.key)

    assert (early, kept) == (0, record)
    assert await store.sweep(Instant(TICK + 1)) == 1


@pytest.mark.sem("SEM-STORE-8")
async def test_requests_are_forgotten_and_control_records_are_not(store: EmbeddedStore) -> None:
    """Leases, names, keys, jobs and pages have no time to live."""
    record = an_idempotency_record(expires_at=TICK)
    kept = [LEASE, a_name_record(), a_head(), a_definition()]
    for item in kept:
        await bring(store, item)
    await store.put_api_key(an_api_key())
    await store.put_page(a_page())
    await store.write(PutIdempotency(record=record, now=Instant(0)))

    swept = await store.sweep(Instant(TICK + 10**12))

    assert swept == 1
    assert await store.idempotency(record.tenant_id, record.key) is None
    assert [await stored_like(store, item) for item in kept] == kept
    assert await store.api_key(an_api_key().key_hash) == an_api_key()
    assert list(await store.pages(0, until=Instant(TICK + 10**9), limit=9)) == [a_page()]


@pytest.mark.sem("SEM-STORE-8")
@pytest.mark.sem("SEM-LOG-1")
async def test_a_log_is_forgotten_when_its_time_is_over(store: EmbeddedStore) -> None:
    """And its neighbour, a millisecond later."""
    over, not_over = a_log(), a_log(epoch=Epoch(2), expires_at=Instant(a_log().expires_at + 1))
    await store.put_log(over)
    await store.put_log(not_over)

    swept = await store.sweep(over.expires_at)

    assert swept == 1
    assert list((await store.logs_of(over.ref, limit=9)).items) == [not_over]


@pytest.mark.sem("SEM-STORE-8")
async def test_a_sweep_is_bounded(store: EmbeddedStore) -> None:
    """A herd that expires at once is removed in several goes, so that none holds the file for long."""
    count = SWEPT_MAX + 100
    rows = [an_execution(job_id=a_job_id(number), state=State.SUCCEEDED, ttl=TTL) for number in range(count)]
    await store.write_each([Insert(execution=row) for row in rows])

    swept = [await store.sweep(TICK) for _ in range(3)]

    assert swept == [SWEPT_MAX, 100, 0]


@pytest.mark.sem("SEM-STORE-8")
async def test_a_request_that_is_used_again_lives_on(store: EmbeddedStore) -> None:
    """Its key had expired and was taken by a new request before the sweep came."""
    old = an_idempotency_record(expires_at=Instant(TICK - 1))
    await store.write(PutIdempotency(record=old, now=Instant(0)))
    new = replace(old, expires_at=Instant(TICK + 1_000), token=an_id(99))
    await store.write(PutIdempotency(record=new, now=TICK))

    swept = await store.sweep(TICK)

    assert swept == 0
    assert await store.idempotency(new.tenant_id, new.key) == new
