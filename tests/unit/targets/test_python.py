"""Does a Python handler end an attempt as it says, whatever it returns or raises?"""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders import TICK
from tests.unit.targets.invocations import an_invocation
from tickwright.adapters.targets.python import PythonRunner
from tickwright.domain import attempts
from tickwright.domain.allowed_targets import EVERY_HANDLER, AllowedTargets
from tickwright.domain.attempts import Failure, Fatal, NotRun, Success, UserResult, an_error
from tickwright.domain.executions import ASKED_LATER
from tickwright.domain.instants import to_datetime
from tickwright.domain.jobs import Target
from tickwright.ports.runner import GoesOn, StopReason
from tickwright_sdk import Context, HandlerRefused, Registry, RetryLater
from tickwright_sdk import Fatal as GiveUp

TARGET = Target(kind="python", settings={"handler": "it"})


async def call(
    handler: Callable[[Any, Context], object],
    *,
    allowed: AllowedTargets = EVERY_HANDLER,
    **shown: Any,  # noqa: ANN401
) -> UserResult | GoesOn:
    registry = Registry()
    registry.job("it")(handler)
    runner = PythonRunner(registry, threads=2, allowed=allowed)
    try:
        return await runner.run(an_invocation(TARGET, **shown))
    finally:
        runner.close()


async def test_what_a_plain_function_returns_is_the_result() -> None:
    """It runs in a thread of its own, with the payload and the context."""
    seen: list[Context] = []

    def handler(payload: Any, ctx: Context) -> object:  # noqa: ANN401
        seen.append(ctx)
        return {"twice": 2 * payload["n"], "main": threading.current_thread() is threading.main_thread()}

    assert await call(handler, payload='{"n":21}') == Success(result='{"twice":42,"main":false}')
    ctx = seen[0]
    assert (ctx.attempt, ctx.lease_epoch) == (1, 1)
    assert ctx.idempotency_key == ctx.execution_id
    assert ctx.scheduled_time == to_datetime(TICK)
    assert ctx.tenant_id == "acme"
    assert not ctx.cancelled


async def test_an_async_function_is_awaited() -> None:
    """It runs on the loop of the async handlers, which is not the worker's own."""

    async def handler(payload: Any, ctx: Context) -> object:  # noqa: ANN401
        await asyncio.wait_for(asyncio.Event().wait(), 0.001) if payload else None
        return ctx.job_id

    result = await call(handler)

    assert isinstance(result, Success)


async def test_nothing_returned_is_a_success_without_a_result() -> None:
    """None is not the JSON null."""
    assert await call(lambda _payload, _ctx: None) == Success(result=None)


async def test_an_exception_is_a_failure_with_class_message_and_trace() -> None:
    """What went wrong can be grouped, and the last frames are kept."""

    def handler(_payload: object, _ctx: Context) -> None:
        raise KeyError("account 17")

    result = await call(handler)

    assert isinstance(result, Failure)
    assert result.error.error_class == "KeyError"
    assert result.error.message == "'account 17'"
    assert 'raise KeyError("account 17")' in result.error.trace
    assert result.error.fingerprint


async def test_an_endless_recursion_is_a_bounded_failure() -> None:
    """A trace of a thousand frames is cut to the last."""

    def handler(payload: object, ctx: Context) -> None:
        handler(payload, ctx)

    result = await call(handler)

    assert isinstance(result, Failure)
    assert result.error.error_class == "RecursionError"
    assert len(result.error.trace) <= 4_000


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_handler_that_exits_ends_itself_alone(*, is_async: bool) -> None:
    """sys.exit() in one tenant's code does not end the worker of all."""

    def plain(_payload: object, _ctx: Context) -> None:
        raise SystemExit(3)

    async def awaited(_payload: object, _ctx: Context) -> None:
        raise SystemExit(3)

    result = await call(awaited if is_async else plain)

    assert isinstance(result, Failure)
    assert result.error.error_class == "SystemExit"


@pytest.mark.parametrize("raises", [True, False])
async def test_fatal_and_retry_later_are_raised_or_returned(*, raises: bool) -> None:
    """The closed set of results, in either form."""

    def answering(word: Exception) -> Callable[[object, Context], object]:
        def handler(_payload: object, _ctx: Context) -> object:
            if raises:
                raise word
            return word

        return handler

    fatal = await call(answering(GiveUp("the account is closed")))
    later = await call(answering(RetryLater(90)))

    assert isinstance(fatal, Fatal)
    assert fatal.error.message == "the account is closed"
    assert later == attempts.RetryLater(after_s=90)
    why = await call(answering(RetryLater(90, "the bank is closed")))
    assert why == attempts.RetryLater(after_s=90, error=an_error(ASKED_LATER, "the bank is closed"))


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), "\ud800", "x" * 40_000, b"bytes"])
async def test_what_is_no_result_is_fatal_and_says_what_was_expected(value: object) -> None:
    """The work is done: trying again would do it twice."""
    result = await call(lambda _payload, _ctx: value)

    assert isinstance(result, Fatal)
    assert result.error.error_class == "BadResult"
    assert "return None, a JSON value" in result.error.message


async def test_a_message_that_cannot_be_shown_does_not_hurt() -> None:
    """An exception may break even its own text."""

    class BrokenError(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    def handler(_payload: object, _ctx: Context) -> None:
        raise BrokenError

    result = await call(handler)

    assert isinstance(result, Failure)
    assert result.error.error_class == "BrokenError"


@pytest.mark.sem("SEM-SDK-4")
async def test_a_name_that_nobody_registered_is_a_failure_that_lists_those_there_are() -> None:
    """A typing error in a job shows what could have been meant."""
    registry = Registry()
    registry.job("nightly")(lambda _payload, _ctx: None)
    runner = PythonRunner(registry)
    result = await runner.run(an_invocation(TARGET))
    runner.close()

    assert isinstance(result, Failure)
    assert result.error.error_class == "UnknownHandler"
    assert "nightly" in result.error.message


async def test_an_async_handler_is_cancelled_with_its_attempt() -> None:
    """It lets go of what it holds: its `finally` runs."""
    started, ended = threading.Event(), threading.Event()

    async def handler(_payload: object, _ctx: Context) -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = asyncio.create_task(call(handler))
    await asyncio.to_thread(started.wait, 5.0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert ended.is_set()


async def test_a_plain_handler_can_ask_whether_it_is_to_stop() -> None:
    """Nothing can stop a thread from outside."""
    stop, asked = asyncio.Event(), threading.Event()

    def handler(_payload: object, ctx: Context) -> str:
        asked.set()
        while not ctx.sleep(0.005):
            continue
        return "stopped"

    running = asyncio.create_task(call(handler, stop=stop))
    await asyncio.to_thread(asked.wait, 5.0)
    stop.set()

    assert await running == Success(result='"stopped"')


def test_two_handlers_of_one_name_are_a_mistake() -> None:
    """The second would silently win."""
    registry = Registry()
    registry.job("nightly")(lambda _payload, _ctx: None)

    with pytest.raises(HandlerRefused, match="nightly"):
        registry.job("nightly")(lambda _payload, _ctx: None)


@pytest.mark.sem("SEM-TARGET-5")
@pytest.mark.parametrize("pattern", ["python:billing.*", "python:it.*"])
async def test_a_handler_that_is_not_allowed_any_more_is_not_called(pattern: str) -> None:
    """The job was accepted before the installation listed handlers: its next attempt is the last, and says why."""
    called: list[object] = []
    result = await call(lambda payload, _ctx: called.append(payload), allowed=AllowedTargets(patterns={"*": [pattern]}))

    assert isinstance(result, Fatal)
    assert result.error.error_class == "TargetNotAllowed"
    assert "'it' is not among the handlers that this installation allows you" in result.error.message
    assert called == []


@pytest.mark.sem("SEM-TARGET-5")
async def test_a_handler_that_is_listed_is_called() -> None:
    """By a pattern of its tenant, or of everybody."""
    for whose in ("*", "acme"):
        allowed = AllowedTargets(patterns={whose: ["python:i*"]})
        assert await call(lambda _payload, _ctx: 1, allowed=allowed) == Success(result="1")


@pytest.mark.sem("SEM-DRAIN-1")
@pytest.mark.parametrize(("reason", "expected"), [(StopReason.DRAINING, NotRun), (StopReason.CANCELLED, Failure)])
async def test_code_that_breaks_off_for_its_workers_sake_was_not_run(reason: StopReason, expected: type) -> None:
    """What it raises then is no failure of its own."""

    async def raises(_payload: object, ctx: Context) -> None:
        assert await ctx.sleep_async(20)
        raise ConnectionAbortedError("the worker goes")

    registry, stop = Registry(), asyncio.Event()
    registry.job("it")(raises)
    runner = PythonRunner(registry, threads=1)
    running = asyncio.ensure_future(runner.run(replace(an_invocation(TARGET, stop=stop), cancel_reason=lambda: reason)))

    stop.set()
    result = await running
    runner.close()

    assert isinstance(result, expected)


@pytest.mark.sem("SEM-DRAIN-1")
@pytest.mark.parametrize("is_async", [False, True])
async def test_cancelled_code_says_whether_it_goes_on(*, is_async: bool) -> None:
    """A thread does, for nobody can end it; an async handler has ended."""
    begun, free = threading.Event(), threading.Event()
    registry = Registry()

    def plain(_payload: object, _ctx: Context) -> None:
        begun.set()
        free.wait(20)

    async def awaited(_payload: object, _ctx: Context) -> None:
        begun.set()
        await asyncio.Event().wait()

    registry.job("it")(awaited if is_async else plain)
    runner = PythonRunner(registry, threads=1)
    running = asyncio.ensure_future(runner.run(an_invocation(TARGET)))
    await asyncio.to_thread(begun.wait, 20)

    running.cancel()
    await asyncio.wait({running})
    free.set()
    runner.close()

    assert running.cancelled() == is_async
    assert is_async or running.result() == GoesOn()
