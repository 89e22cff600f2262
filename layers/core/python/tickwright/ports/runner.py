"""What runs an attempt: the target of a job, behind one Protocol."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from tickwright.domain.attempts import UserResult
from tickwright.domain.executions import Execution, Noted
from tickwright.domain.ids import Epoch
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition
from tickwright.domain.lanes import Lane
from tickwright.domain.logs import LogTail

# How many of so many places of a lane, of a pool, can start anything: the others may be held by code that is stuck.
Able = Callable[[str, Lane, int], int]


class StopReason(StrEnum):
    """Why an attempt is to stop; user code is told it in these words."""

    CANCELLED = "cancelled"
    LEASE_LOST = "lease_lost"
    DEADLINE = "deadline"
    DRAINING = "draining"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """All that a target is told.

    The executionId is the idempotency key for side effects; the leaseEpoch is the fence. `execution.noted` has the
    checkpoint of the attempt before.
    """

    execution: Execution
    definition: Definition
    epoch: Epoch
    deadline_at: Instant
    cancelled: Callable[[], bool]  # whether the run should stop: asked to, lease lost, or out of time
    wait_cancelled: Callable[[], Awaitable[None]]  # returns once `cancelled` is true
    # Sends a heartbeat with what is to be noted, if the last one was not just now; whether to go on. On the loop only.
    beat: Callable[[Noted | None], Awaitable[bool]]
    log: LogTail  # what the target says meanwhile, from any thread
    # Why `cancelled` is true.
    cancel_reason: Callable[[], StopReason | None] = lambda: None


@dataclass(frozen=True, slots=True)
class GoesOn:
    """It was cancelled, and may go on: in a thread, or where its call has arrived. Nobody can end it there."""


class Runner(Protocol):
    """Runs one attempt of one kind of target."""

    async def run(self, invocation: Invocation) -> UserResult | GoesOn:
        """Run the target and say how it ended. Never raises for what user code does: that is a Failure.

        May be cancelled (asyncio) when time is up, the lease is lost or the run is to stop; must then let go of what
        it holds, and answers GoesOn where what it has begun cannot be ended. One that is told that its worker drains
        answers NotRun for code that breaks off for it; what any other result says, counts.
        """
        ...
