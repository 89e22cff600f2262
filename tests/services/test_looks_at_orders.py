"""A look of the watch at the orders: for a few seconds, each in its turn, so that the journal is looked at again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest

from tests.support.clocks import ManualClock
from tests.support.dying import a_death, now_of, ordered
from tests.support.faulty import Call
from tests.support.kits import World
from tickwright.domain import limits
from tickwright.loops.watch import WatchLoop

AnswerT = TypeVar("AnswerT")
WRITE_MS = 1_000


@dataclass(frozen=True, slots=True)
class SlowWrites:
    """Each write takes a second."""

    clock: ManualClock

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Let the time pass, then do it."""
        self.clock.advance(WRITE_MS if call.writes else 0)
        return await do()


@pytest.mark.sem("SEM-DLQ-2", "SEM-JOURNAL-2")
async def test_a_look_ends_soon_however_much_the_orders_have_to_do(world: World) -> None:
    """Two hundred steps of each would keep the journal waiting for minutes."""
    for _ in range(60):
        await a_death(world)
    for _ in range(3):
        await ordered(world, rate_per_min=600)
    began_ms = world.clock.monotonic_ms()

    await WatchLoop(world.a_process(SlowWrites(world.clock))).look()

    assert 0 < world.clock.monotonic_ms() - began_ms < world.kit.durations.watch_ms


@pytest.mark.sem("SEM-DLQ-2")
async def test_every_order_moves_on_though_no_look_has_time_for_all(world: World) -> None:
    """What one look had no time for comes first in the next."""
    for _ in range(5):
        await a_death(world)
    orders = [await ordered(world, rate_per_min=600) for _ in range(limits.ORDERS_OPEN_MAX)]
    loop = WatchLoop(world.a_process(SlowWrites(world.clock)))

    await loop.look()
    moved = [(await now_of(world, order)).version > order.version for order in orders]
    await loop.look()

    assert (any(moved), all(moved)) == (True, False)
    assert all([(await now_of(world, order)).version > order.version for order in orders])
