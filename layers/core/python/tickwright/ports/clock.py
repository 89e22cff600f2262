"""Where time comes from."""

from typing import Protocol

from tickwright.domain.instants import Instant


class Clock(Protocol):
    """Wall time to compare with stored instants, monotonic time to measure durations, and waiting."""

    def now(self) -> Instant:
        """The wall clock, in UTC milliseconds. May step; two machines' differ by up to 2E."""
        ...

    def monotonic_ms(self) -> int:
        """A clock that only goes forward, for durations within this process."""
        ...

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait at least that long, on the monotonic clock; zero and less only gives way to others."""
        ...

    async def sleep_until(self, instant: Instant) -> None:
        """Wait until the wall clock has reached the instant; never returns before."""
        ...
