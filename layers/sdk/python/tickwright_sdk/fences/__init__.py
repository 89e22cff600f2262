"""The fence in the user's own writes: a number that only grows, and stores that refuse a lower one than they have seen.

A worker that was frozen past its lease goes on where it was: no timer and no look at the clock helps it then. Only the
store that it writes to can refuse it. Must not know a store: dynamodb.py, sql.py and s3.py beside it do. Promise:
SEM-SDK-12.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

__all__ = ["Fence", "FenceRefused", "fence_of", "job_fence_of"]

# Of one execution. Claims of a run that is given back for a week, one a second, are fewer.
EPOCHS_MAX = 1_000_000


class Told(Protocol):
    """What a fence is made from: a handler's `ctx`."""

    @property
    def execution_id(self) -> str:
        """The execution."""
        ...

    @property
    def job_id(self) -> str:
        """Its job."""
        ...

    @property
    def lease_epoch(self) -> int:
        """Rises by one with every claim of the execution."""
        ...

    @property
    def scheduled_time(self) -> datetime:
        """Its tick."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """`number` against `owner`'s numbers before: a store keeps the highest it has seen, and refuses lower ones."""

    owner: str
    number: int

    def __post_init__(self) -> None:
        """A signed 64-bit integer holds it: that is what SQL stores have."""
        assert 0 < self.number < 2**63, "a fence is a positive number of 63 bits"


class FenceRefused(Exception):  # noqa: N818 - says what happened
    """The store has seen a later attempt: this one is a zombie, and its write was not done. Stop; do not try again."""

    def __init__(self, fence: Fence, seen: int | None, where: str) -> None:
        """Say whose number was seen where."""
        self.fence = fence
        self.seen = seen
        later = "a higher one" if seen is None else str(seen)
        super().__init__(f"{where} has seen fence {later} of {fence.owner}; {fence.number} was refused.")


def fence_of(ctx: Told) -> Fence:
    """For what belongs to one execution alone, such as rows with its id in their key: the leaseEpoch itself."""
    return Fence(owner=ctx.execution_id, number=ctx.lease_epoch)


def job_fence_of(ctx: Told) -> Fence:
    """For what the executions of a job write in turn, such as a report of the latest: tick first, then leaseEpoch.

    Each execution's epochs begin at 1, so the epoch alone would let the first attempt of a later tick be refused by
    the third of an earlier one.
    """
    assert ctx.lease_epoch < EPOCHS_MAX, "an execution that was claimed a million times"
    tick_ms = round(ctx.scheduled_time.timestamp() * 1_000)
    return Fence(owner=ctx.job_id, number=tick_ms * EPOCHS_MAX + ctx.lease_epoch)
