"""Bucket leases: taken when their record stands still, counted from before the write, and never needed for safety."""

import pytest

from tests.support.faulty import Down, Fate, Interject, Script, Slow
from tests.support.kits import World
from tickwright.domain.leases import RenewBucket, TakeBucket
from tickwright.ports.faults import StoreUnavailable
from tickwright.services.leases import Leases, give_up, holds, renew, take

BUCKETS = 4


@pytest.mark.sem("SEM-BUCKET-1")
async def test_a_free_bucket_is_taken_at_once(world: World) -> None:
    """Nobody has ever had it."""
    leases = Leases(owner="a")

    assert await take(world.kit, leases, 0)
    assert holds(world.kit, leases, 0)


@pytest.mark.sem("SEM-BUCKET-1")
async def test_a_silent_owner_is_waited_for_one_lease(world: World) -> None:
    """On the waiter's own clock, from when it first saw the record: no two machines' clocks are compared."""
    a, b = Leases(owner="a"), Leases(owner="b")
    await take(world.kit, a, 0)
    world.clock.advance(60_000)
    first_look = await take(world.kit, b, 0)
    world.clock.advance(world.durations.bucket_lease_ms - 1)
    too_early = await take(world.kit, b, 0)
    world.clock.advance(1)

    in_time = await take(world.kit, b, 0)

    assert (first_look, too_early, in_time) == (False, False, True)
    assert not holds(world.kit, a, 0)
    lease = await world.kit.store.lease(0)
    assert lease is not None
    assert (lease.owner, lease.lease_epoch) == ("b", 2)


@pytest.mark.sem("SEM-BUCKET-1")
async def test_who_is_alone_takes_what_a_dead_owner_held_at_once(world: World) -> None:
    """A local program that holds its folder's lock: nobody else can be alive, so there is nobody to wait for."""
    dead, alone = Leases(owner="a"), Leases(owner="b", alone=True)
    await take(world.kit, dead, 0)

    taken = await take(world.kit, alone, 0)

    assert taken
    assert not alone.mine[0].resolved, "what the dead one left in the air is still to be looked after"


@pytest.mark.sem("SEM-BUCKET-1")
async def test_an_owner_that_renews_keeps_its_bucket(world: World) -> None:
    """Each renewal starts the wait of all waiters anew."""
    a, b = Leases(owner="a"), Leases(owner="b")
    await take(world.kit, a, 0)
    answers = []
    for _ in range(20):
        world.clock.advance(world.durations.bucket_renew_ms)
        await renew(world.kit, a)
        answers.append(await take(world.kit, b, 0))

    assert not any(answers)
    assert holds(world.kit, a, 0)


@pytest.mark.sem("SEM-BUCKET-1")
async def test_a_lease_is_counted_from_before_its_write(world: World) -> None:
    """The store took three seconds: the holder's lease is those three seconds shorter, never longer (B124)."""
    leases = Leases(owner="a")

    async def slow() -> None:
        world.clock.advance(3_000)

    await take(world.a_process(Interject("write", slow)), leases, 0)
    world.clock.advance(world.durations.bucket_lease_ms - 3_000)

    assert not holds(world.kit, leases, 0)


@pytest.mark.sem("SEM-BUCKET-1")
async def test_of_two_who_take_one_gets_it(world: World) -> None:
    """Both saw it free; the record decides."""
    a, b = Leases(owner="a"), Leases(owner="b")
    rival = Interject("write", lambda: take(world.kit, b, 0))

    assert not await take(world.a_process(rival), a, 0)
    assert (holds(world.kit, a, 0), holds(world.kit, b, 0)) == (False, True)


@pytest.mark.sem("SEM-BUCKET-1")
@pytest.mark.parametrize("fate", [Fate.LOST_BEFORE, Fate.LOST_AFTER])
async def test_a_take_that_failed_is_not_held(world: World, fate: Fate) -> None:
    """Whether it arrived or not: who was not told does not act as if (B100), and comes to it later."""
    leases = Leases(owner="a")
    with pytest.raises(StoreUnavailable):
        await take(world.a_process(Script(of=TakeBucket, at=1, fate=fate)), leases, 0)
    held = holds(world.kit, leases, 0)

    taken = await take(world.kit, leases, 0)
    if fate is Fate.LOST_AFTER:  # its own record stands there, and it does not know it
        world.clock.advance(world.durations.bucket_lease_ms)
        taken = await take(world.kit, leases, 0)

    assert (held, taken) == (False, True)


@pytest.mark.sem("SEM-BUCKET-1")
async def test_a_renewal_that_fails_is_tried_again_until_the_lease_is_over(world: World) -> None:
    """One lost renewal costs nothing; a whole lease without one costs the bucket."""
    leases = Leases(owner="a")
    await take(world.kit, leases, 0)
    down = Down(frozenset({"write"}))
    kit = world.a_process(down)
    world.clock.advance(world.durations.bucket_renew_ms)
    with pytest.raises(StoreUnavailable):
        await renew(kit, leases)
    down.is_down = False
    await renew(kit, leases)
    kept = holds(kit, leases, 0)
    world.clock.advance(world.durations.bucket_lease_ms)

    assert kept
    assert not holds(kit, leases, 0)


@pytest.mark.sem("SEM-BUCKET-1")
async def test_a_slow_store_costs_no_bucket_for_another(world: World) -> None:
    """Each renewal takes half a lease: all are sent at once, so none is late because it stood behind another."""
    leases = Leases(owner="a")
    for bucket in range(BUCKETS):
        await take(world.kit, leases, bucket)
    world.clock.advance(world.durations.bucket_renew_ms)

    await renew(world.a_process(Slow(world.clock, world.durations.bucket_lease_ms // 2)), leases)

    assert all(holds(world.kit, leases, bucket) for bucket in range(BUCKETS))


@pytest.mark.sem("SEM-BUCKET-1")
async def test_a_renewal_that_is_lost_costs_no_other(world: World) -> None:
    """The first of the round is told nothing; the round goes on, and says so at its end."""
    leases = Leases(owner="a")
    for bucket in range(BUCKETS):
        await take(world.kit, leases, bucket)
    world.clock.advance(world.durations.bucket_renew_ms)
    with pytest.raises(StoreUnavailable):
        await renew(world.a_process(Script(of=RenewBucket, at=1, fate=Fate.LOST_BEFORE)), leases)
    world.clock.advance(world.durations.bucket_lease_ms - world.durations.bucket_renew_ms)

    assert [bucket for bucket in range(BUCKETS) if not holds(world.kit, leases, bucket)] == [0]


@pytest.mark.sem("SEM-BUCKET-1")
async def test_who_was_overtaken_loses_at_its_renewal(world: World) -> None:
    """A process that stood still for a minute finds another's record, and does not write over it (B127)."""
    a, b = Leases(owner="a"), Leases(owner="b")
    await take(world.kit, a, 0)
    await take(world.kit, b, 0)
    world.clock.advance(world.durations.bucket_lease_ms)
    await take(world.kit, b, 0)

    await renew(world.kit, a)
    await give_up(world.kit, a, 0)

    assert not a.mine
    lease = await world.kit.store.lease(0)
    assert lease is not None
    assert lease.owner == "b"


@pytest.mark.sem("SEM-BUCKET-2")
@pytest.mark.parametrize("resolved", [True, False])
async def test_a_bucket_handed_over_cleanly_needs_no_second_look(world: World, *, resolved: bool) -> None:
    """The next owner takes it at once, and looks after what was left unless the last one said that all is done."""
    a, b = Leases(owner="a"), Leases(owner="b")
    await take(world.kit, a, 0)
    a.mine[0].resolved = resolved
    await give_up(world.kit, a, 0)

    assert await take(world.kit, b, 0)
    assert b.mine[0].resolved is resolved


@pytest.mark.sem("SEM-BUCKET-1")
async def test_a_process_that_starts_again_is_another_owner(world: World) -> None:
    """A lease belongs to a process, not to a machine's name: the new one waits for the old one's record (B133)."""
    await take(world.kit, Leases(owner="machine-1/first"), 0)

    assert not await take(world.kit, Leases(owner="machine-1/second"), 0)
