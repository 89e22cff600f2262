"""When another holds the file, is the event loop free, is a fault a fault, and does one bad write harm no other?"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.builders import a_hint, a_job_id, a_ref, an_execution
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.embedded import Database, EmbeddedQueue, EmbeddedStore
from tickwright.domain.changes.executions import Insert
from tickwright.ports.faults import QueueUnavailable, StoreUnavailable
from tickwright.ports.store import Applied

BRIEF_MS = 50
LONG_MS = 20_000
CLOCK = SystemClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file."""
    return tmp_path / "tickwright.db"


@pytest.fixture
async def brief(path: Path) -> AsyncIterator[Database]:
    """A database that gives up soon."""
    database = Database.open(path, busy_ms=BRIEF_MS)
    yield database
    await database.close()


@pytest.fixture
async def patient(path: Path) -> AsyncIterator[Database]:
    """A database that waits."""
    database = Database.open(path, busy_ms=LONG_MS)
    yield database
    await database.close()


@pytest.fixture
def another(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program's connection."""
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def an_insert(number: int) -> Insert:
    return Insert(execution=an_execution(job_id=a_job_id(number)))


@pytest.mark.sem("SEM-STORE-7")
async def test_a_file_that_stays_busy_is_a_fault_and_never_an_answer(
    brief: Database, another: sqlite3.Connection
) -> None:
    """Nothing was written, and when the other has let go the same write is applied."""
    store, queue = EmbeddedStore(brief), EmbeddedQueue(brief, CLOCK)
    another.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreUnavailable):
        await store.write(an_insert(1))
    with pytest.raises(QueueUnavailable):
        await queue.send([a_hint()], CLOCK.now())

    another.execute("ROLLBACK")
    assert isinstance(await store.write(an_insert(1)), Applied)


async def test_reads_go_on_while_another_program_writes(brief: Database, another: sqlite3.Connection) -> None:
    """They see the last commit."""
    store = EmbeddedStore(brief)
    await store.write(an_insert(1))
    another.execute("BEGIN IMMEDIATE")
    another.execute("DELETE FROM executions")

    seen = await store.execution(a_ref(1))

    another.execute("ROLLBACK")
    assert seen == an_insert(1).execution


async def test_a_write_that_waits_does_not_hold_up_the_event_loop(
    patient: Database, another: sqlite3.Connection
) -> None:
    """The very loop that awaits the write lets the other go: a loop that was held up would never come to it."""
    another.execute("BEGIN IMMEDIATE")
    writing = asyncio.create_task(EmbeddedStore(patient).write(an_insert(1)))
    await CLOCK.sleep_ms(BRIEF_MS)
    waited = not writing.done()

    another.execute("ROLLBACK")

    assert isinstance(await writing, Applied)
    assert waited


@pytest.mark.sem("SEM-STORE-1")
async def test_writes_that_gather_share_a_commit_and_are_answered_each(
    patient: Database, another: sqlite3.Connection
) -> None:
    """They came while the file was held; the first of two inserts of one execution wins."""
    store = EmbeddedStore(patient)
    another.execute("BEGIN IMMEDIATE")
    writing = [asyncio.create_task(store.write(an_insert(number // 2))) for number in range(100)]
    await CLOCK.sleep_ms(BRIEF_MS)
    another.execute("ROLLBACK")

    outcomes = await asyncio.gather(*writing)

    assert [isinstance(outcome, Applied) for outcome in outcomes] == [True, False] * 50


@pytest.mark.sem("SEM-STORE-1")
async def test_a_write_that_breaks_off_is_undone_alone(patient: Database, another: sqlite3.Connection) -> None:
    """A bug of one caller, in the same transaction as the writes of others: they are kept, its first half is not."""
    store = EmbeddedStore(patient)
    unknown: Any = object()
    another.execute("BEGIN IMMEDIATE")
    good = [asyncio.create_task(store.write(an_insert(number))) for number in (1, 2)]
    bad = asyncio.create_task(store.write_each([an_insert(3), unknown]))
    await CLOCK.sleep_ms(BRIEF_MS)
    another.execute("ROLLBACK")

    with pytest.raises(KeyError):
        await bad

    assert all(isinstance(outcome, Applied) for outcome in await asyncio.gather(*good))
    assert await store.execution(a_ref(3)) is None


async def test_a_caller_that_gives_up_harms_no_other(patient: Database, another: sqlite3.Connection) -> None:
    """It is cancelled while its write waits; the others are answered."""
    store = EmbeddedStore(patient)
    another.execute("BEGIN IMMEDIATE")
    gives_up = asyncio.create_task(store.write(an_insert(1)))
    stays = asyncio.create_task(store.write(an_insert(2)))
    await CLOCK.sleep_ms(BRIEF_MS)
    gives_up.cancel()
    another.execute("ROLLBACK")

    outcome = await stays

    assert isinstance(outcome, Applied)
    assert gives_up.cancelled()


async def test_a_closed_database_says_so(path: Path) -> None:
    """It answers what was asked before, then no more; closing twice is closing once."""
    database = Database.open(path)
    store = EmbeddedStore(database)
    before = asyncio.create_task(store.write(an_insert(1)))
    await asyncio.gather(before)
    await database.close()
    await database.close()

    with pytest.raises(StoreUnavailable, match="closed"):
        await store.write(an_insert(2))
