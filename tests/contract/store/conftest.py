"""A fresh place and a store on it, for each test and each backend."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.contract.backends import STORES, names, place_of
from tests.contract.places import Place
from tickwright.ports.store import Store


@pytest.fixture(params=names(STORES))
def place(request: pytest.FixtureRequest) -> Iterator[Place[Store]]:
    """Where several stores may be opened at once."""
    with place_of(STORES[request.param], request) as made:
        yield made


@pytest.fixture
async def store(place: Place[Store]) -> AsyncIterator[Store]:
    """One store, empty."""
    async with place.open() as opened:
        yield opened
