"""The calendars of a tenant: look, put a new version, retire.

Must not know what a schedule makes of one (docs/cron.md). Answers are the API's own JSON. Promise: SEM-SDK-10.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tickwright_sdk.arguments import an_object
from tickwright_sdk.connection import Ask
from tickwright_sdk.sending import Json, Sending, if_match, step


@dataclass(frozen=True, slots=True)
class Calendars:
    """`client.calendars` is one."""

    sending: Sending

    def find(self) -> Iterator[Json]:
        """Every calendar, by name."""
        return self.sending.pages("/v1/calendars", "calendars")

    def get(self, name: str) -> Json:
        """The newest version of one, with its `etag`."""
        return self.sending.get(_calendar(name))

    def put(self, name: str, calendar: Mapping[str, Any], *, etag: str | None = None) -> Json:
        """Make a calendar, or a new version of it; with `etag` only of the one that was read."""
        an_object("a calendar", calendar)
        ask = Ask(method="PUT", path=_calendar(name), body=dict(calendar), headers=if_match(etag))
        return self.sending.ask(ask)

    def retire(self, name: str, *, etag: str | None = None) -> Json:
        """Let no new job name it; those that do still go by it."""
        return self.sending.ask(Ask(method="DELETE", path=_calendar(name), headers=if_match(etag)))

    def versions(self, name: str) -> Iterator[Json]:
        """Its versions, newest first."""
        return self.sending.pages(f"{_calendar(name)}/versions", "versions")

    def version(self, name: str, number: int) -> Json:
        """One version of it."""
        return self.sending.get(f"{_calendar(name)}/versions/{number}")


def _calendar(name: str) -> str:
    return f"/v1/calendars/{step(name)}"
