"""Do types see what a handler takes and gives? mypy reads this file: a line that it should refuse says so.

An `ignore` that refuses nothing is an error of its own in strict mode, so a type that became loose shows itself.
"""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, assert_type

import pytest

from tests.sdk.links import a_context
from tickwright_sdk import Context, Worker
from tickwright_sdk.payloads import BadPayload

worker = Worker()


@dataclass(frozen=True)
class Bill:
    """A payload."""

    account: str


@worker.job("bill")
def bill(payload: Bill, _ctx: Context) -> int:
    """A plain handler."""
    return len(payload.account)


@worker.job("awaited")
async def awaited(payload: Bill, _ctx: Context) -> int:
    """An async one."""
    return len(payload.account)


async def test_a_job_is_called_as_the_function_that_it_is() -> None:
    """With its own types."""
    assert assert_type(bill(Bill("abc"), a_context()), int) == 3
    assert assert_type(await awaited(Bill("abc"), a_context()), int) == 3
    coroutine = assert_type(awaited(Bill("abc"), a_context()), Coroutine[Any, Any, int])
    coroutine.close()


def test_a_wrong_payload_is_refused_by_types_and_at_run_time() -> None:
    """Whoever submits a dictionary where a Bill is asked for."""
    with pytest.raises(BadPayload):
        bill.submit({"name": "a"}, client=Nobody())  # type: ignore[arg-type]
    with pytest.raises(BadPayload):
        awaited.submit("a", client=Nobody())  # type: ignore[arg-type]


def test_a_handler_without_a_context_is_refused_by_types_and_at_run_time() -> None:
    """Where it is written."""
    with pytest.raises(TypeError, match=r"fn\(payload, ctx\)"):

        @worker.job("wrong")  # type: ignore[arg-type]
        def wrong(payload: Bill) -> int:
            return len(payload.account)


class Nobody:
    """Is never asked."""

    def submit_call(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - as said
        """Fail."""
        raise AssertionError("a wrong payload was sent")
