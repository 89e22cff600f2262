"""How an item becomes JSON and comes back exactly as it was.

The domain's own `__post_init__` runs on the way out: a stored item that breaks a promise is noticed where it is read.
Must not know tables. Promise: SEM-STORE-6.
"""

from typing import Generic, TypeVar

from pydantic import TypeAdapter

ItemT = TypeVar("ItemT")


class Codec(Generic[ItemT]):
    """Both directions for one type. `sparse` leaves out what is None: not for free mappings, where null counts."""

    __slots__ = ("_adapter", "_sparse")

    def __init__(self, kind: type[ItemT], *, sparse: bool = False) -> None:
        """Compile the type once."""
        self._adapter: TypeAdapter[ItemT] = TypeAdapter(kind)
        self._sparse = sparse

    def dump(self, item: ItemT) -> str:
        """The stored text."""
        return self._adapter.dump_json(item, exclude_none=self._sparse).decode()

    def load(self, text: str) -> ItemT:
        """The item, or ValueError."""
        return self._adapter.validate_json(text)
