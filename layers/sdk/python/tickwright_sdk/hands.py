"""Where handlers are called: a plain one in a thread, an async one on the user loop, one that computes in a child.

Must not know leases or transports. A place stays taken while its code goes on, also when nobody waits for it any more:
code that ignores every wish to stop fills the worker, which then says so, and is given no more. Promises: SEM-SDK-5,
SEM-SDK-6, SEM-SDK-7.
"""

import asyncio
import contextlib
import contextvars
import os
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class _Places:
    """Some of the threads. A place is free again once its code has ended, whoever waits for that."""

    most: int
    free: asyncio.Semaphore = field(init=False)
    abandoned: int = 0

    def __post_init__(self) -> None:
        self.free = asyncio.Semaphore(self.most)

    @property
    def are_stuck(self) -> bool:
        return 0 < self.most <= self.abandoned


class Hands:
    """The places of one worker, used from one event loop."""

    def __init__(
        self,
        *,
        threads: int = THREADS,
        children: int | None = None,
        shares: Mapping[str, int] | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """`children` is as many as there are processors; `patience_s` is how long a call waits for a place.

        `shares`: how many of the threads are for calls of one kind alone, whatever becomes of all others.
        """
        self._threads_most = threads
        self._shares = {name: _Places(most) for name, most in (shares or {}).items()}
        self._rest = _Places(threads - sum((shares or {}).values()))
        self._children_most = children or os.cpu_count() or 1
        self._patience_s = patience_s
        self._threads = Threads(threads, "handler")
        self._child_places = asyncio.Semaphore(self._children_most)
        self._slots = tuple(Slot() for _ in range(self._children_most))
        self._free_slots = list(self._slots)
        self._loop = UserLoop()
        self._threads_taken = self._children_taken = 0

    async def call(
        self, job: AnyJob, payload: str, context: Context, *, share: str = "", alone: bool = False
    ) -> Result | NoRoom:
        """Call a handler once, wherever it belongs; in a thread of this share, if there is such.

        `alone`: in a child, if one finds it, so that it takes nobody along if it ends its process. Cancelled, it lets
        go: it cancels an async handler and waits for its end, kills a child, and leaves a thread.
        """
        if job.manner.in_child or (alone and job.fits_a_child):
            return await self._in_child(job, payload, context)
        if job.is_async:
            return await self._loop.call(partial(awaited, job, payload, context))
        return await self._in_thread(job, payload, context, self._shares.get(share, self._rest))

    @staticmethod
    def outlives(job: AnyJob, *, alone: bool = False) -> bool:
        """Whether its code goes on when its call is cancelled: in a thread, which nobody can end."""
        in_child = job.manner.in_child or (alone and job.fits_a_child)
        return not in_child and not job.is_async

    @property
    def threads(self) -> int:
        """How many plain handlers at a time."""
        return self._threads_most

    @property
    def children(self) -> int:
        """How many handlers at a time in children."""
        return self._children_most

    def places_of(self, most: int, *, share: str | None = None) -> int:
        """How many of so many runs at a time there are threads for: fewer where abandoned code keeps some.

        With a share, of that one's alone.
        """
        places = self._shares.get(share) if share is not None else None
        abandoned, threads = (
            (self._abandoned(), self._threads_most) if places is None else (places.abandoned, places.most)
        )
        return most - max(0, abandoned - max(0, threads - most))

    def condition(self) -> Condition:
        """How they are now."""
        blocked_ms = self._loop.blocked_ms()
        return Condition(
            threads_taken=self._threads_taken,
            children_taken=self._children_taken,
            abandoned=self._abandoned() + self._loop.abandoned,
            loop_blocked_ms=blocked_ms,
            is_well=blocked_ms < UNWELL_AFTER_MS and not self._are_threads_lost(),
        )

    def _abandoned(self) -> int:
        return self._rest.abandoned + sum(places.abandoned for places in self._shares.values())

    def _are_threads_lost(self) -> bool:
        """Half of them, or all of a share: what is left is too little, and only a fresh worker has them back."""
        half = 2 * self._abandoned() >= self._threads_most
        return half or any(places.are_stuck for places in self._shares.values())

    async def close(self) -> None:
        """Let everything go: kill the children, end the loop, leave threads that still work."""
        await asyncio.gather(*(slot.close() for slot in self._slots))
        self.leave()

    def leave(self) -> None:
        """The part of `close` that needs no event loop."""
        self._threads.close()
        self._loop.close()

    async def _in_thread(self, job: AnyJob, payload: str, context: Context, places: _Places) -> Result | NoRoom:
        if not await self._has_place(places.free.acquire()):
            return NoRoom()
        self._threads_taken += 1
        here = asyncio.get_running_loop()
        over: asyncio.Future[Result] = here.create_future()

        def tell(result: Result) -> None:
            places.free.release()
            self._threads_taken -= 1
            if over.cancelled():
                places.abandoned -= 1
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
            places.abandoned += over.cancelled()
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
