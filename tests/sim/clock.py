"""A simulated process's clock: true time plus what this machine's clock is off, which may jump.

Waiting is on the virtual loop.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.sim.process import Process
from tickwright.domain.instants import Instant


@dataclass(slots=True)
class SimClock:
    """The clock of one process."""

    now_ms: Callable[[], int]
    process: Process | None = None
    off_ms: int = 0
    past_ms: list[int] = field(default_factory=list)  # what it was off before each jump

    def now(self) -> Instant:
        """The wall clock; it may have gone back since it was read last."""
        return Instant(self.now_ms() + self.off_ms)

    def jump(self, by_ms: int, *, error_ms: int) -> bool:
        """Set the wall clock on or back, but not further off than this; whether it moved at all."""
        off_ms = max(-error_ms, min(error_ms, self.off_ms + by_ms))
        if off_ms == self.off_ms:
            return False
        self.past_ms.append(self.off_ms)
        self.off_ms = off_ms
        return True

    def offsets_ms(self) -> list[int]:
        """All that it ever was off."""
        return [*self.past_ms, self.off_ms]

    def monotonic_ms(self) -> int:
        """Only forward."""
        return self.now_ms()

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait; a process that stands still does not wake."""
        await asyncio.sleep(max(0, duration_ms) / 1_000)
        if self.process is not None:
            await self.process.gate()

    async def sleep_until(self, instant: Instant) -> None:
        """Wait until the wall clock shows the instant."""
        while (left_ms := instant - self.now()) > 0:
            await self.sleep_ms(left_ms)


@dataclass(slots=True)
class SimEntropy:
    """Tokens of one process, never the same in two, and fractions from a stream of its own."""

    first: int
    fraction_of: Callable[[], float]
    token_of: Callable[[int], str]
    given: int = 0

    def token(self) -> str:
        """The next."""
        self.given += 1
        return self.token_of(self.first + self.given)

    def fraction(self) -> float:
        """The next."""
        return self.fraction_of()
