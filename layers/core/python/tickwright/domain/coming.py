"""Which ticks a job has ahead, now or under a schedule that it does not have yet.

Must not write anything, nor know who asks: an edit is looked at with it before it is made. Promise: SEM-SCHED-19.
"""

from collections.abc import Mapping
from dataclasses import replace

from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.pending import decided_through, schedule_of
from tickwright.domain.schedules import (
    NO_CALENDARS,
    Calendar,
    Schedule,
    closed_at,
    closed_ticks,
    count_ticks,
    from_compact,
    named_by,
    open_ticks,
)
from tickwright.domain.ticks import edited_next, is_another

_RUNS_COUNTED_MAX = 1_000_000  # up to a year ahead; with more the rest of a larger maxRuns is told too large


def coming(  # noqa: PLR0913 - a head, what it is edited to, and how far that is looked at
    head: Head,
    schedule: str,
    now: Instant,
    count: int,
    *,
    effective_from: Instant | None = None,
    calendars: Mapping[str, Calendar] = NO_CALENDARS,
) -> tuple[Instant, ...]:
    """The next open ticks of a job whose schedule is, or is edited to, this stored form, now or from an instant on.

    Those of a paused job are told as if it went on now. The tick that an edit keeps is the first of them. `calendars`:
    those of the tenant that either schedule names.
    """
    evaluated = from_compact(schedule)
    if effective_from is None or effective_from <= now:
        return _from_now(head, evaluated, now, count, calendars)
    until_then = schedule_of(replace(head, pending_version=head.definition_version + 1, effective_from=effective_from))
    before = _from_now(head, until_then, now, count, calendars)
    left = left_of(evaluated, count - len(before), head.runs + len(before))
    closing = named_by(evaluated, calendars)
    since = Instant(max(effective_from - 1, decided_through(head)))
    after = open_ticks(evaluated, closing, since, left)
    return (*before, *(tick.at for tick in after))


def _from_now(
    head: Head, schedule: Schedule, now: Instant, count: int, calendars: Mapping[str, Calendar]
) -> tuple[Instant, ...]:
    left = left_of(schedule, count, head.runs)
    first = edited_next(head, schedule, now, is_new=is_another(head, schedule)) if left else None
    if first is None:
        return ()
    closing = named_by(schedule, calendars)
    kept = (first,) if closed_at(closing, schedule.timezone, first) is None else ()
    return (*kept, *(tick.at for tick in open_ticks(schedule, closing, first, left - len(kept))))


def head_at(head: Head, at: Instant, now: Instant, calendars: Mapping[str, Calendar] = NO_CALENDARS) -> Head:
    """The head as it will stand just before an instant ahead, if its schedule goes on until then; never written."""
    schedule, until = schedule_of(head), Instant(at - 1)
    since = Instant(max(now, decided_through(head)))
    met, _ = count_ticks(schedule, since, until, _RUNS_COUNTED_MAX)
    closed = closed_ticks(schedule, named_by(schedule, calendars), since, until) if schedule.calendars else None
    runs = head.runs + met - (0 if closed is None else closed.count)
    most = runs if schedule.max_runs is None else schedule.max_runs
    return replace(head, next_run_at=None, bucket=None, settled_through=until, runs=min(runs, most))


def left_of(schedule: Schedule, count: int, runs: int = 0) -> int:
    """How many of so many ticks `maxRuns` leaves."""
    return count if schedule.max_runs is None else max(0, min(count, schedule.max_runs - runs))
