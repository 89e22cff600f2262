"""Which local days the entries of a calendar name: single days, ranges, days of every year, weekdays.

A day is its number since 1970-01-01. Every question is answered in a bounded number of steps, whatever the entries.
Must not know zones or instants. Promise: SEM-CAL-1.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from tickwright.domain.schedules.walk import DAY_MAX, DAY_MIN

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_TEXT_CHARS_MAX = 21  # 2026-12-24/2027-01-02
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DATE_CHARS = 10
_YEARLY_CHARS = 7
_LEAP_YEAR = "2000"
_YEARLY_WAIT_YEARS = 9  # from one 29 February to the next across 1900 or 2100 are eight years
# A year of single days that adjoin: past it the run is cut, and the caller asks again from there.
RUN_DAYS_MAX = 366


@dataclass(frozen=True, slots=True)
class DaySet:
    """Days, read: ranges that neither touch nor overlap, (month, day) of every year, and weekdays from Monday (0)."""

    firsts: tuple[int, ...]
    lasts: tuple[int, ...]
    yearly: tuple[tuple[int, int], ...]
    weekdays: frozenset[int]

    def has(self, day: int) -> bool:
        """Whether the day is named."""
        return self._range_of(day) is not None or self._repeats(day)

    def run_end(self, day: int) -> int:
        """The first day after a named one that is not named, or a named one at most a year of steps away."""
        if len(self.weekdays) == len(WEEKDAYS):
            return DAY_MAX + 1
        for _ in range(RUN_DAYS_MAX):
            last = self._range_of(day)
            if last is None and not self._repeats(day):
                break
            day = (day if last is None else last) + 1
        return day

    def first_from(self, day: int) -> int | None:
        """The first named day that is not before this one, or None if there is none ever again."""
        if self.has(day):
            return day
        at = bisect_right(self.firsts, day)
        found = [self.firsts[at]] if at < len(self.firsts) else []
        found += [day + ahead for ahead in range(1, 8) if _weekday(day + ahead) in self.weekdays][:1]
        yearly = self._yearly_from(day)
        found += [] if yearly is None else [yearly]
        first = min(found, default=None)
        return first if first is not None and first <= DAY_MAX else None

    def last_before(self, day: int) -> int | None:
        """The last named day before one that is not named, or None if there never was one."""
        at = bisect_right(self.firsts, day) - 1
        found = [self.lasts[at]] if at >= 0 else []
        found += [day - back for back in range(1, 8) if _weekday(day - back) in self.weekdays][:1]
        yearly = self._yearly_before(day)
        found += [] if yearly is None else [yearly]
        return max(found, default=None)

    def _range_of(self, day: int) -> int | None:
        """The last day of the range that holds a day."""
        at = bisect_right(self.firsts, day) - 1
        return self.lasts[at] if at >= 0 and day <= self.lasts[at] else None

    def _repeats(self, day: int) -> bool:
        if not DAY_MIN <= day <= DAY_MAX:
            return False
        if _weekday(day) in self.weekdays:
            return True
        found = _date(day)
        return (found.month, found.day) in self.yearly

    def _yearly_from(self, day: int) -> int | None:
        year = _date(min(max(day, DAY_MIN), DAY_MAX)).year
        for later in range(year, min(year + _YEARLY_WAIT_YEARS, date.max.year + 1)):
            for month, number in self.yearly:
                found = _number(later, month, number)
                if found is not None and found >= day:
                    return found
        return None

    def _yearly_before(self, day: int) -> int | None:
        year = _date(min(max(day, DAY_MIN), DAY_MAX)).year
        for earlier in range(year, max(year - _YEARLY_WAIT_YEARS, 0), -1):
            for month, number in reversed(self.yearly):
                found = _number(earlier, month, number)
                if found is not None and found < day:
                    return found
        return None


@lru_cache(maxsize=512)
def day_set(days: tuple[str, ...], weekdays: tuple[str, ...]) -> DaySet:
    """The days that accepted entries name."""
    yearly = sorted((int(text[2:4]), int(text[5:7])) for text in days if text.startswith("--"))
    merged: list[tuple[int, int]] = []
    for first, last in sorted(_range(text) for text in days if not text.startswith("--")):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return DaySet(
        firsts=tuple(first for first, _ in merged),
        lasts=tuple(last for _, last in merged),
        yearly=tuple(yearly),
        weekdays=frozenset(WEEKDAYS.index(text) for text in weekdays),
    )


def check_day(text: str) -> None:
    """Raise ValueError, saying why, unless the text is a day, a range of days or a day of every year."""
    if len(text) == _YEARLY_CHARS and text.startswith("--"):
        _day(f"{_LEAP_YEAR}-{text[2:]}")
        return
    first, slash, last = text.partition("/")
    if _day(last if slash else first) < _day(first):
        raise ValueError("ends before it begins")


def _range(text: str) -> tuple[int, int]:
    first, slash, last = text.partition("/")
    return _day(first), _day(last if slash else first)


def _day(text: str) -> int:
    if len(text) != _DATE_CHARS or not text.isascii():
        raise ValueError("is not a date")
    try:
        return date.fromisoformat(text).toordinal() - _EPOCH_ORDINAL
    except ValueError:
        raise ValueError("is not a date of the calendar") from None


def _number(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).toordinal() - _EPOCH_ORDINAL
    except ValueError:  # 29 February outside a leap year
        return None


def _date(day: int) -> date:
    return date.fromordinal(day + _EPOCH_ORDINAL)


def _weekday(day: int) -> int:
    return (day + 3) % len(WEEKDAYS)  # the first of January 1970 was a Thursday
