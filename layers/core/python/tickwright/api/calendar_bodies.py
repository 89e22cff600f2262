"""What the endpoints of calendars take.

Must not know the rules behind the shapes. Promise: SEM-API-1.
"""

from typing import Annotated, Literal

from pydantic import Field

from tickwright.api.bodies import Moment
from tickwright.api.shapes import Shape
from tickwright.domain.schedules import CALENDAR_DESCRIPTION_CHARS_MAX, CALENDAR_ENTRIES_MAX, DAY_TEXT_CHARS_MAX

CalendarDay = Annotated[
    str,
    Field(
        min_length=1,
        max_length=DAY_TEXT_CHARS_MAX,
        examples=["2026-12-25", "2026-12-24/2027-01-02", "--12-25"],
        description="A day, a range of days with both its ends, or a day of every year.",
    ),
]


class CalendarWindowBody(Shape):
    """A stretch of time; its end does not belong to it."""

    start: Moment
    end: Moment


class CalendarBody(Shape):
    """Days and stretches of time that schedules keep out of, or keep to: 1 to 1,000 entries in all."""

    type: Literal["exclude", "include"]
    timezone: str | None = Field(
        default=None, description="The IANA zone in which days are read; absent: each schedule's own."
    )
    days: Annotated[list[CalendarDay], Field(max_length=CALENDAR_ENTRIES_MAX)] = Field(default=[])
    weekdays: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] = Field(default=[])
    windows: Annotated[list[CalendarWindowBody], Field(max_length=CALENDAR_ENTRIES_MAX)] = Field(default=[])
    description: Annotated[str, Field(max_length=CALENDAR_DESCRIPTION_CHARS_MAX)] | None = None
