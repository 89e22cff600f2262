"""What the endpoints of calendars show. Must not know how the values are found. Promise: SEM-API-2."""

from typing_extensions import TypedDict


class CalendarFieldsJson(TypedDict):
    """A calendar's version, and what is not a list in it. `timezone` null: days are read in each schedule's own."""

    name: str
    version: int
    updatedAt: str
    type: str
    timezone: str | None
    description: str | None


class CalendarSummaryJson(CalendarFieldsJson):
    """A calendar in a list: how many entries it has."""

    entries: int


class CalendarWindowJson(TypedDict):
    """A stretch of time; its end does not belong to it."""

    start: str
    end: str


class CalendarJson(CalendarFieldsJson):
    """A calendar. One that is `retired` still judges the jobs that name it; no other job may name it."""

    days: list[str]
    weekdays: list[str]
    windows: list[CalendarWindowJson]
    retired: bool
    etag: str


class CalendarsJson(TypedDict):
    """One page of calendars by name; `nextToken` is null on the last. A page may be empty and have a next."""

    calendars: list[CalendarSummaryJson]
    nextToken: str | None


class CalendarVersionsJson(TypedDict):
    """One page of a calendar's versions, newest first; `nextToken` is null on the last."""

    versions: list[CalendarSummaryJson]
    nextToken: str | None
