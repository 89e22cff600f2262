"""What a schedule does, in plain words, for a person who has to decide whether that is what they meant.

Reads the sets and not the text, so that it can only say what will be evaluated. Must not know the time. Promise:
SEM-SCHED-14.
"""

from typing import assert_never

from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.schedules.durations import duration_text
from tickwright.domain.schedules.expression import Expression
from tickwright.domain.schedules.fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    FieldSet,
    parse_field,
)
from tickwright.domain.schedules.phrases import counted, joined, numbers, ordinal, spans, step_of
from tickwright.domain.schedules.values import Cron, Every, OneOff, Schedule
from tickwright.domain.schedules.zones import Gap, Overlap

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LAST = "the last day of the month"
_DAYS_MAX = 31
_TIMES_LISTED_MAX = 6
_ALL_DAYS = (1 << 32) - 2
_ALL_WEEKDAYS = (1 << 7) - 1


def explain(schedule: Schedule) -> tuple[str, ...]:
    """Sentences: what fires when, the bounds, and what happens at clock changes."""
    return (*_kind_sentences(schedule), *_window_sentences(schedule), *_bound_sentences(schedule))


def explain_expression(expression: Expression) -> str:
    """The times and days of one expression, as a phrase without zone."""
    *_, day_text, month_text, weekday_text = expression.text.split(" ")
    day, weekday = parse_field(DAY_OF_MONTH, day_text), parse_field(DAY_OF_WEEK, weekday_text)
    month = parse_field(MONTH, month_text)
    phrases = [_times(expression), _days(day, weekday, expression), _months(month)]
    return " ".join(phrase for phrase in phrases if phrase)


def _kind_sentences(schedule: Schedule) -> tuple[str, ...]:
    match schedule.kind:
        case OneOff(run_at):
            return (f"Fires once, at {to_rfc3339(run_at)}.",)
        case Every(period_ms, phase_ms):
            anchor = to_rfc3339(Instant(phase_ms))
            return (
                f"Fires every {duration_text(period_ms)} of elapsed time, counted from {anchor}.",
                "Clock changes make no difference to it.",
            )
        case Cron(expressions):
            told = "; and ".join(explain_expression(expression) for expression in expressions)
            sentence = f"Fires {told}, in the time of {schedule.timezone}."
            union = ("Times that several expressions share fire once.",) if len(expressions) > 1 else ()
            return (sentence, *union, *_day_rule(expressions), *_clock_rule(schedule, expressions))
        case _:
            assert_never(schedule.kind)


def _window_sentences(schedule: Schedule) -> tuple[str, ...]:
    if schedule.window is None:
        return ()
    width, shift = counted(schedule.window.width_s, "second"), counted(schedule.window.shift_s, "second")
    return (
        f"Each time is the start of a window of {width}, in which this job fires after {shift}.",
        "Where less than that is left to the next time or to the end, the delay shrinks in proportion.",
    )


def _bound_sentences(schedule: Schedule) -> tuple[str, ...]:
    sentences = []
    if schedule.calendars:
        told = f"calendars {', '.join(schedule.calendars)} leave" if len(schedule.calendars) > 1 else ""
        sentences.append(f"All this as far as the {told or f'calendar {schedule.calendars[0]} leaves'} it open.")
    if schedule.start_at is not None:
        sentences.append(f"Nothing before {to_rfc3339(schedule.start_at)}.")
    if schedule.end_at is not None:
        sentences.append(f"Nothing after {to_rfc3339(schedule.end_at)}.")
    if schedule.max_runs is not None:
        sentences.append(f"Ends after {schedule.max_runs} runs." if schedule.max_runs > 1 else "Ends after one run.")
    return tuple(sentences)


def _day_rule(expressions: tuple[Expression, ...]) -> tuple[str, ...]:
    if not any(expression.either_day for expression in expressions):
        return ()
    return ('Day of month and day of week are both given: either is enough. Set dayMatch to "and" to need both.',)


def _clock_rule(schedule: Schedule, expressions: tuple[Expression, ...]) -> tuple[str, ...]:
    if schedule.timezone == "UTC":
        return ()
    sentences = []
    if any(expression.periodic for expression in expressions):
        sentences.append("With * in minute or hour it follows real time through clock changes.")
    if any(not expression.periodic for expression in expressions):
        gap = {Gap.SHIFT: "fires once, at the first instant after the gap", Gap.SKIP: "is left out"}
        overlap = {Overlap.FIRST: "fires at its first copy", Overlap.SECOND: "fires at its second copy"}
        twice = overlap.get(schedule.dst_overlap, "fires at both copies")
        sentences.append(
            f"A local time that the clock jumps over {gap[schedule.dst_gap]}; one that it repeats {twice}."
        )
    return tuple(sentences)


def _times(expression: Expression) -> str:
    second, minute, hour = _time_fields(expression)
    if minute.starred or hour.starred or second.bits != 1:
        return _repeating(second, minute, hour)
    hours, minutes = numbers(hour.bits), numbers(minute.bits)
    if len(hours) * len(minutes) <= _TIMES_LISTED_MAX:
        return f"at {joined([f'{one:02d}:{other:02d}' for one in hours for other in minutes])}"
    return _repeating(second, minute, hour)


def _time_fields(expression: Expression) -> tuple[FieldSet, FieldSet, FieldSet]:
    texts = expression.text.split(" ")
    second = parse_field(SECOND, texts[0] if expression.has_seconds else "0")
    return second, parse_field(MINUTE, texts[-5]), parse_field(HOUR, texts[-4])


def _repeating(second: FieldSet, minute: FieldSet, hour: FieldSet) -> str:
    """`every 5 minutes of hours 9 to 17`, `at second 30 of every minute`."""
    units = [(second, 60, "second"), (minute, 60, "minute"), (hour, 24, "hour")]
    if second.bits == 1:
        del units[0]
    phrases = [_leading(*units[0])]
    for field, width, unit in units[1:]:
        whole = field.bits.bit_count() == width
        if not whole:
            phrases.append(_pattern(field, width, unit))
        elif phrases[-1].startswith("at "):
            phrases.append(f"every {unit}")
    return " of ".join(phrases)


def _leading(field: FieldSet, width: int, unit: str) -> str:
    values = numbers(field.bits)
    if len(values) == width:
        return f"every {unit}"
    step = step_of(values, width)
    if step and values[0] == 0 and width % step == 0:
        return f"every {step} {unit}s"
    told = _pattern(field, width, unit)
    return told if step else f"at {told}"


def _pattern(field: FieldSet, width: int, unit: str) -> str:
    """`every 7th minute from 0`, `minute 5`, `minutes 0 to 20`."""
    values = numbers(field.bits)
    step = step_of(values, width)
    if step:
        return f"every {ordinal(step)} {unit} from {values[0]}"
    return f"{unit}{'s' if len(values) > 1 else ''} {spans(values)}"


def _days(day: FieldSet, weekday: FieldSet, expression: Expression) -> str:
    by_day, by_weekday = _by_day(day), _by_weekday(weekday)
    if by_day and by_weekday:
        return f"on {by_day} {'or' if expression.either_day else 'that is also'} {by_weekday}"
    if by_day or by_weekday:
        return f"on {by_day or by_weekday}"
    return "every day" if not expression.periodic else ""


def _by_day(day: FieldSet) -> str:
    if day.bits == _ALL_DAYS:
        return ""
    parts = [f"{_pattern(day, _DAYS_MAX + 1, 'day')} of the month"] if day.bits else []
    parts += [
        f"the day {distance} before the last of the month" if distance else _LAST for distance in sorted(day.from_end)
    ]
    if day.last_weekday_of_month:
        parts.append("the last Monday-to-Friday day of the month")
    parts += [f"the Monday-to-Friday day nearest to day {number}" for number in numbers(day.near)]
    return joined(parts, "or")


def _by_weekday(weekday: FieldSet) -> str:
    if weekday.bits == _ALL_WEEKDAYS:
        return ""
    parts = []
    if weekday.bits:
        parts.append(spans(numbers(weekday.bits), _WEEKDAYS))
    parts += [f"the last {_WEEKDAYS[number]} of the month" for number in numbers(weekday.last)]
    parts += [f"the {ordinal(nth)} {_WEEKDAYS[number]} of the month" for number, nth in sorted(weekday.nth)]
    return joined(parts, "or")


def _months(month: FieldSet) -> str:
    values = numbers(month.bits)
    if len(values) == len(MONTHS):
        return ""
    return f"in {spans([value - 1 for value in values], MONTHS)}"
