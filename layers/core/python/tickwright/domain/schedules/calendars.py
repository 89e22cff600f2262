"""What a calendar is: a tenant's named list of days and stretches of time that schedules keep out of, or keep to.

Reads the object of the API and refuses it with everything that must change; lengths are looked at before contents.
Must not know the time, the store, or which schedules name it. Promise: SEM-CAL-1.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.schedules.dates import DAY_TEXT_CHARS_MAX, WEEKDAYS, check_day
from tickwright.domain.schedules.members import Members
from tickwright.domain.schedules.refusals import CalendarRefused, FieldError, shown
from tickwright.domain.schedules.zones import load_zone

CALENDAR_NAME_CHARS_MAX = 64
CALENDAR_ENTRIES_MAX = 1_000  # a century of public holidays
CALENDAR_DESCRIPTION_CHARS_MAX = 1_024
CONTENT_BYTES_MAX = 31_744  # of the stored form: with its names and times an item stays under 32 KB

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MEMBERS = ("type", "timezone", "days", "weekdays", "windows", "description")
_MEMBERS_MAX = 32  # more than there are; a hostile object is refused before it is looked through
_DAY_EXAMPLES = "2026-12-25, 2026-12-24/2027-01-02 or --12-25"


class CalendarKind(StrEnum):
    """Whether a schedule keeps out of what the calendar names, or keeps to it."""

    EXCLUDE = "exclude"
    INCLUDE = "include"


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time; its end does not belong to it."""

    start: Instant
    end: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarContent:
    """What an owner writes: lists sorted and without repeats, windows apart, so that equal lists are equal contents."""

    kind: CalendarKind
    timezone: str | None = None  # where its days are read; None: in the schedule's own zone
    days: tuple[str, ...] = ()
    weekdays: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()
    description: str | None = None

    def __post_init__(self) -> None:
        # One look finds the only window that may hold an instant, however many there are.
        assert all(one.start < one.end for one in self.windows)
        assert all(one.end < other.start for one, other in pairwise(self.windows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """One version of a calendar; versions count from 1. A retired one still judges the jobs that name it."""

    tenant_id: TenantId
    name: str
    version: int
    content: CalendarContent
    updated_at: Instant
    retired: bool = False
    write_token: str = ""

    @property
    def label(self) -> str:
        """How a record names it: holidays@3."""
        return f"{self.name}@{self.version}"


def is_calendar_name(text: str) -> bool:
    """Whether a calendar may have this name."""
    return len(text) <= CALENDAR_NAME_CHARS_MAX and _NAME.fullmatch(text) is not None


def read_calendar(body: Mapping[str, object]) -> CalendarContent:
    """The content that the object describes, or CalendarRefused with every error found."""
    if len(body) > _MEMBERS_MAX:
        raise CalendarRefused((FieldError("", "too_many", f"a calendar has no more than {_MEMBERS_MAX} members"),))
    members = Members({key: value for key, value in body.items() if value is not None and value != []})
    for name in members.names():
        if name not in _MEMBERS:
            message = f"{shown(name)} is not a member of a calendar; the members are {', '.join(_MEMBERS)}"
            members.refuse(name, "unknown_field", message)
    content = CalendarContent(
        kind=_kind(members),
        timezone=_timezone(members),
        days=_days(members),
        weekdays=_weekdays(members),
        windows=_windows(members),
        description=_description(members),
    )
    _check_size(members, content)
    if members.errors:
        raise CalendarRefused(members.errors)
    return content


def content_text(content: CalendarContent) -> str:
    """The stored form: short JSON; a member that is absent is left out."""
    members = {
        "k": content.kind.value,
        "z": content.timezone,
        "d": content.days or None,
        "w": content.weekdays or None,
        "i": [(window.start, window.end) for window in content.windows] or None,
        "t": content.description,
    }
    kept = {key: value for key, value in members.items() if value is not None}
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False)


def from_content_text(text: str) -> CalendarContent:
    """The content that was stored; a text that `content_text` never wrote is a bug and raises."""
    members = json.loads(text)
    return CalendarContent(
        kind=CalendarKind(members["k"]),
        timezone=members.get("z"),
        days=tuple(members.get("d", ())),
        weekdays=tuple(members.get("w", ())),
        windows=tuple(Window(Instant(start), Instant(end)) for start, end in members.get("i", ())),
        description=members.get("t"),
    )


def _kind(members: Members) -> CalendarKind:
    if not members.has("type"):
        members.refuse("type", "required", "type is missing; write exclude or include")
        return CalendarKind.EXCLUDE
    return members.choice("type", CalendarKind.EXCLUDE)


def _timezone(members: Members) -> str | None:
    name = members.text("timezone", "the name of a time zone such as Europe/Berlin")
    if name is None:
        return None
    try:
        load_zone(name)
    except ValueError as problem:
        members.refuse("timezone", "bad_timezone", f"timezone {shown(name)} {problem}; write one such as Europe/Berlin")
    return name


def _days(members: Members) -> tuple[str, ...]:
    if not members.has("days"):
        return ()
    found = []
    for place, text in members.texts("days", CALENDAR_ENTRIES_MAX, f"a day such as {_DAY_EXAMPLES}"):
        try:
            if len(text) > DAY_TEXT_CHARS_MAX:
                raise ValueError("is too long")  # noqa: TRY301 - one answer for every bad entry
            check_day(text)
            found.append(text)
        except ValueError as problem:
            members.refuse(place, "bad_day", f"the entry {shown(text)} of days {problem}; write {_DAY_EXAMPLES}")
    return tuple(sorted(set(found)))


def _weekdays(members: Members) -> tuple[str, ...]:
    if not members.has("weekdays"):
        return ()
    wanted = ", ".join(WEEKDAYS)
    found = set()
    for place, text in members.texts("weekdays", len(WEEKDAYS), f"one of {wanted}"):
        if text in WEEKDAYS:
            found.add(text)
        else:
            message = f"the entry {shown(text)} of weekdays is not a weekday; write {wanted}"
            members.refuse(place, "bad_weekday", message)
    return tuple(sorted(found, key=WEEKDAYS.index))


def _windows(members: Members) -> tuple[Window, ...]:
    found = set()
    for one in members.inners("windows", CALENDAR_ENTRIES_MAX, {"start", "end"}):
        start, end = one.instant("start"), one.instant("end")
        if not (one.has("start") and one.has("end")):
            one.refuse("", "required", "a window has a start and an end; write both as instants")
        elif start is not None and end is not None and start >= end:
            one.refuse("end", "ends_before_start", "end is not after start; write a later end: it is not part of it")
        elif start is not None and end is not None:
            found.add(Window(start, end))
    return apart(found)


def apart(windows: Iterable[Window]) -> tuple[Window, ...]:
    """The same time in order, with windows that overlap or touch made one."""
    found: list[Window] = []
    for window in sorted(windows, key=lambda one: one.start):
        if found and window.start <= found[-1].end:
            found[-1] = Window(found[-1].start, max(found[-1].end, window.end))
        else:
            found.append(window)
    return tuple(found)


def _description(members: Members) -> str | None:
    text = members.text("description", "a text")
    if text is not None and len(text) > CALENDAR_DESCRIPTION_CHARS_MAX:
        message = f"description has {len(text)} characters; the most is {CALENDAR_DESCRIPTION_CHARS_MAX}"
        members.refuse("description", "too_long", message)
        return None
    return text


def _check_size(members: Members, content: CalendarContent) -> None:
    entries = len(content.days) + len(content.weekdays) + len(content.windows)
    if not members.errors and not entries:
        members.refuse("", "no_entries", "the calendar has no entry; write days, weekdays or windows")
    if entries > CALENDAR_ENTRIES_MAX:
        rest = f"the most is {CALENDAR_ENTRIES_MAX}: merge days that adjoin, or split it"
        members.refuse("", "too_many", f"the calendar has {entries} entries; {rest}")
    if not members.errors and len(content_text(content).encode("utf-8", "surrogatepass")) > CONTENT_BYTES_MAX:
        members.refuse("", "too_large", "the calendar is too large to be kept; merge days that adjoin, or split it")
