"""What one cron expression means: explicit sets, ready to be walked.

Combines the fields (the day rule, seconds, whether it follows the wall clock or real time) and refuses what can never
fire. Must not know zones or instants. Promise: SEM-SCHED-3, SEM-SCHED-5, SEM-SCHED-9.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from tickwright.domain.schedules.days import day_table
from tickwright.domain.schedules.fields import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, parse_field
from tickwright.domain.schedules.hashing import NOBODY, HashIdentity
from tickwright.domain.schedules.phrases import numbers
from tickwright.domain.schedules.refusals import CronRefused, shown
from tickwright.domain.schedules.resolve import resolve, split

# Months of which no day is left by the sets: the reason why 31 April is refused and 29 February is not.
_MONTHS_OF = {
    28: 1 << 2,
    29: 1 << 2,
    30: sum(1 << month for month in (4, 6, 9, 11)),
    31: sum(1 << month for month in (1, 3, 5, 7, 8, 10, 12)),
}
_WEEKDAYS = 7
_FIELDS_WITH_SECONDS = 6
_SIZE_MIN = 28


class DayMatch(StrEnum):
    """How day of month and day of week combine when both are restricted."""

    OR = "or"
    AND = "and"


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression without H, with its sets."""

    text: str
    second_bits: int
    minute_bits: int  # minutes of the day, 1,440 bits
    month_bits: int
    days: tuple[int, ...]  # bits of the matching days, by size of month and weekday of its first: see days.py
    periodic: bool  # follows real time through clock changes, instead of the wall clock
    either_day: bool  # both day fields are restricted and either suffices

    @property
    def has_seconds(self) -> bool:
        """Whether it was written with six fields."""
        return len(self.text.split(" ")) == _FIELDS_WITH_SECONDS


def parse_expression(text: str, identity: HashIdentity = NOBODY, day_match: DayMatch = DayMatch.OR) -> Expression:
    """The sets of an expression as a user wrote it, or CronRefused."""
    fields = split(text)
    # Checked before H is resolved, so that a refusal quotes what the user wrote.
    return from_resolved(" ".join(resolve(fields, identity)), day_match)


@lru_cache(maxsize=4096)
def from_resolved(text: str, day_match: DayMatch) -> Expression:
    """The sets of an expression that holds no H."""
    fields = text.split(" ")
    second = parse_field(SECOND, fields[-6] if fields[:-5] else "0")
    minute, hour = parse_field(MINUTE, fields[-5]), parse_field(HOUR, fields[-4])
    day, month, weekday = (
        parse_field(DAY_OF_MONTH, fields[-3]),
        parse_field(MONTH, fields[-2]),
        parse_field(DAY_OF_WEEK, fields[-1]),
    )
    either = day_match is DayMatch.OR and not day.starred and not weekday.starred
    expression = Expression(
        text=text,
        second_bits=second.bits,
        minute_bits=minute.bits * sum(1 << 60 * at for at in numbers(hour.bits)),
        month_bits=month.bits,
        days=day_table(day, weekday, either_day=either),
        periodic=second.starred or minute.starred or hour.starred,
        either_day=either,
    )
    if not _fires_ever(expression):
        raise CronRefused("never_fires", f"{shown(text)} names days that no calendar has, so it would never fire")
    return expression


def _fires_ever(expression: Expression) -> bool:
    """Whether any month of the 400-year cycle has a matching day; every size meets every weekday in the cycle."""
    return any(
        expression.month_bits & months and any(expression.days[(size - _SIZE_MIN) * _WEEKDAYS :][:_WEEKDAYS])
        for size, months in _MONTHS_OF.items()
    )
