"""When a schedule fires: next, latest, and how often between two instants.

Joins the nominal ticks with the slots that a window gives them. Must not know the time: `after` comes from the caller.
Promise: SEM-SCHED-6, SEM-SCHED-7, SEM-SCHED-22.
"""

from tickwright.domain.instants import Instant
from tickwright.domain.schedules.nominal import count_nominal, latest_nominal, next_nominal
from tickwright.domain.schedules.slots import count_slots, latest_slot, next_slot
from tickwright.domain.schedules.values import Schedule, Tick


def next_tick(schedule: Schedule, after: Instant) -> Tick | None:
    """The first tick strictly later than `after`, or None if there is none ever again."""
    window = schedule.window
    tick = next_nominal(schedule, after) if window is None else next_slot(schedule, window, after)
    return None if tick is None or (schedule.cut_at is not None and tick.at >= schedule.cut_at) else tick


def latest_tick(schedule: Schedule, at_most: Instant, not_before: Instant) -> Tick | None:
    """The last tick at or before `at_most` and strictly later than `not_before`."""
    window, at_most = schedule.window, _within_cut(schedule, at_most)
    if window is None:
        return latest_nominal(schedule, at_most, not_before)
    return latest_slot(schedule, window, at_most, not_before)


def count_ticks(schedule: Schedule, after: Instant, until: Instant, limit: int) -> tuple[int, bool]:
    """How many ticks are later than `after` and not later than `until`; (limit, False) means at least the limit."""
    window, until = schedule.window, _within_cut(schedule, until)
    if window is None:
        return count_nominal(schedule, after, until, limit)
    return count_slots(schedule, window, (after, until), limit)


def _within_cut(schedule: Schedule, until: Instant) -> Instant:
    return until if schedule.cut_at is None else Instant(min(until, schedule.cut_at - 1))
