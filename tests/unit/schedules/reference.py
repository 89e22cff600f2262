"""A second reading of plain cron fields that shares nothing with ours: slow, and meant to be seen right.

It asks of every second or minute of real time whether it matches, by the calendar of datetime and the offsets of
zoneinfo. What the clock skips is looked for minute by minute on the wall clock.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo

LARGE = timedelta(hours=3)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
BOUNDS = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def expand(field: str, low: int, high: int) -> set[int]:
    """Values of a field made of numbers, ranges, steps and lists."""
    values: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        first, _, last = (str(low), "-", str(high)) if span == "*" else span.partition("-")
        end = int(last) if last else (min(high, 6) if high == 7 else high) if step else int(first)
        values |= set(range(int(first), end + 1, int(step or 1)))
    return values


class Reference:
    """An expression of plain fields by its sets."""

    def __init__(self, text: str) -> None:
        fields = text.split()
        self.unit = SECOND if len(fields) == len(BOUNDS) else MINUTE
        fields = fields if self.unit is SECOND else ["0", *fields]
        self.sets = [expand(field, *bounds) for field, bounds in zip(fields, BOUNDS, strict=True)]
        self.weekdays = {value % 7 for value in self.sets[5]}
        self.both_days = fields[3].startswith("*") or fields[5].startswith("*")
        self.periodic = any(field.startswith("*") for field in fields[:3])

    def matches(self, local: datetime) -> bool:
        """Whether a wall-clock time matches."""
        seconds, minutes, hours, days, months, _ = self.sets
        if local.second not in seconds or local.minute not in minutes or local.hour not in hours:
            return False
        by_day, by_weekday = local.day in days, local.isoweekday() % 7 in self.weekdays
        return local.month in months and (by_day and by_weekday if self.both_days else by_day or by_weekday)

    def fires(self, utc: datetime, zone: tzinfo) -> bool:
        """Whether an instant is a tick."""
        local = utc.astimezone(zone)
        if self.periodic:
            return self.matches(local)
        forward = offset(utc, zone) - offset(utc - self.unit, zone)
        if timedelta(0) < forward < LARGE:
            wall = local.replace(tzinfo=None) - forward
            if any(self.matches(wall + self.unit * late) for late in range(forward // self.unit)):
                return True
        return self.matches(local) and not is_second_copy(local)

    def ticks(self, zone: tzinfo, start: datetime, end: datetime) -> Iterator[datetime]:
        """Every tick later than the start and not later than the end."""
        utc = start.replace(second=0, microsecond=0)
        while utc <= end:
            if utc > start and self.fires(utc, zone):
                yield utc
            utc += self.unit


def offset(utc: datetime, zone: tzinfo) -> timedelta:
    """The offset in force at an instant."""
    found = utc.astimezone(zone).utcoffset()
    assert found is not None
    return found


def is_second_copy(local: datetime) -> bool:
    """Whether a local time has come before, within a change of less than three hours."""
    first, second = local.replace(fold=0).utcoffset(), local.replace(fold=1).utcoffset()
    assert first is not None
    assert second is not None
    return bool(local.fold) and timedelta(0) < first - second < LARGE
