"""Copies in this process: bounded in number, bytes and age, the least recently used forgotten first.

Must not know what is copied. Ages go by the monotonic clock: a wall clock that steps makes no copy older or younger.
Promise: SEM-STALE-2.
"""

from collections import OrderedDict
from dataclasses import dataclass

from tickwright.domain import limits
from tickwright.ports.clock import Clock
from tickwright.ports.status_cache import Copy, Place

_COPY_MS_MAX = limits.COPY_S_MAX * 1_000


@dataclass(frozen=True, slots=True)
class _Kept:
    copy: Copy
    put_ms: int


class MemoryStatusCache:
    """Copies of one process. `bytes_max`: of all bodies together."""

    def __init__(self, clock: Clock, *, bytes_max: int = limits.COPIES_BYTES_MAX) -> None:
        """Begin with nothing."""
        self._clock = clock
        self._bytes_max = bytes_max
        self._kept: OrderedDict[Place, _Kept] = OrderedDict()
        self._bytes = 0

    async def put(self, place: Place, copy: Copy) -> None:
        """Keep it, and forget what no longer fits."""
        self._forget(place)
        if len(copy.body) > min(limits.COPY_BYTES_MAX, self._bytes_max):
            return
        self._kept[place] = _Kept(copy, self._clock.monotonic_ms())
        self._bytes += len(copy.body)
        while self._bytes > self._bytes_max or len(self._kept) > limits.COPIES_MAX:
            self._forget(next(iter(self._kept)))

    async def get(self, place: Place) -> Copy | None:
        """The copy, unless it is too old."""
        kept = self._kept.get(place)
        if kept is None:
            return None
        if self._clock.monotonic_ms() - kept.put_ms > _COPY_MS_MAX:
            self._forget(place)
            return None
        self._kept.move_to_end(place)
        return kept.copy

    def _forget(self, place: Place) -> None:
        kept = self._kept.pop(place, None)
        self._bytes -= 0 if kept is None else len(kept.copy.body)
