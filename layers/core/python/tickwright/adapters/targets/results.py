"""What of a target's answer is kept: JSON text of up to 32 KB, strictly JSON.

Must not know which target answered. Promise: SEM-TARGET-1.
"""

import json

from tickwright.domain import limits
from tickwright.domain.attempts import Failure, an_error
from tickwright.domain.executions import Reason


def result_of_body(body: bytes) -> str | None:
    """The JSON text of a response's body; None where it is no JSON or too large: the status alone says success."""
    if len(body) > limits.RESULT_BYTES_MAX:
        return None
    try:
        value = json.loads(body)
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        size = len(text.encode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return None if value is None or size > limits.RESULT_BYTES_MAX else text


def timed_out() -> Failure:
    """The target did not answer while there was time."""
    error = an_error("TimedOut", "The target did not answer within the attempt's time limit.")
    return Failure(error=error, reason=Reason.TIMED_OUT)
