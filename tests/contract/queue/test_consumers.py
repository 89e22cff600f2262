"""Do many readers at once share the hints, so that each comes to one of them, and none is lost when a reader is?"""

from collections import Counter

import pytest

from tests.contract.places import Place
from tests.contract.queue.timing import MINUTE_MS, SECOND_MS
from tests.contract.racing import race
from tests.support.builders import a_hint, a_ref
from tickwright.adapters.clock_system import SystemClock
from tickwright.domain.ids import ExecutionRef
from tickwright.domain.lanes import Lane
from tickwright.ports.queue import Queue

CONSUMERS = 8
HINTS = 500
HINTS_OF_THE_DEAD = 40
CLOCK = SystemClock()


async def send_all(queue: Queue, count: int) -> None:
    now = CLOCK.now()
    await queue.send([a_hint(ref=a_ref(number), due_at=now) for number in range(count)], now)


async def consume(queue: Queue, _turn: int) -> list[ExecutionRef]:
    """Take and delete until nothing has come for two seconds."""
    seen: list[ExecutionRef] = []
    while received := await queue.receive(Lane.NORMAL, limit=10, wait_ms=2 * SECOND_MS, visibility_ms=MINUTE_MS):
        seen += [one.hint.ref for one in received]
        await queue.delete(received)
    return seen


@pytest.mark.sem("SEM-QUEUE-1", "SEM-QUEUE-2")
def test_eight_readers_share_five_hundred_hints(place: Place[Queue]) -> None:
    """Each hint comes to one reader, once, within its visibility; the first of them sends while the others wait."""

    async def send_and_consume(queue: Queue, turn: int) -> list[ExecutionRef]:
        await send_all(queue, HINTS)
        return await consume(queue, turn)

    ((*by_reader,),) = race(place, [send_and_consume, *[consume] * (CONSUMERS - 1)], rounds=1)

    seen = Counter(ref for refs in by_reader for ref in refs)
    assert seen == Counter(a_ref(number) for number in range(HINTS))


@pytest.mark.sem("SEM-QUEUE-2")
def test_what_a_dead_reader_held_comes_to_the_others(place: Place[Queue]) -> None:
    """One takes all it can get and never deletes; when its visibility is over, the others have every hint of it."""

    async def send_take_and_die(queue: Queue, _turn: int) -> list[ExecutionRef]:
        await send_all(queue, HINTS_OF_THE_DEAD)
        for _ in range(HINTS_OF_THE_DEAD // 20):
            await queue.receive(Lane.NORMAL, limit=10, wait_ms=0, visibility_ms=SECOND_MS)
        return []

    ((_, *others),) = race(place, [send_take_and_die, consume, consume], rounds=1)

    seen = Counter(ref for refs in others for ref in refs)
    assert seen == Counter(a_ref(number) for number in range(HINTS_OF_THE_DEAD))
