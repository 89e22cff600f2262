"""What the store costs: capacity units by table and operation, as DynamoDB itself reports them.

Made for measuring, not for billing. A refused write reports nothing and is charged for its item, here one unit: the
items that are contended are under 1 KB. A query that finds nothing is charged as one that finds little; the local
engine says that it costs nothing, so the least that DynamoDB charges is counted here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

_READS: Final = frozenset({"get_item", "batch_get_item", "query"})
_REFUSED: Final = frozenset({"ConditionalCheckFailedException", "TransactionCanceledException"})


class CapacityMeter:
    """Sums what it is shown; give it to the store as its `meter`."""

    def __init__(self) -> None:
        self.units: Counter[tuple[str, str]] = Counter()
        self.requests: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    @property
    def write_units(self) -> float:
        """All that was written, refusals among it."""
        return self._sum(reads=False) + self.refused.total()

    @property
    def read_units(self) -> float:
        """All that was read."""
        return self._sum(reads=True)

    def _sum(self, *, reads: bool) -> float:
        return sum(units for (_, operation), units in self.units.items() if (operation in _READS) is reads)

    def __call__(self, operation: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Take one operation's answer."""
        assert "ReturnConsumedCapacity" in request
        self.requests[operation] += 1
        if answer.get("Error", {}).get("Code") in _REFUSED:
            self.refused[operation] += 1
        for consumed in _consumed(answer):
            least = _least(request) if operation == "query" else 0.0
            self.units[consumed["TableName"], operation] += max(least, consumed["CapacityUnits"])


def _least(request: Mapping[str, Any]) -> float:
    return 1.0 if request.get("ConsistentRead") else 0.5


def _consumed(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    consumed = answer.get("ConsumedCapacity", [])
    if isinstance(consumed, list):
        yield from consumed
    else:
        yield consumed
