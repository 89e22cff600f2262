"""Who may scan a bucket, and when somebody else may.

A bucket lease only saves work: correctness lives in the conditional writes (protocol 1). Must not know a clock: a
waiter watches the record unchanged for a whole lease on its own monotonic clock, so no two machines' clocks are
compared (SEM-BUCKET-1).
"""

from dataclasses import dataclass, replace

from tickwright.domain.ids import Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketLease:
    """The record of one bucket. `rvn` is fresh at each write: a record that stands still belongs to the dead.

    `tzdata`: the zone rules by which each of the bucket's heads was aimed; others may have been found by older ones.
    `epoch_base`: the highest of all who have taken it (SEM-EPOCH-3).
    """

    bucket: int
    owner: str | None
    lease_epoch: Epoch
    rvn: str
    drained: bool = False  # handed over cleanly: nothing of its last minutes needs to be resolved
    tzdata: str = ""
    epoch_base: Epoch = Epoch(0)  # noqa: RUF009 - a NewType over int is an immutable default


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBucket:
    """Take a bucket that was never owned, was given up, or whose record stood still for a whole lease.

    `epoch_base`: no lower than that of the record as it was seen; 0 leaves that.
    """

    bucket: int
    owner: str
    rvn: str
    seen_rvn: str | None
    epoch_base: Epoch = Epoch(0)  # noqa: RUF009 - a NewType over int is an immutable default

    def decide(self, old: BucketLease | None) -> BucketLease | None:
        """The record as it was seen."""
        if (None if old is None else old.rvn) != self.seen_rvn:
            return None
        if old is None:
            return BucketLease(
                bucket=self.bucket,
                owner=self.owner,
                lease_epoch=Epoch(1),
                rvn=self.rvn,
                epoch_base=self.epoch_base,
            )
        return replace(
            old,
            owner=self.owner,
            lease_epoch=Epoch(old.lease_epoch + 1),
            rvn=self.rvn,
            drained=False,
            epoch_base=self.epoch_base or old.epoch_base,
        )

    def mine(self, old: BucketLease) -> bool:
        """The rvn is fresh for each write."""
        return old.rvn == self.rvn


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewBucket:
    """Keep a bucket, or give it up (`owner` None) and say whether all that was begun has been finished."""

    bucket: int
    holder: str
    epoch: Epoch
    rvn: str
    tzdata: str
    give_up: bool = False
    drained: bool = False

    def decide(self, old: BucketLease | None) -> BucketLease | None:
        """The holder of this epoch only."""
        if old is None or old.owner != self.holder or old.lease_epoch != self.epoch:
            return None
        owner = None if self.give_up else self.holder
        return replace(old, owner=owner, rvn=self.rvn, drained=self.drained, tzdata=self.tzdata)

    def mine(self, old: BucketLease) -> bool:
        """The rvn is fresh for each write."""
        return old.rvn == self.rvn


@dataclass(slots=True)
class Watched:
    """What a waiter remembers of a record: since when, on its own monotonic clock, it has not changed."""

    lease: BucketLease
    since_ms: int

    def look(self, lease: BucketLease, at_ms: int) -> None:
        """Note the record as it stands now; a change starts the wait anew."""
        if lease.rvn != self.lease.rvn:
            self.lease, self.since_ms = lease, at_ms

    def may_be_taken(self, at_ms: int, bucket_lease_ms: int) -> bool:
        """Given up, or unchanged for a whole lease."""
        return self.lease.owner is None or at_ms - self.since_ms >= bucket_lease_ms
