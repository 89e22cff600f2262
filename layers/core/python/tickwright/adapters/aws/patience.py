"""How often and after how long a call is tried again: full jitter, bounded in tries and in time.

Must not know what is called. After the bound a named fault of the port is raised: the outcome is not known, and whoever
asked decides when to ask again. It says whether there was no answer, or one that put off: that is no silence
(SEM-STALE-1).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tickwright.adapters.aws.faults import CALL_ERRORS, is_put_off, passing_fault
from tickwright.domain import limits
from tickwright.ports.clock import Clock
from tickwright.ports.entropy import Entropy
from tickwright.ports.faults import Unavailable

AnswerT = TypeVar("AnswerT")


class TryAgain(Exception):  # noqa: N818 - an order, not an error
    """Said inside an attempt: the answer came, and it asks for another try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """The bounds. The waits are drawn evenly from nothing up to 25, 50, 100 ... 1,000 ms."""

    tries_max: int = 8
    first_wait_ms: int = 25
    wait_ms_max: int = 1_000
    total_ms_max: int = 10_000  # an API request has 28 s; a loop comes back by itself
    put_off_ms_max: int = 1_500  # by whoever answers 'not now': it is told before it could be taken for silence

    def __post_init__(self) -> None:
        """At least one try."""
        assert self.tries_max >= 1
        assert 0 < self.first_wait_ms <= self.wait_ms_max
        assert self.put_off_ms_max < limits.STORE_PATIENCE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Persistence:
    """Tries again what passes, and says at the end which fault of the port it was.

    `fault`: there was no answer. `busy`: the last one was 'not now'.
    """

    clock: Clock
    entropy: Entropy
    patience: Patience
    fault: type[Unavailable]
    busy: type[Unavailable]

    async def persist(self, what: str, attempt: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """The answer of the first attempt that gets one."""
        began_ms = self.clock.monotonic_ms()
        for tried in range(1, self.patience.tries_max + 1):
            try:
                return await attempt()
            except (*CALL_ERRORS, TryAgain) as error:
                told = str(error) if isinstance(error, TryAgain) else passing_fault(error)
                if told is None:
                    raise
                is_answer = isinstance(error, TryAgain) or is_put_off(error)
                wait_ms = self._wait_ms(tried) if self._goes_on(tried, began_ms) else None
                if wait_ms is None or (is_answer and self._is_put_off_long(began_ms, wait_ms)):
                    fault = self.busy if is_answer else self.fault
                    raise fault(f"{what}: {told}, after {tried} tries") from error
            await self.clock.sleep_ms(wait_ms)
        raise AssertionError("the last try either answers or raises")

    def _goes_on(self, tried: int, began_ms: int) -> bool:
        tried_for_ms = self.clock.monotonic_ms() - began_ms
        return tried < self.patience.tries_max and tried_for_ms < self.patience.total_ms_max

    def _is_put_off_long(self, began_ms: int, wait_ms: int) -> bool:
        return self.clock.monotonic_ms() - began_ms + wait_ms >= self.patience.put_off_ms_max

    def _wait_ms(self, tried: int) -> int:
        most_ms = min(self.patience.first_wait_ms << (tried - 1), self.patience.wait_ms_max)
        return int(most_ms * self.entropy.fraction())
