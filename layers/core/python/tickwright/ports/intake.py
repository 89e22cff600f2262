"""The intake: submissions that were accepted while the store did not answer, kept until they land.

A queue of its own, of work and not of hints: what is in it has been acknowledged. Promises: SEM-INTAKE-1, SEM-INTAKE-2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job that somebody wants: by whom, since when, under which key, and the id that it will have."""

    tenant_id: TenantId
    job_id: JobId
    key: str  # as RequestKey has it
    body_hash: str
    asked_at: Instant
    body: str  # JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A submission in hand: invisible to others until its visibility ends."""

    submission: Submission
    receipt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What somebody else has put, in hand: a submission, unless this version reads none in it.

    `refused`: the code by which it was refused as it landed, where it was set aside for that.
    """

    submission: Submission | None
    receipt: str
    refused: str | None = None


class LeftIntake(Protocol):
    """What was accepted and not landed, or was set aside. Only an operator reads it."""

    async def take(self) -> Sequence[Left]:
        """Some of what waits, hidden from others for some minutes.

        Nothing: all that waits has been taken. Raises QueueUnavailable.
        """
        ...

    async def forget(self, left: Left) -> None:
        """It is kept elsewhere. Raises QueueUnavailable: then it comes again."""
        ...

    async def show(self, left: Left) -> None:
        """It stays, and is hidden no more. Raises QueueUnavailable: then it is when those minutes are over."""
        ...


class Intake(Protocol):
    """Where submissions wait. One may come twice, late, and in any order."""

    async def put(self, submission: Submission) -> bool:
        """Keep it, durably, before this returns; False if it is too large for that.

        Raises QueueUnavailable: then it may have been kept.
        """
        ...

    async def show_again(self, arrived: Arrived, *, after_ms: int) -> None:
        """Make it visible after so long, instead of when its visibility ends."""
        ...

    async def set_aside(self, submission: Submission, refusal: Refusal) -> None:
        """Keep what was refused as it landed where people look, with the reason. Raises QueueUnavailable."""
        ...
