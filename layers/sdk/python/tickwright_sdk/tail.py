"""The end of what a run says: so much as is kept with it, and how much before it is not.

Must not know where it is kept. Written to from any thread. Promise: SEM-LOG-1.
"""

import threading
from collections import deque
from typing import NamedTuple

from tickwright_sdk import limits

_CONTINUES, _OF_A_CHARACTER = 0b1000_0000, 0b1100_0000  # a byte of UTF-8 that goes on with a character


class Kept(NamedTuple):
    """The end of a log, and how many bytes before it are not kept."""

    text: str
    cut: int = 0


class Tail:
    """The last lines, in whole, up to a bound; of a line that is longer by itself, its end."""

    def __init__(self, bytes_max: int = limits.LOG_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._guard = threading.Lock()
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._cut = 0

    def write(self, line: str) -> None:
        """Add a line; the oldest go where there are too many, and are counted."""
        said = f"{line}\n".encode("utf-8", "replace")
        end = _end_of(said, self._bytes_max)
        with self._guard:
            self._lines.append(end)
            self._bytes += len(end)
            self._cut += len(said) - len(end)
            while self._bytes > self._bytes_max:
                size = len(self._lines.popleft())
                self._bytes, self._cut = self._bytes - size, self._cut + size

    def kept(self) -> Kept:
        """What is kept, and how much is not."""
        with self._guard:
            said, cut = b"".join(self._lines), self._cut
        return Kept(said.decode(), cut)


def _end_of(said: bytes, bytes_max: int) -> bytes:
    """The last of it, in whole characters."""
    start = max(0, len(said) - bytes_max)
    while start and said[start] & _OF_A_CHARACTER == _CONTINUES:
        start += 1
    return said[start:]
