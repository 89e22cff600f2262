"""A tenant's claims wait while there is a seat for them: what one gets without, and when a seat is free again."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.services.test_pull import a_wish, due
from tests.support.builders import TENANT
from tests.support.faulty import Fate, Script
from tests.support.kits import World
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.seats import PutSeat, Seat, free_seats
from tickwright.services.kit import Kit
from tickwright.services.pools import put_pool
from tickwright.services.pull import Grant, Wish, pull

WAIT_MS = 20_000
HOUR_MS, ERROR_MS = 3_600_000, 1_000
RIVAL = TenantId("rival")

pytestmark = pytest.mark.sem("SEM-POOL-5")


def seated(worker: str = "gpu-1", seats: int = 2, wait_ms: int = WAIT_MS) -> Wish:
    return replace(a_wish(worker=worker, wait_ms=wait_ms), seats=seats)


async def asked(world: World, wish: Wish, tenant: TenantId = TENANT, kit: Kit | None = None) -> object:
    return await pull(kit or world.kit, tenant, "gpu", wish)


async def waiting(world: World, count: int, seats: int) -> Sequence["asyncio.Task[object]"]:
    """So many claims that have begun to wait."""
    await put_pool(world.kit, TENANT, "gpu", None)
    claims = [asyncio.create_task(asked(world, seated(f"gpu-{number}", seats))) for number in range(count)]
    await world.clock.sleep_ms(1_000)
    return claims


def is_refused(answer: object) -> bool:
    return isinstance(answer, Refusal) and answer.code is Code.TOO_MANY_CLAIMS


async def test_no_more_claims_of_a_tenant_wait_than_it_has_seats(world: World) -> None:
    """The first ones wait as long as they may; those beyond are refused at once, and may come again."""
    began_at = world.clock.now()

    *first, third, fourth = await waiting(world, 4, seats=2)
    refused = [claim for claim in (*first, third, fourth) if claim.done()]
    answers = [await claim for claim in (*first, third, fourth)]

    assert len(refused) == 2
    assert all(is_refused(claim.result()) for claim in refused)
    assert sorted(answer == [] for answer in answers) == [False, False, True, True]
    assert world.clock.now() - began_at == WAIT_MS
    assert all(answer.retryable for answer in answers if isinstance(answer, Refusal))


async def test_one_tenants_machines_take_no_seat_of_anothers(world: World) -> None:
    """Its own claims wait as if nobody else did."""
    await put_pool(world.kit, RIVAL, "gpu", None)
    claims = await waiting(world, 2, seats=2)

    assert await asked(world, seated(), RIVAL) == []
    assert [await claim for claim in claims] == [[], []]


async def test_work_is_granted_without_a_seat(world: World) -> None:
    """Whoever finds something does not wait; and whoever does not want to wait is not refused either."""
    claims = await waiting(world, 1, seats=1)
    nothing = await asked(world, seated("gpu-2", seats=1, wait_ms=0))
    await due(world, 2)
    granted = await asked(world, seated("gpu-2", seats=1))
    (waited,) = [await claim for claim in claims]

    assert nothing == []
    assert [len(answer) for answer in (granted, waited) if isinstance(answer, list)] in ([2, 0], [1, 1])


async def test_whoever_is_granted_something_leaves_its_seat(world: World) -> None:
    """The next claim waits on it, long before the first one's time would have been over."""
    (claim,) = await waiting(world, 1, seats=1)
    await due(world)
    granted = await claim

    began_at = world.clock.now()
    assert await asked(world, seated("gpu-2", seats=1)) == []
    assert world.clock.now() - began_at == WAIT_MS
    assert isinstance(granted, Sequence)
    assert len(granted) == 1
    assert isinstance(granted[0], Grant)


async def test_the_seat_of_one_that_died_is_free_at_the_end_of_its_wait(world: World) -> None:
    """Nobody has to tidy up after it."""
    await put_pool(world.kit, TENANT, "gpu", None)
    now = world.clock.now()
    left = Seat(tenant_id=TENANT, number=0, token="dead", until=Instant(now + WAIT_MS))
    await world.kit.store.write(PutSeat(seat=left, now=now, clock_error_ms=ERROR_MS))

    before = await asked(world, seated(seats=1))
    await world.clock.sleep_ms(WAIT_MS)
    after = await asked(world, seated(seats=1))

    assert is_refused(before)
    assert after == []


async def test_a_clock_that_was_ahead_for_a_moment_keeps_no_seat(world: World) -> None:
    """Its seats would end an hour from now, which no claim can have meant: the next claim sits down."""
    await put_pool(world.kit, TENANT, "gpu", None)
    now = world.clock.now()
    ahead = Instant(now + HOUR_MS)
    astray = Seat(tenant_id=TENANT, number=0, token="astray", until=Instant(ahead + WAIT_MS))
    await world.kit.store.write(PutSeat(seat=astray, now=ahead, clock_error_ms=ERROR_MS))

    assert await asked(world, seated(seats=1)) == []


async def test_a_seat_that_cannot_be_left_costs_the_claim_nothing(world: World) -> None:
    """What was granted is granted; the seat is free at its end."""
    await put_pool(world.kit, TENANT, "gpu", None)
    shaky = world.a_process(Script(at=2, fate=Fate.LOST_BEFORE, of=PutSeat))
    claim = asyncio.create_task(asked(world, seated(seats=1), kit=shaky))
    await world.clock.sleep_ms(1_000)
    await due(world)

    granted = await claim

    assert isinstance(granted, Sequence)
    assert len(granted) == 1
    assert is_refused(await asked(world, seated("gpu-2", seats=1)))


async def test_of_two_that_want_the_last_seat_one_gets_it(world: World) -> None:
    """Both have seen it free; the write decides."""
    now = world.clock.now()
    takes = [Seat(tenant_id=TENANT, number=0, token=token, until=Instant(now + WAIT_MS)) for token in ("a", "b")]

    outcomes = [await world.kit.store.write(PutSeat(seat=seat, now=now, clock_error_ms=ERROR_MS)) for seat in takes]

    assert [type(outcome).__name__ for outcome in outcomes] == ["Applied", "Refused"]
    assert await world.kit.store.seats_of(TENANT) == takes[:1]


def test_free_seats_begin_where_the_draw_falls() -> None:
    """Each free one once; those whose time is over are free, and those whose end lies too far ahead."""
    now = Instant(1_000)

    def free(most: int, draw: float) -> Sequence[int]:
        return free_seats(taken, most, now, clock_error_ms=ERROR_MS, draw=draw)

    taken = [
        Seat(tenant_id=TENANT, number=number, token="t", until=Instant(until))
        for number, until in ((0, 1_001), (1, 1_000), (3, 23_000), (5, 23_001))
    ]

    assert free(6, 0.0) == [1, 2, 4, 5]
    assert free(6, 0.6) == [4, 5, 1, 2]
    assert free(1, 0.9) == []
