"""Two installations of one clock, each with a queue and workers of its own, on either store; one may be copied.

Must not hold a story.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tests.contract.aws_stores import Ground, ground
from tests.support.kits import World
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.dynamodb.tables import Table
from tickwright.adapters.embedded.database import Database
from tickwright.adapters.embedded.store import EmbeddedStore
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.executions import Execution
from tickwright.domain.ids import WorkerId
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.whole import Whole
from tickwright.services.claim import Claimed, Wanted, claim

_KEPT = ("heads", "definitions", "executions", "journal", "control")  # not what is in the queue


@dataclass(slots=True)
class Place:
    """One installation: a world whose clock, queue and workers it has, on whatever store."""

    world: World
    whole: Whole
    held: list[Execution] = field(default_factory=list)  # by workers that say nothing

    def begin_above(self, era: Era = FIRST_ERA) -> None:
        """From now on epochs are of the era after this one."""
        self.world.kit = replace(self.world.kit, era=Era(base=era.highest))

    async def rows(self) -> list[Execution]:
        """All executions."""
        page = await self.whole.every_execution_eventually(limit=1_000)
        assert page.next_key is None
        return sorted(page.items, key=lambda row: row.ref)

    async def play(self, seconds: int) -> None:
        """All loops and a worker, for so long."""
        kit = self.world.kit
        scheduler, watch = SchedulerLoop(kit, kit.entropy.token(), alone=True), WatchLoop(kit)
        for _ in range(seconds // 5):
            await scheduler.tick()
            while await self.world.work():
                pass
            await watch.look()
            self.world.clock.advance(5_000)

    async def look_ahead(self) -> None:
        """One step of a scheduler."""
        await SchedulerLoop(self.world.kit, self.world.kit.entropy.token(), alone=True).tick()

    async def hold(self, row: Execution) -> None:
        """A worker claims it, and is silent from then on."""
        wanted = Wanted(ref=row.ref, timeout_ms=300_000, epoch=row.lease_epoch)
        (answer,) = await claim(self.world.kit, [wanted], WorkerId(f"zombie-{len(self.held)}"))
        assert isinstance(answer, Claimed)
        self.held.append(answer.execution)

    async def waiting(self) -> list[Execution]:
        """What nobody has claimed."""
        return [row for row in await self.rows() if row.state is State.QUEUED]


@dataclass(frozen=True, slots=True)
class Installations:
    """`first` is there; `copied` puts what its tables hold into those of `second`; `stored` is all that a place has.

    `healed`: what `first` has written of executions comes over those of `second`, as whatever was written later.
    """

    first: Place
    second: Place
    copied: Callable[[], Awaitable[None]]
    healed: Callable[[], Awaitable[None]]
    stored: Callable[[Place], Awaitable[Mapping[str, list[Any]]]]


@asynccontextmanager
async def embedded() -> AsyncIterator[Installations]:
    """Two databases in memory."""
    worlds = _worlds()
    places = []
    for world in worlds:
        assert isinstance(world.kit.store, EmbeddedStore)
        places.append(Place(world, world.kit.store.whole()))

    async def copied() -> None:
        for table in _KEPT:
            await _fill(worlds[1].database, table, await _rows(worlds[0].database, table))

    async def healed() -> None:
        await _fill(worlds[1].database, "executions", await _rows(worlds[0].database, "executions"))

    async def stored(place: Place) -> Mapping[str, list[Any]]:
        return {table: await _rows(place.world.database, table) for table in _KEPT}

    yield Installations(places[0], places[1], copied, healed, stored)
    for world in worlds:
        await world.close()


async def _rows(database: Database, table: str) -> list[Any]:
    statement = f"SELECT * FROM {table}"  # noqa: S608 - a name of ours
    return await database.read(lambda connection: connection.execute(statement).fetchall(), StoreUnavailable)


async def _fill(database: Database, table: str, rows: list[Any]) -> None:
    for row in rows:
        put = f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})"  # noqa: S608 - a name of ours
        await database.write(
            partial(lambda connection, put, row: connection.execute(put, row), put=put, row=row), StoreUnavailable
        )


@asynccontextmanager
async def on_dynamodb(endpoint: str) -> AsyncIterator[Installations]:
    """Two sets of tables, and a queue in memory for each."""
    worlds = _worlds()
    with ground(endpoint) as first, ground(endpoint) as second:
        stores = [ground.store(clock=world.clock) for ground, world in zip((first, second), worlds, strict=True)]
        places = [_on(world, store) for world, store in zip(worlds, stores, strict=True)]

        async def over(*tables: Table) -> None:
            for table in tables:
                items = {str(number): item for number, item in enumerate(_items(first, table))}
                second.settle(second.tables.of(table), items, {})

        async def copied() -> None:
            await over(*Table)

        async def healed() -> None:
            await over(Table.EXECUTIONS)

        async def stored(place: Place) -> Mapping[str, list[Any]]:
            tables = first if place is places[0] else second
            return {table.value: _items(tables, table) for table in Table}

        yield Installations(places[0], places[1], copied, healed, stored)
        for world, store in zip(worlds, stores, strict=True):
            store.close()
            await world.close()


def _on(world: World, store: DynamoDbStore) -> Place:
    world.kit = replace(world.kit, store=store)
    return Place(world, store.whole())


def _items(tables: Ground, table: Table) -> list[Any]:
    found: list[Any] = tables.client.scan(TableName=tables.tables.of(table), ConsistentRead=True)["Items"]
    return found


def _worlds() -> list[World]:
    first = World()
    return [first, World(clock=first.clock, entropy=first.entropy)]
