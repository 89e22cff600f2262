"""Which slot of its window a tick fires in: late enough to part a herd, never as late as the next tick.

The slot depends on the nominal tick alone, so it is the same from wherever it is asked. Slots keep the order of their
ticks, so that of all that have passed their nominal time only the last can be still to come. Must not know the time,
nor how the shift was chosen. Promise: SEM-SCHED-22.
"""

from tickwright.domain.instants import Instant
from tickwright.domain.schedules.nominal import count_nominal, latest_nominal, next_nominal
from tickwright.domain.schedules.values import FireWindow, Schedule, Tick


def next_slot(schedule: Schedule, window: FireWindow, after: Instant) -> Tick | None:
    """The first slot strictly later than `after`."""
    pending = _pending(schedule, window, after)
    if pending is not None:
        return pending
    nominal = next_nominal(schedule, after)
    return None if nominal is None else _slot(schedule, window, nominal)


def latest_slot(schedule: Schedule, window: FireWindow, at_most: Instant, not_before: Instant) -> Tick | None:
    """The last slot at or before `at_most` and strictly later than `not_before`."""
    # A slot within the span may belong to a tick from before it.
    floor = Instant(not_before - window.shift_s * 1000)
    found = _latest(schedule, window, at_most, floor)
    if found is not None and found.at > at_most:
        assert found.nominal_at is not None
        found = _latest(schedule, window, Instant(found.nominal_at - 1), floor)
    return found if found is not None and found.at > not_before else None


def count_slots(schedule: Schedule, window: FireWindow, span: tuple[Instant, Instant], limit: int) -> tuple[int, bool]:
    """How many slots are later than the first and not later than the second instant, as `count_ticks` has it."""
    after, until = span
    if after >= until:
        return 0, True
    # One more, because the last of them may be still to come.
    count, exact = count_nominal(schedule, after, until, limit + 1)
    if not exact:
        return limit, False
    came_late = _pending(schedule, window, after) is not None
    comes_late = _pending(schedule, window, until) is not None
    count += came_late - comes_late
    return (count, True) if count <= limit else (limit, False)


def _pending(schedule: Schedule, window: FireWindow, at: Instant) -> Tick | None:
    """The tick whose nominal time has come at an instant and whose slot has not."""
    found = _latest(schedule, window, at, Instant(at - window.shift_s * 1000))
    return found if found is not None and found.at > at else None


def _latest(schedule: Schedule, window: FireWindow, at_most: Instant, not_before: Instant) -> Tick | None:
    """The slot of the last nominal tick in a span."""
    nominal = latest_nominal(schedule, at_most, not_before)
    return None if nominal is None else _slot(schedule, window, nominal)


def _slot(schedule: Schedule, window: FireWindow, nominal: Tick) -> Tick:
    """The tick in its slot: in whole seconds, and in proportion where there is less room than the window asks for."""
    end = _end_of_room(schedule, nominal.at)
    room_s = window.width_s if end is None else min(window.width_s, (end - nominal.at) // 1000)
    at = Instant(nominal.at + window.shift_s * room_s // window.width_s * 1000)
    assert nominal.at <= at
    assert end is None or at < end
    return Tick(at, nominal.nominal_local, nominal.at)


def _end_of_room(schedule: Schedule, nominal_at: Instant) -> int | None:
    """The instant that a slot must come before: the next tick, or what follows the end of the schedule."""
    following = next_nominal(schedule, nominal_at)
    if following is not None:
        return following.at
    return None if schedule.end_at is None else schedule.end_at + 1
