"""What of a target's answer is kept: JSON text of up to 32 KB, strictly JSON.

Must not know which target answered. Promise: SEM-TARGET-1.
"""

import json

from tickwright.domain import limits
from tickwright.domain.attempts import Failure, an_error
from tickwright.domain.executions import Reason


class NotKept(ValueError):  # noqa: N818 - says what happens to the value
    """The value cannot be a result: it is no JSON, or too large."""


def result_of(value: object) -> str | None:
    """The JSON text of what a handler returned; None for None. Raises NotKept."""
    if value is None:
        return None
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        size = len(text.encode("utf-8"))
    except (TypeError, ValueError, RecursionError, UnicodeError) as fault:
        raise NotKept(f"it is no JSON ({fault})") from None
    if size > limits.RESULT_BYTES_MAX:
        raise NotKept(f"it has {size} bytes as JSON and may have {limits.RESULT_BYTES_MAX}")
    return text


def result_of_body(body: bytes) -> str | None:
    """The JSON text of a response's body; None where it is no JSON or too large: the status alone says success."""
    if len(body) > limits.RESULT_BYTES_MAX:
        return None
    try:
        return result_of(json.loads(body))
    except (NotKept, ValueError, RecursionError):
        return None


def timed_out() -> Failure:
    """The target did not answer while there was time."""
    error = an_error("TimedOut", "The target did not answer within the attempt's time limit.")
    return Failure(error=error, reason=Reason.TIMED_OUT)
