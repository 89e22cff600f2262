"""Calls that block, made from an event loop: few threads, and none that keeps a program from ending.

Must not know what is called.
"""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from tickwright_sdk.threads import Threads

T = TypeVar("T")


class Calls:
    """So many at a time; the others wait."""

    def __init__(self, most: int, name: str) -> None:
        """No thread is begun before the first call."""
        self._threads = Threads(most, name)

    async def do(self, call: Callable[[], T]) -> T:
        """What the call returns or raises. Cancelled, it leaves the call to its end."""
        here = asyncio.get_running_loop()
        over: asyncio.Future[T] = here.create_future()

        def returned(value: T) -> None:
            if not over.done():
                over.set_result(value)

        def raised(fault: BaseException) -> None:
            if not over.done():
                over.set_exception(fault)

        def work() -> None:
            tell: Callable[[], object]
            try:
                tell = partial(returned, call())
            except BaseException as fault:  # noqa: BLE001 - it is raised where the call was made
                tell = partial(raised, fault)
            with contextlib.suppress(RuntimeError):  # nobody is left to be told
                here.call_soon_threadsafe(tell)

        self._threads.submit(work)
        return await over

    def close(self) -> None:
        """Let the threads go."""
        self._threads.close()
