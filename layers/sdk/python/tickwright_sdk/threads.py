"""The threads that plain handlers are called in.

Must not know handlers. They are daemons, and no pool of the standard library: that one waits at the end of the
program for code that never ends, and a worker must end in time whatever its handlers do.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], None]


class Threads:
    """Up to so many threads, each made when it is first needed, and kept."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._waiting: SimpleQueue[Work | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._idle = 0
        self._made = 0

    def submit(self, work: Work) -> None:
        """Have it done by a thread; `work` raises nothing."""
        with self._guard:
            if self._idle > 0:
                self._idle -= 1
            elif self._made < self._most:
                self._made += 1
                threading.Thread(target=self._serve, name=f"{self._name}-{self._made}", daemon=True).start()
            self._waiting.put(work)

    def close(self) -> None:
        """Let the threads go; those that work end when their work does."""
        with self._guard:
            for _ in range(self._made):
                self._waiting.put(None)
            self._made = self._most

    def _serve(self) -> None:
        while (work := self._waiting.get()) is not None:
            work()
            del work  # what it holds is not to be kept until the next comes
            with self._guard:
                self._idle += 1
