"""A kit on one SQLite file, for one machine."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.embedded.database import Database
from tickwright.adapters.embedded.faults import StoreUnusable
from tickwright.adapters.embedded.queue import EmbeddedQueue
from tickwright.adapters.embedded.store import EmbeddedStore
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.adapters.targets.http import HttpRunner, SecretsOf, unsigned
from tickwright.adapters.targets.python import PythonRunner
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain import limits
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import FARGATE
from tickwright.ports.runner import Able, Runner
from tickwright.ports.telemetry import Telemetry
from tickwright.services.kit import Kit, NotedBase
from tickwright_sdk.handlers import Registry
from tickwright_sdk.hands import Hands

__all__ = ["EmbeddedKit", "StoreUnusable", "able_hands", "embedded_kit", "hands_for", "local_runners"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedKit(Kit):
    """A kit on one SQLite file, which needs a broom."""

    embedded: EmbeddedStore
    messages: EmbeddedQueue

    async def sweep(self) -> int:
        """Remove some of the rows and messages whose time to live is over; how many."""
        now = self.clock.now()
        return await self.embedded.sweep(now) + await self.messages.sweep(now)


@asynccontextmanager
async def embedded_kit(
    path: Path | None,
    telemetry: Telemetry | None = None,
    *,
    scale: float = 1.0,
    buckets: int = 16,
    era: Era = FIRST_ERA,
) -> AsyncIterator[EmbeddedKit]:
    """A kit on one SQLite file, or on memory alone if `path` is None.

    Without `telemetry` nobody hears what happens. Raises StoreUnusable if the file cannot be a store.
    """
    database = Database.in_memory() if path is None else Database.open(path)
    clock = SystemClock()
    store, queue = EmbeddedStore(database), EmbeddedQueue(database, clock)
    try:
        yield EmbeddedKit(
            store=store,
            embedded=store,
            queue=queue,
            messages=queue,
            clock=clock,
            entropy=SystemEntropy(),
            telemetry=telemetry or MemoryTelemetry(),
            durations=limits.STANDARD if scale == 1.0 else limits.STANDARD.scaled(scale),
            buckets=buckets,
            era=era,
            noted=NotedBase(),
        )
    finally:
        await database.close()


def local_runners(
    registry: Registry, *, secrets_of: SecretsOf = unsigned, threads: int = 64, hands: Hands | None = None
) -> Mapping[str, Runner]:
    """What runs targets on one machine. Private addresses are allowed, since its user is its owner.

    `threads`: as many as the worker has places in all its lanes, or slow runs of one lane hold up those of another.
    `hands` call the handlers, if they are not to be the runner's own.
    """
    return {
        "python": PythonRunner(registry, hands=hands, threads=threads),
        "http": HttpRunner(allow_private=True, secrets_of=secrets_of, places=threads),
    }


def hands_for(places: Mapping[Lane, int]) -> Hands:
    """A thread for every place of every lane, its own: code that never ends keeps those of its lane alone."""
    return Hands(threads=sum(places.values()), shares={lane.value: most for lane, most in places.items()})


def able_hands(hands: Hands) -> Able:
    """How many of a lane's places can start anything. Handlers are called for the pool `fargate` alone."""
    return lambda pool, lane, most: hands.places_of(most, share=lane.value) if pool == FARGATE else most
