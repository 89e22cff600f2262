"""The API's requests by their kind: read, act, create, list. What may be sent twice is known here.

Must not know any path. Whatever creates something carries an Idempotency-Key, so a repeat after silence creates nothing
twice. Promise: SEM-SDK-10.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from tickwright_sdk.arguments import a_header, a_name, an_instant
from tickwright_sdk.connection import Ask, Connection
from tickwright_sdk.machine import token

Json = dict[str, Any]
_PAGES_MAX = 10_000  # a list that does not end is a fault of somebody's


@dataclass(frozen=True, slots=True)
class Sending:
    """Requests over one connection."""

    connection: Connection

    def ask(self, asked: Ask) -> Json:
        """Send it."""
        found: Json = self.connection.ask(asked)
        return found

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        """Read."""
        return self.ask(Ask(method="GET", path=path, query=query or {}, may_repeat=True))

    def post(self, path: str, body: Json) -> Json:
        """Ask for something that is done once, however often it is asked for."""
        return self.ask(Ask(method="POST", path=path, body=body, may_repeat=True))

    def create(self, path: str, body: Json, idempotency_key: str | None) -> Json:
        """Ask for something new; with a key of the caller's own a later repeat creates nothing either."""
        key = token() if idempotency_key is None else idempotency_key
        a_header("an idempotency key", key)
        headers = {"Idempotency-Key": key}
        return self.ask(Ask(method="POST", path=path, body=body, headers=headers, may_repeat=True))

    def pages(self, path: str, member: str, query: Mapping[str, str] | None = None) -> Iterator[Json]:
        """A whole list, page after page as they are asked for."""
        after: str | None = None
        for _ in range(_PAGES_MAX):
            page = self.get(path, {**(query or {}), **({} if after is None else {"nextToken": after})})
            yield from page[member]
            after = page["nextToken"]
            if after is None:
                return
        raise RuntimeError(f"{path} has over {_PAGES_MAX} pages.")


def if_match(etag: str | None) -> Mapping[str, str]:
    """The header of a change to what was read; None: to whatever there is."""
    if etag is not None:
        a_header("an etag", etag)
    return {} if etag is None else {"If-Match": etag}


def step(name: str) -> str:
    """A name as one step of a path. Raises TypeError or ValueError for what would be none, or another's."""
    a_name(name)
    return quote(name, safe=":~")


def execution_path(execution_id: str) -> str:
    """Where an execution is."""
    return f"/v1/executions/{step(execution_id)}"


def instant_text(at: datetime) -> str:
    """An instant as the API takes it. Raises TypeError for what is none, ValueError without a zone."""
    an_instant(at)
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
