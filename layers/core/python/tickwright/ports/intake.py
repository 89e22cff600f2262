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


class LeftIntake(Protocol):
    """What an installation that runs no more has accepted and not landed. Only an operator reads it."""

    async def take(self) -> Sequence[Arrived | None]:
        """Some of what waits, hidden from others for some minutes; None for each that nobody may land, which stays.

        Nothing: all that waits has been taken. Raises QueueUnavailable.
        """
        ...

    async def forget(self, arrived: Arrived) -> None:
        """It is kept elsewhere. Raises QueueUnavailable: then it comes again."""
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
