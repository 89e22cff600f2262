"""Runs an attempt as a Python function that is registered in the worker: `@registry.job("name")` on `fn(payload, ctx)`.

Must not know leases. A plain function runs in a thread, where nothing can stop it: it asks `ctx.cancelled()`; an
`async` one is cancelled. What it returns or raises is a closed set, and everything else a failure that says so.
Promise: SEM-TARGET-4.
"""

import asyncio
import inspect
import json
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from tickwright.adapters.targets.results import NotKept, result_of
from tickwright.domain import attempts
from tickwright.domain.attempts import UserResult, an_error
from tickwright.domain.executions import ErrorSummary
from tickwright.domain.instants import to_datetime
from tickwright.ports.runner import Invocation

# The last frames are those of the fault; an endless recursion has a thousand alike.
_FRAMES = -20
_EXPECTED = "return None, a JSON value of up to 32 KB, Fatal(...) or RetryLater(...)"


class Fatal(Exception):  # noqa: N818 - a word of the closed set of results
    """Raised or returned by a handler: it failed, and trying again is of no use."""


class RetryLater(Exception):  # noqa: N818 - a word of the closed set of results
    """Raised or returned by a handler: try again after so many seconds; it does not count as an attempt."""

    def __init__(self, after_s: float) -> None:
        super().__init__(f"retry in {after_s} s")
        self.after_s = after_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a handler is told. `idempotency_key` is the same in every attempt; `lease_epoch`, the fence, grows."""

    execution_id: str
    job_id: str
    lease_epoch: int
    attempt: int
    scheduled_time: datetime
    deadline: datetime
    idempotency_key: str
    cancelled: Callable[[], bool]


Handler = Callable[[Any, Context], object | Awaitable[object]]
HandlerT = TypeVar("HandlerT", bound=Handler)


class Registry:
    """The handlers of one worker, by the names that jobs call them by; renaming a function changes nothing."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def job(self, name: str) -> Callable[[HandlerT], HandlerT]:
        """Register a function under a name; a second one under the same name is a mistake."""
        assert name not in self._handlers, f"two handlers are called {name!r}"

        def register(handler: HandlerT) -> HandlerT:
            self._handlers[name] = handler
            return handler

        return register

    def named(self, name: str) -> Handler | None:
        """The handler of this name."""
        return self._handlers.get(name)

    def names(self) -> list[str]:
        """Every name, sorted."""
        return sorted(self._handlers)


class PythonRunner:
    """The target kind `python`."""

    def __init__(self, registry: Registry, *, threads: int = 64) -> None:
        """One thread for each plain handler at a time."""
        self._registry = registry
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="python-target")

    async def run(self, invocation: Invocation) -> UserResult:
        """Call the handler once."""
        name = str(invocation.definition.spec.target.settings["handler"])
        handler = self._registry.named(name)
        if handler is None:
            known = ", ".join(self._registry.names()) or "none"
            message = f"This worker has no handler {name!r}; it has: {known}."
            return attempts.Fatal(error=an_error("UnknownHandler", message))
        return await self._call(handler, json.loads(invocation.definition.spec.payload), _context(invocation))

    async def _call(self, handler: Handler, payload: object, context: Context) -> UserResult:
        if inspect.iscoroutinefunction(handler):
            return await _awaited(handler(payload, context))
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _called, handler, payload, context)

    def close(self) -> None:
        """Let the threads go; those that run end when their code does."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _context(invocation: Invocation) -> Context:
    execution = invocation.execution
    return Context(
        execution_id=execution.ref.id,
        job_id=execution.job_id,
        lease_epoch=invocation.epoch,
        attempt=execution.attempt,
        scheduled_time=to_datetime(execution.scheduled_at),
        deadline=to_datetime(invocation.deadline_at),
        idempotency_key=execution.ref.id,
        cancelled=invocation.cancelled,
    )


async def _awaited(running: Awaitable[object]) -> UserResult:
    try:
        return _ended(await running)
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as raised:  # noqa: BLE001 - also SystemExit: one job's exit() must not end the worker of all
        return _raised(raised)


def _called(handler: Handler, payload: object, context: Context) -> UserResult:
    try:
        return _ended(handler(payload, context))
    except BaseException as raised:  # noqa: BLE001 - as above
        return _raised(raised)


def _ended(value: object) -> UserResult:
    if isinstance(value, Fatal | RetryLater):
        return _raised(value)
    if inspect.iscoroutine(value):
        value.close()
        message = f"The handler is not `async def` and returned a coroutine; {_EXPECTED}."
        return attempts.Fatal(error=an_error("BadResult", message))
    try:
        return attempts.Success(result=result_of(value))
    except NotKept as fault:
        # The work is done: trying again would do it twice, and end the same.
        message = f"The handler returned a {type(value).__name__}, and {fault}; {_EXPECTED}."
        return attempts.Fatal(error=an_error("BadResult", message))


def _raised(raised: BaseException) -> UserResult:
    match raised:
        case RetryLater(after_s=after_s):
            return attempts.RetryLater(after_s=after_s)
        case Fatal():
            return attempts.Fatal(error=_error(raised))
        case _:
            return attempts.Failure(error=_error(raised))


def _error(raised: BaseException) -> ErrorSummary:
    trace = "".join(traceback.format_exception(raised, limit=_FRAMES))
    return an_error(type(raised).__name__, _text(raised), trace)


def _text(raised: BaseException) -> str:
    try:
        return str(raised)
    except Exception:  # noqa: BLE001 - a tenant's exception that cannot even be shown
        return "(its message cannot be shown)"
