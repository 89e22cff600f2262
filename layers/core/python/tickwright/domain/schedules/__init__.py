"""When a job fires: reading a schedule, storing it, and computing its ticks.

The rest of the product imports from here alone. Must not know the time, the store or whose loop asks. Zones exist only
inside this package; everything that leaves it is an Instant. Promise: docs/semantics.md, SEM-SCHED-1 onwards.
"""

from tickwright.domain.schedules.calendars import (
    CALENDAR_DESCRIPTION_CHARS_MAX,
    CALENDAR_ENTRIES_MAX,
    Calendar,
    CalendarContent,
    CalendarKind,
    Window,
    content_text,
    from_content_text,
    is_calendar_name,
    read_calendar,
)
from tickwright.domain.schedules.closures import (
    FOR_EVER,
    NO_CALENDARS,
    Stretch,
    closed_at,
    closed_ticks,
    closing_at,
    named_by,
    next_open,
    open_ticks,
)
from tickwright.domain.schedules.compact import compact, from_compact
from tickwright.domain.schedules.dates import DAY_TEXT_CHARS_MAX
from tickwright.domain.schedules.explain import explain
from tickwright.domain.schedules.expression import DayMatch, Expression
from tickwright.domain.schedules.gaps import gap_skips
from tickwright.domain.schedules.hashing import HashIdentity
from tickwright.domain.schedules.lint import LintNote, lint
from tickwright.domain.schedules.preview import Preview, PreviewTick, disagreement, next_ticks, preview
from tickwright.domain.schedules.refusals import CalendarRefused, FieldError, ScheduleRefused
from tickwright.domain.schedules.spec import CALENDARS_MAX, WINDOW_S_MAX, is_hashed, parse, refuse_if_never
from tickwright.domain.schedules.ticks import count_ticks, latest_tick, next_tick
from tickwright.domain.schedules.values import Cron, Every, FireWindow, OneOff, Schedule, Tick
from tickwright.domain.schedules.zones import Gap, Overlap, tzdata_version

__all__ = [
    "CALENDARS_MAX",
    "CALENDAR_DESCRIPTION_CHARS_MAX",
    "CALENDAR_ENTRIES_MAX",
    "DAY_TEXT_CHARS_MAX",
    "FOR_EVER",
    "NO_CALENDARS",
    "WINDOW_S_MAX",
    "Calendar",
    "CalendarContent",
    "CalendarKind",
    "CalendarRefused",
    "Cron",
    "DayMatch",
    "Every",
    "Expression",
    "FieldError",
    "FireWindow",
    "Gap",
    "HashIdentity",
    "LintNote",
    "OneOff",
    "Overlap",
    "Preview",
    "PreviewTick",
    "Schedule",
    "ScheduleRefused",
    "Stretch",
    "Tick",
    "Window",
    "closed_at",
    "closed_ticks",
    "closing_at",
    "compact",
    "content_text",
    "count_ticks",
    "disagreement",
    "explain",
    "from_compact",
    "from_content_text",
    "gap_skips",
    "is_calendar_name",
    "is_hashed",
    "latest_tick",
    "lint",
    "named_by",
    "next_open",
    "next_tick",
    "next_ticks",
    "open_ticks",
    "parse",
    "preview",
    "read_calendar",
    "refuse_if_never",
    "tzdata_version",
]
