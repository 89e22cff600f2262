"""Does each pool have its hints to itself, also where two tenants call theirs alike, and can one ask several lanes?"""

import asyncio
from contextlib import suppress

import pytest

from tests.contract.queue.timing import MINUTE_MS, PATIENCE_MS, SECOND_MS
from tests.support.builders import a_hint, a_ref
from tickwright.adapters.clock_system import SystemClock
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import FARGATE, LAMBDA, PoolName
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.queue import Hint, Queue, Received

ACME, RIVAL = TenantId("acme"), TenantId("rival")
GPU = PoolName("gpu")
LANES_ASKED = (Lane.HIGH, Lane.NORMAL, Lane.LOW)


async def received_from(queue: Queue, pool: str, *, limit: int = 10, wait_ms: int = 2 * SECOND_MS) -> list[Received]:
    return list(await queue.receive_any(LANES_ASKED, limit=limit, wait_ms=wait_ms, visibility_ms=MINUTE_MS, pool=pool))


def hints_of_each_pool(clock: SystemClock) -> dict[str, Hint]:
    """One hint a pool, of two platform's and of two tenants that call theirs alike; by the pools' keys."""
    pools = [(LAMBDA, ACME), (FARGATE, ACME), (GPU, ACME), (GPU, RIVAL)]
    hints = [
        a_hint(ref=a_ref(number), tenant_id=tenant, pool=pool, due_at=clock.now())
        for number, (pool, tenant) in enumerate(pools)
    ]
    return {hint.queue: hint for hint in hints}


async def prepared(queue: Queue) -> None:
    for tenant in (ACME, RIVAL):
        await queue.prepare(a_hint(tenant_id=tenant, pool=GPU).queue)


@pytest.mark.sem("SEM-POOL-1", "SEM-QUEUE-1")
async def test_each_pool_has_its_hints_to_itself(queue: Queue, clock: SystemClock) -> None:
    """Sent in one call, each is received where it belongs, whole, and nowhere else."""
    await prepared(queue)
    hints = hints_of_each_pool(clock)

    refused = await queue.send(list(hints.values()), clock.now())

    assert list(refused) == []
    found = {key: [one.hint for one in await received_from(queue, key)] for key in hints}
    assert found == {key: [hint] for key, hint in hints.items()}


@pytest.mark.sem("SEM-QUEUE-2")
async def test_hints_of_a_pool_are_shown_again_and_deleted_there(queue: Queue, clock: SystemClock) -> None:
    """As those of any other."""
    await prepared(queue)
    hints = hints_of_each_pool(clock)
    await queue.send(list(hints.values()), clock.now())
    received = {key: (await received_from(queue, key))[0] for key in hints}

    for one in received.values():
        await queue.show_again(one, after_ms=0)
    again = {key: (await received_from(queue, key))[0] for key in hints}
    await queue.delete(list(again.values()))

    assert [one.receive_count for one in again.values()] == [2] * len(hints)
    assert {key: await received_from(queue, key, wait_ms=0) for key in hints} == {key: [] for key in hints}


async def test_making_a_pool_twice_is_no_error(queue: Queue, clock: SystemClock) -> None:
    """A request is repeated; what waits there stays."""
    await prepared(queue)
    hint = a_hint(tenant_id=ACME, pool=GPU, due_at=clock.now())
    await queue.send([hint], clock.now())

    await prepared(queue)

    assert [one.hint for one in await received_from(queue, hint.queue)] == [hint]


@pytest.mark.sem("SEM-POOL-6")
async def test_a_pools_queues_are_removed_with_what_is_in_them(queue: Queue, clock: SystemClock) -> None:
    """And nobody else's; removing them twice is no error."""
    await prepared(queue)
    hints = hints_of_each_pool(clock)
    await queue.send(list(hints.values()), clock.now())
    gone = a_hint(tenant_id=ACME, pool=GPU).queue

    for _ in range(2):
        await queue.remove(gone)

    found = {key: [one.hint for one in await received_from(queue, key)] for key in hints if key != gone}
    assert found == {key: [hint] for key, hint in hints.items() if key != gone}
    with suppress(QueueUnavailable):
        assert await received_from(queue, gone, wait_ms=0) == []


@pytest.mark.sem("SEM-POOL-6")
async def test_what_waits_in_a_pool_is_counted(queue: Queue, clock: SystemClock) -> None:
    """Visible, delayed and in hand, in all lanes, and nobody else's; a pool that has no queues has nothing."""
    await prepared(queue)
    hints = [
        a_hint(ref=a_ref(number), tenant_id=ACME, pool=GPU, lane=lane, due_at=Instant(clock.now() + delay_ms))
        for number, (lane, delay_ms) in enumerate([(Lane.HIGH, 0), (Lane.LOW, 0), (Lane.LOW, 10 * MINUTE_MS)])
    ]
    await queue.send(hints, clock.now())
    pool = hints[0].queue
    (in_hand,) = await received_from(queue, pool, limit=1)

    assert await queue.waiting(pool) == len(hints)
    await queue.delete([in_hand])
    assert await queue.waiting(pool) == len(hints) - 1
    assert await queue.waiting(a_hint(tenant_id=RIVAL, pool=GPU).queue) == 0
    assert await queue.waiting("acme/nowhere") == 0


async def test_of_several_lanes_the_first_asked_for_comes_first(queue: Queue, clock: SystemClock) -> None:
    """No more than asked for, whatever waits in the others."""
    await prepared(queue)
    lanes = [Lane.LOW, Lane.HIGH, Lane.NORMAL]
    hints = [
        a_hint(ref=a_ref(number), tenant_id=ACME, pool=GPU, lane=lane, due_at=clock.now())
        for number, lane in enumerate(lanes)
    ]
    await queue.send(hints, clock.now())

    order = [one.hint.lane for _ in lanes for one in await received_from(queue, hints[0].queue, limit=1)]

    assert order == [Lane.HIGH, Lane.NORMAL, Lane.LOW]


@pytest.mark.sem("SEM-QUEUE-3")
@pytest.mark.parametrize("lane", [Lane.HIGH, Lane.LOW])
async def test_whoever_waits_for_several_lanes_is_woken_by_any(queue: Queue, clock: SystemClock, lane: Lane) -> None:
    """Within moments, long before its patience ends."""
    await prepared(queue)
    hint = a_hint(tenant_id=ACME, pool=GPU, lane=lane, due_at=clock.now())
    waiting = asyncio.create_task(received_from(queue, hint.queue, wait_ms=PATIENCE_MS))
    await clock.sleep_ms(300)
    sent_ms = clock.monotonic_ms()

    await queue.send([hint], clock.now())

    assert [one.hint for one in await waiting] == [hint]
    assert clock.monotonic_ms() - sent_ms < 5 * SECOND_MS


async def test_several_empty_lanes_are_waited_for_no_longer_than_asked(queue: Queue, clock: SystemClock) -> None:
    """All of them together."""
    await prepared(queue)
    began_ms = clock.monotonic_ms()

    assert await received_from(queue, a_hint(tenant_id=ACME, pool=GPU).queue, wait_ms=2 * SECOND_MS) == []
    assert SECOND_MS - 50 <= clock.monotonic_ms() - began_ms <= 4 * SECOND_MS
