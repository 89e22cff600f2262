"""The walk over one expression's sets on naive local time, forwards and backwards.

Local time is a plain number: seconds since 1970-01-01T00:00 on the wall clock of the zone. Must not know zones, so here
every day has 24 hours. Each search is bounded by the Gregorian cycle of 400 years. Promise: SEM-SCHED-18.
"""

from datetime import date

from tickwright.domain.schedules.expression import Expression

DAY_S = 86_400
_MINUTE_S = 60
_WEEK = 7
_SIZE_MIN = 28
_THURSDAY = 4  # of 1970-01-01
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
# Local years outside have no safe offset arithmetic in datetime.
YEAR_MIN, YEAR_MAX = 2, 9_998
DAY_MIN = date(YEAR_MIN, 1, 1).toordinal() - _EPOCH_ORDINAL
DAY_MAX = date(YEAR_MAX, 12, 31).toordinal() - _EPOCH_ORDINAL
# Gregorian dates and their weekdays repeat after 400 years: what has not matched by then never will.
_MONTHS_MAX = 400 * 12 + 1
_SIZES = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FEBRUARY = 2


def first_match(expression: Expression, local_s: int) -> int | None:
    """The first matching local second at or after `local_s`."""
    day, second = divmod(local_s, DAY_S)
    found = next_day(expression, day)
    if found == day:
        later = _first_second(expression, second)
        if later is not None:
            return day * DAY_S + later
        found = next_day(expression, day + 1)
    return None if found is None else found * DAY_S + earliest_second(expression)


def last_match(expression: Expression, local_s: int) -> int | None:
    """The last matching local second at or before `local_s`."""
    day, second = divmod(local_s, DAY_S)
    found = previous_day(expression, day)
    if found == day:
        earlier = _last_second(expression, second)
        if earlier is not None:
            return day * DAY_S + earlier
        found = previous_day(expression, day - 1)
    return None if found is None else found * DAY_S + latest_second(expression)


def next_day(expression: Expression, day: int) -> int | None:
    """The first matching day at or after a day, both counted from 1970-01-01."""
    if not DAY_MIN <= day <= DAY_MAX:
        return None
    moment = date.fromordinal(day + _EPOCH_ORDINAL)
    year, month, from_day = moment.year, moment.month, moment.day
    first = day - from_day + 1
    for _ in range(_MONTHS_MAX):
        if expression.month_bits >> month & 1:
            bits = _days_of(expression, year, month, first) >> from_day
            if bits:
                return first + from_day + (bits & -bits).bit_length() - 2
        later = expression.month_bits >> month + 1
        year, month = (year, month + 1 + _lowest(later)) if later else (year + 1, _lowest(expression.month_bits))
        if year > YEAR_MAX:
            return None
        first, from_day = date(year, month, 1).toordinal() - _EPOCH_ORDINAL, 1
    return None


def previous_day(expression: Expression, day: int) -> int | None:
    """The last matching day at or before a day."""
    if not DAY_MIN <= day <= DAY_MAX:
        return None
    moment = date.fromordinal(day + _EPOCH_ORDINAL)
    year, month, to_day = moment.year, moment.month, moment.day
    first = day - to_day + 1
    for _ in range(_MONTHS_MAX):
        if expression.month_bits >> month & 1:
            bits = _days_of(expression, year, month, first) & (2 << to_day) - 1
            if bits:
                return first + bits.bit_length() - 2
        earlier = expression.month_bits & (1 << month) - 1
        year, month = (
            (year, earlier.bit_length() - 1) if earlier else (year - 1, expression.month_bits.bit_length() - 1)
        )
        if year < YEAR_MIN:
            return None
        first, to_day = date(year, month, 1).toordinal() - _EPOCH_ORDINAL, 31
    return None


def _days_of(expression: Expression, year: int, month: int, first: int) -> int:
    """Bits of the matching days of a month whose first is the given day."""
    size = _SIZES[month]
    if month == _FEBRUARY and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        size = 29
    return expression.days[(size - _SIZE_MIN) * _WEEK + (first + _THURSDAY) % _WEEK]


def earliest_second(expression: Expression) -> int:
    """The first matching second of a matching day."""
    return _lowest(expression.minute_bits) * _MINUTE_S + _lowest(expression.second_bits)


def latest_second(expression: Expression) -> int:
    """The last matching second of a matching day."""
    return (expression.minute_bits.bit_length() - 1) * _MINUTE_S + expression.second_bits.bit_length() - 1


def _first_second(expression: Expression, second: int) -> int | None:
    minute, within = divmod(second, _MINUTE_S)
    rest = expression.minute_bits >> minute
    if rest & 1:
        seconds = expression.second_bits >> within
        if seconds:
            return second + (seconds & -seconds).bit_length() - 1
    rest >>= 1
    if not rest:
        return None
    # The lowest bit is spelt out in the innermost loop, where a call would cost more than the search.
    return (minute + (rest & -rest).bit_length()) * _MINUTE_S + _lowest(expression.second_bits)


def _last_second(expression: Expression, second: int) -> int | None:
    minute, within = divmod(second, _MINUTE_S)
    if expression.minute_bits >> minute & 1:
        seconds = expression.second_bits & (2 << within) - 1
        if seconds:
            return minute * _MINUTE_S + seconds.bit_length() - 1
    rest = expression.minute_bits & (1 << minute) - 1
    if not rest:
        return None
    return (rest.bit_length() - 1) * _MINUTE_S + expression.second_bits.bit_length() - 1


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
