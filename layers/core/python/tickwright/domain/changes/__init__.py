"""Every conditional write of the protocol, as a value: what must be true of the stored item, and what it becomes.

`decide(old)` is the meaning: the new item, or None where the condition refuses. The embedded store carries it out as
it stands, inside one transaction; the DynamoDB store has its literal twin in expressions.py, and the contract suite
holds the two equal. `mine(old)` tells a lost race from a lost reply: whether the item shows that this very write has
already won.
"""

from typing import Protocol, TypeVar

ItemT = TypeVar("ItemT")


class Change(Protocol[ItemT]):
    """One conditional write of one item."""

    def decide(self, old: ItemT | None) -> ItemT | None:
        """What the item becomes, or None if the condition does not hold."""
        ...

    def mine(self, old: ItemT) -> bool:
        """Whether the item shows that this very change has been applied before."""
        ...
