"""What minute rules wake makes way for one another: one scheduler a slot, and a watch only while there is something."""

import asyncio

import pytest

from tests.support.faulty import Down, Fate, Script
from tests.support.kits import World
from tests.support.ledger import check_all, check_ledger
from tests.support.steps import MINUTE, a_minutely_job, a_worker, fired
from tickwright.domain.leases import RenewBucket
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.services.kit import Kit
from tickwright.services.leases import Leases, renew, take

_LASTS_MS = 130_000
_WOKEN_MS = 120_000


def a_scheduler(kit: Kit, owner: str, *, slot: int = 0, slots: int = 1) -> SchedulerLoop:
    """As the function makes one."""
    return SchedulerLoop(kit, f"scheduler-{slot}-{owner}", slot=slot, slots=slots, crew=f"scheduler-{slot}-")


async def lasted_ms(world: World, loop: SchedulerLoop | WatchLoop, most_ms: int = _LASTS_MS) -> int:
    """For how long it ran, of what its function lets it."""
    stop, began = asyncio.Event(), world.clock.now()
    running = asyncio.create_task(loop.run(stop))
    await asyncio.wait({running, asyncio.create_task(world.clock.sleep_ms(most_ms))}, return_when="FIRST_COMPLETED")
    stop.set()
    await running
    return world.clock.now() - began


# --- schedulers -------------------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-BUCKET-4")
async def test_a_scheduler_ends_once_its_successor_is_there(world: World) -> None:
    """Woken a minute apart, the first lasts that minute and a renewal, and every bucket is handed over in order."""
    first, second = a_scheduler(world.a_process(), "a"), a_scheduler(world.a_process(), "b")
    lasting = asyncio.create_task(lasted_ms(world, first))
    await world.clock.sleep_ms(MINUTE)
    following = asyncio.create_task(lasted_ms(world, second))

    lasted = await lasting
    await world.clock.sleep_ms(2 * world.durations.tick_ms)

    assert MINUTE < lasted <= MINUTE + world.durations.bucket_renew_ms + 2 * world.durations.tick_ms
    assert set(second.leases.mine) == set(range(world.kit.buckets))
    assert all(holding.resolved for holding in second.leases.mine.values())
    assert await following == _LASTS_MS


@pytest.mark.sem("SEM-BUCKET-2", "SEM-BUCKET-4")
async def test_a_hand_over_that_fails_at_one_bucket_leaves_the_others_in_order(world: World) -> None:
    """Only that one waits for its lease."""
    world.buckets = 4
    first = a_scheduler(world.a_process(Script(of=RenewBucket, at=2, fate=Fate.LOST_BEFORE)), "a")

    await lasted_ms(world, first, world.durations.tick_ms)

    leases = [await world.kit.store.lease(bucket) for bucket in range(4)]
    assert [lease is not None and lease.owner is None for lease in leases] == [True, False, True, True]


@pytest.mark.sem("SEM-BUCKET-4")
async def test_who_finds_nobody_to_relieve_relieves_nobody_later(world: World) -> None:
    """The slot's bucket was another crew's when it came: a mate who has it afterwards is its successor."""
    older, newer = Leases(owner="scheduler-0-a", crew="scheduler-0-", signal=0), Leases(owner="scheduler-0-b")
    await take(world.kit, Leases(owner="scheduler-1-z"), 0)
    found_a_stranger = await take(world.kit, older, 0)
    world.clock.advance(world.durations.bucket_lease_ms)
    await take(world.kit, newer, 0)
    world.clock.advance(world.durations.bucket_lease_ms)
    taken = await take(world.kit, newer, 0)

    assert (found_a_stranger, taken) == (False, True)
    assert not await take(world.kit, older, 0)


@pytest.mark.sem("SEM-BUCKET-4")
async def test_a_scheduler_without_a_successor_stays_for_its_time(world: World) -> None:
    """The next minute's never came: nobody is waited for in vain."""
    assert await lasted_ms(world, a_scheduler(world.kit, "a")) == _LASTS_MS


@pytest.mark.sem("SEM-BUCKET-4", "SEM-TICK-1")
async def test_no_tick_is_lost_or_doubled_while_schedulers_follow_one_another(world: World) -> None:
    """Two slots, relieved each minute, in the middle of whatever they are at."""
    jobs = [await a_minutely_job(world, 6, name=f"job-{number}") for number in range(4)]
    stop = asyncio.Event()
    working = asyncio.create_task(a_worker(world).run(stop))
    lasting = []
    for minute in range(10):
        lasting.append(asyncio.create_task(lasted_ms(world, WatchLoop(world.kit, woken_ms=_WOKEN_MS), MINUTE)))
        for slot in range(2):
            loop = a_scheduler(world.a_process(), f"{minute}", slot=slot, slots=2)
            lasting.append(asyncio.create_task(lasted_ms(world, loop)))
        await world.clock.sleep_ms(MINUTE)
    stop.set()
    await asyncio.gather(working, *lasting)

    assert len(world.runner.starts) == 24
    await check_all(world)
    for job in jobs:
        await check_ledger(world, job)


@pytest.mark.sem("SEM-BUCKET-4")
async def test_only_the_first_bucket_is_taken_from_one_who_is_alive_and_only_once(world: World) -> None:
    """Two that were woken for the same minute must not take it from each other for ever."""
    a, b = (Leases(owner=f"scheduler-0-{name}", crew="scheduler-0-", signal=0) for name in "ab")
    await take(world.kit, a, 0)
    await take(world.kit, a, 1)

    taken = [await take(world.kit, b, 0), await take(world.kit, b, 1), await take(world.kit, a, 0)]

    assert taken == [True, False, False]


@pytest.mark.sem("SEM-BUCKET-4")
async def test_another_slot_relieves_nobody(world: World) -> None:
    """It takes a bucket of a scheduler that was silent for too long; that one's own successor is still to come."""
    a = Leases(owner="scheduler-0-a", crew="scheduler-0-", signal=0)
    other = Leases(owner="scheduler-1-b", crew="scheduler-1-", signal=1)
    await take(world.kit, a, 0)
    await take(world.kit, other, 0)
    world.clock.advance(world.durations.bucket_lease_ms)
    assert await take(world.kit, other, 0)

    await renew(world.kit, a)

    assert (a.relieved, a.mine) == (False, {})


# --- the watch --------------------------------------------------------------------------------------------------
@pytest.mark.sem("SEM-JOURNAL-2")
async def test_a_watch_with_nothing_to_come_ends_after_a_look(world: World) -> None:
    """The next minute's is woken before anything can come due; one that nobody follows goes on looking."""
    assert await lasted_ms(world, WatchLoop(world.kit, woken_ms=_WOKEN_MS)) == 0
    assert await lasted_ms(world, WatchLoop(world.kit), MINUTE) == MINUTE


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_a_watch_stays_for_a_page_that_comes_due_before_the_next_one_is_woken(world: World) -> None:
    """A tick that was fired a while ago is to be looked after in this minute."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    await fired(world)
    world.clock.advance(MINUTE)

    assert await lasted_ms(world, WatchLoop(world.kit, woken_ms=_WOKEN_MS), MINUTE // 2) == MINUTE // 2


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_a_watch_that_cannot_see_stays(world: World) -> None:
    """A store that does not answer has not said that there is nothing."""
    down = Down(frozenset({"pages"}))
    watch = WatchLoop(world.a_process(down), woken_ms=_WOKEN_MS)

    with pytest.raises(StoreUnavailable):
        await watch.kit.store.pages(0, until=world.clock.now(), limit=1)

    assert await lasted_ms(world, watch, MINUTE) == MINUTE
