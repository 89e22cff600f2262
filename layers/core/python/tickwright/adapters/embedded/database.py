"""How one SQLite file is opened and asked: WAL, one transaction for all writes that wait, acknowledged after it.

SQLite lets one connection write at a time, over all processes, and BEGIN IMMEDIATE waits its turn before anything is
read: so what a write has seen is still so when it commits. Must not know what is written. Promises: SEM-STORE-1,
SEM-STORE-7.
"""

import sqlite3
import threading
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TypeVar

from tickwright.adapters.embedded import schema
from tickwright.adapters.embedded.asking import Answer, Asked, carry_out
from tickwright.adapters.embedded.bells import Bells
from tickwright.adapters.embedded.faults import StoreUnusable
from tickwright.adapters.embedded.group_commit import GroupCommit
from tickwright.ports.faults import Unavailable

AnswerT = TypeVar("AnswerT")
Work = Callable[[sqlite3.Connection], AnswerT]

MEMORY = ":memory:"
BUSY_MS_DEFAULT = 5_000  # as long as another process may hold the file before a write is given up
# Two processes that open a new file at once: each round waits for the other by SQLite's own patience.
OPENING_ROUNDS = 20


class Synchronous(Enum):
    """What a commit waits for. Both survive the program's death; FULL survives a loss of power too (an fsync each)."""

    NORMAL = "NORMAL"
    FULL = "FULL"


class Database:
    """One file (or one memory) that any number of stores and queues of this process share."""

    def __init__(self, connection: sqlite3.Connection, *, shared: bool) -> None:
        """Take a connection that is ready; `shared` with other processes means that asking may have to wait."""
        self._connection = connection
        self._mutex = threading.Lock()
        self._group_commit = GroupCommit(connection) if shared else None
        self.bells = Bells()
        self.is_shared = shared

    @classmethod
    def open(
        cls, path: Path, *, synchronous: Synchronous = Synchronous.FULL, busy_ms: int = BUSY_MS_DEFAULT
    ) -> "Database":
        """Open or make the file; StoreUnusable (SchemaTooNew) says in one line what is wrong with it."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return cls(_connected(str(path), synchronous, busy_ms), shared=True)
        except StoreUnusable as problem:
            raise type(problem)(f"{path} cannot be used: {problem}") from None
        except (OSError, sqlite3.Error) as problem:
            raise StoreUnusable(f"{path} cannot be used: {problem}") from problem

    @classmethod
    def in_memory(cls) -> "Database":
        """One that is gone when it is closed. No other process holds it, so it is asked in place, without a thread."""
        return cls(_connected(MEMORY, Synchronous.NORMAL, BUSY_MS_DEFAULT), shared=False)

    async def read(self, work: Work[AnswerT], fault: type[Unavailable]) -> AnswerT:
        """Do work that only reads; `fault` is raised if the file cannot be read now."""
        return await self._ask(work, fault, writes=False)

    async def write(self, work: Work[AnswerT], fault: type[Unavailable]) -> AnswerT:
        """Do work in a transaction, alone or with others that wait; answers after the commit. All counts, or none."""
        return await self._ask(work, fault, writes=True)

    async def _ask(self, work: Work[AnswerT], fault: type[Unavailable], *, writes: bool) -> AnswerT:
        asked = Asked(work, fault, writes=writes)
        answer = self._in_place(asked) if self._group_commit is None else await self._group_commit.ask(asked)
        value: AnswerT = answer.given()
        return value

    def _in_place(self, asked: Asked) -> Answer:
        with self._mutex:
            (answer,) = carry_out(self._connection, [asked])
        return answer

    async def close(self) -> None:
        """Finish what was asked and let go of the file. Closing twice is closing once."""
        if self._group_commit is not None:
            await self._group_commit.stop()
        self._connection.close()


def _connected(path: str, synchronous: Synchronous, busy_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=busy_ms / 1_000, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection, synchronous)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, synchronous: Synchronous) -> None:
    _write_ahead(connection)
    connection.execute(f"PRAGMA synchronous = {synchronous.value}")
    connection.execute("PRAGMA cache_size = -32768")  # 32 MB
    connection.execute("PRAGMA journal_size_limit = 67108864")  # a log that grew in a herd shrinks again
    connection.execute("BEGIN IMMEDIATE")
    schema.ready(connection)
    connection.execute("COMMIT")


def _write_ahead(connection: sqlite3.Connection) -> None:
    for _ in range(OPENING_ROUNDS):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as problem:
            # The change of mode does not wait for others, as a transaction does; so wait by one.
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        else:
            return
    raise StoreUnusable("another program keeps it busy")
