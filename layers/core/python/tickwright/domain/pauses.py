"""Where a paused job goes on, and which ticks its pause has passed over. Promise: SEM-PAUSE-1, SEM-PAUSE-2."""

from tickwright.domain import limits
from tickwright.domain.executions import PassedOver, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.pending import decided_through, schedule_of
from tickwright.domain.schedules import count_ticks, latest_tick, next_tick


def resumed_at(head: Head, now: Instant) -> Instant | None:
    """The first tick after now and after all that was decided.

    With `onResume: catchup`, the first that the pause held back.
    """
    schedule = schedule_of(head)
    if schedule.max_runs is not None and head.runs >= schedule.max_runs:
        return None
    after = max(now, decided_through(head))
    if head.catch_up.on_resume:
        after = Instant(max(decided_through(head), _paused(head, now)))
    tick = next_tick(schedule, Instant(after))
    return None if tick is None else tick.at


def paused_over(head: Head, now: Instant) -> PassedOver | None:
    """The ticks that the pause held back and that are not caught up."""
    if head.catch_up.on_resume:
        return None
    schedule = schedule_of(head)
    after = Instant(max(decided_through(head), _paused(head, now)))
    first = next_tick(schedule, after)
    last = None if first is None or first.at > now else latest_tick(schedule, now, after)
    if first is None or last is None:
        return None
    count, exact = count_ticks(schedule, after, last.at, limits.PASSED_OVER_COUNT_MAX)
    return PassedOver(first=first.at, last=last.at, count=count, exact=exact, reason=Reason.PAUSED)


def _paused(head: Head, now: Instant) -> Instant:
    return now if head.paused_at is None else head.paused_at
