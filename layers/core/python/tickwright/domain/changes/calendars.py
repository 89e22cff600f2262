"""How a calendar is written: what stands now, and beside it one item a version that is never changed.

Must not know a store, nor who may write. Promise: SEM-CAL-4.
"""

from dataclasses import dataclass

from tickwright.domain.schedules import Calendar


@dataclass(frozen=True, slots=True, kw_only=True)
class PutCalendar:
    """What stands under a name now, where nothing stands yet, or what was seen: each write has a token of its own."""

    calendar: Calendar
    seen_token: str | None = None

    def decide(self, old: Calendar | None) -> Calendar | None:
        """As it was seen."""
        return self.calendar if self.seen_token == (None if old is None else old.write_token) else None

    def mine(self, old: Calendar) -> bool:
        """The token is fresh for each write."""
        return old.write_token == self.calendar.write_token


@dataclass(frozen=True, slots=True, kw_only=True)
class PutCalendarVersion:
    """Keep a version for ever, where it is not kept yet."""

    calendar: Calendar

    def decide(self, old: Calendar | None) -> Calendar | None:
        """Only where there is none."""
        return self.calendar if old is None else None

    def mine(self, old: Calendar) -> bool:
        """The token is fresh for each write."""
        return old.write_token == self.calendar.write_token
