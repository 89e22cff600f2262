"""Are messages that nobody can use set aside, where a person can look at them, and never given to a reader?"""

from collections.abc import AsyncIterator

import pytest

from tests.support.builders import a_dead_letter, a_hint, a_ref
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.embedded import Database, EmbeddedQueue
from tickwright.adapters.embedded.messages import TOO_OFTEN, UNREADABLE, SetAside
from tickwright.adapters.embedded.queue import RETENTION_MS
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.queue import Received

CLOCK = SystemClock()
RECEIVES_MAX = 3
BAD_BODIES = ["", "{", "null", '{"v": 2, "hint": {}}', '{"v": 1}', '{"v": 1, "hint": {"ref": ["a", "b"]}}']


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    """A database in memory."""
    opened = Database.in_memory()
    yield opened
    await opened.close()


@pytest.fixture
def queue(database: Database) -> EmbeddedQueue:
    """A queue that gives a message out three times at most."""
    return EmbeddedQueue(database, CLOCK, receives_max=RECEIVES_MAX)


async def put_raw(database: Database, body: str) -> None:
    await database.write(
        lambda connection: connection.execute(
            "INSERT INTO messages (lane, visible_at, body) VALUES ('normal', 0, ?)", (body,)
        ),
        QueueUnavailable,
    )


async def receive(queue: EmbeddedQueue, *, wait_ms: int = 0) -> list[Received]:
    return list(await queue.receive(Lane.NORMAL, limit=10, wait_ms=wait_ms, visibility_ms=1))


@pytest.mark.sem("SEM-QUEUE-4")
@pytest.mark.parametrize("body", BAD_BODIES)
async def test_an_unreadable_message_is_set_aside(database: Database, queue: EmbeddedQueue, body: str) -> None:
    """The good one behind it is given; the bad one is kept with its reason, off the lane."""
    await put_raw(database, body)
    await queue.send([a_hint(due_at=CLOCK.now())], CLOCK.now())

    received = await receive(queue)

    assert [one.hint.ref for one in received] == [a_ref()]
    assert list(await queue.list_set_aside()) == [SetAside(lane=Lane.NORMAL, reason=UNREADABLE, body=body)]
    assert await queue.depth(Lane.NORMAL) == 1


@pytest.mark.sem("SEM-QUEUE-4")
async def test_a_lane_of_unreadable_messages_is_an_empty_lane(database: Database, queue: EmbeddedQueue) -> None:
    """More of them than one call takes do not keep a reader from what stands behind, nor are they an answer."""
    for _ in range(25):
        await put_raw(database, "nonsense")

    received = await receive(queue)

    assert received == []
    assert len(await queue.list_set_aside()) == 25


@pytest.mark.sem("SEM-QUEUE-4")
async def test_a_message_that_was_received_too_often_is_set_aside(queue: EmbeddedQueue) -> None:
    """Nobody has ever finished with it: the store knows what it was about."""
    await queue.send([a_hint(due_at=CLOCK.now())], CLOCK.now())

    counts = [[one.receive_count for one in await receive(queue, wait_ms=200)] for _ in range(RECEIVES_MAX + 1)]

    assert counts == [[1], [2], [3], []]
    assert [one.reason for one in await queue.list_set_aside()] == [TOO_OFTEN]
    assert await queue.depth(Lane.NORMAL) == 0


async def test_a_dead_letter_is_listed_as_it_was_sent(queue: EmbeddedQueue) -> None:
    """Oldest first."""
    letters = [a_dead_letter(ref=a_ref(number), message="Grüße ☃") for number in range(3)]
    for letter in letters:
        await queue.send_dead(letter)

    assert list(await queue.list_dead_letters()) == letters
    assert list(await queue.list_dead_letters(limit=2)) == letters[:2]


async def test_the_depth_of_a_lane_counts_what_is_delayed_and_in_hand(queue: EmbeddedQueue) -> None:
    """One in hand, one delayed, one visible."""
    now = CLOCK.now()
    await queue.send([a_hint(ref=a_ref(1), due_at=now)], now)
    await queue.receive(Lane.NORMAL, limit=1, wait_ms=0, visibility_ms=60_000)
    await queue.send([a_hint(ref=a_ref(2), due_at=now), a_hint(ref=a_ref(3), due_at=Instant(now + 60_000))], now)

    assert await queue.depth(Lane.NORMAL) == 3
    assert await queue.depth(Lane.HIGH) == 0


async def test_what_was_set_aside_is_forgotten_after_two_weeks(database: Database, queue: EmbeddedQueue) -> None:
    """As SQS forgets it; not before."""
    await put_raw(database, "nonsense")
    await receive(queue)
    await queue.send_dead(a_dead_letter())

    early = await queue.sweep(Instant(CLOCK.now() + RETENTION_MS - 60_000))
    due = await queue.sweep(Instant(CLOCK.now() + RETENTION_MS + 1))

    assert (early, due) == (0, 2)
    assert list(await queue.list_set_aside()) == []
    assert list(await queue.list_dead_letters()) == []
