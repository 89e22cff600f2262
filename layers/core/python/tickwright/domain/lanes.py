"""Which lanes there are, in which order they are served, and which bucket a job's ticks wait in.

A herd in one lane never delays a higher one, because each has its own due partition and queue (SEM-LANE-1).
"""

import zlib
from enum import Enum

from tickwright.domain.ids import JobId


class Lane(Enum):
    """A priority with its own due partition, ready queue and share of the workers; highest first."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
    BACKFILL = "backfill"


LANES = tuple(Lane)


def bucket_of(job_id: JobId, buckets: int) -> int:
    """The shard of the due index that a job's ticks wait in: a hash, so that a herd spreads evenly."""
    assert buckets > 0
    return zlib.crc32(job_id.encode()) % buckets
