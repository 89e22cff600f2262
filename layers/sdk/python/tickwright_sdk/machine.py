"""The clock and the chance of this machine: the one place of the SDK that asks for either.

Must not know what they are used for. A test puts a clock of its own in their place.
"""

import secrets
import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now_ms(self) -> int:
        """UTC milliseconds since the epoch; may jump when the machine's clock is set."""
        ...

    def monotonic_ms(self) -> int:
        """Milliseconds that only grow, from an unknown beginning; leases are measured with these."""
        ...


class MachineClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """UTC milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Milliseconds that only grow."""
        return time.monotonic_ns() // 1_000_000


def token() -> str:
    """A name that nobody else has."""
    return secrets.token_hex(16)


def fraction() -> float:
    """Evenly drawn from [0, 1)."""
    return secrets.randbits(52) / (1 << 52)
