"""Where a paused job goes on, and which ticks its pause has passed over. Promise: SEM-PAUSE-1, SEM-PAUSE-2."""

from dataclasses import replace

from tickwright.domain import limits
from tickwright.domain.executions import PassedOver, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.pending import decided_through, schedule_of
from tickwright.domain.schedules import Tick, count_ticks, latest_tick, next_tick


def resumed_at(head: Head, now: Instant) -> Instant | None:
    """The first tick after now and after all that was decided.

    With `onResume: catchup`, the first that the pause held back.
    """
    schedule = schedule_of(head)
    if schedule.max_runs is not None and head.runs >= schedule.max_runs:
        return None
    if not head.catch_up.on_resume:
        return _at(next_tick(schedule, Instant(max(now, decided_through(head)))))
    held = _held(head)
    return _at(next_tick(schedule, _held_after(head, now))) if held is None else held


def paused_over(head: Head, now: Instant) -> PassedOver | None:
    """The ticks that the pause held back and that are not caught up."""
    if head.catch_up.on_resume:
        return None
    passed = _of_schedule(head, now)
    held = _held(head)
    if held is None or (passed is not None and passed.first == held):
        return passed
    if passed is None:
        return PassedOver(first=held, last=held, count=1, reason=Reason.PAUSED)
    return replace(passed, first=held, count=passed.count + 1)


def _of_schedule(head: Head, now: Instant) -> PassedOver | None:
    schedule = schedule_of(head)
    after = _held_after(head, now)
    first = next_tick(schedule, after)
    last = None if first is None or first.at > now else latest_tick(schedule, now, after)
    if first is None or last is None:
        return None
    count, exact = count_ticks(schedule, after, last.at, limits.PASSED_OVER_COUNT_MAX)
    return PassedOver(first=first.at, last=last.at, count=count, exact=exact, reason=Reason.PAUSED)


def _held_after(head: Head, now: Instant) -> Instant:
    return Instant(max(decided_through(head), now if head.paused_at is None else head.paused_at))


def _held(head: Head) -> Instant | None:
    """The tick that was due when the job was paused, if nothing has told of it since.

    The schedule alone would not name it: an edit keeps what is due, and goes on by its own ticks after that.
    """
    told = max(decided_through(head), head.paused_at or 0)
    return None if head.held is None or head.held <= told else head.held


def _at(tick: Tick | None) -> Instant | None:
    return None if tick is None else tick.at
