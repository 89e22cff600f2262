"""How a call of a handler ended: a closed set, and what a handler raises or returns to choose from it.

Must not know who called. Everything else that is raised is a failure with class, message and a bounded trace.
Promises: SEM-TARGET-4, SEM-SDK-2.
"""

import dataclasses
import inspect
import json
import math
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tickwright_sdk import limits

_SDK = str(Path(__file__).parent)
_EXPECTED = "return None, a JSON value, a dataclass or a model of up to 32 KB, Fatal(...) or RetryLater(...)"


class Fatal(Exception):  # noqa: N818 - a word of the closed set of results
    """Raised or returned by a handler: it failed, and trying again is of no use."""


class RetryLater(Exception):  # noqa: N818 - a word of the closed set of results
    """Raised or returned by a handler: try again after so many seconds; it does not count as an attempt."""

    def __init__(self, after_s: float, message: str = "") -> None:
        super().__init__(message or f"retry in {after_s} s")
        self.after_s = float(after_s)
        self.message = str(message)
        if math.isnan(self.after_s):
            raise ValueError("after_s is a number of seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """It is done; `result` is JSON text."""

    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It failed. Unless `fatal` it may be tried again."""

    error_class: str
    message: str
    trace: str = ""
    fatal: bool = False

    def __post_init__(self) -> None:
        """Hold text that can be sent: an exception may name a file whose name is not Unicode."""
        for name in ("error_class", "message", "trace"):
            text: str = getattr(self, name)
            object.__setattr__(self, name, text.encode("utf-8", "replace").decode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """It asks to be tried again after a while, and may say why; no attempt is counted."""

    after_s: float
    message: str = ""

    def __post_init__(self) -> None:
        """Hold text that can be sent."""
        object.__setattr__(self, "message", self.message.encode("utf-8", "replace").decode())


Result = Succeeded | Failed | Later
LATER_CLASS = "RetryLater"  # the class under which it is shown why a run asked to be tried later


class NotKept(ValueError):  # noqa: N818 - says what happens to the value
    """The value cannot be kept: it is no JSON, or too large."""


def ended(value: object) -> Result:
    """What a handler's return value says."""
    if isinstance(value, Fatal | RetryLater):
        return broke_off(value)
    if inspect.iscoroutine(value):
        value.close()
        return _bad(f"The handler is not `async def` and returned a coroutine; {_EXPECTED}.")
    if value is None:
        return Succeeded()
    try:
        return Succeeded(result=json_text(value, bytes_max=limits.RESULT_BYTES_MAX))
    except NotKept as fault:
        # The work is done: trying again would do it twice, and end the same.
        return _bad(f"The handler returned a {type(value).__name__}, and {fault}; {_EXPECTED}.")


def _bad(message: str) -> Failed:
    return Failed(error_class="BadResult", message=message, fatal=True)


def broke_off(raised: BaseException) -> Result:
    """What it means that a handler raised this."""
    if isinstance(raised, RetryLater):
        return Later(after_s=raised.after_s, message=raised.message[: limits.MESSAGE_CHARS_MAX])
    return Failed(
        error_class=type(raised).__name__,
        message=_text(raised),
        trace=_trace(raised)[-limits.TRACE_CHARS_MAX :],
        fatal=isinstance(raised, Fatal),
    )


def _trace(raised: BaseException) -> str:
    """From the handler on: that it was called from here tells its author nothing."""
    began: TracebackType | None = raised.__traceback__
    while began is not None and began.tb_frame.f_code.co_filename.startswith(_SDK):
        began = began.tb_next
    began = began or raised.__traceback__
    return "".join(traceback.format_exception(type(raised), raised, began, limit=limits.TRACE_FRAMES))


def _text(raised: BaseException) -> str:
    try:
        return str(raised)[: limits.MESSAGE_CHARS_MAX]
    except Exception:  # noqa: BLE001 - a user's exception that cannot even be shown
        return "(its message cannot be shown)"


def json_text(value: object, *, bytes_max: int, what: str = "it") -> str:
    """A value as JSON text, strictly JSON. Raises NotKept, which calls it `what`."""
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)
        size = len(text.encode("utf-8"))
    except (TypeError, ValueError, RecursionError, UnicodeError) as fault:
        raise NotKept(f"{what} is no JSON ({fault})") from None
    if size > bytes_max:
        raise NotKept(f"{what} has {size} bytes as JSON and may have {bytes_max}")
    return text


def _plain(value: object) -> object:
    """What a model or a dataclass is in JSON; pydantic need not be there for that."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is not JSON")
