"""Whether the store can be written to at all.

A process that is frozen in the middle of a commit holds the file for everybody. It tries every tenth of a second, on
a connection of its own, and changes nothing. Must not know who holds the file.
"""

import asyncio
import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.history import EVERYBODY, Stall

_LOOK_S = 0.1
_PATIENCE_S = 0.2  # of one try
_HELD_MS = 500  # shorter than this is an ordinary wait for others' commits


@dataclass(slots=True)
class Probe:
    """`busy_ms` is how long the file has been held up to now."""

    path: Path
    stalls: list[Stall] = field(default_factory=list)
    busy_ms: int = 0
    purges: int = 0  # of no concern to a file: its queues lie in it

    async def watch(self) -> None:
        """Look until cancelled."""
        connection = sqlite3.connect(self.path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
        try:
            free_at_ms = _now_ms()
            while True:
                began_ms = _now_ms()
                if await asyncio.to_thread(_is_free, connection):
                    self._note(free_at_ms, began_ms)
                    free_at_ms = _now_ms()
                self.busy_ms = _now_ms() - free_at_ms
                await asyncio.sleep(_LOOK_S)
        finally:
            connection.close()

    def _note(self, from_ms: int, until_ms: int) -> None:
        if until_ms - from_ms > _HELD_MS:
            self.stalls.append(Stall(member=EVERYBODY, from_ms=from_ms, until_ms=until_ms))


def _is_free(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return False
    return True


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
