"""Does a hint become visible at its time, early by the queue's grain at most, and is a waiting reader woken by it?"""

import asyncio

import pytest

from tests.contract.places import Capability, Place
from tests.contract.queue.timing import MINUTE_MS, PATIENCE_MS, SECOND_MS, receive_now, receive_some
from tests.support.builders import a_hint, a_ref
from tickwright.adapters.clock_system import SystemClock
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.ports.queue import Hint, Queue, Received

# What a thread may need on a busy machine to be given its turn, on top of what the promise says.
SLACK_MS = 1_500


async def due_in(queue: Queue, clock: SystemClock, delay_ms: int, *, number: int = 0) -> Hint:
    """Send a hint that is due so much later."""
    now = clock.now()
    hint = a_hint(ref=a_ref(number), due_at=Instant(now + delay_ms))
    await queue.send([hint], now)
    return hint


async def arrival(queue: Queue, clock: SystemClock) -> tuple[Received, Instant]:
    """The next hint, and when it came."""
    (received,) = await queue.receive(Lane.NORMAL, limit=1, wait_ms=PATIENCE_MS, visibility_ms=MINUTE_MS)
    return received, clock.now()


@pytest.mark.sem("SEM-QUEUE-3")
async def test_a_delayed_hint_wakes_a_reader_at_its_time(queue: Queue, clock: SystemClock) -> None:
    """One long poll, begun before it is due: not a second early, since a delay is rounded down to seconds at most."""
    hint = await due_in(queue, clock, 2 * SECOND_MS)

    received, at = await arrival(queue, clock)

    assert received.hint == hint
    assert hint.due_at - SECOND_MS <= at <= hint.due_at + SLACK_MS


@pytest.mark.sem("SEM-QUEUE-3")
@pytest.mark.needs(Capability.EXACT_DELAY)
async def test_an_exact_queue_is_never_early(queue: Queue, clock: SystemClock) -> None:
    """To the millisecond, for a delay that is no whole number of seconds."""
    hint = await due_in(queue, clock, 237)

    _, at = await arrival(queue, clock)

    assert hint.due_at <= at <= hint.due_at + SLACK_MS


@pytest.mark.sem("SEM-QUEUE-3")
@pytest.mark.needs(Capability.EXACT_DELAY)
async def test_hints_of_an_exact_queue_come_in_the_order_of_their_times(queue: Queue, clock: SystemClock) -> None:
    """The oldest visible first, whatever the order in which they were sent."""
    now = clock.now()
    delays_ms = [120, 40, 80]
    hints = [a_hint(ref=a_ref(number), due_at=Instant(now + delay_ms)) for number, delay_ms in enumerate(delays_ms)]
    await queue.send(hints, now)

    received = [await arrival(queue, clock) for _ in hints]

    assert [one.hint.due_at - now for one, _ in received] == [40, 80, 120]
    assert all(at >= one.hint.due_at for one, at in received)


@pytest.mark.sem("SEM-QUEUE-3")
async def test_an_overdue_hint_is_visible_at_once(queue: Queue, clock: SystemClock) -> None:
    """A tick that is made up is an hour late already."""
    await due_in(queue, clock, -3_600_000)

    assert len(await receive_some(queue, 1)) == 1


async def test_a_hint_due_beyond_the_longest_delay_is_taken_all_the_same(queue: Queue, clock: SystemClock) -> None:
    """It would come early, after 900 seconds, and is not to be claimed then: the reader shows it again."""
    now = clock.now()

    refused = await queue.send([a_hint(due_at=Instant(now + 3_600_000))], now)

    assert list(refused) == []
    assert list(await receive_now(queue)) == []


async def test_an_empty_lane_is_waited_for_no_longer_than_asked(queue: Queue, clock: SystemClock) -> None:
    """A long poll that ends without a hint says so with nothing."""
    began_ms = clock.monotonic_ms()

    received = await queue.receive(Lane.NORMAL, limit=10, wait_ms=SECOND_MS, visibility_ms=MINUTE_MS)

    waited_ms = clock.monotonic_ms() - began_ms
    assert list(received) == []
    assert SECOND_MS - 50 <= waited_ms <= SECOND_MS + SLACK_MS


@pytest.mark.sem("SEM-QUEUE-3")
async def test_a_waiting_reader_is_woken_by_what_is_sent(queue: Queue, place: Place[Queue], clock: SystemClock) -> None:
    """Sent through another object, as another program would: long before its patience ends."""
    reading = asyncio.create_task(arrival(queue, clock))
    await clock.sleep_ms(100)
    async with place.open() as other:
        hint = await due_in(other, clock, 0)

        received, at = await reading

    assert received.hint == hint
    assert at <= hint.due_at + SLACK_MS


@pytest.mark.sem("SEM-QUEUE-2")
async def test_a_hint_shown_again_at_once_is_visible_at_once(queue: Queue, clock: SystemClock) -> None:
    """A worker that drains gives back what it holds."""
    await due_in(queue, clock, 0)
    (first,) = await receive_some(queue, 1)

    await queue.show_again(first, after_ms=0)

    (second,) = await receive_some(queue, 1)
    assert second.hint == first.hint


@pytest.mark.sem("SEM-QUEUE-2")
async def test_a_hint_shown_again_later_comes_then(queue: Queue, clock: SystemClock) -> None:
    """Instead of when its visibility ends, a minute away: when the lease of another ends."""
    await due_in(queue, clock, 0)
    (first,) = await receive_some(queue, 1)
    shown_ms = clock.monotonic_ms()

    await queue.show_again(first, after_ms=SECOND_MS)

    hidden = list(await receive_now(queue))
    (second,) = await receive_some(queue, 1)
    waited_ms = clock.monotonic_ms() - shown_ms
    assert hidden == []
    assert second.hint == first.hint
    assert SECOND_MS - 50 <= waited_ms <= SECOND_MS + SLACK_MS


@pytest.mark.needs(Capability.EXACT_DELAY)
async def test_an_old_receipt_moves_nothing(queue: Queue, clock: SystemClock) -> None:
    """The hint is in another reader's hand by now: whoever had it before neither deletes it nor shows it."""
    await due_in(queue, clock, 0)
    (first,) = await receive_some(queue, 1, visibility_ms=50)
    (second,) = await receive_some(queue, 1, visibility_ms=300)

    await queue.delete([first])
    await queue.show_again(first, after_ms=0)

    hidden = list(await receive_now(queue))
    (third,) = await receive_some(queue, 1)
    assert hidden == []
    assert [one.receive_count for one in (first, second, third)] == [1, 2, 3]


async def test_readers_of_two_lanes_do_not_hold_each_other_up(queue: Queue, clock: SystemClock) -> None:
    """One waits for an empty lane while the other is served."""
    idle = asyncio.create_task(queue.receive(Lane.LOW, limit=1, wait_ms=PATIENCE_MS, visibility_ms=MINUTE_MS))
    await clock.sleep_ms(50)
    hint = await due_in(queue, clock, 0)

    _, at = await arrival(queue, clock)

    assert at <= hint.due_at + SLACK_MS
    assert not idle.done()
    idle.cancel()
    await asyncio.gather(idle, return_exceptions=True)
    assert JobId(hint.ref.job_id) == a_ref().job_id
