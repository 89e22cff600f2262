"""A simulated process: every call that it makes of a port travels, is applied, and is answered, or not.

Between any two of these moments the process may die, stand still or be cut off. A dead process never comes back from a
call: its coroutines stay where they are. Must not know what is called.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tests.chaos.history import Stall
from tests.sim.draws import Stream
from tests.sim.plan import Fault, Kind, Outage
from tickwright.ports.faults import Unavailable

AnswerT = TypeVar("AnswerT")
_FOREVER_MS = 1 << 50


@dataclass(slots=True)
class Slot:
    """A place that one process after another takes: its faults, by the number of the write at which they strike."""

    name: str
    faults: Mapping[int, Fault]
    writes: int = 0
    throttled_until_ms: int = 0
    lives: int = 0


@dataclass(slots=True)
class Network:
    """What all processes share: true time, how long a message travels, and when the store answers nobody."""

    now_ms: Callable[[], int]
    latency_ms: int
    outages: tuple[Outage, ...]
    start_ms: int
    healed: bool = False
    stalls: list[Stall] = field(default_factory=list)
    struck: dict[Kind, int] = field(default_factory=dict)

    def is_down(self) -> bool:
        """Whether the store answers nobody now."""
        at = self.now_ms() - self.start_ms
        return not self.healed and any(one.at_ms <= at < one.at_ms + one.ms for one in self.outages)


@dataclass(slots=True)
class Process:
    """One life of a slot. `member` is fresh for each life."""

    network: Network
    slot: Slot
    member: str
    draws: Stream
    on_death: Callable[["Process", int], None]
    on_silence: Callable[["Process"], None]
    is_dead: bool = False
    still_until_ms: int = 0

    async def call(self, do: Callable[[], AnswerT], fault: type[Unavailable], *, writes: bool = False) -> AnswerT:
        """One call of a port: there, applied, and back."""
        await self._travel()
        if writes:
            answer = await self._applied(do, fault)
            await self._travel()
            return answer
        if self.network.is_down():
            raise fault("the store does not answer")
        answer = do()
        await self.gate()
        return answer

    async def call_each(
        self, each: Sequence[Callable[[], AnswerT]], fault: type[Unavailable]
    ) -> list[AnswerT | Unavailable]:
        """One message with several writes, each applied or not on its own."""
        await self._travel()
        answers: list[AnswerT | Unavailable] = []
        for do in each:
            try:
                answers.append(await self._applied(do, fault))
            except Unavailable as unknown:
                answers.append(unknown)
        await self._travel()
        return answers

    async def _applied(self, do: Callable[[], AnswerT], fault: type[Unavailable]) -> AnswerT:
        blow = self._blow()
        if blow is not None:
            return await self._struck(blow, do, fault)
        if self.network.is_down() or self._is_throttled():
            raise fault("the store does not answer")
        return do()

    async def gate(self) -> None:
        """Wait while the process stands still; for ever once it is dead."""
        while True:
            if self.is_dead:
                await asyncio.get_running_loop().create_future()
            left_ms = self.still_until_ms - self.network.now_ms()
            if left_ms <= 0:
                return
            await asyncio.sleep(left_ms / 1_000)

    async def _travel(self) -> None:
        base = self.network.latency_ms
        if not base:
            await asyncio.sleep(0)
            await self.gate()
            return
        await asyncio.sleep((base // 2 + int(base * self.draws.fraction() ** 3 * 4)) / 1_000)
        await self.gate()

    def _blow(self) -> Fault | None:
        self.slot.writes += 1
        blow = None if self.network.healed else self.slot.faults.get(self.slot.writes)
        if blow is not None:
            self.network.struck[blow.kind] = self.network.struck.get(blow.kind, 0) + 1
        return blow

    def _is_throttled(self) -> bool:
        return not self.network.healed and self.network.now_ms() < self.slot.throttled_until_ms

    async def _struck(self, blow: Fault, do: Callable[[], AnswerT], fault: type[Unavailable]) -> AnswerT:
        now = self.network.now_ms()
        self.on_silence(self)
        match blow.kind:
            case Kind.CRASH_BEFORE:
                self.die(blow.ms)
            case Kind.CRASH_AFTER:
                do()
                self.die(blow.ms)
            case Kind.LOST_BEFORE:
                raise fault("not applied")
            case Kind.LOST_AFTER:
                do()
                raise fault("applied, and the reply was lost")
            case Kind.THROTTLED:
                self._stalled(now + blow.ms)
                self.slot.throttled_until_ms = now + blow.ms
                raise fault("throttled")
            case Kind.HELD:
                self._stalled(now + blow.ms, holds_on=True)
                await asyncio.sleep(blow.ms / 1_000)
                await self.gate()
            case Kind.PAUSE:
                answer = do()
                self.still_until_ms = now + blow.ms
                self._stalled(self.still_until_ms)
                await self.gate()
                return answer
        await self.gate()
        return do()

    def _stalled(self, until_ms: int, *, holds_on: bool = False) -> None:
        from_ms = self.network.now_ms()
        self.network.stalls.append(Stall(member=self.member, from_ms=from_ms, until_ms=until_ms, holds_on=holds_on))

    def die(self, away_ms: int) -> None:
        """Never again; somebody takes the slot after a while."""
        self.is_dead = True
        self.on_death(self, away_ms)
