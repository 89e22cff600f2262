"""The end of what a run says: so much as is kept with it.

Must not know where it is kept. Written to from any thread.
"""

import threading
from collections import deque

from tickwright_sdk import limits


class Tail:
    """The last lines, in whole, up to a bound."""

    def __init__(self, bytes_max: int = limits.LOG_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._guard = threading.Lock()
        self._lines: deque[str] = deque()
        self._bytes = 0
        self._cut = 0

    def write(self, line: str) -> None:
        """Add a line; the oldest go where there are too many."""
        size = _size(line)
        with self._guard:
            self._lines.append(line)
            self._bytes += size
            while self._bytes > self._bytes_max and len(self._lines) > 1:
                self._cut += 1
                self._bytes -= _size(self._lines.popleft())

    def text(self) -> str:
        """What is kept, with how much is not."""
        with self._guard:
            kept, cut = "\n".join(self._lines), self._cut
        whole = f"({cut} earlier lines are not kept)\n{kept}" if cut else kept
        # One line that is too long by itself: its end.
        return whole.encode("utf-8", "replace")[-self._bytes_max :].decode("utf-8", "ignore")


def _size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1
