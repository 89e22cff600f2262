"""The only place that joins ports to adapters: from settings to a kit.

Must not decide anything. Timeouts, sizes and modes that the core leaves open are written out here, even where they equal a default.
"""

from collections.abc import Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from collections.abc import AsyncIterator

from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.domain import limits
from tickwright.ports.telemetry import Telemetry
from tickwright.services.kit import Kit


@asynccontextmanager
async def embedded_kit(
    path: Path | None,
    telemetry: Telemetry,
    *,
    scale: float = 1.0,
    buckets: int = 16,
) -> AsyncIterator[Kit]:
    """A kit on one SQLite file, or on memory alone if `path` is None. Raises StoreUnusable if the file cannot be a store."""
    from tickwright.adapters.embedded.database import Database
    from tickwright.adapters.embedded.queue import EmbeddedQueue
    from tickwright.adapters.embedded.store import EmbeddedStore

    database = Database.in_memory() if path is None else Database.open(path)
    clock = SystemClock()
    try:
        yield Kit(
            store=EmbeddedStore(database),
            queue=EmbeddedQueue(database, clock),
            clock=clock,
            entropy=SystemEntropy(),
            telemetry=telemetry,
            durations=limits.STANDARD if scale == 1.0 else limits.STANDARD.scaled(scale),
            buckets=buckets,
        )
    finally:
        await database.close()
