"""Engines as fixtures: one of each a test session, started by the first test that asks for it.

A plugin of tests/conftest.py. Under xdist the tests that name an engine among their parameters go to one worker
(sharing.py), so that one engine serves the whole run.
"""

from collections.abc import Iterator

import pytest

from tests.support.emulators.engines import start_dynamodb_local, start_ministack, start_redis
from tests.support.emulators.installed import (
    give_up_on,
    missing_dynamodb_local,
    missing_ministack,
    redis_server_here,
)
from tests.support.emulators.server import Emulator


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[Emulator]:
    """DynamoDB Local; tables outlive a test, so each test names its own."""
    reason = missing_dynamodb_local()
    if reason is not None:
        give_up_on("DynamoDB Local", reason)
    emulator = start_dynamodb_local()
    yield emulator
    emulator.stop()


@pytest.fixture(scope="session")
def ministack() -> Iterator[Emulator]:
    """ministack; tables and queues outlive a test, so each test names its own."""
    reason = missing_ministack()
    if reason is not None:
        give_up_on("ministack", reason)
    emulator = start_ministack()
    yield emulator
    emulator.stop()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Emulator]:
    """A Valkey or a Redis; what is kept outlives a test, so each test has a prefix of its own."""
    found = redis_server_here()
    if found is None:
        give_up_on("Redis", "neither valkey-server nor redis-server is here: make setup-emulators (it needs apt-get)")
    emulator = start_redis(*found)
    yield emulator
    emulator.stop()


@pytest.fixture
def moto() -> Iterator[None]:
    """An empty AWS inside this process, for one test."""
    from tests.support.emulators.moto_lock import atomic_moto  # noqa: PLC0415 - most runs need no moto: a second saved

    with atomic_moto():
        yield
