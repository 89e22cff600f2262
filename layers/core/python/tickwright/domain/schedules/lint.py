"""What a schedule may do that its author did not expect; notes, never refusals.

Must not know who asks or how notes are shown. Every note says what happens and what to write instead. Promise:
SEM-SCHED-14.
"""

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from tickwright.domain.instants import Instant
from tickwright.domain.schedules.days import shape
from tickwright.domain.schedules.explain import MONTHS
from tickwright.domain.schedules.expression import Expression
from tickwright.domain.schedules.fields import FieldKind, parse_field
from tickwright.domain.schedules.nominal import next_nominal
from tickwright.domain.schedules.phrases import counted, joined, numbers
from tickwright.domain.schedules.resolve import KINDS
from tickwright.domain.schedules.values import Cron, Schedule


@dataclass(frozen=True, slots=True)
class LintNote:
    """One thing worth a second look."""

    code: str
    message: str


# Enough for an hour of minutes and its last, shorter step. Bounds are left aside: they move no tick.
_SAMPLED_TICKS = 62
_SAMPLED_FROM = Instant(1_704_067_200_000)  # 2024, which began on a Monday and had a 29 February
_STAR_STEP = re.compile(r"\*/([0-9]+)")
_WHOLE_RANGES = {"0-59", "0-23"}
_FEBRUARY = 2
_WEEK = 7


def lint(schedule: Schedule, *, hashed: bool = False) -> tuple[LintNote, ...]:
    """The notes on a schedule; `hashed` when its times were chosen by H, so that they are no herd."""
    notes = []
    spread = hashed or schedule.window is not None
    for expression in schedule.kind.expressions if isinstance(schedule.kind, Cron) else ():
        notes += [*_uneven(expression), *_whole_ranges(expression), *_months(expression), *_day_rule(expression)]
        notes += [] if hashed else _beyond(expression)
        notes += [] if spread else _herd(expression)
    return (*dict.fromkeys(notes), *_window(schedule))


def _beyond(expression: Expression) -> list[LintNote]:
    """A step that leaves a single value: the author of 22/50 expects a second one."""
    notes = []
    for kind, text in _fields(expression):
        for item in text.split(","):
            only = numbers(parse_field(kind, item).bits) if "/" in item else []
            if len(only) == 1:
                rest = (
                    f"steps beyond the end, so only {only[0]} matches; write {only[0]}, or every for a fixed distance"
                )
                notes.append(LintNote("step_beyond_field", f"{kind.name} {item} {rest}"))
    return notes


def _fields(expression: Expression) -> list[tuple[FieldKind, str]]:
    texts = expression.text.split(" ")
    return list(zip(KINDS[-len(texts) :], texts, strict=True))


def _uneven(expression: Expression) -> list[LintNote]:
    notes = []
    for kind, text in _fields(expression):
        match = _STAR_STEP.fullmatch(text)
        if match is None:
            continue
        step, width = int(match[1]), kind.step_high - kind.low + 1
        if step < width and (kind.is_day or width % step):
            rest = f"is uneven: it starts again at {kind.low} whenever the field does, after a shorter wait"
            notes.append(LintNote("uneven_step", f"{kind.name} {text} {rest}; use every for a fixed distance"))
    return notes


def _whole_ranges(expression: Expression) -> list[LintNote]:
    texts = expression.text.split(" ")[-5:-3]
    if expression.periodic or not _WHOLE_RANGES.intersection(texts):
        return []
    rest = "covers its field but is not *: the schedule keeps to the wall clock and fires once in a repeated hour"
    return [LintNote("range_is_not_star", f"{joined(sorted(_WHOLE_RANGES.intersection(texts)))} {rest}")]


def _months(expression: Expression) -> list[LintNote]:
    asked = [month for month in range(1, 13) if expression.month_bits >> month & 1]
    never = [month for month in asked if not any(_fires(expression, size) for size in _sizes(month))]
    notes = []
    if never:
        told = joined([MONTHS[month - 1] for month in never])
        notes.append(LintNote("never_in_months", f"{expression.text} never fires in {told}; write L for the last day"))
    if _FEBRUARY in asked and _FEBRUARY not in never and not _fires(expression, 28):
        notes.append(LintNote("leap_years_only", f"{expression.text} fires in February of leap years only"))
    return notes


def _sizes(month: int) -> tuple[int, ...]:
    if month == _FEBRUARY:
        return (28, 29)
    return (30,) if month in {4, 6, 9, 11} else (31,)


def _fires(expression: Expression, size: int) -> bool:
    return any(expression.days[shape(size, first)] for first in range(_WEEK))


def _day_rule(expression: Expression) -> list[LintNote]:
    day, _, weekday = expression.text.split(" ")[-3:]
    if expression.either_day:
        rest = "fires when either matches, as crontab(5) has it"
        return [LintNote("either_day", f"day of month {day} and day of week {weekday}: {rest}; set dayMatch for both")]
    partial = [text for text in (day, weekday) if text.startswith("*") and text != "*"]
    if partial and day not in {"*", "?"} and weekday not in {"*", "?"}:
        rest = "begins with *, so both day fields must match"
        return [LintNote("both_days", f"{joined(partial)} {rest}; write the values out to make either enough")]
    return []


def _herd(expression: Expression) -> list[LintNote]:
    """Full hours and midnights: the seconds in which everybody's jobs fire."""
    texts = expression.text.split(" ")
    clock = texts[-5:-3]
    if clock not in (["0", "0"], ["0", "*"]) or (expression.has_seconds and texts[0] != "0"):
        return []
    offered = " ".join(["H", "H" if clock[1] == "0" else "*", *texts[-3:]])
    rest = f"{offered} gives this job a slot of its own, and window one within so many seconds after its time"
    return [LintNote("herd", f"{expression.text} fires when many others do; {rest}")]


def _window(schedule: Schedule) -> tuple[LintNote, ...]:
    """A window that does not fit between two ticks."""
    width_s = 0 if schedule.window is None else schedule.window.width_s
    gap_s = _smallest_gap_s(schedule) if width_s else None
    if gap_s is None or gap_s >= width_s:
        return ()
    rest = f"the next tick may come after {counted(gap_s, 'second')}: there the window shrinks, so that order is kept"
    return (LintNote("window_shrinks", f"window is {counted(width_s, 'second')} long, but {rest}"),)


def _smallest_gap_s(schedule: Schedule) -> int | None:
    """The smallest distance of two ticks among the first of a sample year, rounded up."""
    sampled = replace(schedule, window=None, start_at=_SAMPLED_FROM, end_at=None)
    at = [_SAMPLED_FROM]
    while len(at) < _SAMPLED_TICKS:
        tick = next_nominal(sampled, at[-1])
        if tick is None:
            break
        at.append(tick.at)
    return min((-((one - other) // 1000) for one, other in pairwise(at[1:])), default=None)
