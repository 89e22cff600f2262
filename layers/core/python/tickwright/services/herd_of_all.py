"""The herd of an installation: everybody's ticks a minute, estimated from as many whole buckets as the budget allows.

A bucket is chosen by a hash of the job, so that any one is a fair sample of all; only minutes and counts leave. Where
the count of buckets was lowered, jobs lie beyond it too, as loops know. Must not know who may ask. Promise:
SEM-SCHED-21.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd

from tickwright.domain.herd import Herd, herd_of, scaled
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.lanes import LANES
from tickwright.services.buckets import ever_served
from tickwright.services.kit import Kit

HEADS_MAX = 4_000  # of at most 1 KB each: a second of reading and decoding


@dataclass(frozen=True, slots=True, kw_only=True)
class HerdOfAll:
    """Everybody's ticks, and from how many of the buckets they were counted: from fewer than all it is an estimate."""

    herd: Herd
    buckets_read: int
    buckets: int


async def herd_of_all(kit: Kit, since: Instant, until: Instant, *, heads_max: int = HEADS_MAX) -> HerdOfAll:
    """Read whole buckets up to the budget, count what is in them, and scale it to all."""
    buckets = await ever_served(kit)
    heads, buckets_read, is_cut = await _sample(kit, buckets, Instant(until - 1), heads_max)
    found = scaled(herd_of(heads, since, until), buckets_read, buckets)
    herd = replace(found, truncated=found.truncated or is_cut)
    return HerdOfAll(herd=herd, buckets_read=buckets_read, buckets=buckets)


async def _sample(kit: Kit, buckets: int, until: Instant, heads_max: int) -> tuple[list[Head], int, bool]:
    """The heads of some buckets, how many buckets they are, and whether the first alone was too much."""
    heads: list[Head] = []
    for number, bucket in enumerate(_spread(buckets)):
        found, is_cut = await _bucket(kit, bucket, until, heads_max - len(heads))
        if is_cut and number > 0:
            # A part of a bucket is no fair sample, since its heads are read in the order in which they are due.
            return heads, number, False
        heads += found
        if is_cut or len(heads) == heads_max:
            return heads, number + 1, is_cut
    return heads, buckets, False


def _spread(buckets: int) -> Iterator[int]:
    """Every bucket once, far from the one before it: once the count was raised, the first hold more than the others."""
    step = next(step for step in range(round(buckets * 0.618), buckets + 2) if gcd(step, buckets) == 1)
    return (number * step % buckets for number in range(buckets))


async def _bucket(kit: Kit, bucket: int, until: Instant, heads_max: int) -> tuple[Sequence[Head], bool]:
    """All heads of a bucket that are due until then, and whether there are more than may be read."""
    heads: list[Head] = []
    for lane in LANES:
        # One more than may be kept tells whether that is all.
        page = await kit.store.due_eventually(bucket, lane, until=until, limit=heads_max - len(heads) + 1)
        heads += page.items
        if len(heads) > heads_max or page.next_key is not None:
            return heads[:heads_max], True
    return heads, False
