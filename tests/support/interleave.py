"""Every interleaving of a few real operations: each call of a port is a point where another may go on.

The operations are the product's own coroutines, driven by hand. Two ways that lead to the same store and to the same
knowledge of every actor are one. Optionally an actor dies, at every point once. Must not know what is interleaved.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from sqlite3 import Connection
from typing import Any, TypeVar

from tests.support.clocks import CountingEntropy, ManualClock
from tests.support.faulty import Call
from tests.support.kits import World
from tickwright.adapters.embedded.database import Database
from tickwright.ports.faults import StoreUnavailable, Unavailable
from tickwright.services.kit import Kit

AnswerT = TypeVar("AnswerT")
_TABLES = ("heads", "definitions", "executions", "journal", "control", "messages", "dead_letters")
_TOKENS_OF_AN_ACTOR = 100_000


class _Turn:
    """Gives the turn back to whoever drives the coroutine."""

    def __await__(self) -> Generator[None, None, None]:
        yield


@dataclass(slots=True)
class _Gate:
    """Waits for a turn before each call, and remembers what the calls answered: all that its actor can know."""

    known: "blake2b" = field(default_factory=lambda: blake2b(digest_size=16))
    calls: list[str] = field(default_factory=list)

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Wait, then do it."""
        await _Turn()
        answer = await do()
        self.calls.append(call.name)
        self.known.update(f"{call.name}={answer!r};".encode())
        return answer


@dataclass(frozen=True, slots=True)
class Died:
    """An actor that died before it answered."""


@dataclass(slots=True)
class Actor:
    """One operation under way. What it notes stands in the order in which it happened, beside what the others note."""

    name: str
    kit: Kit
    world: World
    notes: list[tuple[str, object]]

    def note(self, what: str, about: object = None) -> None:
        """Something happened that a check asks for."""
        self.notes.append((what, about))


Operation = Callable[[Actor], Coroutine[Any, Any, object]]


@dataclass(slots=True)
class _Driven:
    actor: Actor
    gate: _Gate
    coroutine: Coroutine[Any, Any, object]
    answer: object = None
    is_over: bool = False

    def step(self) -> None:
        """Up to the next call of a port."""
        try:
            self.coroutine.send(None)
        except StopIteration as ended:
            self.is_over, self.answer = True, ended.value
            self.actor.note("answered", (self.actor.name, self.answer))
        except Unavailable as fault:
            self.is_over, self.answer = True, fault

    def die(self) -> None:
        """Never again."""
        self.coroutine.close()
        self.is_over, self.answer = True, Died()


@dataclass(frozen=True, slots=True)
class Ending:
    """A world in which all operations have ended, each with its answer; and the way there, for a failure to show."""

    world: World
    answers: Sequence[object]
    notes: Sequence[tuple[str, object]]
    way: str


@dataclass(slots=True)
class Explorer:
    """Explores from one image of a store. `deaths`: how many actors may die on the way; `watch`: judges every point."""

    image: bytes
    clock_at: int
    operations: Sequence[tuple[str, Operation]]
    deaths: int = 0
    watch: Callable[[World], Awaitable[None]] | None = None
    ways: int = 0
    orders: int = 0  # begun, each another order of the calls, and left where it met one that was known
    points: set[bytes] = field(default_factory=set)
    database: Database = field(default_factory=Database.in_memory)
    _open: list[tuple[int, ...]] = field(default_factory=lambda: [()])

    async def endings(self) -> AsyncIterator[Ending]:
        """Every different ending, each in a world that may be used up."""
        ends: set[bytes] = set()
        while self._open:
            going = await self._replayed(self._open.pop())
            while going.choices() and await self._is_new(going):
                await self._go_on(going)
            if not going.choices() and (end := await going.digest()) not in ends:
                ends.add(end)
                self.ways += 1
                yield going.ending()
        await self.database.close()

    async def _go_on(self, going: "_Going") -> None:
        first, *others = going.choices()
        self._open.extend((*going.way, other) for other in others)
        going.choose(first)

    async def _is_new(self, going: "_Going") -> bool:
        point = await going.digest()
        if point in self.points:
            return False
        self.points.add(point)
        if self.watch is not None:
            await self._watched(going, self.watch)
        return True

    async def _watched(self, going: "_Going", watch: Callable[[World], Awaitable[None]]) -> None:
        try:
            await watch(going.world)
        except AssertionError as wrong:
            wrong.add_note(going.ending().way)
            raise

    async def _replayed(self, way: tuple[int, ...]) -> "_Going":
        self.orders += 1
        await self.database.read(lambda connection: connection.deserialize(self.image), StoreUnavailable)
        world = World(
            clock=ManualClock(self.clock_at),  # type: ignore[arg-type]  # an instant of the scene
            entropy=CountingEntropy(_TOKENS_OF_AN_ACTOR - 50_000),
            database=self.database,
        )
        going = _Going.begun(world, self.operations, self.deaths)
        for choice in way:
            going.choose(choice)
        return going


@dataclass(slots=True)
class _Going:
    world: World
    driven: list[_Driven]
    notes: list[tuple[str, object]]
    deaths_left: int
    twins: bool  # all do the same: it does not matter who begins
    way: tuple[int, ...] = ()
    _rows: tuple[int, bytes] = (-1, b"")

    @classmethod
    def begun(cls, world: World, operations: Sequence[tuple[str, Operation]], deaths: int) -> "_Going":
        notes: list[tuple[str, object]] = []
        twins = len({operation for _, operation in operations}) == 1
        return cls(world, list(_driven(world, operations, notes)), notes, deaths, twins)

    def choices(self) -> list[int]:
        """Who may go on, by number; and who may die, by the complement of the number."""
        if not self.way and self.twins:
            return [0]
        alive = [number for number, one in enumerate(self.driven) if not one.is_over]
        mortal = [~number for number in alive if self.deaths_left and self.driven[number].gate.calls]
        return alive + mortal

    def choose(self, choice: int) -> None:
        if choice < 0:
            self.deaths_left -= 1
            self.driven[~choice].die()
        else:
            self.driven[choice].step()
        self.way += (choice,)

    async def digest(self) -> bytes:
        """All that decides what can still happen: the store, and what each actor knows."""
        self._rows = await self.world.database.read(
            lambda connection: _rows_of(connection, self._rows), StoreUnavailable
        )
        digest = blake2b(self._rows[1], digest_size=16)
        for one in self.driven:
            digest.update(one.gate.known.digest() + repr((one.is_over, one.answer)).encode())
        digest.update(bytes([self.deaths_left]))
        return digest.digest()

    def ending(self) -> Ending:
        names = [one.actor.name for one in self.driven]
        calls = [iter(one.gate.calls) for one in self.driven]
        way = [_said(choice, names, calls) for choice in self.way]
        return Ending(self.world, [one.answer for one in self.driven], self.notes, " > ".join(way))


def _rows_of(connection: Connection, known: tuple[int, bytes]) -> tuple[int, bytes]:
    """A digest of all that is stored, and after how many changes; what was not changed since is not read again."""
    if connection.total_changes == known[0]:
        return known
    rows = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in _TABLES]  # noqa: S608 - names of ours
    return connection.total_changes, blake2b(repr(rows).encode(), digest_size=16).digest()


def _said(choice: int, names: Sequence[str], calls: Sequence[Iterator[str]]) -> str:
    if choice < 0:
        return f"{names[~choice]} dies"
    return f"{names[choice]}.{next(calls[choice], 'end')}"


def _driven(
    world: World, operations: Sequence[tuple[str, Operation]], notes: list[tuple[str, object]]
) -> Iterator[_Driven]:
    for number, (name, operation) in enumerate(operations, start=1):
        gate = _Gate()
        kit = world.a_process(gate, entropy=CountingEntropy(number * _TOKENS_OF_AN_ACTOR))
        actor = Actor(name=name, kit=kit, world=world, notes=notes)
        driven = _Driven(actor=actor, gate=gate, coroutine=operation(actor))
        driven.step()  # up to its first call
        yield driven
