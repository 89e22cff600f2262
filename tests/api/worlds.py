"""A kit in another world: at a later time, or with a store that does not answer."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import cast

from tickwright.domain.instants import Instant
from tickwright.ports.clock import Clock
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.store import Store
from tickwright.services.kit import Kit

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class _Later:
    clock: Clock
    by_ms: int

    def now(self) -> Instant:
        return Instant(self.clock.now() + self.by_ms)

    def monotonic_ms(self) -> int:
        return self.clock.monotonic_ms() + self.by_ms

    async def sleep_ms(self, duration_ms: int) -> None:
        await self.clock.sleep_ms(duration_ms)

    async def sleep_until(self, instant: Instant) -> None:
        await self.clock.sleep_until(Instant(instant - self.by_ms))


def later_by(kit: Kit, by_ms: int) -> Kit:
    """The same kit on a clock that is ahead."""
    return replace(kit, clock=_Later(kit.clock, by_ms))


class _Answering:
    """A store whose every method does one thing."""

    def __init__(self, answer: Callable[[], Awaitable[object]]) -> None:
        self._answer = answer

    def __getattr__(self, _name: str) -> Callable[..., Awaitable[object]]:
        return lambda *_arguments, **_named: self._answer()


def with_a_store_that(kit: Kit, raises: BaseException) -> Kit:
    """The same kit with a store that only raises."""

    async def fail() -> object:
        raise raises

    return replace(kit, store=cast("Store", _Answering(fail)))


def without_a_store(kit: Kit) -> Kit:
    """The same kit with a store that does not answer."""
    return with_a_store_that(kit, StoreUnavailable("throttled"))
