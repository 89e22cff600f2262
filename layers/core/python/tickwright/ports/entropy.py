"""Where chance comes from."""

from typing import Protocol


class Entropy(Protocol):
    """Identity and jitter."""

    def token(self) -> str:
        """128 random bits as 26 characters of a-z2-7: ids, claim tokens, rvns.

        Never the same twice, also across processes.
        """
        ...

    def fraction(self) -> float:
        """Evenly drawn from [0, 1): jitter."""
        ...
