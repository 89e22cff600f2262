"""Chance that is counted: the n-th draw of a stream depends on seed, stream and n alone.

So a plan with one fault or one job less draws everything else as before, and shrinking works. Must not know what is
drawn for.
"""

from dataclasses import dataclass, field
from hashlib import blake2b

_MASK = (1 << 64) - 1
_TOP = float(1 << 53)


def key_of(seed: int, stream: str) -> int:
    """The key of a stream."""
    return int.from_bytes(blake2b(f"{seed}/{stream}".encode(), digest_size=8).digest(), "big")


def fraction_at(key: int, index: int) -> float:
    """The draw of this number, in [0, 1): a 64-bit mix of the key and the number."""
    mixed = (key + index * 0x9E3779B97F4A7C15) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((mixed ^ (mixed >> 31)) >> 11) / _TOP


@dataclass(slots=True)
class Stream:
    """The draws of one stream, one after the other."""

    key: int
    index: int = field(default=0)

    @staticmethod
    def of(seed: int, stream: str) -> "Stream":
        """A stream by its name."""
        return Stream(key_of(seed, stream))

    def fraction(self) -> float:
        """The next, in [0, 1)."""
        self.index += 1
        return fraction_at(self.key, self.index)

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + int(self.fraction() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return self.fraction() < probability

    def spread(self, low: int, high: int) -> int:
        """A whole number whose magnitude is drawn evenly: small ones as often as large ones."""
        return min(high, int(low * (high / low) ** self.fraction() + 0.5))
