"""What one field of a cron expression means, as an explicit set of values.

Debian's crontab(5) is the truth for `*`, lists, ranges, steps and names; Quartz for `?`, L, W and #. Must not know how
fields combine, nor the calendar. Everything unclear is refused with a remedy. Promise: SEM-SCHED-3, SEM-SCHED-4.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from tickwright.domain.schedules.refusals import CronRefused, shown

MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = {name: at for at, name in enumerate(MONTH_NAMES, 1)}
_WEEKDAYS = {name: at for at, name in enumerate(WEEKDAY_NAMES)}
SUNDAY_TOO = 7


@dataclass(frozen=True, slots=True)
class FieldKind:
    """The bounds of a field. `step_high` ends `n/step`; `hash_low` to `hash_high` is where a bare H may fall."""

    name: str
    low: int
    high: int
    step_high: int
    hash_low: int
    hash_high: int
    is_day: bool = False

    @property
    def names(self) -> dict[str, int]:
        """The three-letter names that this field takes."""
        return {"month": _MONTHS, "day of week": _WEEKDAYS}.get(self.name, {})


SECOND = FieldKind("second", 0, 59, 59, 0, 59)
MINUTE = FieldKind("minute", 0, 59, 59, 0, 59)
HOUR = FieldKind("hour", 0, 23, 23, 0, 23)
# Every month has a 28th, so a hashed day never skips a month.
DAY_OF_MONTH = FieldKind("day of month", 1, 31, 31, 1, 28, is_day=True)
MONTH = FieldKind("month", 1, 12, 12, 1, 12)
# 7 is Sunday too; `5/2` ends at Saturday, so that Sunday never slips into a list that began in mid-week.
DAY_OF_WEEK = FieldKind("day of week", 0, SUNDAY_TOO, 6, 0, 6, is_day=True)


@dataclass(frozen=True, slots=True)
class FieldSet:
    """The values of a field as bits, and the rules that need a calendar."""

    bits: int = 0
    starred: bool = False  # begins with `*` or is `?`: Debian's mark of "not restricted"
    from_end: frozenset[int] = frozenset()  # L and L-n: days before the last of the month
    near: int = 0  # nW: bits of n
    last_weekday_of_month: bool = False  # LW
    last: int = 0  # dL: bits of d
    nth: frozenset[tuple[int, int]] = frozenset()  # d#k


_ITEM = re.compile(r"(?:(\*)|([0-9]+|[A-Z]{3})(?:-([0-9]+|[A-Z]{3}))?)(?:/([0-9]+))?")
_FROM_END = re.compile(r"L(?:-([0-9]+))?")
_NEAR = re.compile(r"([0-9]+)W")
_LAST = re.compile(r"([0-9]+|[A-Z]{3})L")
_NTH = re.compile(r"([0-9]+|[A-Z]{3})#([0-9]+)")
# The longest distance from the last day that some month still has.
_FROM_END_MAX = 30
_NTH_MAX = 5


@lru_cache(maxsize=4096)
def parse_field(kind: FieldKind, text: str) -> FieldSet:
    """The set that the text stands for (H already resolved), or CronRefused."""
    upper = text.upper()
    if upper == "?":
        return _unrestricted(kind, text)
    merged = FieldSet(starred=upper.startswith("*"))
    for item in upper.split(","):
        merged = _merged(merged, _parse_item(kind, item, text))
    return merged


def _unrestricted(kind: FieldKind, text: str) -> FieldSet:
    if not kind.is_day:
        raise refused(kind, text, "bad_extension", "is allowed in the two day fields only; write *")
    return FieldSet(bits=_bits(kind, kind.low, kind.high, 1), starred=True)


def _merged(one: FieldSet, other: FieldSet) -> FieldSet:
    return FieldSet(
        bits=one.bits | other.bits,
        starred=one.starred,
        from_end=one.from_end | other.from_end,
        near=one.near | other.near,
        last_weekday_of_month=one.last_weekday_of_month or other.last_weekday_of_month,
        last=one.last | other.last,
        nth=one.nth | other.nth,
    )


def _parse_item(kind: FieldKind, item: str, text: str) -> FieldSet:
    if not item:
        raise refused(kind, text, "empty_item", "has an empty item in its list; remove the extra comma")
    plain = _ITEM.fullmatch(item)
    if plain is not None:
        return FieldSet(bits=_plain_bits(kind, item, plain))
    if kind is DAY_OF_MONTH:
        return _day_of_month_rule(item)
    if kind is DAY_OF_WEEK:
        return _day_of_week_rule(item)
    raise _unreadable(kind, item)


def _plain_bits(kind: FieldKind, item: str, match: re.Match[str]) -> int:
    star, first, last, step = match.groups()
    if star:
        low, high = kind.low, kind.high
    else:
        low = _value(kind, first, item)
        high = _value(kind, last, item) if last else low
        if step and not last:
            high = max(low, kind.step_high)
    if low > high:
        remedy = f"swap its ends, or write {first}-{kind.step_high},{kind.low}-{last} to go round"
        raise refused(kind, item, "reversed_range", f"runs backwards; {remedy}")
    if step and int(step) == 0:
        raise refused(kind, item, "bad_step", "has a step of 0, which never advances; use 1 or more")
    return _bits(kind, low, high, int(step or 1))


def _bits(kind: FieldKind, low: int, high: int, step: int) -> int:
    bits = 0
    for value in range(low, high + 1, step):
        bits |= 1 << value
    if kind is DAY_OF_WEEK and bits >> SUNDAY_TOO:
        bits = (bits | 1) & ~(1 << SUNDAY_TOO)
    return bits


def _value(kind: FieldKind, text: str, item: str) -> int:
    if text[0].isalpha():
        if text not in kind.names:
            raise _unreadable(kind, item)
        return kind.names[text]
    value = int(text)
    if not kind.low <= value <= kind.high:
        raise refused(kind, item, "out_of_range", f"is out of range; write {kind.low} to {kind.high}")
    return value


def _day_of_month_rule(item: str) -> FieldSet:
    if item == "LW":
        return FieldSet(last_weekday_of_month=True)
    match = _FROM_END.fullmatch(item)
    if match is not None:
        distance = int(match[1] or 0)
        if distance > _FROM_END_MAX:
            raise refused(DAY_OF_MONTH, item, "bad_extension", f"counts too far back; write L-1 to L-{_FROM_END_MAX}")
        return FieldSet(from_end=frozenset({distance}))
    match = _NEAR.fullmatch(item)
    if match is not None:
        return FieldSet(near=1 << _value(DAY_OF_MONTH, match[1], item))
    raise _unreadable(DAY_OF_MONTH, item)


def _day_of_week_rule(item: str) -> FieldSet:
    match = _LAST.fullmatch(item)
    if match is not None:
        return FieldSet(last=1 << _value(DAY_OF_WEEK, match[1], item) % SUNDAY_TOO)
    match = _NTH.fullmatch(item)
    if match is None:
        raise _unreadable(DAY_OF_WEEK, item)
    nth = int(match[2])
    if not 1 <= nth <= _NTH_MAX:
        raise refused(DAY_OF_WEEK, item, "bad_extension", f"asks for number {nth} of a month; write #1 to #{_NTH_MAX}")
    return FieldSet(nth=frozenset({(_value(DAY_OF_WEEK, match[1], item) % SUNDAY_TOO, nth)}))


_FORMS = {
    "month": "numbers 1-12 or JAN-DEC, lists, ranges and steps",
    "day of month": "numbers 1-31, lists, ranges, steps, L, L-n, LW, nW",
    "day of week": "numbers 0-7 or SUN-SAT, lists, ranges, steps, 5L, 5#3",
}


def _unreadable(kind: FieldKind, item: str) -> CronRefused:
    forms = _FORMS.get(kind.name, f"numbers {kind.low}-{kind.high}, lists, ranges and steps")
    return refused(kind, item, "unreadable", f"cannot be read; this field takes {forms}, and H")


def refused(kind: FieldKind, value: str, code: str, rest: str) -> CronRefused:
    """A refusal that names the field and its value."""
    return CronRefused(code, f"{kind.name} {shown(value)} {rest}")
