"""Copies in this process: bounded in number, bytes and age; who keeps most forgets first, what it used least recently.

Must not know what is copied. Ages go by the monotonic clock: a wall clock that steps makes no copy older or younger.
Promise: SEM-STALE-2.
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass

from tickwright.domain import limits
from tickwright.domain.ids import TenantId
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
        self._kept: dict[TenantId, OrderedDict[Place, _Kept]] = {}
        self._bytes_of: Counter[TenantId] = Counter()
        self._number = self._bytes = 0  # of all tenants

    async def put(self, place: Place, copy: Copy) -> None:
        """Keep it, and forget what no longer fits."""
        self._forget(place)
        if len(copy.body) > min(limits.COPY_BYTES_MAX, self._bytes_max):
            return
        of_tenant = self._kept.setdefault(place.tenant_id, OrderedDict())
        of_tenant[place] = _Kept(copy, self._clock.monotonic_ms())
        self._number += 1
        self._bytes += len(copy.body)
        self._bytes_of[place.tenant_id] += len(copy.body)
        while self._bytes > self._bytes_max or self._number > limits.COPIES_MAX:
            self._forget(next(iter(self._kept[self._greediest()])))

    async def get(self, place: Place) -> Copy | None:
        """The copy, unless it is too old."""
        of_tenant = self._kept.get(place.tenant_id, OrderedDict())
        kept = of_tenant.get(place)
        if kept is None:
            return None
        if self._clock.monotonic_ms() - kept.put_ms > _COPY_MS_MAX:
            self._forget(place)
            return None
        of_tenant.move_to_end(place)
        return kept.copy

    def _greediest(self) -> TenantId:
        """Whose share is the largest of what is short: no tenant drives out another that keeps less than it does."""
        if self._bytes > self._bytes_max:
            return max(self._kept, key=lambda tenant_id: self._bytes_of[tenant_id])
        return max(self._kept, key=lambda tenant_id: len(self._kept[tenant_id]))

    def _forget(self, place: Place) -> None:
        of_tenant = self._kept.get(place.tenant_id, OrderedDict())
        kept = of_tenant.pop(place, None)
        if kept is None:
            return
        self._number -= 1
        self._bytes -= len(kept.copy.body)
        self._bytes_of[place.tenant_id] -= len(kept.copy.body)
        if not of_tenant:
            del self._kept[place.tenant_id], self._bytes_of[place.tenant_id]
