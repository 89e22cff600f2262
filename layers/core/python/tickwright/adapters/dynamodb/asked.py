"""A change on its way: with its request, its item's place, and what an answer makes of it.

Must not know in which form it is sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tickwright.adapters.dynamodb.judge import judged
from tickwright.adapters.dynamodb.reader import Reader
from tickwright.adapters.dynamodb.requests.catalogue import request_of
from tickwright.adapters.dynamodb.requests.request import Request
from tickwright.adapters.dynamodb.tables import Table
from tickwright.adapters.dynamodb.wire import Item
from tickwright.ports.store import AnyChange, Applied, Outcome

Place = tuple[Table, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A change and its request."""

    change: AnyChange
    request: Request

    @property
    def place(self) -> Place:
        """Which item: no batch and no transaction may name one twice."""
        return self.request.table, tuple(value["S"] for value in self.request.key.values())

    def applied(self, new: Item | None) -> Outcome[Any] | None:
        """The write won; None if the item is neither in the answer nor given whole."""
        item = self.request.put or new
        return None if item is None else Applied(self.request.read(item))

    def judged(self, old: Item | None) -> Outcome[Any]:
        """The write was refused by this item, or by there being none."""
        return judged(self.change, self.request, old)

    def entity(self, item: Item | None) -> Any:  # noqa: ANN401 - items of any kind
        """What an item holds."""
        return None if item is None else self.request.read(item)


def asked_of(changes: Sequence[AnyChange]) -> list[Asked]:
    """The changes with their requests; each of another item."""
    asked = [Asked(change, request_of(change)) for change in changes]
    assert len({one.place for one in asked}) == len(asked), "an item twice"
    return asked


async def items_of(reader: Reader, asked: Sequence[Asked]) -> dict[Place, Item]:
    """The items of these changes, strongly read, by their places."""
    found: dict[Place, Item] = {}
    for table in Table:
        wanted = [one for one in asked if one.request.table is table]
        if not wanted:
            continue
        names = tuple(wanted[0].request.key)
        for item in await reader.get_many(table, [one.request.key for one in wanted]):
            found[table, tuple(item[name]["S"] for name in names)] = item
    return found
