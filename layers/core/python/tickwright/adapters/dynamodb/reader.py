"""How items are read: one, many, or a range; a failed read raises and is never an empty answer.

Must not know an entity. Promise: SEM-STORE-4.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from tickwright.adapters.aws.patience import TryAgain
from tickwright.adapters.dynamodb.engine import Engine
from tickwright.adapters.dynamodb.expressions.queries import Query
from tickwright.adapters.dynamodb.expressions.write import names_in
from tickwright.adapters.dynamodb.tables import Table
from tickwright.adapters.dynamodb.wire import Item

_KEYS_A_REQUEST: Final = 100  # BatchGetItem's limit
_PAGES_MAX: Final = 1_000  # of 1 MB each: a range that is longer is not one that anybody reads whole


class Reader:
    """Reads of the four tables."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def get(self, table: Table, key: Item, *, strong: bool = True) -> Item | None:
        """One item."""
        asked = {"TableName": self._engine.name_of(table), "Key": key, "ConsistentRead": strong}
        answer = await self._engine.ask("get_item", asked)
        found: Item | None = answer.get("Item")
        return found

    async def get_many(self, table: Table, keys: Sequence[Item]) -> list[Item]:
        """Those of these items that exist, strongly read, in no order. The keys are all different."""
        parts = [keys[start : start + _KEYS_A_REQUEST] for start in range(0, len(keys), _KEYS_A_REQUEST)]
        found = await asyncio.gather(*(self._get_part(table, part) for part in parts))
        return [item for part in found for item in part]

    async def _get_part(self, table: Table, keys: Sequence[Item]) -> list[Item]:
        """One request and, for the keys that it left unprocessed, the next."""
        name = self._engine.name_of(table)
        found: list[Item] = []
        pending = list(keys)

        async def attempt() -> None:
            nonlocal pending
            asked = {"RequestItems": {name: {"Keys": pending, "ConsistentRead": True}}}
            answer = await self._engine.call("batch_get_item", asked)
            found.extend(answer["Responses"].get(name, []))
            pending = answer.get("UnprocessedKeys", {}).get(name, {}).get("Keys", [])
            if pending:
                raise TryAgain("UnprocessedKeys")

        await self._engine.persist("batch_get_item", attempt)
        return found

    async def page(
        self, query: Query, values: Item, *, limit: int, after: Item | None = None
    ) -> tuple[list[Item], Item | None]:
        """One page of a range, and the key to go on after; None at the end."""
        asked: dict[str, Any] = {
            "TableName": self._engine.name_of(query.table),
            "KeyConditionExpression": query.condition,
            "ExpressionAttributeNames": names_in(query.condition),
            "ExpressionAttributeValues": {f":{name}": value for name, value in values.items()},
            "ScanIndexForward": not query.newest_first,
            "Limit": limit,
        }
        asked |= {"ConsistentRead": True} if query.index is None else {"IndexName": query.index}
        if after is not None:
            asked["ExclusiveStartKey"] = after
        answer = await self._engine.ask("query", asked)
        return answer["Items"], answer.get("LastEvaluatedKey")

    async def range(self, query: Query, values: Item, *, limit: int) -> list[Item]:
        """The first `limit` items of a range, over as many pages as they take."""
        found, _ = await self.span(query, values, limit=limit)
        return found

    async def span(
        self, query: Query, values: Item, *, limit: int, after: Item | None = None
    ) -> tuple[list[Item], Item | None]:
        """The next `limit` items of a range, over as many pages as they take, and the key to go on after."""
        found: list[Item] = []
        for _ in range(_PAGES_MAX):
            items, after = await self.page(query, values, limit=limit - len(found), after=after)
            found += items
            if after is None or len(found) >= limit:
                break
        return found, after
