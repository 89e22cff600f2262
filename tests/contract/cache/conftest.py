"""The caches that the suite is run against: one process's memory, and a real Redis or Valkey."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from tests.support.builders import an_id
from tickwright.adapters.cache.memory import MemoryStatusCache
from tickwright.adapters.cache.valkey import ValkeyStatusCache
from tickwright.adapters.clock_system import SystemClock
from tickwright.ports.status_cache import StatusCache


@dataclass(slots=True)
class Redis:
    """Where it is, and a prefix of the test's own."""

    url: str
    prefix: str
    opened: list[ValkeyStatusCache] = field(default_factory=list)

    def cache(self, prefix: str | None = None) -> ValkeyStatusCache:
        """One process's way to it."""
        one = ValkeyStatusCache.at(self.url, prefix=prefix or self.prefix, clock=SystemClock())
        self.opened.append(one)
        return one


@pytest.fixture
async def redis(request: pytest.FixtureRequest) -> AsyncIterator[Redis]:
    """A real one, on this machine."""
    server = request.getfixturevalue("redis_server")
    place = Redis(f"valkey://{urlsplit(server.endpoint).netloc}", f"test:{abs(hash(request.node.nodeid))}")
    yield place
    for one in place.opened:
        await one.close()


@pytest.fixture(params=["memory", "redis_server"])
async def cache(request: pytest.FixtureRequest) -> AsyncIterator[StatusCache]:
    """Each of them in turn, empty."""
    if request.param == "memory":
        yield MemoryStatusCache(SystemClock())
        return
    server = request.getfixturevalue("redis_server")
    url = f"redis://{urlsplit(server.endpoint).netloc}"
    one = ValkeyStatusCache.at(url, prefix=f"test:{an_id(abs(hash(request.node.nodeid)))}", clock=SystemClock())
    yield one
    await one.close()
