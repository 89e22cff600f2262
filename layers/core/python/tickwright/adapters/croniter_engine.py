"""croniter as the second, independent cron engine.

Settles how a schedule is said in croniter's words, and where croniter 7 is known to be wrong and is not asked. Each of
its faults has a test that fails when a release mends it. Must not know what is done about a disagreement. Promise:
SEM-SCHED-15.
"""

import re
from datetime import UTC, datetime
from enum import StrEnum
from heapq import merge
from itertools import islice

from croniter import CroniterError, croniter

from tickwright.domain.instants import Instant, from_datetime, to_datetime
from tickwright.domain.schedules import Cron, DayMatch, Expression, Gap, Schedule
from tickwright.domain.schedules.fields import DAY_OF_WEEK, MONTH
from tickwright.domain.schedules.zones import Change, changes, load_zone
from tickwright.ports.second_engine import NoOpinion, Opinion


class Fault(StrEnum):
    """What croniter 7 cannot read, or reads or computes wrongly."""

    NOT_CRON = "not_cron"  # no fault of its own: one-offs and intervals are arithmetic
    WINDOW = "window"  # nor this: it has no windows, and nominal ticks are not those that fire
    SINGLE_VALUE_RANGE = "single_value_range"  # 5-5 is taken for the whole field
    NOT_READ = "not_read"  # LW, L-3, W in a list, an nth or last weekday beside plain ones
    NEAR_MONTH_END = "near_month_end"  # 31W falls on the last weekday of a month that has no 31st
    EITHER_DAY = "either_day"  # where either day suffices, W, # and a last weekday are needed all the same
    FROM_SUNDAY = "from_sunday"  # 7/2 is read as 0/2
    REPEATED_HOUR = "repeated_hour"  # a wall-clock time fires at both copies, or at neither of a large change
    SKIPPED_HOUR = "skipped_hour"  # a periodic schedule gets an extra tick at the end of the gap, a list loses one


_SINGLE_VALUE_RANGE = re.compile(r"(?:^|[ ,])(\w+)-\1(?=[ ,/]|$)")
_LAST_WEEKDAY = re.compile(r"([0-7]|[A-Z]{3})L")
_NOT_READ = re.compile(r"(?:^|[ ,])(?:LW|L-)")
_NEAR_MONTH_END = re.compile(r"(?:^|[ ,])(?:29|3[01])W")
_NAME = re.compile(r"[A-Z]{3}")
_NUMBERS = {name: str(value) for kind in (MONTH, DAY_OF_WEEK) for name, value in kind.names.items()}
_LEADING_ZEROS = re.compile(r"\b0+(?=[0-9])")
_DAY_S = 86_400
_MINUTES_A_DAY = 1_440
_LARGE_CHANGE_S = 3 * 3_600


class CroniterEngine:
    """Answers from croniter alone: its parser, its walk and its way with zones."""

    def next_ticks(self, schedule: Schedule, after: Instant, count: int) -> Opinion | NoOpinion:
        """Up to `count` ticks strictly later than `after`, within start and end, or why there is no opinion."""
        if not isinstance(schedule.kind, Cron):
            return NoOpinion(Fault.NOT_CRON)
        if schedule.window is not None:
            return NoOpinion(Fault.WINDOW)
        fault = next(filter(None, map(_fault_of_text, schedule.kind.expressions)), None)
        if fault is not None:
            return NoOpinion(fault)
        ticks = faulty_ticks(schedule, after, count)
        if ticks is None:
            return NoOpinion(Fault.NOT_READ)
        fault = _fault_of_span(schedule, after, ticks[-1] if ticks else after)
        return Opinion(ticks) if fault is None else NoOpinion(fault)


def faulty_ticks(schedule: Schedule, after: Instant, count: int) -> tuple[Instant, ...] | None:
    """What croniter answers, faults included; None if it cannot read the schedule or finds no date."""
    assert isinstance(schedule.kind, Cron)
    try:
        return _union(schedule, schedule.kind, after, count)
    except (CroniterError, ArithmeticError, LookupError):
        return None


def _fault_of_text(expression: Expression) -> Fault | None:
    text = _numbered(expression.text)
    if _SINGLE_VALUE_RANGE.search(text):
        return Fault.SINGLE_VALUE_RANGE
    if _NEAR_MONTH_END.search(text):
        return Fault.NEAR_MONTH_END
    weekdays = text.split(" ")[-1].split(",")
    special = ["#" in item or "L" in item for item in weekdays]
    if expression.either_day and (any(special) or "W" in text.split(" ")[-3]):
        return Fault.EITHER_DAY
    if any(item.startswith("7/") for item in weekdays):
        return Fault.FROM_SUNDAY
    mixed = any(special) and not all(special)
    return Fault.NOT_READ if mixed or _NOT_READ.search(text) else None


def _numbered(text: str) -> str:
    """The expression without names and leading zeros: SAT-6 and 6-06 are the range 6-6."""
    return _LEADING_ZEROS.sub("", _NAME.sub(lambda name: _NUMBERS.get(name[0], name[0]), text.upper()))


def _fault_of_span(schedule: Schedule, after: Instant, last: Instant) -> Fault | None:
    """Its faults at clock changes, if a change lies near the span; both policies but the default are ours alone."""
    for change in changes(schedule.timezone, after // 1000 - _DAY_S, last // 1000 + _DAY_S):
        fault = _fault_at(schedule, change)
        if fault is not None:
            return fault
    return None


def _fault_at(schedule: Schedule, change: Change) -> Fault | None:
    assert isinstance(schedule.kind, Cron)
    touched = [one for one in schedule.kind.expressions if one.minute_bits & _minutes_touched(change)]
    large = abs(change.forward) >= _LARGE_CHANGE_S
    if change.back > 0:
        wall_clock = any(not one.periodic for one in touched)
        return Fault.REPEATED_HOUR if touched and (wall_clock or large) else None
    several = any(one.minute_bits.bit_count() > 1 for one in touched)
    return Fault.SKIPPED_HOUR if touched and (several or large or schedule.dst_gap is not Gap.SHIFT) else None


def _minutes_touched(change: Change) -> int:
    """Bits of the minutes of the day that the clock repeats or jumps over, and the one after them."""
    local = change.at + min(change.before, change.after)
    first, last = local // 60, (local + abs(change.forward)) // 60
    return sum(1 << minute for minute in {minute % _MINUTES_A_DAY for minute in range(first, last + 1)})


def _union(schedule: Schedule, cron: Cron, after: Instant, count: int) -> tuple[Instant, ...]:
    start = after if schedule.start_at is None else max(after, Instant(schedule.start_at - 1))
    # croniter starts at whole seconds; a tick never lies between two.
    base = to_datetime(Instant(start // 1000 * 1000)).astimezone(load_zone(schedule.timezone))
    streams = [islice(_iterator(one, cron.day_match, base), count) for one in cron.expressions]
    found = dict.fromkeys(from_datetime(moment.astimezone(UTC)) for moment in merge(*streams, key=_utc))
    within = [at for at in found if schedule.end_at is None or at <= schedule.end_at]
    return tuple(within[:count])


def _iterator(expression: Expression, day_match: DayMatch, base: datetime) -> "croniter":
    return croniter(
        _said(expression.text),
        base,
        ret_type=datetime,
        day_or=day_match is DayMatch.OR,
        # Its name for what Debian's crontab(5) does: a day field that begins with a star is not restricted.
        implement_cron_bug=True,
        second_at_beginning=expression.has_seconds,
    )


def _said(text: str) -> str:
    """The expression in croniter's words: a last Friday is L5 there."""
    head, _, weekdays = text.upper().rpartition(" ")
    return head + " " + _LAST_WEEKDAY.sub(r"L\1", weekdays)


def _utc(moment: datetime) -> datetime:
    # Two moments of one zone compare by their wall clock and not by their instant.
    return moment.astimezone(UTC)
