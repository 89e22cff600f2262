"""How often and after how long a call is tried again: full jitter, bounded in tries and in time.

Must not know what is called. After the bound a named fault of the port is raised: the outcome is not known, and whoever
asked decides when to ask again (SEM-STORE-2).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tickwright.adapters.aws.faults import CALL_ERRORS, passing_fault
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

    def __post_init__(self) -> None:
        """At least one try."""
        assert self.tries_max >= 1
        assert 0 < self.first_wait_ms <= self.wait_ms_max


@dataclass(frozen=True, slots=True, kw_only=True)
class Persistence:
    """Tries again what passes, and says at the end which fault of the port it was."""

    clock: Clock
    entropy: Entropy
    patience: Patience
    fault: type[Unavailable]

    async def persist(self, what: str, attempt: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """The answer of the first attempt that gets one."""
        give_up_at_ms = self.clock.monotonic_ms() + self.patience.total_ms_max
        for tried in range(1, self.patience.tries_max + 1):
            try:
                return await attempt()
            except (*CALL_ERRORS, TryAgain) as error:
                fault = str(error) if isinstance(error, TryAgain) else passing_fault(error)
                if fault is None:
                    raise
                if tried == self.patience.tries_max or self.clock.monotonic_ms() >= give_up_at_ms:
                    raise self.fault(f"{what}: {fault}, after {tried} tries") from error
            await self.clock.sleep_ms(self._wait_ms(tried))
        raise AssertionError("the last try either answers or raises")

    def _wait_ms(self, tried: int) -> int:
        most_ms = min(self.patience.first_wait_ms << (tried - 1), self.patience.wait_ms_max)
        return int(most_ms * self.entropy.fraction())
