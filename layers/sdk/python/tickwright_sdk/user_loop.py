"""The event loop that async handlers run on, in a thread of its own: blocking code there holds up no heartbeat.

Must not know leases or handlers. It outlives whatever is raised on it, and can say which line holds it up. A C call
that keeps the interpreter for longer than a lease holds up every thread: such code belongs in a child. Promises:
SEM-SDK-5, SEM-SDK-6.
"""

import asyncio
import contextlib
import contextvars
import logging
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from tickwright_sdk.machine import Clock, MachineClock

T = TypeVar("T")
_LOG = logging.getLogger("tickwright.worker")
_PYTHONS_OWN = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
BLOCKED_S = 1.0  # longer than any await should take to come back; other handlers wait as long


class UserLoop:
    """A loop in a thread, begun with the first call."""

    def __init__(self, *, clock: Clock | None = None, blocked_s: float = BLOCKED_S) -> None:
        """`blocked_s`: a loop that does not answer for so long is said to be blocked."""
        self._clock = clock or MachineClock()
        self._blocked_s = blocked_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._answered_ms = 0
        self._asked_ms: int | None = None
        self._waited_for: set[asyncio.Future[Any]] = set()
        self.abandoned = 0  # calls that nobody waits for any more, and that go on

    async def call(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine there to its real end.

        Cancelling this cancels that, and waits: what its `finally` does is done before this ends. Cancelled again, or
        with the loop closed, it waits no more: the code goes on, abandoned.
        """
        there = self._started()
        here = asyncio.get_running_loop()
        over: asyncio.Future[asyncio.Task[T]] = here.create_future()
        begun: list[asyncio.Task[T]] = []

        def ended(one: "asyncio.Task[T]") -> None:
            if over.cancelled():
                self.abandoned -= 1
            else:
                over.set_result(one)

        def tell(one: "asyncio.Task[T]") -> None:
            with contextlib.suppress(RuntimeError):  # whoever asked is gone, and its loop is closed
                here.call_soon_threadsafe(ended, one)

        def begin() -> None:
            one = there.create_task(make())
            begun.append(one)
            one.add_done_callback(tell)

        self._waited_for.add(over)
        # No future of concurrent.futures in between: its cancellation ends at once here while the code goes on there.
        there.call_soon_threadsafe(begin, context=contextvars.copy_context())
        try:
            return (await asyncio.shield(over)).result()
        except asyncio.CancelledError:
            if over.done():
                raise
            there.call_soon_threadsafe(lambda: begun[0].cancel())  # noqa: PLW0108 - begun is filled there, first
            return (await over).result()
        finally:
            self._waited_for.discard(over)
            self.abandoned += over.cancelled()

    def blocked_ms(self) -> int:
        """For how long the loop has not answered; 0 if it does."""
        asked_ms = self._asked_ms
        return 0 if asked_ms is None else max(0, self._clock.monotonic_ms() - asked_ms)

    def where(self) -> str:
        """The line that holds the loop up: the innermost that is no code of Python's own."""
        thread = self._thread
        frame = None if thread is None or thread.ident is None else sys._current_frames().get(thread.ident)  # noqa: SLF001
        if frame is None:
            return "(nowhere)"
        stack = traceback.extract_stack(frame)
        own = [at for at in stack if not at.filename.startswith(_PYTHONS_OWN)] or stack
        return f"{own[-1].filename}:{own[-1].lineno} in {own[-1].name}"

    def close(self) -> None:
        """End the loop; code that blocks it ends when it likes, in a thread that keeps no program alive."""
        self._over.set()
        with contextlib.suppress(RuntimeError):  # the loop that they were made on is closed: nobody waits
            for one in self._waited_for:
                one.cancel()
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(0.5)
            if not self._thread.is_alive():
                self._loop.close()
            self._loop = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._over.clear()
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._serve, args=(self._loop,), name="handlers", daemon=True)
            self._thread.start()
            threading.Thread(target=self._watch, args=(self._loop,), name="handlers-watch", daemon=True).start()
        return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        while True:
            try:
                loop.run_forever()
            except BaseException:  # noqa: BLE001 - SystemExit in a coroutine that a handler started: the others go on
                _LOG.exception("the loop of the async handlers was left, and goes on")
            else:
                return

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask the loop again and again whether it answers, and say once which line holds it up."""
        said = False
        while not self._over.wait(self._blocked_s):
            if self._asked_ms is None:
                said = False
                self._asked_ms = self._clock.monotonic_ms()
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(partial(setattr, self, "_asked_ms", None))
            elif not said:
                said = True
                _LOG.warning(
                    "async handlers are held up by %s: make it a plain function, or process=True", self.where()
                )
