"""Where handlers are called: a plain one in a thread, an async one on the user loop, one that computes in a child.

Must not know leases or transports. A place stays taken while its code goes on, also when nobody waits for it any more:
code that ignores every wish to stop fills the worker, which then says so, and is given no more. Promises: SEM-SDK-5,
SEM-SDK-6, SEM-SDK-7.
"""

import asyncio
import contextlib
import contextvars
import os
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from tickwright_sdk.calling import awaited, called
from tickwright_sdk.context import Context
from tickwright_sdk.handlers import AnyJob
from tickwright_sdk.results import Result
from tickwright_sdk.slots import Slot
from tickwright_sdk.threads import Threads
from tickwright_sdk.user_loop import UserLoop

# More threads that compute make every heartbeat late: with 64 the engine waited up to 0.9 s for its turn.
THREADS = 32
PATIENCE_S = 2.0
UNWELL_AFTER_MS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRoom:
    """The handler was not called: every place of its kind is taken. It is nobody's failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How the hands are: what goes on, and what goes on although nobody waits for it."""

    threads_taken: int
    children_taken: int
    abandoned: int
    loop_blocked_ms: int
    is_well: bool


class Hands:
    """The places of one worker, used from one event loop."""

    def __init__(self, *, threads: int = THREADS, children: int | None = None, patience_s: float = PATIENCE_S) -> None:
        """`children` is as many as there are processors; `patience_s` is how long a call waits for a place."""
        self._threads_most = threads
        self._children_most = children or os.cpu_count() or 1
        self._patience_s = patience_s
        self._threads = Threads(threads, "handler")
        self._thread_places = asyncio.Semaphore(threads)
        self._child_places = asyncio.Semaphore(self._children_most)
        self._slots = tuple(Slot() for _ in range(self._children_most))
        self._free_slots = list(self._slots)
        self._loop = UserLoop()
        self._threads_taken = self._children_taken = self._abandoned = 0

    async def call(self, job: AnyJob, payload: str, context: Context) -> Result | NoRoom:
        """Call a handler once, wherever it belongs.

        Cancelled, it lets go: it cancels an async handler and waits for its end, kills a child, and leaves a thread.
        """
        if job.manner.in_child:
            return await self._in_child(job, payload, context)
        if job.is_async:
            return await self._loop.call(partial(awaited, job, payload, context))
        return await self._in_thread(job, payload, context)

    def condition(self) -> Condition:
        """How they are now."""
        blocked_ms = self._loop.blocked_ms()
        return Condition(
            threads_taken=self._threads_taken,
            children_taken=self._children_taken,
            abandoned=self._abandoned + self._loop.abandoned,
            loop_blocked_ms=blocked_ms,
            is_well=blocked_ms < UNWELL_AFTER_MS and self._abandoned < self._threads_most,
        )

    async def close(self) -> None:
        """Let everything go: kill the children, end the loop, leave threads that still work."""
        await asyncio.gather(*(slot.close() for slot in self._slots))
        self.leave()

    def leave(self) -> None:
        """The part of `close` that needs no event loop."""
        self._threads.close()
        self._loop.close()

    async def _in_thread(self, job: AnyJob, payload: str, context: Context) -> Result | NoRoom:
        if not await self._has_place(self._thread_places.acquire()):
            return NoRoom()
        self._threads_taken += 1
        here = asyncio.get_running_loop()
        over: asyncio.Future[Result] = here.create_future()

        def tell(result: Result) -> None:
            self._thread_places.release()
            self._threads_taken -= 1
            if over.cancelled():
                self._abandoned -= 1
            else:
                over.set_result(result)

        def work() -> None:
            result = called(job, payload, context)
            with contextlib.suppress(RuntimeError):  # nobody is left to be told
                here.call_soon_threadsafe(tell, result)

        self._threads.submit(partial(contextvars.copy_context().run, work))
        try:
            return await over
        except asyncio.CancelledError:
            self._abandoned += over.cancelled()
            raise

    async def _in_child(self, job: AnyJob, payload: str, context: Context) -> Result | NoRoom:
        if not await self._has_place(self._child_places.acquire()):
            return NoRoom()
        slot = self._free_slots.pop()
        self._children_taken += 1
        try:
            return await slot.call(job, payload, context)
        finally:
            self._children_taken -= 1
            self._free_slots.append(slot)
            self._child_places.release()

    async def _has_place(self, taking: Coroutine[Any, Any, bool]) -> bool:
        try:
            async with asyncio.timeout(self._patience_s):
                return await taking
        except TimeoutError:
            return False
