"""The ready queues in one SQLite file: what ports/queue.py promises, for one machine, exact to the millisecond.

A reader waits for the next message that it knows of, for the bell of this process, and looks now and then for what
other processes have sent. Must not know what a hint means. Promises: SEM-QUEUE-1 to SEM-QUEUE-5.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from tickwright.adapters.embedded import messages
from tickwright.adapters.embedded.database import Database
from tickwright.adapters.embedded.messages import SetAside, Taking, queue_name
from tickwright.domain import limits
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import LANES, Lane
from tickwright.domain.pools import LAMBDA
from tickwright.ports.clock import Clock
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.queue import DeadLetter, Hint, Received

AnswerT = TypeVar("AnswerT")

# How soon a message of another process is seen; twenty looks a second and lane cost about a percent of a core.
LOOK_MS_DEFAULT = 50
RECEIVES_MAX = 1_000  # protocol 8: receiving a message that is held by another counts too
VISIBILITY_MS_MAX = 43_200_000  # SQS's longest, 12 h
RETENTION_MS = 14 * 86_400_000  # as long as SQS keeps a message
HINTS_KEPT_MS = 4 * 86_400_000  # as the ready queues on AWS: the journal sends again whatever nobody has seen finished
HINTS_SWEPT_MAX = 1_000  # in one go, so that none holds the file for long


class EmbeddedQueue:
    """The queues of all pools and lanes in a Database, which others may share."""

    def __init__(
        self, database: Database, clock: Clock, *, look_ms: int = LOOK_MS_DEFAULT, receives_max: int = RECEIVES_MAX
    ) -> None:
        """Use a database that is open; whoever opened it closes it."""
        self._database = database
        self._clock = clock
        self._look_ms = look_ms
        self._receives_max = receives_max

    async def send(self, hints: Sequence[Hint], now: Instant) -> Sequence[Hint]:
        """All of them, or QueueUnavailable."""
        latest = now + limits.QUEUE_DELAY_MS_MAX
        timed = [(hint, Instant(max(now, min(hint.due_at, latest)))) for hint in hints]
        await self._write(partial(messages.put, hints=timed))
        for name in {queue_name(hint.queue, hint.lane) for hint in hints}:
            self._database.bells.ring(name)
        return []

    async def prepare(self, pool: str) -> None:
        """Nothing: a pool's messages are told from others by their queue's name."""

    async def remove(self, pool: str) -> None:
        """A pool's queues are its messages."""
        await self._write(partial(messages.remove_all, names=[queue_name(pool, lane) for lane in LANES]))

    async def waiting(self, pool: str) -> int:
        """Exact: what stands in the file."""
        return sum([await self.depth(lane, pool) for lane in LANES])

    async def receive(
        self, lane: Lane, *, limit: int, wait_ms: int, visibility_ms: int, pool: str = LAMBDA
    ) -> Sequence[Received]:
        """The oldest visible first; waits for the first one no longer than asked."""
        return await self.receive_any([lane], limit=limit, wait_ms=wait_ms, visibility_ms=visibility_ms, pool=pool)

    async def receive_any(
        self, lanes: Sequence[Lane], *, limit: int, wait_ms: int, visibility_ms: int, pool: str = LAMBDA
    ) -> Sequence[Received]:
        """Those of the first lane first; waits for all lanes at once."""
        assert 0 < limit <= limits.MESSAGES_A_BATCH
        assert 0 < visibility_ms <= VISIBILITY_MS_MAX
        names = [queue_name(pool, lane) for lane in lanes]
        give_up_at_ms = self._clock.monotonic_ms() + wait_ms
        with self._database.bells.heard(*names) as rung:
            while True:
                rung.clear()
                next_visible = await self._read(partial(messages.next_visible, names=names))
                if next_visible is not None and next_visible <= self._clock.now():
                    taken = await self._take(names, limit, visibility_ms)
                    if taken:
                        return taken
                elif (left_ms := give_up_at_ms - self._clock.monotonic_ms()) <= 0:
                    return []
                else:
                    await self._pause(rung, self._pause_ms(left_ms, next_visible))

    async def _take(self, names: Sequence[str], limit: int, visibility_ms: int) -> list[Received]:
        now = self._clock.now()
        taking = Taking(
            names=names,
            limit=limit,
            now=now,
            visible_again_at=Instant(now + visibility_ms),
            receives_max=self._receives_max,
        )
        return await self._write(partial(messages.take, taking=taking))

    def _pause_ms(self, left_ms: int, next_visible: Instant | None) -> int:
        """Until the next message known, or the next look for those of other processes, if there are any."""
        look_ms = self._look_ms if self._database.is_shared else left_ms
        known_ms = left_ms if next_visible is None else max(1, next_visible - self._clock.now())
        return min(left_ms, look_ms, known_ms)

    async def _pause(self, rung: asyncio.Event, pause_ms: int) -> None:
        waits = [asyncio.ensure_future(rung.wait()), asyncio.ensure_future(self._clock.sleep_ms(pause_ms))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def delete(self, received: Sequence[Received]) -> None:
        """By receipt: one received again meanwhile stays."""
        await self._write(partial(messages.delete, receipts=[one.receipt for one in received]))

    async def show_again(self, received: Received, *, after_ms: int) -> None:
        """By receipt, too."""
        visible_at = Instant(self._clock.now() + min(max(0, after_ms), VISIBILITY_MS_MAX))
        await self._write(partial(messages.show, receipt=received.receipt, visible_at=visible_at))
        self._database.bells.ring(queue_name(received.hint.queue, received.hint.lane))

    async def send_dead(self, letter: DeadLetter) -> None:
        """Put a copy into the table of dead letters."""
        await self._write(partial(messages.put_dead, letter=letter, now=self._clock.now()))

    # --- what only the embedded queue can tell ------------------------------------------------------------------
    async def depth(self, lane: Lane, pool: str = LAMBDA) -> int:
        """How many hints a lane of a pool holds: visible, delayed and in hand."""
        return await self._read(partial(messages.depth, name=queue_name(pool, lane)))

    async def list_dead_letters(self, limit: int = limits.LIST_PAGE_DEFAULT) -> Sequence[DeadLetter]:
        """The oldest copies of dead executions."""
        return await self._read(partial(messages.dead, limit=limit))

    async def list_set_aside(self, limit: int = limits.LIST_PAGE_DEFAULT) -> Sequence[SetAside]:
        """The oldest messages that were unreadable, or received too often."""
        return await self._read(partial(messages.set_aside, limit=limit))

    async def sweep(self, now: Instant) -> int:
        """Remove some of the messages that are older than SQS would keep them; says how many."""
        old = await self._write(partial(messages.forget, before=Instant(now - RETENTION_MS)))
        before = Instant(now - HINTS_KEPT_MS)
        return old + await self._write(partial(messages.forget_hints, before=before, limit=HINTS_SWEPT_MAX))

    async def _read(self, work: Callable[[sqlite3.Connection], AnswerT]) -> AnswerT:
        return await self._database.read(work, QueueUnavailable)

    async def _write(self, work: Callable[[sqlite3.Connection], AnswerT]) -> AnswerT:
        return await self._database.write(work, QueueUnavailable)
