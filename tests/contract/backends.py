"""Which stores and queues the contract suites are run against, by name.

Those of AWS are in aws_backends.py, as two lists of the same names.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar

import pytest
from _pytest.mark import ParameterSet

from tests.contract.places import Backend, Capability, Place
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.embedded import Database, EmbeddedQueue, EmbeddedStore, Synchronous
from tickwright.ports.queue import Queue
from tickwright.ports.store import Store

PortT = TypeVar("PortT")
# What a suite writes is gone with it, so it may lie in memory where the machine has a file system there.
SCRATCH = next((folder for folder in ("/dev/shm",) if os.access(folder, os.W_OK)), None)  # noqa: S108 - names are fresh
Opens = Callable[[Database], PortT]


@dataclass(frozen=True, slots=True)
class InAFile(Generic[PortT]):
    """A file: whoever opens it has a connection and a thread of its own."""

    path: Path
    port: Opens[PortT]

    @asynccontextmanager
    async def open(self) -> AsyncIterator[PortT]:
        """Without an fsync a commit: what a loss of power takes is not what these suites are about."""
        database = Database.open(self.path, synchronous=Synchronous.NORMAL)
        try:
            yield self.port(database)
        finally:
            await database.close()


@dataclass(frozen=True, slots=True)
class InMemory(Generic[PortT]):
    """A memory that all who open it share."""

    database: Database
    port: Opens[PortT]

    @asynccontextmanager
    async def open(self) -> AsyncIterator[PortT]:
        """Another object on the same memory."""
        yield self.port(self.database)


def _a_store(database: Database) -> Store:
    return EmbeddedStore(database)


def _a_queue(database: Database) -> Queue:
    return EmbeddedQueue(database, SystemClock())


def _in_a_file(port: Opens[PortT]) -> Backend[PortT]:
    @contextmanager
    def place(_request: pytest.FixtureRequest) -> Iterator[Place[PortT]]:
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            yield InAFile(Path(folder) / "tickwright.db", port)

    return Backend("embedded_file", place, frozenset(Capability))


def _in_memory(port: Opens[PortT]) -> Backend[PortT]:
    @contextmanager
    def place(_request: pytest.FixtureRequest) -> Iterator[Place[PortT]]:
        database = Database.in_memory()
        yield InMemory(database, port)
        asyncio.run(database.close())

    return Backend("embedded_memory", place, frozenset(Capability))


stores: list[Backend[Store]] = [_in_a_file(_a_store), _in_memory(_a_store)]
queues: list[Backend[Queue]] = [_in_a_file(_a_queue), _in_memory(_a_queue)]
if find_spec("tests.contract.aws_backends") is not None:
    aws_backends = import_module("tests.contract.aws_backends")
    stores += aws_backends.STORES
    queues += aws_backends.QUEUES

STORES = {backend.name: backend for backend in stores}
QUEUES = {backend.name: backend for backend in queues}


# Without a server and without minutes: the part of the suites that `make check` runs.
FAST = frozenset({"embedded_file", "embedded_memory"})


def names(backends: Iterable[str]) -> list[ParameterSet]:
    """A parameter for each backend."""
    return [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in backends]


def place_of(backend: Backend[PortT], request: pytest.FixtureRequest) -> AbstractContextManager[Place[PortT]]:
    """A fresh place; a test marked `needs(capability, ...)` is skipped, loudly, where the backend cannot do it."""
    for marker in request.node.iter_markers("needs"):
        for capability in marker.args:
            if capability not in backend.capabilities:
                pytest.skip(f"{backend.name} cannot do this: {capability.value}")
    return backend.place(request)
