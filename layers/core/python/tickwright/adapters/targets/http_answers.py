"""What an HTTP answer says about an attempt.

Must not know how it was received. Promises: SEM-TARGET-1, SEM-SECRET-1.
"""

import email.utils
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus

from tickwright.adapters.targets.results import result_of_body
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Fatal, HandedOver, Success, UserResult, an_error
from tickwright.domain.instants import from_datetime
from tickwright.domain.jobs import JobSpec
from tickwright.domain.secrets import scrubbed

# 4xx that are about the moment, not about the request.
RETRYABLE_4XX = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_SNIPPET_CHARS = 500
_SAID_CHARS = 2_000
_CUT_CHARACTER = "\N{REPLACEMENT CHARACTER}"
_JSON = re.compile(r"application/(?:[\w.-]+\+)?json", re.IGNORECASE)
_REDIRECTS = range(300, 400)
_SUCCESSES = range(200, 300)
_CLIENT_ERRORS = range(400, 500)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer as it came; the body may be cut after one byte more than is kept."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str:
        """A header's value, empty where there is none."""
        return next((value for key, value in self.headers.items() if key.lower() == name), "")


def told(answer: Answer, spec: JobSpec) -> Answer:
    """The answer as errors and logs may quote it: without the job's secrets, before anything of it is shortened."""
    is_cut = len(answer.body) > limits.RESULT_BYTES_MAX
    body = answer.body.decode("utf-8", "replace")
    body = scrubbed(body.rstrip(_CUT_CHARACTER) if is_cut else body, spec, goes_on=is_cut)
    headers = {name: scrubbed(value, spec) for name, value in answer.headers.items()}
    return replace(answer, reason=scrubbed(answer.reason, spec), headers=headers, body=body.encode("utf-8", "replace"))


def result_from(answer: Answer, quoted: Answer, now: int) -> UserResult:
    """Success, failure or fatal, by the status; `quoted`: the answer as an error may quote it."""
    if answer.status in _SUCCESSES:
        return Success(result=_result(answer))
    if answer.status in _REDIRECTS:
        where = quoted.header("location")[:_SNIPPET_CHARS]
        message = (
            f"{_line(quoted)}: redirects are not followed; put the final address into the job. It points to {where!r}."
        )
        return Fatal(error=an_error("HttpRedirect", message))
    error = an_error(f"Http{answer.status}", f"{_line(quoted)}: {_snippet(quoted)}")
    if answer.status in _CLIENT_ERRORS and answer.status not in RETRYABLE_4XX:
        return Fatal(error=error)
    return Failure(error=error, after_s=retry_after_s(answer.header("retry-after"), now))


def said_by(answer: Answer, result: UserResult) -> str:
    """What is worth keeping of an answer as the log of the attempt: its status and its text.

    Nothing, if all is well and the result has all of it: a log costs a write.
    """
    is_kept = isinstance(result, Success) and result.result is not None
    if is_kept or (isinstance(result, Success | HandedOver) and not answer.body):
        return ""
    return f"{_line(answer)}\n{_text(answer)}\n"


def retry_after_s(text: str, now: int) -> float | None:
    """How long a server asks to wait: seconds, or a date; None where it says neither."""
    if re.fullmatch(r"\s*\d{1,9}\s*", text):
        return float(text)
    try:
        until = from_datetime(email.utils.parsedate_to_datetime(text))
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, (until - now) / 1_000)


def _result(answer: Answer) -> str | None:
    is_plain = answer.header("content-encoding").lower() in {"", "identity"}
    return result_of_body(answer.body) if is_plain and _JSON.match(answer.header("content-type")) else None


def _line(answer: Answer) -> str:
    return f"{answer.status} {answer.reason[:_SNIPPET_CHARS]}".strip()


def _text(answer: Answer) -> str:
    """The beginning of the body as it is, but for what a terminal would obey."""
    text = answer.body[: 4 * _SAID_CHARS].decode("utf-8", "replace")[:_SAID_CHARS]
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def _snippet(answer: Answer) -> str:
    """The beginning of the body as text, on one line: enough to see what the target says."""
    text = answer.body[: 4 * _SNIPPET_CHARS].decode("utf-8", "replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_SNIPPET_CHARS]
