"""An API in virtual time, whose store and intake can be silenced."""

import pytest

from tests.outages.house import House
from tests.support.kits import World
from tests.support.virtual_time import pytest_asyncio_loop_factories, world

__all__ = ["house", "pytest_asyncio_loop_factories", "world"]


@pytest.fixture
def house(world: World) -> House:
    """An installation with a cache and an intake, and two tenants with keys."""
    return House(world)
