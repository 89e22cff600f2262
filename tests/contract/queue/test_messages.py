"""Does a queue give every hint to somebody, unharmed, until it is taken off?"""

from collections import Counter

import pytest

from tests.contract.queue.timing import MINUTE_MS, PATIENCE_MS, SECOND_MS, receive_now, receive_some
from tests.support.builders import a_dead_letter, a_hint, a_manual_key, a_ref
from tickwright.adapters.clock_system import SystemClock
from tickwright.domain.ids import Epoch, ExecutionRef, TenantId
from tickwright.domain.lanes import Lane
from tickwright.ports.queue import Hint, Queue

MORE_THAN_A_BATCH = 27


def hints_due(clock: SystemClock, count: int, *, lane: Lane = Lane.NORMAL) -> list[Hint]:
    now = clock.now()
    return [a_hint(ref=a_ref(number), lane=lane, due_at=now) for number in range(count)]


@pytest.mark.sem("SEM-QUEUE-1")
async def test_a_hint_is_received_as_it_was_sent(queue: Queue, clock: SystemClock) -> None:
    """Every field of it, for the first time, in the reader's hand."""
    ref = ExecutionRef(a_ref(3).job_id, a_manual_key(4))
    hint = a_hint(ref=ref, tenant_id=TenantId("Grüße"), epoch=Epoch(7), job_version=12, due_at=clock.now())

    refused = await queue.send([hint], clock.now())

    (received,) = await receive_some(queue, 1)
    assert list(refused) == []
    assert received.hint == hint
    assert received.receive_count == 1


@pytest.mark.sem("SEM-QUEUE-1")
async def test_any_number_of_hints_may_be_sent_at_once(queue: Queue, clock: SystemClock) -> None:
    """More than two of the engine's batches; none is lost and none comes twice."""
    hints = hints_due(clock, MORE_THAN_A_BATCH)

    refused = await queue.send(hints, clock.now())

    received = await receive_some(queue, MORE_THAN_A_BATCH)
    assert list(refused) == []
    assert Counter(one.hint.ref for one in received) == Counter(hint.ref for hint in hints)


async def test_sending_nothing_is_no_error(queue: Queue, clock: SystemClock) -> None:
    """A page whose executions all exist already has nothing to send."""
    assert list(await queue.send([], clock.now())) == []


async def test_no_more_hints_are_received_than_asked_for(queue: Queue, clock: SystemClock) -> None:
    """A worker with three free places asks for three."""
    await queue.send(hints_due(clock, 9), clock.now())

    received = await queue.receive(Lane.NORMAL, limit=3, wait_ms=PATIENCE_MS, visibility_ms=MINUTE_MS)

    assert 1 <= len(received) <= 3


@pytest.mark.sem("SEM-QUEUE-1")
async def test_an_empty_lane_gives_nothing(queue: Queue, clock: SystemClock) -> None:
    """Hints of another lane are not given in its place."""
    await queue.send(hints_due(clock, 3, lane=Lane.HIGH), clock.now())

    assert list(await receive_now(queue, lane=Lane.LOW)) == []
    assert len(await receive_some(queue, 3, lane=Lane.HIGH)) == 3


async def test_one_send_reaches_the_lanes_that_its_hints_name(queue: Queue, clock: SystemClock) -> None:
    """A page of mixed lanes is one call."""
    by_lane = {lane: a_hint(ref=a_ref(number), lane=lane, due_at=clock.now()) for number, lane in enumerate(Lane)}

    await queue.send(list(by_lane.values()), clock.now())

    assert {lane: [one.hint for one in await receive_some(queue, 1, lane=lane)] for lane in Lane} == {
        lane: [hint] for lane, hint in by_lane.items()
    }


@pytest.mark.sem("SEM-QUEUE-2")
async def test_a_hint_in_hand_is_hidden_from_others(queue: Queue, clock: SystemClock) -> None:
    """Until its visibility ends."""
    await queue.send(hints_due(clock, 1), clock.now())
    await receive_some(queue, 1)

    assert list(await receive_now(queue)) == []


@pytest.mark.sem("SEM-QUEUE-2")
async def test_a_hint_that_is_not_deleted_comes_again(queue: Queue, clock: SystemClock) -> None:
    """Its reader has died: the next one gets it when the visibility is over, counted as the second time."""
    await queue.send(hints_due(clock, 1), clock.now())
    (first,) = await receive_some(queue, 1, visibility_ms=SECOND_MS)

    (second,) = await receive_some(queue, 1)

    assert second.hint == first.hint
    assert second.receive_count == 2
    assert second.receipt != first.receipt


@pytest.mark.sem("SEM-QUEUE-2")
async def test_a_deleted_hint_never_comes_again(queue: Queue, clock: SystemClock) -> None:
    """Nor do any of more than two batches: after their visibility only the one that was kept is there."""
    hints = hints_due(clock, MORE_THAN_A_BATCH)
    await queue.send(hints, clock.now())
    received = await receive_some(queue, MORE_THAN_A_BATCH, visibility_ms=3 * SECOND_MS)

    await queue.delete(received[1:])

    left = await receive_some(queue, 1)
    assert [one.hint for one in left] == [received[0].hint]
    assert list(await receive_now(queue)) == []


async def test_deleting_twice_is_no_error(queue: Queue, clock: SystemClock) -> None:
    """A reply may be lost; nor is deleting nothing."""
    await queue.send(hints_due(clock, 1), clock.now())
    received = await receive_some(queue, 1)
    await queue.delete(received)

    await queue.delete(received)
    await queue.delete([])

    assert list(await receive_now(queue)) == []


@pytest.mark.sem("SEM-QUEUE-5")
async def test_a_dead_letter_is_taken(queue: Queue) -> None:
    """Twice the same is two copies: the effect that sends it may be repeated, and raises if it is not taken."""
    letter = a_dead_letter(message="Grüße: keine Datei ☃")

    await queue.send_dead(letter)
    await queue.send_dead(letter)

    assert list(await receive_now(queue)) == []
