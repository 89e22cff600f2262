"""Which days of a month match, for each of the 28 shapes that a month can have.

A month's shape is its size (28 to 31) and the weekday of its first day: so the whole calendar is a table of 28 rows,
made once per expression. Must not know years. Promise: SEM-SCHED-3, SEM-SCHED-5.
"""

from tickwright.domain.schedules.fields import FieldSet
from tickwright.domain.schedules.phrases import numbers

SIZES = (28, 29, 30, 31)
_WEEK = 7
_SATURDAY = 6
_SUNDAY = 0


def shape(size: int, first_weekday: int) -> int:
    """The row of a month: its size and the weekday of its first day (0 is Sunday)."""
    return (size - SIZES[0]) * _WEEK + first_weekday


def day_table(day: FieldSet, weekday: FieldSet, *, either_day: bool) -> tuple[int, ...]:
    """Bits of the matching days (bit 1 is the first), by shape."""
    plain = [_weekly(weekday.bits, first) for first in range(_WEEK)]
    ruled = bool(day.from_end or day.near or day.last_weekday_of_month)
    rows = []
    for size in SIZES:
        whole = (1 << size + 1) - 2
        for first, weekly in enumerate(plain):
            by_day = day.bits | _by_day_rules(day, size, first) if ruled else day.bits
            by_weekday = weekly | _by_weekday_rules(weekday, size, first) if weekday.last or weekday.nth else weekly
            rows.append((by_day | by_weekday if either_day else by_day & by_weekday) & whole)
    return tuple(rows)


def _by_day_rules(day: FieldSet, size: int, first: int) -> int:
    bits = 0
    for distance in day.from_end:
        bits |= 1 << size - distance if distance < size else 0
    if day.last_weekday_of_month:
        bits |= 1 << _nearest(size, size, first)
    for number in numbers(day.near & (2 << size) - 1):
        bits |= 1 << _nearest(number, size, first)
    return bits


def _nearest(number: int, size: int, first: int) -> int:
    """The Monday-to-Friday day nearest to a day, inside the same month."""
    weekday = (first + number - 1) % _WEEK
    if weekday == _SATURDAY:
        return number - 1 if number > 1 else number + 2
    if weekday == _SUNDAY:
        return number + 1 if number < size else number - 2
    return number


# Seven bits, said five times over: from the weekdays of the first week to those of the month.
_FIVE_WEEKS = sum(1 << _WEEK * week for week in range(5))


def _weekly(weekdays: int, first: int) -> int:
    # The weekdays in the order in which this month begins them: bit 0 is the first day's.
    week = weekdays >> first | weekdays << _WEEK - first
    return (week & (1 << _WEEK) - 1) * _FIVE_WEEKS << 1


def _by_weekday_rules(weekday: FieldSet, size: int, first: int) -> int:
    bits = 0
    for number in numbers(weekday.last):
        later = (number - first) % _WEEK
        bits |= 1 << 1 + later + (size - 1 - later) // _WEEK * _WEEK
    for number, nth in weekday.nth:
        bits |= 1 << 1 + (number - first) % _WEEK + (nth - 1) * _WEEK
    return bits
