"""Services run in virtual time, on an installation in memory."""

from tests.support.virtual_time import pytest_asyncio_loop_factories, world

__all__ = ["pytest_asyncio_loop_factories", "world"]
