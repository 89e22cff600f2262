"""What a schedule will do next, told so that a person can check it before it counts.

One place for the preview of the API and of create and update with `validateOnly`. Must not know who asks; `now` and the
second engine's answer come from the caller. Promise: SEM-SCHED-14.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from tickwright.domain.instants import Instant, to_datetime, to_rfc3339
from tickwright.domain.schedules.calendars import Calendar
from tickwright.domain.schedules.closures import FOR_EVER, closed_ticks, open_ticks
from tickwright.domain.schedules.explain import explain
from tickwright.domain.schedules.gaps import gap_skips
from tickwright.domain.schedules.lint import LintNote, lint
from tickwright.domain.schedules.phrases import counted, joined
from tickwright.domain.schedules.ticks import next_tick
from tickwright.domain.schedules.values import Cron, Every, Schedule, Tick
from tickwright.domain.schedules.zoned import UTC_MAX
from tickwright.domain.schedules.zones import Gap, Overlap, changes, load_zone, tzdata_version

TICKS_MAX = 100
_CHANGES_AHEAD_S = 366 * 86_400
_DAY_MS = 86_400_000
_RARE_MS = 366 * _DAY_MS
_CALENDARS_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class PreviewTick:
    """A tick with its local time, and what is special about it."""

    at: Instant
    local: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """Everything that the server says about a schedule before it is kept."""

    resolved_cron: tuple[str, ...]
    explanation: tuple[str, ...]
    ticks: tuple[PreviewTick, ...]
    lint: tuple[LintNote, ...]
    tzdata: str


def preview(  # noqa: PLR0913 - a schedule, how it is looked at, and what it is looked at with
    schedule: Schedule,
    now: Instant,
    n: int,
    *,
    hashed: bool = False,
    second: tuple[Instant, ...] | None = None,
    calendars: Sequence[Calendar] = (),
) -> Preview:
    """The next n open ticks (100 at most) and the notes.

    `second` is the second engine's list, which knows no calendars and no window; None where it has none. `calendars`:
    those that the schedule names.
    """
    nominal = next_ticks(schedule, now, min(n, TICKS_MAX))
    ticks = open_ticks(schedule, calendars, now, min(n, TICKS_MAX)) if calendars else nominal
    windowed = second is not None and schedule.window is not None
    plain = next_ticks(replace(schedule, window=None), now, min(n, TICKS_MAX)) if windowed else nominal
    notes = lint(schedule, hashed=hashed)
    notes += (*_clock_notes(schedule, now), *_rare(ticks, now), *_disagreement(plain, second))
    notes += _calendar_notes(schedule, calendars, now, ticks)
    return Preview(
        resolved_cron=resolved_cron(schedule),
        explanation=explain(schedule),
        ticks=tuple(PreviewTick(tick.at, _local(schedule, tick.at), _tick_note(schedule, tick)) for tick in ticks),
        lint=notes,
        tzdata=tzdata_version(),
    )


def next_ticks(schedule: Schedule, after: Instant, n: int) -> tuple[Tick, ...]:
    """The next n ticks, fewer if the schedule ends."""
    found: list[Tick] = []
    while len(found) < n:
        tick = next_tick(schedule, found[-1].at if found else after)
        if tick is None:
            break
        found.append(tick)
    return tuple(found)


def resolved_cron(schedule: Schedule) -> tuple[str, ...]:
    """The expressions without H and aliases, as they are evaluated; empty for other kinds."""
    return tuple(one.text for one in schedule.kind.expressions) if isinstance(schedule.kind, Cron) else ()


def disagreement(ticks: tuple[Tick, ...], second: tuple[Instant, ...]) -> tuple[Instant | None, Instant | None] | None:
    """The first pair in which our ticks and the second engine's differ, or None."""
    ours: list[Instant | None] = [tick.at for tick in ticks]
    theirs: list[Instant | None] = list(second)
    ours += [None] * (len(theirs) - len(ours))
    theirs += [None] * (len(ours) - len(theirs))
    return next(((one, other) for one, other in zip(ours, theirs, strict=True) if one != other), None)


def _local(schedule: Schedule, at: Instant) -> str:
    return _in_zone(schedule, at).isoformat(timespec="seconds")


def _in_zone(schedule: Schedule, at: Instant) -> datetime:
    """Its local time; that of a one-off in the calendar's last days is told in UTC, for its zone's may have no date."""
    return to_datetime(at).astimezone(UTC if at >= UTC_MAX * 1000 else load_zone(schedule.timezone))


def _tick_note(schedule: Schedule, tick: Tick) -> str | None:
    return "; ".join(filter(None, [_clock_note(schedule, tick), _slot_note(schedule, tick)])) or None


def _slot_note(schedule: Schedule, tick: Tick) -> str | None:
    if tick.nominal_at is None:
        return None
    late = counted((tick.at - tick.nominal_at) // 1000, "second")
    return f"{late} after {_local(schedule, tick.nominal_at)}, in its window"


def _clock_note(schedule: Schedule, tick: Tick) -> str | None:
    if tick.nominal_local is not None:
        return f"{tick.nominal_local} does not exist in {schedule.timezone}: fires at the first instant after the gap"
    local = _in_zone(schedule, tick.at if tick.nominal_at is None else tick.nominal_at)
    if isinstance(schedule.kind, Every) or not _comes_twice(local):
        return None
    copy = "second" if local.fold else "first"
    return f"{local:%H:%M} comes twice on {local:%Y-%m-%d} in {schedule.timezone}: this is the {copy}"


def _comes_twice(local: datetime) -> bool:
    one, other = local.replace(fold=0).utcoffset(), local.replace(fold=1).utcoffset()
    assert one is not None
    assert other is not None
    # In a gap the two copies differ the other way round; an instant that exists is never in one.
    return one > other


def _clock_notes(schedule: Schedule, now: Instant) -> tuple[LintNote, ...]:
    """The clock changes of the coming year that touch a wall-clock time of the schedule."""
    if not isinstance(schedule.kind, Cron) or all(one.periodic for one in schedule.kind.expressions):
        return ()
    # The clock touches the nominal times, whatever slots they have.
    schedule = replace(schedule, window=None)
    notes = []
    for change in changes(schedule.timezone, now // 1000, now // 1000 + _CHANGES_AHEAD_S):
        note = _gap_note(schedule, change.at) if change.forward > 0 else _overlap_note(schedule, change.at, change.back)
        notes += [note] if note else []
    return tuple(notes)


def _gap_note(schedule: Schedule, change_s: int) -> LintNote | None:
    at = Instant(change_s * 1000)
    skipped = gap_skips(schedule, Instant(at - 1000), at)
    if skipped:
        rest = "it is left out, since dst.gap is skip; shift fires it at the first instant after the gap"
        return LintNote("clock_change", f"{skipped[0].nominal_local} does not exist in {schedule.timezone}; {rest}")
    tick = next_tick(schedule, Instant(at - 1))
    if tick is None or tick.at != at or tick.nominal_local is None:
        return None
    assert schedule.dst_gap is Gap.SHIFT
    message = f"{tick.nominal_local} does not exist in {schedule.timezone}; fires at {to_rfc3339(at)} instead"
    return LintNote("clock_change", message)


def _overlap_note(schedule: Schedule, change_s: int, back_s: int) -> LintNote | None:
    first = Instant((change_s - back_s) * 1000)
    # The copy that fires under the policy; with `both` the first stands for the two.
    start = Instant(first + back_s * 1000) if schedule.dst_overlap is Overlap.SECOND else first
    tick = next_tick(schedule, Instant(start - 1))
    if tick is None or tick.at >= start + back_s * 1000:
        return None
    local = to_datetime(tick.at).astimezone(load_zone(schedule.timezone)) + timedelta(0)
    copies = {Overlap.FIRST: "its first copy", Overlap.SECOND: "its second copy", Overlap.BOTH: "both copies"}
    message = f"{local:%Y-%m-%dT%H:%M} comes twice in {schedule.timezone}; fires at {copies[schedule.dst_overlap]}"
    return LintNote("clock_change", message)


def _rare(ticks: tuple[Tick, ...], now: Instant) -> tuple[LintNote, ...]:
    if not ticks or ticks[0].at - now < _RARE_MS:
        return ()
    return (LintNote("rare", f"the next tick is more than a year away, at {to_rfc3339(ticks[0].at)}"),)


def _calendar_notes(
    schedule: Schedule, calendars: Sequence[Calendar], now: Instant, ticks: tuple[Tick, ...]
) -> tuple[LintNote, ...]:
    """How many ticks up to the last one shown are closed, or that all are."""
    closed = closed_ticks(schedule, calendars, now, ticks[-1].at if ticks else FOR_EVER) if calendars else None
    if closed is None or closed.first is None:
        return ()
    by = [*closed.by[:_CALENDARS_NAMED_MAX], *(["others"] if len(closed.by) > _CALENDARS_NAMED_MAX else [])]
    first = f"the first at {to_rfc3339(closed.first)}, by {joined(by)}"
    if not ticks:
        message = f"no open tick is found, all that were looked at are closed: {first}; change calendars or schedule"
    else:
        count = counted(closed.count, "tick") if closed.exact else f"at least {counted(closed.count, 'tick')}"
        message = f"up to the last one shown {count} {'is' if closed.count == 1 else 'are'} closed: {first}"
    return (LintNote("calendar", message),)


def _disagreement(ticks: tuple[Tick, ...], second: tuple[Instant, ...] | None) -> tuple[LintNote, ...]:
    differing = disagreement(ticks, second) if second is not None else None
    if differing is None:
        return ()
    ours, theirs = ("nothing" if one is None else to_rfc3339(one) for one in differing)
    message = f"a second engine expects {theirs} where this schedule fires at {ours}; please report the expression"
    return (LintNote("second_engine", message),)
