"""When the calendars that a schedule names keep it from firing, and which of its ticks are left.

An instant is open if no exclude calendar has it and, where include calendars are named, at least one of them has it.
A day is that of the local date, so it begins at the first instant that has its date. Every search is bounded. Must not
know the time, nor how calendars are kept. Promise: SEM-CAL-2.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tickwright.domain.instants import Instant
from tickwright.domain.schedules.calendars import Calendar, CalendarKind, Window
from tickwright.domain.schedules.dates import DaySet, day_set
from tickwright.domain.schedules.ticks import count_ticks, next_tick
from tickwright.domain.schedules.values import Schedule, Tick
from tickwright.domain.schedules.walk import DAY_MAX, DAY_S
from tickwright.domain.schedules.zoned import UTC_MAX
from tickwright.domain.schedules.zones import Zone, piece_at, zone_under

FOR_EVER = Instant(UTC_MAX * 1_000)
# What one answer looks at: past it a stretch is cut (the next question goes on there), and a search gives up.
_STRETCH_MS = 366 * 86_400_000
_STRETCH_STEPS = 400
_SEARCH_STEPS = 2_000
_COUNTED_MAX = 10_000
_PIECES_MAX = 64  # a zone has some four a year
_FAR_S = 2 * DAY_S  # beyond it a change of the clock, under a day, reaches no more


NO_CALENDARS: Mapping[str, Calendar] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `since` until just before `until` nothing may fire; `by` names the calendars that say so: holidays@3."""

    since: Instant
    until: Instant
    by: str


@dataclass(frozen=True, slots=True)
class ClosedTicks:
    """How many ticks are closed, exactly or at least; the first of them; and by which calendars."""

    count: int
    exact: bool
    first: Instant | None
    by: tuple[str, ...]


def named_by(schedule: Schedule, calendars: Mapping[str, Calendar]) -> tuple[Calendar, ...]:
    """Those of a tenant's calendars that a schedule names."""
    return tuple(calendars[name] for name in schedule.calendars if name in calendars)


def closed_at(calendars: Sequence[Calendar], timezone: str, at: Instant) -> Stretch | None:
    """The closed stretch around an instant, or None if it is open.

    `until` is the first instant that may be open; a stretch of more than a year may be cut there. The stretch may have
    begun before `since`.
    """
    cursor, since = at, at
    by: list[str] = []
    for _ in range(_STRETCH_STEPS):
        found = closing_at(calendars, timezone, cursor)
        if found is None:
            break
        since = min(since, found.since)
        by += [] if found.by in by else [found.by]
        cursor = found.until
        if cursor >= FOR_EVER or cursor - at > _STRETCH_MS:
            break
    return Stretch(since, min(cursor, FOR_EVER), ", ".join(by)) if by else None


def next_open(schedule: Schedule, calendars: Sequence[Calendar], after: Instant) -> Tick | None:
    """The first open tick strictly later than `after`, or None if a bounded search finds none."""
    return next(iter(open_ticks(schedule, calendars, after, 1)), None)


def open_ticks(schedule: Schedule, calendars: Sequence[Calendar], after: Instant, n: int) -> tuple[Tick, ...]:
    """The next n open ticks; fewer if the schedule ends or a bounded search finds no more."""
    found: list[Tick] = []
    cursor = after
    for _ in range(_SEARCH_STEPS + n):
        tick = next_tick(schedule, cursor) if len(found) < n else None
        if tick is None:
            break
        closing = closing_at(calendars, schedule.timezone, tick.at)
        found += [tick] if closing is None else []
        cursor = tick.at if closing is None else Instant(closing.until - 1)
        assert cursor >= tick.at
        if cursor >= FOR_EVER - 1:
            break
    return tuple(found)


def closed_ticks(schedule: Schedule, calendars: Sequence[Calendar], after: Instant, until: Instant) -> ClosedTicks:
    """The closed ticks later than `after` and not later than `until`."""
    count, exact, cursor = 0, True, after
    first: Instant | None = None
    by: list[str] = []
    for _ in range(_SEARCH_STEPS):
        tick = next_tick(schedule, cursor)
        if tick is None or tick.at > until:
            return ClosedTicks(count, exact, first, tuple(dict.fromkeys(by)))
        closing = closing_at(calendars, schedule.timezone, tick.at)
        cursor = tick.at if closing is None else Instant(min(closing.until - 1, until))
        if closing is not None:
            more, counted = count_ticks(schedule, Instant(tick.at - 1), cursor, _COUNTED_MAX)
            count, exact, first = count + more, exact and counted, first or tick.at
            by.append(closing.by)
    return ClosedTicks(count, False, first, tuple(dict.fromkeys(by)))  # noqa: FBT003 - the field is named `exact`


def closing_at(calendars: Sequence[Calendar], timezone: str, at: Instant) -> Stretch | None:
    """What closes an instant, for as long as that does: one exclude calendar, or all include calendars together."""
    includes: list[Calendar] = []
    inside = False
    for calendar in calendars:
        if calendar.content.kind is CalendarKind.INCLUDE:
            includes.append(calendar)
            inside = inside or _holding(calendar, timezone, at) is not None
            continue
        span = _holding(calendar, timezone, at)
        if span is not None:
            return Stretch(span.start, span.end, calendar.label)
    if inside or not includes:
        return None
    since = max(_ending(calendar, timezone, at) for calendar in includes)
    until = min(_beginning(calendar, timezone, at) for calendar in includes)
    return Stretch(since, until, " and ".join(calendar.label for calendar in includes))


def _holding(calendar: Calendar, timezone: str, at: Instant) -> Window | None:
    """A stretch of a calendar that has an instant, as long as one window or one run of days makes it."""
    last = _begun(calendar, at)
    return last if last is not None and at < last.end else _days_holding(calendar, timezone, at)


def _begun(calendar: Calendar, at: Instant) -> Window | None:
    """The last window that has begun; they are in order and apart, so all before it are over."""
    windows = calendar.content.windows
    begun = bisect_right(windows, at, key=_start)
    return windows[begun - 1] if begun else None


def _days_holding(calendar: Calendar, timezone: str, at: Instant) -> Window | None:
    days, zone = _days_of(calendar, timezone)
    cursor = at // 1_000
    since: int | None = None
    for _ in range(_PIECES_MAX):
        piece = piece_at(zone, cursor)
        day = (cursor + piece.offset) // DAY_S
        if not days.has(day):
            break
        since = max(piece.start, day * DAY_S - piece.offset) if since is None else since
        run_end = days.run_end(day)
        cursor = UTC_MAX if run_end > DAY_MAX else min(run_end * DAY_S - piece.offset, piece.end)
        if cursor >= UTC_MAX or cursor * 1_000 - at > _STRETCH_MS:
            break
    return None if since is None else Window(Instant(since * 1_000), Instant(cursor * 1_000))


def _ending(calendar: Calendar, timezone: str, before: Instant) -> Instant:
    """An instant from which a calendar has nothing up to `before`, which it has not: the first, or a later one."""
    over = _begun(calendar, before)
    days, zone = _days_of(calendar, timezone)
    piece = piece_at(zone, before // 1_000)
    last = days.last_before((before // 1_000 + piece.offset) // DAY_S)
    # A change of the clock cuts the answer, for a day may have come twice before it.
    since = piece.start if last is None else max(piece.start, (last + 1) * DAY_S - piece.offset)
    return Instant(since * 1_000 if over is None else max(since * 1_000, over.end))


def _beginning(calendar: Calendar, timezone: str, after: Instant) -> Instant:
    """The first instant that a calendar has after one that it has not; FOR_EVER if there is none."""
    windows = calendar.content.windows
    coming = bisect_right(windows, after, key=_start)
    first = windows[coming].start if coming < len(windows) else FOR_EVER
    return min(first, _day_beginning(calendar, timezone, after))


def _day_beginning(calendar: Calendar, timezone: str, after: Instant) -> Instant:
    days, zone = _days_of(calendar, timezone)
    cursor = after // 1_000
    for _ in range(_PIECES_MAX):
        piece = piece_at(zone, cursor)
        day = days.first_from((cursor + piece.offset) // DAY_S)
        if day is None:
            return FOR_EVER
        start = max(cursor, day * DAY_S - piece.offset)
        if start < piece.end:
            return Instant(start * 1_000)
        # A clock that goes back soon may bring the day before again; far from it no change reaches the day.
        cursor = piece.end if piece.end - cursor < _FAR_S else max(piece.end, start - _FAR_S)
    return Instant(cursor * 1_000)


def _days_of(calendar: Calendar, timezone: str) -> tuple[DaySet, Zone]:
    content = calendar.content
    return day_set(content.days, content.weekdays), zone_under(content.timezone or timezone)


def _start(window: Window) -> Instant:
    return window.start
