"""What a run stands on: a store with its queues, how fast the protocol goes there, and how a process reaches it.

The embedded ground is one SQLite file; tests/chaos/aws_ground.py is the other. Must not know what the processes do.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from tests.chaos.aws_kit import aws_kit
from tests.chaos.history import Stall
from tests.chaos.probe import Probe
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.embedded import Database, EmbeddedQueue, EmbeddedStore
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.ids import ExecutionRef
from tickwright.domain.limits import STANDARD, Durations
from tickwright.ports.telemetry import Telemetry
from tickwright.services.kit import Kit
from tickwright.wiring.embedded import embedded_kit

BUSY_MS = 60_000  # the owners wait for the file longer than anybody may be frozen
_MANY = 1_000_000


class Kind(Enum):
    """Which store, as STORE= names it."""

    EMBEDDED = "embedded"
    AWS = "aws"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast the protocol goes on a ground, and how much there is to do."""

    durations: Durations
    buckets: int
    every_nth_job: int = 1
    writes_share: float = 1.0  # of the writes that a process makes on a file in the same time
    stop_s: float = 10.0  # how soon a process has ended after SIGTERM


_SCALE = 0.05
# A call to an engine takes a hundred times one to a file, and four milliseconds of a processor: the loops go four times
# slower, over half the buckets, and a third of the jobs is played. Leases of executions and the journal keep their
# pace, so that runs are lost and repaired as often as on the file.
PACES: Mapping[Kind, Pace] = {
    Kind.EMBEDDED: Pace(durations=STANDARD.scaled(_SCALE), buckets=8),
    Kind.AWS: Pace(
        durations=replace(
            STANDARD.scaled(_SCALE),
            tick_ms=200,
            lookahead_ms=1_000,
            bucket_lease_ms=2_000,
            bucket_renew_ms=600,
            watch_ms=1_000,
            missed_after_ms=6_000,
            undecided_ms=6_000,
        ),
        buckets=4,
        every_nth_job=3,
        writes_share=0.25,
        stop_s=30.0,  # what platforms leave before SIGKILL
    ),
}


class Watch(Protocol):
    """Looks after the ground during a run."""

    stalls: list[Stall]  # when the store could not be used by anybody
    busy_ms: int  # how long that has been so up to now
    purges: int  # how often the ready queues were emptied

    async def watch(self) -> None:
        """Until cancelled."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One store, as the processes, the owners and the judges reach it."""

    kind: Kind
    place: Mapping[str, Any]  # what a process needs to make a kit of its own
    owners: Kit  # faults befall it as they do the processes
    judges: Kit  # no fault befalls it
    watch: Watch
    letters: Callable[[], Awaitable[frozenset[ExecutionRef]]]

    @property
    def pace(self) -> Pace:
        """As its kind has it."""
        return PACES[self.kind]


@asynccontextmanager
async def embedded_ground(folder: Path) -> AsyncIterator[Ground]:
    """One SQLite file.

    The kit of the process that is never struck is as the product's, with more patience for a file that a frozen
    process holds.
    """
    path, pace = folder / "store.db", PACES[Kind.EMBEDDED]
    database = Database.open(path, busy_ms=BUSY_MS)
    clock = SystemClock()
    queue = EmbeddedQueue(database, clock)

    async def letters() -> frozenset[ExecutionRef]:
        return frozenset(letter.ref for letter in await queue.list_dead_letters(limit=_MANY))

    kit = Kit(
        store=EmbeddedStore(database),
        queue=queue,
        clock=clock,
        entropy=SystemEntropy(),
        telemetry=MemoryTelemetry(),
        durations=pace.durations,
        buckets=pace.buckets,
    )
    place = {"kind": Kind.EMBEDDED.value, "path": str(path)}
    try:
        yield Ground(kind=Kind.EMBEDDED, place=place, owners=kit, judges=kit, watch=Probe(path), letters=letters)
    finally:
        await database.close()


@asynccontextmanager
async def process_kit(place: Mapping[str, Any], telemetry: Telemetry, member: str) -> AsyncIterator[Kit]:
    """The kit of a process, wired as in the product. Raises StoreUnusable if the place cannot be opened for now."""
    pace = PACES[Kind(place["kind"])]
    if place["kind"] == Kind.EMBEDDED.value:
        async with embedded_kit(Path(place["path"]), telemetry, scale=_SCALE, buckets=pace.buckets) as kit:
            yield kit
        return
    with aws_kit(place, telemetry, member=member) as kit:
        yield replace(kit, durations=pace.durations, buckets=pace.buckets)
