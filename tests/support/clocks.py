"""Time and chance that a test owns: an event loop whose time jumps, a clock that can be set, tokens that count.

On a VirtualLoop a sleep of an hour takes no time, and waiting for what can never happen is an error instead of a hang.
Must not read the machine's clock.
"""

import asyncio
import math
import selectors
from collections.abc import Sequence
from itertools import count, cycle

from tests.support.builders import TICK, an_id
from tickwright.domain.instants import Instant

NOON = Instant(TICK + 12 * 3_600_000)  # 2026-12-01T12:00:00.000Z


class NothingWillEverHappenError(RuntimeError):
    """Every coroutine waits for something, and no timer is set: on a real clock the test would hang."""


class _Jumping(selectors.SelectSelector):
    """Instead of waiting, moves the time on by what would have been waited."""

    def __init__(self) -> None:
        super().__init__()
        self.now_us = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise NothingWillEverHappenError
        self.now_us += math.ceil(timeout * 1_000_000)
        return ready


class _Alone(_Jumping):
    """For a loop that nothing from outside may wake: the machine is not even asked."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise NothingWillEverHappenError
        if timeout > 0:
            self.now_us += math.ceil(timeout * 1_000_000)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits: when all coroutines sleep, time jumps to the first that wakes.

    `alone`: no thread and no socket belongs to it, which makes it faster.
    """

    def __init__(self, *, alone: bool = False) -> None:
        """Begin at zero."""
        self._jumping = _Alone() if alone else _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._jumping.now_us / 1_000_000

    @property
    def now_ms(self) -> int:
        """Whole milliseconds since the loop was made."""
        return self._jumping.now_us // 1_000


class ManualClock:
    """A clock that stands until a test moves it, or until somebody sleeps on a VirtualLoop."""

    def __init__(self, now: Instant = NOON, *, skew_ms: int = 0) -> None:
        """Begin at an instant."""
        self._wall_ms = now + skew_ms
        self._monotonic_ms = 1_000_000

    def now(self) -> Instant:
        """The wall clock."""
        return Instant(self._wall_ms + _slept_ms())

    def monotonic_ms(self) -> int:
        """Goes on by `advance` and by sleeping, never by `set`."""
        return self._monotonic_ms + _slept_ms()

    def advance(self, duration_ms: int) -> None:
        """Let time pass for everybody who looks at this clock; timers of the loop do not notice."""
        assert duration_ms >= 0
        self._wall_ms += duration_ms
        self._monotonic_ms += duration_ms

    def advance_to(self, instant: Instant) -> None:
        """Let time pass until an instant, if it is still to come."""
        self.advance(max(0, instant - self.now()))

    def set(self, instant: Instant) -> None:
        """Step the wall clock, forwards or backwards; the monotonic one does not move."""
        self._wall_ms += instant - self.now()

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait on a VirtualLoop; without a loop, time simply passes."""
        if _loop() is None:
            self.advance(max(0, duration_ms))
        else:
            await asyncio.sleep(max(0, duration_ms) / 1_000)  # noqa: TID251 - this is the clock port

    async def sleep_until(self, instant: Instant) -> None:
        """Wait until the wall clock shows the instant."""
        while (left_ms := instant - self.now()) > 0:
            await self.sleep_ms(left_ms)


def _loop() -> VirtualLoop | None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    assert isinstance(loop, VirtualLoop), "a ManualClock is for a VirtualLoop, or for no loop at all"
    return loop


def _slept_ms() -> int:
    loop = _loop()
    return 0 if loop is None else loop.now_ms


class SkewedClock:
    """Another machine's clock: as far from the first as the test says, on the wall only."""

    def __init__(self, clock: ManualClock, skew_ms: int) -> None:
        """Follow a clock at a distance."""
        self._clock = clock
        self._skew_ms = skew_ms

    def now(self) -> Instant:
        """The wall clock of the other machine."""
        return Instant(self._clock.now() + self._skew_ms)

    def monotonic_ms(self) -> int:
        """Durations are the same everywhere."""
        return self._clock.monotonic_ms()

    async def sleep_ms(self, duration_ms: int) -> None:
        """Durations are the same everywhere."""
        await self._clock.sleep_ms(duration_ms)

    async def sleep_until(self, instant: Instant) -> None:
        """Until this machine's clock shows the instant."""
        await self._clock.sleep_until(Instant(instant - self._skew_ms))


class CountingEntropy:
    """Tokens that count up from `first`, and fractions in a fixed round: the same in every run of a test."""

    def __init__(self, first: int = 1, fractions: Sequence[float] = (0.5, 0.0, 0.999, 0.25)) -> None:
        """Begin the count; give two processes of one test counts that never meet."""
        self._numbers = count(first)
        self._fractions = cycle(fractions)

    def token(self) -> str:
        """The next number as 26 characters of a-z2-7."""
        return an_id(next(self._numbers))

    def fraction(self) -> float:
        """The next of the round."""
        return next(self._fractions)
