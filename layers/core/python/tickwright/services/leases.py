"""Which buckets this scheduler may scan: take, renew, give up. A lease only saves work.

Promises: SEM-BUCKET-1, SEM-BUCKET-2, SEM-BUCKET-4.
"""

import asyncio
from dataclasses import dataclass, field, replace

from tickwright.domain.events import EventName
from tickwright.domain.leases import BucketLease, RenewBucket, TakeBucket, Watched
from tickwright.ports.store import Applied
from tickwright.services.kit import Kit


@dataclass(slots=True)
class Holding:
    """A bucket that is ours until `until_ms` on our own monotonic clock, counted from before the write was sent."""

    lease: BucketLease
    until_ms: int
    renewed_ms: int
    tzdata: str  # the zone rules by which all of the bucket's heads are known to be aimed
    resolved: bool = False  # whether what the last owner may have left in the air has been looked after


@dataclass(slots=True)
class Leases:
    """The leases of one scheduler process. `owner` is made inside the process, never at import.

    `alone`: nobody else can be alive on this store, so that what a dead process held may be taken at once. `crew`: how
    the names of those begin who relieve one another, if they do; `signal`: the bucket by which they tell, until it is
    ours.
    """

    owner: str
    alone: bool = False
    crew: str = ""
    signal: int | None = None
    relieved: bool = False
    mine: dict[int, Holding] = field(default_factory=dict)
    watched: dict[int, Watched] = field(default_factory=dict)

    def is_of_a_mate(self, lease: BucketLease | None) -> bool:
        """Whether another one of our crew has it."""
        owner = None if lease is None else lease.owner
        return bool(self.crew) and owner is not None and owner != self.owner and owner.startswith(self.crew)


async def take(kit: Kit, leases: Leases, bucket: int, *, patience_ms: int = 0) -> bool:
    """Try to take a bucket that is free or whose record has stood still for a whole lease and `patience_ms` more."""
    seen = await kit.store.lease(bucket)
    at_ms = kit.clock.monotonic_ms()
    if seen is not None and not _may_take(kit, leases, seen, at_ms, patience_ms):
        return False
    change = TakeBucket(
        bucket=bucket,
        owner=leases.owner,
        rvn=kit.entropy.token(),
        seen_rvn=None if seen is None else seen.rvn,
        epoch_base=kit.era.base if seen is None else max(kit.era.base, seen.epoch_base),
    )
    outcome = await kit.store.write(change)
    if not isinstance(outcome, Applied):
        return False
    drained = seen is None or (seen.owner is None and seen.drained)
    leases.mine[bucket] = Holding(
        lease=outcome.new,
        until_ms=at_ms + kit.durations.bucket_lease_ms,
        renewed_ms=at_ms,
        tzdata=outcome.new.tzdata,
        resolved=drained,
    )
    leases.watched.pop(bucket, None)
    leases.signal = None if leases.signal == bucket else leases.signal
    kit.emit(EventName.BUCKET_TAKEN, bucket=str(bucket), leaseEpoch=str(outcome.new.lease_epoch))
    return True


def _may_take(kit: Kit, leases: Leases, seen: BucketLease, at_ms: int, patience_ms: int) -> bool:
    if leases.alone or (seen.bucket == leases.signal and leases.is_of_a_mate(seen)):
        return True
    if seen.bucket == leases.signal:
        leases.signal = None  # nobody to relieve: whoever has it of our crew later on is our successor
    watched = leases.watched.setdefault(seen.bucket, Watched(lease=seen, since_ms=at_ms))
    watched.look(seen, at_ms)
    free_for_us = at_ms - watched.since_ms >= patience_ms
    return free_for_us and watched.may_be_taken(at_ms, kit.durations.bucket_lease_ms)


async def renew(kit: Kit, leases: Leases) -> None:
    """Renew what is a third through its life; what could not be renewed in time is no longer ours.

    What one of our crew has taken meanwhile says that our successor is there. All at once: one after the other, a slow
    store would cost those at the end of the line. Raises the first fault of the store when each has had its turn.
    """
    turns = [_renew_one(kit, leases, bucket, holding) for bucket, holding in list(leases.mine.items())]
    faults = [fault for fault in await asyncio.gather(*turns, return_exceptions=True) if fault is not None]
    if faults:
        raise faults[0]


async def _renew_one(kit: Kit, leases: Leases, bucket: int, holding: Holding) -> None:
    at_ms = kit.clock.monotonic_ms()
    if at_ms - holding.renewed_ms < kit.durations.bucket_renew_ms:
        return
    outcome = await kit.store.write(_renewal(kit, leases, bucket, holding))
    if isinstance(outcome, Applied):
        holding.until_ms, holding.renewed_ms = at_ms + kit.durations.bucket_lease_ms, at_ms
    elif leases.mine.get(bucket) is holding:
        lose(kit, leases, bucket)
        leases.relieved |= leases.is_of_a_mate(outcome.old)


def holds(kit: Kit, leases: Leases, bucket: int) -> bool:
    """Whether the bucket is still ours by our own clock."""
    holding = leases.mine.get(bucket)
    if holding is None:
        return False
    if kit.clock.monotonic_ms() >= holding.until_ms:
        lose(kit, leases, bucket)
        return False
    return True


def lose(kit: Kit, leases: Leases, bucket: int) -> None:
    """Forget a bucket that somebody else may have."""
    leases.mine.pop(bucket, None)
    kit.emit(EventName.BUCKET_LOST, bucket=str(bucket))


async def give_up(kit: Kit, leases: Leases, bucket: int) -> None:
    """Hand a bucket over cleanly: all that was begun on it has been finished, so the next owner need not resolve."""
    holding = leases.mine.pop(bucket, None)
    if holding is None:
        return
    renewal = _renewal(kit, leases, bucket, holding)
    await kit.store.write(replace(renewal, give_up=True, drained=holding.resolved))


def _renewal(kit: Kit, leases: Leases, bucket: int, holding: Holding) -> RenewBucket:
    return RenewBucket(
        bucket=bucket,
        holder=leases.owner,
        epoch=holding.lease.lease_epoch,
        rvn=kit.entropy.token(),
        tzdata=holding.tzdata,
    )
