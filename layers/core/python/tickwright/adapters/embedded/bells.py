"""How a coroutine that waits for something in the file learns at once that this process has written it.

A bell is a hint: whoever hears it looks again, and whoever writes from another process is seen at the next look.
Must not know what is waited for.
"""

import asyncio
import threading
from asyncio import AbstractEventLoop
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple


class Listener(NamedTuple):
    """Somebody in an event loop, of this thread or of another."""

    loop: AbstractEventLoop
    rung: asyncio.Event


class Bells:
    """One bell a name."""

    def __init__(self) -> None:
        """Nobody listens yet."""
        self._listeners: defaultdict[str, set[Listener]] = defaultdict(set)
        self._mutex = threading.Lock()

    @contextmanager
    def heard(self, *names: str) -> Iterator[asyncio.Event]:
        """Listen to any of them, from before one looks: what is written after the look rings."""
        listener = Listener(asyncio.get_running_loop(), asyncio.Event())
        with self._mutex:
            for name in names:
                self._listeners[name].add(listener)
        try:
            yield listener.rung
        finally:
            with self._mutex:
                for name in names:
                    self._listeners[name].discard(listener)

    def ring(self, name: str) -> None:
        """Wake all who listen."""
        with self._mutex:
            listeners = list(self._listeners[name])
        for listener in listeners:
            # A loop that was closed meanwhile has nobody who waits.
            with suppress(RuntimeError):
                listener.loop.call_soon_threadsafe(listener.rung.set)
