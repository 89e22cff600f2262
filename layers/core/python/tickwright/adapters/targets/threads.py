"""The threads that calls of targets are made in, and how many of them one tenant's calls may hold.

A call that nobody waits for any more keeps its thread until it is answered, or gives up: no thread can be ended. So
there are more threads than a worker has places, and a tenant has a share of them. Must not know what is called.
Promise: SEM-TARGET-12.
"""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from tickwright.domain.ids import TenantId

# A tenant that has all of a worker's places to itself can use them, while as many calls that it had left are going on.
_TENANTS_SHARE: Final = 2
# So that two tenants with nothing but calls that go on leave as many threads as there are places to all others, twice.
_SHARES: Final = 3

DoneT = TypeVar("DoneT")


class CallThreads:
    """The threads of one kind of target, made when they are first needed."""

    def __init__(self, places: int, name: str) -> None:
        """For a worker that has so many runs at a time."""
        self._of_tenant = _TENANTS_SHARE * places
        self._most = _SHARES * self._of_tenant
        self._threads = ThreadPoolExecutor(self._most, thread_name_prefix=name)
        self._held: Counter[TenantId] = Counter()
        self._guard = threading.Lock()

    def begin(self, tenant_id: TenantId, work: Callable[[], DoneT]) -> Future[DoneT] | None:
        """Have a thread do it; None if the tenant holds its share, or all are held.

        The answer's `cancel` says whether it will never begin.
        """
        with self._guard:
            if self._held[tenant_id] >= self._of_tenant or self._held.total() >= self._most:
                return None
            self._held[tenant_id] += 1
        begun = self._threads.submit(work)
        begun.add_done_callback(lambda _: self._is_free(tenant_id))
        return begun

    def _is_free(self, tenant_id: TenantId) -> None:
        with self._guard:
            self._held[tenant_id] -= 1
            if not self._held[tenant_id]:
                del self._held[tenant_id]

    def close(self) -> None:
        """Let the threads go; those that work end when their calls do."""
        self._threads.shutdown(wait=False, cancel_futures=True)
