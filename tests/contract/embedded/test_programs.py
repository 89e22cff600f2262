"""Do several programs on one file, some of them killed, lose nothing that was acknowledged?"""

import multiprocessing
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.contract.embedded import programs
from tests.contract.store.cases_of_jobs import HEAD, bring
from tests.support.builders import JOB, a_job_id, a_ref, an_execution
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.embedded import Database, EmbeddedQueue, EmbeddedStore
from tickwright.domain.changes.executions import Insert
from tickwright.domain.lanes import Lane
from tickwright.ports.store import Applied

SPAWN = multiprocessing.get_context("spawn")
PROGRAMS = 2
INCREMENTS_EACH = 100
OPENERS = 4
ACKNOWLEDGED_BEFORE_THE_KILL = 25
PATIENCE_S = 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that nobody has made yet."""
    return tmp_path / "tickwright.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    """The test's own hold of the file."""
    opened = Database.open(path)
    yield opened
    await opened.close()


@contextmanager
def started(target: Any, *args: object) -> Iterator[BaseProcess]:  # noqa: ANN401 - any function of programs.py
    """A program that is killed at the end, if it has not ended by then."""
    program = SPAWN.Process(target=target, args=args)
    program.start()
    try:
        yield program
    finally:
        program.kill()
        program.join(PATIENCE_S)


def all_that_was_sent(receiver: Connection) -> list[int]:
    """What a program that is dead by now had sent."""
    sent = []
    try:
        while receiver.poll(0):
            sent.append(receiver.recv())
    except EOFError:
        pass
    return sent


@pytest.mark.slow
@pytest.mark.sem("SEM-STORE-1", "SEM-STORE-7")
async def test_two_programs_lose_no_increment(database: Database, path: Path) -> None:
    """Version-checked writes of one head, each tried until it wins, from two processes."""
    store = EmbeddedStore(database)
    await bring(store, HEAD)

    with (
        started(programs.increment_often, path, 1, INCREMENTS_EACH) as first,
        started(programs.increment_often, path, 2, INCREMENTS_EACH) as second,
    ):
        first.join(PATIENCE_S)
        second.join(PATIENCE_S)

    head = await store.head(JOB)
    assert (first.exitcode, second.exitcode) == (0, 0)
    assert head is not None
    assert head.version == 1 + PROGRAMS * INCREMENTS_EACH


@pytest.mark.slow
@pytest.mark.sem("SEM-STORE-7")
def test_programs_that_open_a_new_file_at_once_all_succeed(path: Path) -> None:
    """One of them makes the tables, the others wait for it."""
    openers = [SPAWN.Process(target=programs.open_only, args=(path,)) for _ in range(OPENERS)]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join(PATIENCE_S)

    assert [opener.exitcode for opener in openers] == [0] * OPENERS


@pytest.mark.slow
@pytest.mark.sem("SEM-STORE-7")
async def test_what_was_acknowledged_outlives_a_kill(database: Database, path: Path) -> None:
    """A program is killed between two writes, or in one: all that it was told is there, and the file works on."""
    receiver, sender = SPAWN.Pipe(duplex=False)
    with started(programs.insert_until_killed, path, sender):
        sender.close()
        told = [receiver.recv() for _ in range(ACKNOWLEDGED_BEFORE_THE_KILL)]
    told += all_that_was_sent(receiver)

    store = EmbeddedStore(database)
    kept = await store.executions([a_ref(number) for number in told])
    after = await store.write(Insert(execution=an_execution(job_id=a_job_id(1_000_000))))
    assert len(kept) == len(told) >= ACKNOWLEDGED_BEFORE_THE_KILL
    assert isinstance(after, Applied)


@pytest.mark.slow
@pytest.mark.sem("SEM-QUEUE-2")
async def test_what_a_killed_program_held_comes_again(database: Database, path: Path) -> None:
    """It was killed between receive and delete: when the visibility is over, another has the hint."""
    queue = EmbeddedQueue(database, SystemClock())
    receiver, sender = SPAWN.Pipe(duplex=False)
    with started(programs.receive_and_wait, path, sender):
        sender.close()
        receive_count = receiver.recv()

    (received,) = await queue.receive(Lane.NORMAL, limit=1, wait_ms=20_000, visibility_ms=60_000)

    assert receive_count == 1
    assert received.hint.ref == a_ref(1)
    assert received.receive_count == 2
