"""Edits of a job: the whole of it, or some of its members; looked at first, or for later.

Must not know what an edit means. An edit is sent once: a repeat would find the version that it has made itself, and be
refused for it. Promise: SEM-SDK-10.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, Unpack

from tickwright_sdk.arguments import an_object
from tickwright_sdk.connection import Ask
from tickwright_sdk.sending import Json, Sending, if_match, instant_text, step


class When(TypedDict, total=False):
    """`validate_only`: nothing is written, and the answer says what would be.

    `effective_from`: until then the job goes on as it is. `drop_waiting`: this edit takes the place of one that waits.
    """

    validate_only: bool
    effective_from: datetime
    drop_waiting: bool


@dataclass(frozen=True, slots=True)
class Edits:
    """Of one tenant's jobs."""

    sending: Sending

    def replace(self, job_id: str, job: Mapping[str, Any], etag: str, **when: Unpack[When]) -> Json:
        """Put this in place of the job that was read, by the `etag` that it had then."""
        return self.sending.ask(_asked("PUT", job_id, job, etag=etag, when=when))

    def change(self, job_id: str, members: Mapping[str, Any], etag: str, **when: Unpack[When]) -> Json:
        """Change some members (RFC 7396: None takes one away), by the `etag` that the job had when it was read."""
        return self.sending.ask(_asked("PATCH", job_id, members, etag=etag, when=when))


def _asked(method: str, job_id: str, body: Mapping[str, Any], *, etag: str, when: When) -> Ask:
    an_object("an edit", body)
    query = {
        **({"validateOnly": "true"} if when.get("validate_only") else {}),
        **({"dropWaiting": "true"} if when.get("drop_waiting") else {}),
        **({"effectiveFrom": instant_text(when["effective_from"])} if "effective_from" in when else {}),
    }
    path = f"/v1/jobs/{step(job_id)}"
    return Ask(method=method, path=path, body=dict(body), headers=if_match(etag), query=query)
