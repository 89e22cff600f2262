"""The machine's clock."""

import asyncio
import time

from tickwright.domain.instants import Instant


class SystemClock:
    """Wall and monotonic time of this machine. The one place, with the entropy beside it, that reads them."""

    def now(self) -> Instant:
        """UTC milliseconds."""
        return Instant(time.time_ns() // 1_000_000)

    def monotonic_ms(self) -> int:
        """Milliseconds that only go forward."""
        return time.monotonic_ns() // 1_000_000

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait at least that long."""
        await asyncio.sleep(max(0, duration_ms) / 1_000)

    async def sleep_until(self, instant: Instant) -> None:
        """Wait until the wall clock has reached the instant: again and again, since a timer may wake early (B107)."""
        while (left_ms := instant - self.now()) > 0:  # noqa: ASYNC110 - nobody else knows when it is time
            await asyncio.sleep(left_ms / 1_000)
