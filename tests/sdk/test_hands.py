"""Do handlers hold up nobody else, wherever they are called, and keep their places while their code goes on?"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.sdk.links import Noting, a_context
from tickwright_sdk import Context, Registry
from tickwright_sdk.handlers import AnyJob
from tickwright_sdk.hands import Hands, NoRoom
from tickwright_sdk.results import Succeeded
from tickwright_sdk.user_loop import UserLoop

Handler = Callable[[Any, Context], object]


@asynccontextmanager
async def hands(
    threads: int = 2, patience_s: float = 5, shares: Mapping[str, int] | None = None
) -> AsyncIterator[Hands]:
    """Hands that let go at the end."""
    made = Hands(threads=threads, patience_s=patience_s, shares=shares)
    try:
        yield made
    finally:
        await made.close()


def job(handler: Handler) -> AnyJob:
    """A registered one."""
    return Registry().job("it")(handler)


async def lateness_ms(during: "asyncio.Future[Any]") -> float:
    """How late this loop woke at the worst while something went on."""
    worst = 0.0
    while not during.done():
        began = time.perf_counter()
        await asyncio.wait({during}, timeout=0.02)
        if not during.done():
            worst = max(worst, time.perf_counter() - began - 0.02)
    return 1_000 * worst


async def block(_payload: object, _ctx: Context) -> str:
    """An async handler that ought not to be one."""
    time.sleep(2)  # noqa: ASYNC251 - what is not to be done
    return "done"


async def compute(_payload: object, _ctx: Context) -> str:
    """Python code without an await."""
    until = time.perf_counter() + 2
    while time.perf_counter() < until:
        pass
    return "done"


def compute_in_a_thread(_payload: object, _ctx: Context) -> str:
    """The same in a plain handler."""
    until = time.perf_counter() + 2
    while time.perf_counter() < until:
        pass
    return "done"


@pytest.mark.sem("SEM-SDK-5")
@pytest.mark.parametrize("handler", [block, compute, compute_in_a_thread])
async def test_no_handler_holds_up_the_loop_that_keeps_the_leases(handler: Handler) -> None:
    """Heartbeats are seconds apart: a second late harms none, and on one loop it would be two."""
    async with hands() as by:
        running = asyncio.ensure_future(by.call(job(handler), "null", a_context()))
        late_ms = await lateness_ms(running)

    assert running.result() == Succeeded(result='"done"')
    assert late_ms < 1_000


@pytest.mark.sem("SEM-SDK-5")
async def test_the_line_that_holds_up_async_handlers_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """Once, with the file and the function; and it shows in their health for as long."""
    caplog.set_level(logging.WARNING, logger="tickwright.worker")
    loop = UserLoop(blocked_s=0.1)
    running = asyncio.ensure_future(loop.call(lambda: block(None, a_context())))
    blocked_ms = 0
    while not running.done():
        await asyncio.wait({running}, timeout=0.05)
        blocked_ms = max(blocked_ms, loop.blocked_ms())
    loop.close()

    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert "test_hands.py" in said[0]
    assert "in block" in said[0]
    assert blocked_ms > 500


async def test_an_exit_in_a_coroutine_that_a_handler_started_ends_no_other_handler() -> None:
    """It leaves the loop, which goes on."""
    async with hands() as by:

        async def leave(_payload: object, _ctx: Context) -> str:
            async def exits() -> None:
                raise SystemExit(3)

            leaving = asyncio.create_task(exits())
            await asyncio.wait({leaving})
            with contextlib.suppress(SystemExit):
                leaving.result()
            return "left"

        async def stay(_payload: object, ctx: Context) -> str:
            await ctx.sleep_async(0.2)
            return "stayed"

        async with asyncio.timeout(10):
            results = await asyncio.gather(*(by.call(job(one), "null", a_context()) for one in (stay, leave)))

    assert results == [Succeeded(result='"stayed"'), Succeeded(result='"left"')]


async def test_an_async_handler_that_is_let_go_of_has_ended_when_that_is_over() -> None:
    """What its `finally` does is done: nothing of it goes on unseen."""
    begun, ended = threading.Event(), threading.Event()

    async def tidies_up(_payload: object, ctx: Context) -> None:
        try:
            begun.set()
            await ctx.sleep_async(60)
        finally:
            await asyncio.wait({asyncio.create_task(asyncio.Event().wait())}, timeout=0.1)
            ended.set()

    async with hands() as by:
        running = asyncio.ensure_future(by.call(job(tidies_up), "null", a_context()))
        await asyncio.to_thread(begun.wait, 5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        assert ended.is_set()


@pytest.mark.sem("SEM-SDK-6")
async def test_a_thread_that_nobody_waits_for_keeps_its_place() -> None:
    """Else a worker would take more and more, with ever more code going on in it."""
    free = threading.Event()

    def deaf(_payload: object, _ctx: Context) -> None:
        free.wait(10)

    async with hands(threads=1, patience_s=0.05) as by:
        running = asyncio.ensure_future(by.call(job(deaf), "null", a_context()))
        await asyncio.wait({running}, timeout=0.05)
        running.cancel()
        await asyncio.wait({running})
        full = by.condition()
        turned_away = await by.call(job(lambda _payload, _ctx: 1), "null", a_context())
        free.set()
        async with asyncio.timeout(10):
            while by.condition().threads_taken:
                await asyncio.to_thread(free.wait)
        result = await by.call(job(lambda _payload, _ctx: 1), "null", a_context())

    assert (full.threads_taken, full.abandoned, full.is_well) == (1, 1, False)
    assert turned_away == NoRoom()
    assert result == Succeeded(result="1")
    assert by.condition().is_well


@pytest.mark.sem("SEM-FLEET-1", "SEM-SDK-6")
async def test_code_that_nobody_waits_for_keeps_threads_of_its_own_share_alone() -> None:
    """However often its runs time out, another lane has its threads; and the machine says that a lane has none."""
    free, begun = threading.Event(), []

    def deaf(_payload: object, _ctx: Context) -> None:
        begun.append(1)
        free.wait(20)

    async with hands(threads=6, patience_s=0.05, shares={"low": 2, "high": 4}) as by:
        for _ in range(5):
            running = asyncio.ensure_future(by.call(job(deaf), "null", a_context(), share="low"))
            await asyncio.wait({running}, timeout=0.1)
            running.cancel()
            await asyncio.wait({running})
        stuck = by.condition()
        urgent = await by.call(job(lambda _payload, _ctx: 1), "null", a_context(), share="high")
        free.set()

    assert (len(begun), stuck.abandoned, stuck.is_well) == (2, 2, False)
    assert urgent == Succeeded(result="1")


async def test_a_worker_is_unwell_once_half_of_its_threads_are_lost() -> None:
    """What is left is too little long before there is nothing."""
    free, well = threading.Event(), []

    async with hands(threads=4) as by:
        for _ in range(3):
            running = asyncio.ensure_future(by.call(job(lambda _payload, _ctx: free.wait(20)), "null", a_context()))
            await asyncio.wait({running}, timeout=0.05)
            running.cancel()
            await asyncio.wait({running})
            well.append(by.condition().is_well)
        free.set()

    assert well == [True, False, False]


async def test_a_thousand_async_handlers_go_on_at_a_time() -> None:
    """They need no thread each."""
    seen: list[int] = []

    async def meet(payload: int, ctx: Context) -> int:
        seen.append(payload)
        while len(seen) < 1_000:
            await ctx.sleep_async(0.01)
        return payload

    async with hands(threads=1) as by, asyncio.timeout(30):
        one = job(meet)
        results = await asyncio.gather(*(by.call(one, str(n), a_context()) for n in range(1_000)))

    assert results == [Succeeded(result=str(n)) for n in range(1_000)]


async def test_what_is_bound_where_a_handler_is_called_is_seen_in_it() -> None:
    """Context variables cross over, into threads and onto the loop."""
    import contextvars  # noqa: PLC0415 - only here

    bound: contextvars.ContextVar[str] = contextvars.ContextVar("bound")
    bound.set("here")

    async def awaited(_payload: object, _ctx: Context) -> str:
        return bound.get()

    async with hands() as by:
        results = [
            await by.call(job(one), "null", a_context()) for one in (awaited, lambda _payload, _ctx: bound.get())
        ]

    assert results == [Succeeded(result='"here"')] * 2


async def test_a_plain_handler_that_is_to_stop_learns_it_and_ends_by_itself() -> None:
    """Nothing is thrown into its thread."""
    link = Noting()

    def works(_payload: object, ctx: Context) -> str | None:
        while not ctx.sleep(0.01):
            continue
        return ctx.cancel_reason

    async with hands() as by:
        running = asyncio.ensure_future(by.call(job(works), "null", a_context(link)))
        await asyncio.wait({running}, timeout=0.05)
        link.stop("deadline")

        assert await running == Succeeded(result='"deadline"')
