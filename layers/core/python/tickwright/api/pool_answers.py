"""What the endpoints of pools show. Must not know how the values are found. Promise: SEM-API-2."""

from typing import Any

from typing_extensions import TypedDict


class PoolFieldsJson(TypedDict):
    """A fleet of the tenant's own. `version` rises with each change of its description."""

    name: str
    description: str | None
    createdAt: str
    version: int


class PoolJson(PoolFieldsJson):
    """A pool, with its ETag."""

    etag: str


class DeletedPoolJson(PoolFieldsJson):
    """A pool that is no more, and since when."""

    deletedAt: str


class PoolsJson(TypedDict):
    """One page of pools by name; `nextToken` is null on the last. A page may be empty and have a next."""

    pools: list[PoolFieldsJson]
    nextToken: str | None


class ClaimJson(TypedDict):
    """An execution that the machine now holds, until `leaseUntil`, and longer with each heartbeat.

    `leaseEpoch` goes with everything that it reports. `leaseSec` and `timeSec`: how long after this answer the lease
    and the attempt's time end, for a machine whose clock is not right. `checkpoint`: what an attempt before it noted
    last. `alone`: it was lost with its worker twice in a row, and is to be called in a process of its own.
    """

    executionId: str
    jobId: str
    jobName: str | None
    handler: str
    scheduledTime: str
    attempt: int
    maxAttempts: int
    leaseEpoch: int
    leaseUntil: str
    leaseSec: float
    deadline: str
    timeSec: float
    heartbeatSec: float
    checkpoint: Any
    alone: bool
    traceparent: str
    payload: Any


class ClaimsJson(TypedDict):
    """What was granted; empty if nothing came in time.

    `waitedSec`: how long the request was held for it. A machine that counts a lease from before it sent its request may
    add so much.
    """

    executions: list[ClaimJson]
    waitedSec: float
