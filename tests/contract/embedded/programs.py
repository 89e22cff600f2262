"""Programs that tests start and kill: each opens the same file as the test does.

Must not hold assertions. They are started afresh (spawn), as a second scheduler or worker would be.
"""

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path

from tests.contract.store.test_races import increment
from tests.support.builders import a_hint, a_job_id, a_ref, an_execution
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.embedded import Database, EmbeddedQueue, EmbeddedStore
from tickwright.domain.changes.executions import Insert
from tickwright.domain.lanes import Lane


def open_only(path: Path) -> None:
    """Open the file, making it if it is new, and let go of it."""
    asyncio.run(Database.open(path).close())


def increment_often(path: Path, by: int, times: int) -> None:
    """Raise the version of the one head so many times."""

    async def work() -> None:
        database = Database.open(path)
        for turn in range(times):
            await increment(EmbeddedStore(database), turn, by=by)
        await database.close()

    asyncio.run(work())


def insert_until_killed(path: Path, acknowledged: Connection) -> None:
    """Insert one execution after the other and tell each number as soon as its write is answered."""

    async def work() -> None:
        store = EmbeddedStore(Database.open(path))
        number = 0
        while True:
            await store.write(Insert(execution=an_execution(job_id=a_job_id(number))))
            acknowledged.send(number)
            number += 1

    asyncio.run(work())


def receive_and_wait(path: Path, held: Connection) -> None:
    """Send a hint, take it, say so, and hold it until killed."""

    async def work() -> None:
        clock = SystemClock()
        queue = EmbeddedQueue(Database.open(path), clock)
        await queue.send([a_hint(ref=a_ref(1), due_at=clock.now())], clock.now())
        (received,) = await queue.receive(Lane.NORMAL, limit=1, wait_ms=1_000, visibility_ms=1_000)
        held.send(received.receive_count)
        await asyncio.Event().wait()

    asyncio.run(work())
