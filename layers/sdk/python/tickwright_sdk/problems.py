"""What can come of a request besides its answer: the API's refusals as exceptions, one class a kind, and silence.

Must not know how a request is sent. Programs go by the class and by `code`; `detail` and `errors` are for people.
Promise: SEM-SDK-10.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TEXT_CHARS_MAX = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """One thing to change: a JSON pointer into the body, a code, and what to do."""

    pointer: str
    code: str
    message: str


class TickwrightError(Exception):
    """Anything that came of a request besides its answer."""


class WorkerRefused(Exception):  # noqa: N818 - says what happened
    """A worker cannot work as it is set up, or its pool is gone; the message says in a line what to change."""


class Unreachable(TickwrightError):  # noqa: N818 - says what is the matter
    """No answer came: the request may have been carried out, or not."""


class NoApi(Unreachable):
    """What came is no answer of the API: another server, a proxy or a login page answers in its place."""


class Refused(TickwrightError):  # noqa: N818 - as the API calls it
    """The API answered with a refusal (RFC 9457): it has changed nothing."""

    def __init__(self, status: int, problem: Mapping[str, Any], *, retry_after_s: float | None = None) -> None:
        """Read a problem; members that are missing are empty."""
        self.status = status
        self.code = str(problem.get("code", ""))
        self.detail = str(problem.get("detail", ""))
        self.errors: Sequence[FieldError] = tuple(_errors(problem.get("errors")))
        self.retryable = problem.get("retryable") is True
        self.request_id = str(problem.get("requestId", ""))
        self.retry_after_s = retry_after_s
        super().__init__(self._text())

    def _text(self) -> str:
        said = f"{self.status} {self.code}: {self.detail}".strip()
        fields = "; ".join(f"{error.pointer}: {error.message}" for error in self.errors)
        return f"{said} ({fields})" if fields else said


class Invalid(Refused):
    """400, 413, 415, 422 or 428: something in the request must be changed; `errors` says what."""


class Unauthenticated(Refused):
    """401: the API key is unknown or has expired."""


class Forbidden(Refused):
    """403: the API key lacks a scope."""


class NotFound(Refused):
    """404: there is no such thing, or it is another tenant's."""


class Conflict(Refused):
    """409 or 412: not as things are now; `code` says why, such as `pool_in_use` or `pool_rests`."""


class Unavailable(Refused):
    """429 or 5xx: not at the moment. A 500 may have been carried out."""


_BY_STATUS: Mapping[int, type[Refused]] = {
    400: Invalid, 413: Invalid, 415: Invalid, 422: Invalid, 428: Invalid,
    401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 412: Conflict, 429: Unavailable,
}  # fmt: skip
_SERVERS_FAULT = 500


def refused(status: int, body: bytes, *, retry_after_s: float | None = None) -> Refused:
    """The exception that an answer of 400 or more is; its body may be a proxy's page."""
    kind = _BY_STATUS.get(status, Unavailable if status >= _SERVERS_FAULT else Refused)
    return kind(status, _problem(body), retry_after_s=retry_after_s)


def _problem(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    return {"detail": body[:_TEXT_CHARS_MAX].decode("utf-8", "replace")}


def _errors(found: object) -> Sequence[FieldError]:
    if not isinstance(found, list):
        return ()
    return [
        FieldError(
            pointer=str(one.get("pointer", "")), code=str(one.get("code", "")), message=str(one.get("message", ""))
        )
        for one in found
        if isinstance(one, dict)
    ]
