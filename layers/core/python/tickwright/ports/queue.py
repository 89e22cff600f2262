"""The ready queues: one a pool and lane. A message is a hint that an execution may be claimed; the store is the truth.

A hint may be lost, doubled, late or out of order, and every reader survives that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tickwright.domain.ids import Epoch, ExecutionRef, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import LAMBDA, PoolName, queue_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What a message says: look at this execution. `due_at` is when it may start; `epoch` was seen when it was sent."""

    ref: ExecutionRef
    tenant_id: TenantId
    lane: Lane
    epoch: Epoch
    job_version: int
    due_at: Instant
    pool: PoolName = LAMBDA

    @property
    def queue(self) -> str:
        """Which pool's queues it travels in."""
        return queue_key(self.pool, self.tenant_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A hint in hand: invisible to others until its visibility ends, or until it is deleted."""

    hint: Hint
    receipt: str
    receive_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """The copy of a dead execution that goes to the queue *dead-executions*."""

    ref: ExecutionRef
    tenant_id: TenantId
    generation: int
    reason: str
    error_class: str
    message: str


class Queue(Protocol):
    """The ready queues of all pools and lanes, and the queue of dead letters. A pool is named by its `queue_key`."""

    async def prepare(self, pool: str) -> None:
        """Make the queues of a tenant's pool, or see that they are there: before any job names it."""
        ...

    async def remove(self, pool: str) -> None:
        """Take the queues of a tenant's pool away, with all that is in them. Where there are none it is no error.

        For a minute or so they may not be made again; `prepare` raises QueueUnavailable then.
        """
        ...

    async def waiting(self, pool: str) -> int:
        """About how many hints a pool's queues hold: visible, delayed and in hand. Where there are none it is 0.

        Some may be of runs that are over, and a run that is tried again later than a queue can delay has none.
        """
        ...

    async def send(self, hints: Sequence[Hint], now: Instant) -> Sequence[Hint]:
        """Send hints, each delayed to its `due_at`: 900 s at most, and rather early than late.

        Returns those that were not taken; the journal sends them again. Raises QueueUnavailable if none could be tried.
        Those for a tenant's pool whose queue is gone are lost: no repeat would be taken either.
        """
        ...

    async def receive(
        self, lane: Lane, *, limit: int, wait_ms: int, visibility_ms: int, pool: str = LAMBDA
    ) -> Sequence[Received]:
        """Up to `limit` (at most 10) visible hints of a pool, waiting up to `wait_ms` for the first.

        Unreadable messages are set aside, never returned.
        """
        ...

    async def receive_any(
        self, lanes: Sequence[Lane], *, limit: int, wait_ms: int, visibility_ms: int, pool: str = LAMBDA
    ) -> Sequence[Received]:
        """The same of several lanes: those of the first lane first. It may be a second until a hint is noticed."""
        ...

    async def delete(self, received: Sequence[Received]) -> None:
        """Take hints off the queue. One that has become visible again meanwhile may come once more."""
        ...

    async def show_again(self, received: Received, *, after_ms: int) -> None:
        """Make a hint visible after so long (12 h at most), instead of when its visibility ends."""
        ...

    async def send_dead(self, letter: DeadLetter) -> None:
        """Put a copy into *dead-executions*. Raises QueueUnavailable if it was not taken: it stays owed."""
        ...
