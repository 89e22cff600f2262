"""How a worker asks its queue: one receive that waits, or several of which none does."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from tests.support.kits import World
from tests.support.steps import MINUTE, a_worker, for_a_while
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import LAMBDA
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.ports.clock import Clock
from tickwright.ports.queue import Queue, Received


@dataclass(slots=True)
class Watched:
    """A queue that notes how long each receive may wait, beside those of its lane that are under way."""

    queue: Queue
    clock: Clock
    under_way: dict[tuple[str, Lane], list[int]] = field(default_factory=lambda: defaultdict(list))
    seen: list[tuple[int, ...]] = field(default_factory=list)

    async def receive(
        self, lane: Lane, *, limit: int, wait_ms: int, visibility_ms: int, pool: str = LAMBDA
    ) -> Sequence[Received]:
        """Note, and receive."""
        waits = self.under_way[pool, lane]
        waits.append(wait_ms)
        self.seen.append(tuple(waits))
        await self.clock.sleep_ms(1)  # the way there
        try:
            asked = partial(self.queue.receive, lane, limit=limit, wait_ms=wait_ms, visibility_ms=visibility_ms)
            return await asked(pool=pool)
        finally:
            waits.remove(wait_ms)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any other method of the queue
        """As it is."""
        return getattr(self.queue, name)


@pytest.mark.sem("SEM-LANE-1")
async def test_no_receive_waits_beside_another(world: World) -> None:
    """What several receives have taken starts at once, not when an empty one of them has waited to its end."""
    for number in range(45):
        await world.submit(name=f"job-{number}")
    watched = Watched(world.kit.queue, world.clock)
    kit = replace(world.kit, queue=watched)

    await for_a_while(world, 2 * MINUTE, SchedulerLoop(world.kit, "s1"), a_worker(world, kit))

    together = [waits for waits in watched.seen if len(waits) > 1]
    assert len(world.runner.starts) == 45
    assert together
    assert {wait_ms for waits in together for wait_ms in waits} == {0}
