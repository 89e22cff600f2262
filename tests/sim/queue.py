"""The ready queues of a simulated installation: hints get lost, come twice, come late, come early, and out of order.

A message is drawn for by its number, so a queue with one message less treats the others as before. Must not know what a
hint means.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tests.sim.draws import fraction_at
from tests.sim.process import Process
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import FARGATE
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.queue import DeadLetter, Hint, Received

_LATE_MS = 4_000

Place = tuple[str, Lane]  # a pool and a lane; simulated jobs run Python code, which is for the fleet


@dataclass(slots=True)
class _Message:
    hint: Hint
    visible_ms: int
    number: int
    receipt: int = 0
    receives: int = 0


def _place(hint: Hint) -> Place:
    return hint.queue, hint.lane


@dataclass(slots=True)
class Queues:
    """All messages. `key` draws what becomes of each."""

    now_ms: Callable[[], int]
    key: int
    loss: float = 0.0
    double: float = 0.0
    late: float = 0.0
    healed: bool = False
    sent: int = 0
    lost: int = 0
    lanes: dict[Place, list[_Message]] = field(default_factory=lambda: {(FARGATE, lane): [] for lane in Lane})
    letters: list[DeadLetter] = field(default_factory=list)
    bells: dict[Place, asyncio.Event] = field(default_factory=dict)
    _receipts: int = 0
    _added: int = 0

    def put(self, hint: Hint) -> None:
        """A message is on its way."""
        self.sent += 1
        number = 8 * self.sent
        visible_ms = max(self.now_ms(), hint.due_at)
        if not self.healed:
            if fraction_at(self.key, number) < self.loss:
                self.lost += 1
                return
            if fraction_at(self.key, number + 1) < self.late:
                visible_ms += int(fraction_at(self.key, number + 2) * _LATE_MS)
            if fraction_at(self.key, number + 3) < self.double:
                self._add(hint, visible_ms + int(fraction_at(self.key, number + 4) * _LATE_MS))
        self._add(hint, visible_ms)

    def _add(self, hint: Hint, visible_ms: int) -> None:
        self._added += 1
        place = _place(hint)
        self.lanes[place].append(_Message(hint, visible_ms, -self._added))
        self.ring(place)

    def ring(self, lane: Place) -> None:
        """Whoever waits looks again."""
        self.bells.pop(lane, asyncio.Event()).set()

    def take(self, lane: Place, limit: int, visibility_ms: int) -> list[Received]:
        """Up to so many visible ones, in an order of the queue's own."""
        now = self.now_ms()
        visible = [message for message in self.lanes[lane] if message.visible_ms <= now]
        visible.sort(key=lambda message: fraction_at(self.key, message.number))
        taken = []
        for message in visible[:limit]:
            self._receipts += 1
            message.receipt, message.receives = self._receipts, message.receives + 1
            message.visible_ms = now + visibility_ms
            taken.append(Received(hint=message.hint, receipt=str(message.receipt), receive_count=message.receives))
        return taken

    def next_visible_ms(self, lane: Place) -> int | None:
        """When the next message may be taken."""
        return min((message.visible_ms for message in self.lanes[lane]), default=None)

    def delete(self, received: Sequence[Received]) -> None:
        """By receipt: one that came again meanwhile stays."""
        receipts = {int(one.receipt) for one in received}
        for lane in {_place(one.hint) for one in received}:
            self.lanes[lane] = [message for message in self.lanes[lane] if message.receipt not in receipts]

    def show(self, received: Received, at_ms: int) -> None:
        """By receipt, too."""
        place = _place(received.hint)
        for message in self.lanes[place]:
            if message.receipt == int(received.receipt):
                message.visible_ms = at_ms
        self.ring(place)

    def waiting(self) -> int:
        """How many messages there are."""
        return sum(map(len, self.lanes.values()))


@dataclass(slots=True)
class SimQueue:
    """A process's way to the queues."""

    queues: Queues
    process: Process

    async def send(self, hints: Sequence[Hint], now: Instant) -> Sequence[Hint]:
        """One call for all of them."""

        def put() -> Sequence[Hint]:
            for hint in hints:
                self.queues.put(replace(hint))
            return []

        return await self.process.call(put, QueueUnavailable, writes=True)

    async def prepare(self, pool: str) -> None:
        """The simulated owners have no fleets of their own."""
        raise AssertionError(f"no queues are made for the pool {pool}")

    async def remove(self, pool: str) -> None:
        """Nor do they delete any."""
        raise AssertionError(f"no queues are removed of the pool {pool}")

    async def waiting(self, pool: str) -> int:
        """Nor do they ask about one."""
        raise AssertionError(f"nobody counts what waits in the pool {pool}")

    async def receive_any(
        self, lanes: Sequence[Lane], *, limit: int, wait_ms: int, visibility_ms: int, pool: str = FARGATE
    ) -> Sequence[Received]:
        """Nobody pulls here."""
        raise AssertionError(f"{pool}: somebody pulls up to {limit} of {lanes} for {wait_ms} and {visibility_ms} ms")

    async def receive(
        self, lane: Lane, *, limit: int, wait_ms: int, visibility_ms: int, pool: str = FARGATE
    ) -> Sequence[Received]:
        """Waits for the first one no longer than asked."""
        place = (pool, lane)
        give_up_ms = self.queues.now_ms() + wait_ms
        while True:
            taken = await self.process.call(lambda: self.queues.take(place, limit, visibility_ms), QueueUnavailable)
            now = self.queues.now_ms()
            if taken or now >= give_up_ms:
                return taken
            known_ms = self.queues.next_visible_ms(place)
            until_ms = give_up_ms if known_ms is None else max(now + 1, min(known_ms, give_up_ms))
            await self._wait(place, until_ms - now)

    async def _wait(self, place: Place, left_ms: int) -> None:
        bell = self.queues.bells.setdefault(place, asyncio.Event())
        try:
            async with asyncio.timeout(left_ms / 1_000):
                await bell.wait()
        except TimeoutError:
            return

    async def delete(self, received: Sequence[Received]) -> None:
        """Take them off."""
        await self.process.call(lambda: self.queues.delete(received), QueueUnavailable, writes=True)

    async def show_again(self, received: Received, *, after_ms: int) -> None:
        """Show one again later."""
        at_ms = self.queues.now_ms() + max(0, after_ms)
        await self.process.call(lambda: self.queues.show(received, at_ms), QueueUnavailable, writes=True)

    async def send_dead(self, letter: DeadLetter) -> None:
        """A copy of a dead execution."""
        await self.process.call(lambda: self.queues.letters.append(letter), QueueUnavailable, writes=True)
