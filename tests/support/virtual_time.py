"""Lets the tests of a folder run on a VirtualLoop, each in a World of its own: for the folder's conftest."""

from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import pytest_asyncio

from tests.support.clocks import VirtualLoop
from tests.support.kits import World


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Time jumps: no test of the folder waits."""
    return {"virtual": VirtualLoop}


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    """An installation in memory."""
    one = World()
    yield one
    await one.close()
