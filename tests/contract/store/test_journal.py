"""Does the journal give back what is owed, oldest first, until it is struck off?"""

from dataclasses import replace

import pytest

from tests.support.builders import TICK, a_job_id, a_page, an_id
from tickwright.domain import limits
from tickwright.domain.ids import missed_key, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.journal import Entry
from tickwright.ports.store import Store

ALL = Instant(TICK + 10**9)


@pytest.mark.sem("SEM-STORE-4")
async def test_a_page_is_read_back_as_it_was_put(store: Store) -> None:
    """A full page, with a count of looks and the instant of the last."""
    entries = tuple(
        Entry(job_id=a_job_id(number), key=tick_key(TICK), version=number)
        for number in range(limits.PAGE_ENTRIES_MAX - 1)
    )
    last = Entry(job_id=a_job_id(), key=missed_key(TICK), version=1)
    page = a_page(entries=(*entries, last), looks=3, looked_at=Instant(TICK + 7))

    await store.put_page(page)

    assert list(await store.pages(page.bucket, until=page.check_at, limit=10)) == [page]


@pytest.mark.sem("SEM-STORE-4")
async def test_pages_come_oldest_first_from_the_start_of_the_bucket(store: Store) -> None:
    """By the instant at which they are looked at, whatever the order in which they were put."""
    pages = [a_page(check_at=Instant(TICK + offset), writer=an_id(offset)) for offset in (1, 2, 10, 100)]
    for page in (pages[2], pages[0], pages[3], pages[1]):
        await store.put_page(page)

    assert list(await store.pages(0, until=ALL, limit=10)) == pages
    assert list(await store.pages(0, until=ALL, limit=2)) == pages[:2]


@pytest.mark.sem("SEM-STORE-4")
async def test_pages_of_two_writers_at_one_instant_are_both_kept(store: Store) -> None:
    """A writer's name is fresh for each page, so that no page hides another."""
    first, second = a_page(writer=an_id(1)), a_page(writer=an_id(2))
    await store.put_page(second)
    await store.put_page(first)

    assert {page.writer for page in await store.pages(0, until=ALL, limit=10)} == {first.writer, second.writer}


@pytest.mark.sem("SEM-STORE-4")
async def test_a_page_is_not_read_before_its_time(store: Store) -> None:
    """`until` is inclusive, to the millisecond."""
    page = a_page()
    await store.put_page(page)

    assert list(await store.pages(0, until=Instant(page.check_at - 1), limit=10)) == []
    assert list(await store.pages(0, until=page.check_at, limit=10)) == [page]


@pytest.mark.sem("SEM-STORE-4")
async def test_a_late_page_of_a_slow_writer_is_found(store: Store) -> None:
    """One that is put with a time long past comes first: reading has no cursor that would have passed it."""
    newer, late = a_page(), a_page(check_at=TICK, writer=an_id(9))
    await store.put_page(newer)
    assert list(await store.pages(0, until=ALL, limit=10)) == [newer]

    await store.put_page(late)

    assert list(await store.pages(0, until=ALL, limit=10)) == [late, newer]


async def test_a_bucket_reads_its_own_pages_alone(store: Store) -> None:
    """Neither bucket 1 nor bucket 10 is bucket 0."""
    pages = {bucket: a_page(bucket=bucket) for bucket in (0, 1, 10)}
    for page in pages.values():
        await store.put_page(page)

    assert {bucket: list(await store.pages(bucket, until=ALL, limit=10)) for bucket in pages} == {
        bucket: [page] for bucket, page in pages.items()
    }
    assert list(await store.pages(2, until=ALL, limit=10)) == []


@pytest.mark.sem("SEM-STORE-4")
async def test_a_deleted_page_is_gone_and_the_others_stay(store: Store) -> None:
    """Its kept entries stand elsewhere by then."""
    gone, kept = a_page(writer=an_id(1)), a_page(writer=an_id(2))
    await store.put_page(gone)
    await store.put_page(kept)

    await store.delete_page(gone)

    assert list(await store.pages(0, until=ALL, limit=10)) == [kept]


async def test_deleting_a_page_that_is_gone_is_no_error(store: Store) -> None:
    """Two watches may have seen the same page finished."""
    page = a_page()
    await store.put_page(page)
    await store.delete_page(page)

    await store.delete_page(replace(page, looks=1))

    assert list(await store.pages(0, until=ALL, limit=10)) == []
