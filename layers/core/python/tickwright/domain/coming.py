"""Which ticks a job has ahead, now or under a schedule that it does not have yet.

Must not write anything, nor know who asks: an edit is looked at with it before it is made. Promise: SEM-SCHED-19.
"""

from collections.abc import Mapping

from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.schedules import (
    NO_CALENDARS,
    Calendar,
    Schedule,
    closed_at,
    from_compact,
    named_by,
    open_ticks,
)
from tickwright.domain.ticks import edited_next


def coming(
    head: Head, schedule: str, now: Instant, count: int, *, calendars: Mapping[str, Calendar] = NO_CALENDARS
) -> tuple[Instant, ...]:
    """The next open ticks of a job whose schedule is, or is edited to, this stored form.

    Those of a paused job are told as if it went on now. The tick that an edit keeps is the first of them.
    """
    evaluated = from_compact(schedule)
    left = left_of(evaluated, count, head.runs)
    first = edited_next(head, schedule, now) if left else None
    if first is None:
        return ()
    closing = named_by(evaluated, calendars)
    kept = (first,) if closed_at(closing, evaluated.timezone, first) is None else ()
    return (*kept, *(tick.at for tick in open_ticks(evaluated, closing, first, left - len(kept))))


def left_of(schedule: Schedule, count: int, runs: int = 0) -> int:
    """How many of so many ticks `maxRuns` leaves."""
    return count if schedule.max_runs is None else max(0, min(count, schedule.max_runs - runs))
