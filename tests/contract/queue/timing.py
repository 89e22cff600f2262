"""How long the queue tests wait, and what a queue may round.

Must not hold assertions. SQS counts delays and visibility in whole seconds and rounds down; an exact queue counts in
milliseconds. Waiting is always for something that must come, with this much patience.
"""

from collections.abc import Sequence

from tickwright.domain.lanes import Lane
from tickwright.ports.queue import Queue, Received

# Long enough for a busy machine; a test that waits this long has failed.
PATIENCE_MS = 20_000
SECOND_MS = 1_000
MINUTE_MS = 60_000


async def receive_some(
    queue: Queue, count: int, *, lane: Lane = Lane.NORMAL, visibility_ms: int = MINUTE_MS
) -> list[Received]:
    """So many hints, by as many calls as it takes; fewer only if a call comes back with none."""
    received: list[Received] = []
    while len(received) < count:
        more = await queue.receive(lane, limit=10, wait_ms=PATIENCE_MS, visibility_ms=visibility_ms)
        if not more:
            break
        received += more
    return received


async def receive_now(queue: Queue, *, lane: Lane = Lane.NORMAL, visibility_ms: int = MINUTE_MS) -> Sequence[Received]:
    """What is visible at this moment."""
    return await queue.receive(lane, limit=10, wait_ms=0, visibility_ms=visibility_ms)
