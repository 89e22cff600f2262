"""Which lanes there are, in which order they are served, and which bucket a job's ticks wait in.

A herd in one lane never delays a higher one, because each has its own due partition and queue (SEM-LANE-1).
"""

import zlib
from collections.abc import Sequence
from enum import Enum

from tickwright.domain.ids import JobId


class Lane(Enum):
    """A priority with its own due partition, ready queue and share of the workers; highest first."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
    BACKFILL = "backfill"


LANES = tuple(Lane)


def lanes_in_turn(lanes: Sequence[Lane], fraction: float) -> Sequence[Lane]:
    """The lanes in the order in which one receive asks them, by a draw: each leads three times as often as the next."""
    weights = [3.0**-place for place in range(len(lanes))]
    left = fraction * sum(weights)
    for lane, weight in zip(lanes, weights, strict=True):
        if left < weight:
            return [lane, *(other for other in lanes if other is not lane)]
        left -= weight
    return lanes


def bucket_of(job_id: JobId, buckets: int) -> int:
    """The shard of the due index that a job's ticks wait in: a hash, so that a herd spreads evenly."""
    assert buckets > 0
    return zlib.crc32(job_id.encode()) % buckets
