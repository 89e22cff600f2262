"""Is what a handler returns or raises one of a closed set, whatever it is?"""

import signal
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from tests.sdk.links import a_context
from tickwright_sdk import Context, Fatal, Registry, RetryLater
from tickwright_sdk.calling import called
from tickwright_sdk.results import Failed, Later, Result, Succeeded, broke_off, ended
from tickwright_sdk.slots import _gone


@dataclass(frozen=True)
class Point:
    """A dataclass."""

    x: int
    inner: Any = None


class Model(BaseModel):
    """A model."""

    n: int


@pytest.mark.sem("SEM-SDK-2")
@pytest.mark.parametrize(
    ("value", "result"),
    [
        (None, Succeeded()),
        ({"a": [1, "ä"]}, Succeeded(result='{"a":[1,"ä"]}')),
        (Point(1, Point(2)), Succeeded(result='{"x":1,"inner":{"x":2,"inner":null}}')),
        ([Model(n=3)], Succeeded(result='[{"n":3}]')),
        (RetryLater(5), Later(after_s=5)),
        (RetryLater(5, "closed \udcff"), Later(after_s=5, message="closed ?")),
    ],
)
def test_what_can_be_kept_is_the_result(value: object, result: Result) -> None:
    """JSON, and what says of itself how it is JSON."""
    assert ended(value) == result


@pytest.mark.sem("SEM-SDK-2")
@pytest.mark.parametrize(
    "value", [object(), {1, 2}, float("nan"), "\ud800", "x" * 40_000, b"bytes", Point, Point(1, {2})]
)
def test_what_cannot_be_kept_is_fatal(value: object) -> None:
    """The work is done: trying again would do it twice."""
    result = ended(value)

    assert isinstance(result, Failed)
    assert (result.error_class, result.fatal) == ("BadResult", True)


@pytest.mark.sem("SEM-SDK-2")
@pytest.mark.parametrize(
    ("raised", "fatal"),
    [(ValueError("no"), False), (SystemExit(3), False), (KeyboardInterrupt(), False), (Fatal("no"), True)],
)
def test_what_is_raised_is_a_failure_of_its_class(raised: BaseException, *, fatal: bool) -> None:
    """With a bounded trace."""
    result = broke_off(raised)

    assert isinstance(result, Failed)
    assert (result.error_class, result.fatal) == (type(raised).__name__, fatal)
    assert len(result.trace) <= 4_000


def test_a_trace_begins_in_the_handler() -> None:
    """The frame that it was called from is the SDK's own, and tells its author nothing."""

    def breaks(_payload: object, _ctx: Context) -> None:
        raise ValueError("no")

    registry = Registry()
    result = called(registry.job("breaks")(breaks), "null", a_context())

    assert isinstance(result, Failed)
    assert "in breaks" in result.trace
    assert "calling.py" not in result.trace


@pytest.mark.parametrize(("number", "tells"), [(signal.SIGKILL, True), (signal.SIGSEGV, False)])
def test_only_of_what_the_kernel_may_have_killed_is_memory_spoken(number: signal.Signals, *, tells: bool) -> None:
    """A crash in C is another matter."""
    gone = _gone(-number)

    assert number.name in gone.message
    assert ("out of memory" in gone.message) == tells


def test_what_is_raised_can_be_sent_whatever_it_says() -> None:
    """A file's name that is not Unicode must not cost the whole report."""
    result = broke_off(Fatal("bad \udcff"))

    assert isinstance(result, Failed)
    assert (result.message, result.fatal) == ("bad ?", True)
    assert "bad ?" in result.trace


def test_a_wish_for_no_time_at_all_is_refused_where_it_is_made() -> None:
    """It would be no number for whoever has to wait."""
    with pytest.raises(ValueError, match="seconds"):
        RetryLater(float("nan"))
