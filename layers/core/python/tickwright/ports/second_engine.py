"""The port of a second, independent cron engine, asked where a wrong tick of ours would otherwise go unseen.

Creation, preview and the auditor ask it; the scheduler loop never does. Must not know which library answers. Promise:
SEM-SCHED-15.
"""

from dataclasses import dataclass
from typing import Protocol

from tickwright.domain.instants import Instant
from tickwright.domain.schedules import Schedule


@dataclass(frozen=True, slots=True)
class Opinion:
    """The ticks that the engine expects, earliest first."""

    ticks: tuple[Instant, ...]


@dataclass(frozen=True, slots=True)
class NoOpinion:
    """The engine is known to be wrong here, or cannot read the schedule; the reason is a word for a metric."""

    reason: str


class SecondEngine(Protocol):
    """Another reading of the same schedule; pure computation, so nothing is awaited."""

    def next_ticks(self, schedule: Schedule, after: Instant, count: int) -> Opinion | NoOpinion:
        """Up to `count` ticks strictly later than `after`, within start and end, or why there is no opinion."""
        ...
