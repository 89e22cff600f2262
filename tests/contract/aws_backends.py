"""The stores and queues of AWS, each on an engine: moto in this process, DynamoDB Local and ministack.

Tables and queues come from the synthesised templates. An engine that serves a whole run keeps its tables, emptied for
each test; its queues are new for each test, since hints that are hidden cannot be emptied.
"""

import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from tests.contract.aws_stores import Ground, ground, new_tables
from tests.contract.places import Backend, Place
from tests.support.emulators import Emulator
from tests.support.tables import arn_of, create_queues
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.adapters.sqs.queue import QueueUrls, SqsQueue
from tickwright.adapters.sqs.tenant_queues import TenantQueues
from tickwright.domain.lanes import LANES
from tickwright.ports.queue import Queue
from tickwright.ports.store import Store

_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables that any number of stores share."""

    ground: Ground
    partiql: bool

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Store]:
        """Another store, on the same client: clients are made for many threads."""
        store = self.ground.store(partiql=self.partiql)
        try:
            yield store
        finally:
            store.close()


@dataclass(frozen=True, slots=True)
class Queues:
    """Queues that any number of readers share."""

    client: Any
    urls: QueueUrls

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Queue]:
        """Another reader, on the same client."""
        queue = SqsQueue(self.client, self.urls, clock=SystemClock(), entropy=SystemEntropy())
        try:
            yield queue
        finally:
            queue.close()


@contextmanager
def _moto_tables(request: pytest.FixtureRequest) -> Iterator[Place[Store]]:
    request.getfixturevalue("moto")
    with ground(None) as made:
        yield Tables(made, partiql=False)


@contextmanager
def _engine_tables(request: pytest.FixtureRequest, engine: str) -> Iterator[Place[Store]]:
    emulator: Emulator = request.getfixturevalue(engine)
    made = _kept_tables(emulator.endpoint)
    made.empty()
    yield Tables(made, partiql=True)


@cache
def _kept_tables(endpoint: str) -> Ground:
    return new_tables(endpoint)


@contextmanager
def _moto_queues(request: pytest.FixtureRequest) -> Iterator[Place[Queue]]:
    from tests.contract.aws_moto_queues import atomic_queues  # noqa: PLC0415 - moto takes a second to load

    request.getfixturevalue("moto")
    with atomic_queues():
        yield _new_queues(None)


@contextmanager
def _ministack_queues(request: pytest.FixtureRequest) -> Iterator[Place[Queue]]:
    emulator: Emulator = request.getfixturevalue("ministack")
    made = _new_queues(emulator.endpoint)
    yield made
    assert made.urls.tenants is not None
    for url in made.client.list_queues(QueueNamePrefix=made.urls.tenants.prefix.removesuffix("pool"))["QueueUrls"]:
        made.client.delete_queue(QueueUrl=url)


def _new_queues(endpoint: str | None) -> Queues:
    from tests.support.emulators.clients import aws_client  # noqa: PLC0415 - a second to load

    client = aws_client("sqs", endpoint)
    prefix = f"aws-{next(_NUMBERS)}-"
    urls = create_queues(client, prefix=prefix)
    return Queues(
        client,
        QueueUrls(
            ready={lane: urls[lane.value] for lane in LANES},
            undelivered={lane: urls[f"{lane.value}-undelivered"] for lane in LANES},
            fleet={lane: urls[f"fargate-{lane.value}"] for lane in LANES},
            dead=urls["dead"],
            tenants=TenantQueues(prefix=f"{prefix}pool", undelivered_arn=arn_of(client, urls["pools-undelivered"])),
        ),
    )


STORES: list[Backend[Store]] = [
    Backend("moto", _moto_tables),
    Backend("dynamodb_local", lambda request: _engine_tables(request, "dynamodb_local")),
    Backend("ministack", lambda request: _engine_tables(request, "ministack")),
]
QUEUES: list[Backend[Queue]] = [Backend("moto", _moto_queues), Backend("ministack", _ministack_queues)]
