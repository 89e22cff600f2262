"""The second cron engine of an API.

A module of its own, and its library loaded at the first question: no other function needs it, and it would add to every
cold start.
"""

from functools import lru_cache

from tickwright.domain.instants import Instant
from tickwright.domain.schedules import Schedule
from tickwright.ports.second_engine import NoOpinion, Opinion, SecondEngine


class DeferredEngine:
    """croniter, loaded when it is asked for the first time."""

    def next_ticks(self, schedule: Schedule, after: Instant, count: int) -> Opinion | NoOpinion:
        """Up to `count` ticks strictly later than `after`, or why there is no opinion."""
        return _engine().next_ticks(schedule, after, count)


@lru_cache(maxsize=1)
def _engine() -> SecondEngine:
    from tickwright.adapters.croniter_engine import CroniterEngine  # noqa: PLC0415 - see the module's docstring

    return CroniterEngine()
