"""A fresh place and a queue on it, for each test and each backend."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.contract.backends import QUEUES, names, place_of
from tests.contract.places import Place
from tickwright.adapters.clock_system import SystemClock
from tickwright.ports.queue import Queue


@pytest.fixture(params=names(QUEUES))
def place(request: pytest.FixtureRequest) -> Iterator[Place[Queue]]:
    """Where several queues may be opened at once."""
    with place_of(QUEUES[request.param], request) as made:
        yield made


@pytest.fixture
async def queue(place: Place[Queue]) -> AsyncIterator[Queue]:
    """One queue, empty."""
    async with place.open() as opened:
        yield opened


@pytest.fixture
def clock() -> SystemClock:
    """The machine's clock: a queue of AWS knows no other."""
    return SystemClock()
