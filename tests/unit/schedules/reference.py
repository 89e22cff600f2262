"""A second reading of plain cron fields that shares nothing with ours: slow, and meant to be seen right.

It asks of every second or minute of real time whether it matches, by the calendar of datetime and the offsets of
zoneinfo. What the clock skips is looked for minute by minute on the wall clock.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

LARGE = timedelta(hours=3)
MINUTE = timedelta(minutes=1)
BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def expand(field: str, low: int, high: int) -> set[int]:
    """Values of a field made of numbers, ranges, steps and lists."""
    values: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        first, _, last = (str(low), "-", str(high)) if span == "*" else span.partition("-")
        end = int(last) if last else (min(high, 6) if high == 7 else high) if step else int(first)
        values |= set(range(int(first), end + 1, int(step or 1)))
    return values


@dataclass(frozen=True)
class Reference:
    """A five-field expression by its sets."""

    text: str

    def matches(self, local: datetime) -> bool:
        """Whether a wall-clock minute matches."""
        minutes, hours, days, months, weekdays = self._sets()
        if local.second or local.minute not in minutes or local.hour not in hours or local.month not in months:
            return False
        by_day = local.day in days
        by_weekday = local.isoweekday() % 7 in {value % 7 for value in weekdays}
        _, _, day, _, weekday = self.text.split()
        if day.startswith("*") or weekday.startswith("*"):
            return by_day and by_weekday
        return by_day or by_weekday

    @property
    def periodic(self) -> bool:
        """Whether minute or hour begins with a star."""
        return any(field.startswith("*") for field in self.text.split()[:2])

    def fires(self, utc: datetime, zone: tzinfo) -> bool:
        """Whether a minute of real time is a tick."""
        local = utc.astimezone(zone)
        forward = offset(utc, zone) - offset(utc - MINUTE, zone)
        if self.periodic:
            return self.matches(local)
        if timedelta(0) < forward < LARGE:
            wall = local.replace(tzinfo=None) - forward
            if any(self.matches(wall + MINUTE * late) for late in range(forward // MINUTE)):
                return True
        return self.matches(local) and not is_second_copy(local)

    def ticks(self, zone: tzinfo, start: datetime, end: datetime) -> Iterator[datetime]:
        """Every tick later than the start and not later than the end."""
        utc = (start.astimezone(UTC) + MINUTE).replace(second=0, microsecond=0)
        while utc <= end:
            if self.fires(utc, zone):
                yield utc
            utc += MINUTE

    def _sets(self) -> list[set[int]]:
        return [expand(field, *bounds) for field, bounds in zip(self.text.split(), BOUNDS, strict=True)]


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
