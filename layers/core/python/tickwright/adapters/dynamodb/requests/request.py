"""What one change is to DynamoDB: a literal write of one item, in each of the forms in which it can be sent.

Must not know how an answer is judged.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tickwright.adapters.dynamodb.expressions.write import (
    Kind,
    Write,
    expression_fields,
    insert_statement,
    statement,
)
from tickwright.adapters.dynamodb.tables import Table, TableNames
from tickwright.adapters.dynamodb.wire import Item

_OLD_ITEM = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One conditional write. `put` is the item, where the write replaces it; `read` makes the domain's value of one."""

    table: Table
    key: Item
    write: Write
    read: Callable[[Item], Any]
    values: Item
    put: Item | None = None

    def __post_init__(self) -> None:
        """A put has an item, and only a put."""
        assert (self.write.kind is Kind.PUT) == (self.put is not None)

    def single(self, names: TableNames) -> tuple[str, dict[str, Any]]:
        """The operation for this write alone, and its request."""
        common = {"TableName": names.of(self.table), **expression_fields(self.write, self.values), **_OLD_ITEM}
        if self.put is not None:
            return "put_item", common | {"Item": self.put}
        if self.write.kind is Kind.DELETE:
            return "delete_item", common | {"Key": self.key}
        assert self.write.kind is Kind.UPDATE
        return "update_item", common | {"Key": self.key, "ReturnValues": "ALL_NEW"}

    def in_transaction(self, names: TableNames) -> dict[str, Any]:
        """The item of a transaction."""
        common = {"TableName": names.of(self.table), **expression_fields(self.write, self.values), **_OLD_ITEM}
        if self.put is not None:
            return {"Put": common | {"Item": self.put}}
        verb = "Update" if self.write.kind is Kind.UPDATE else "ConditionCheck"
        return {verb: common | {"Key": self.key}}

    def in_batch(self, names: TableNames) -> dict[str, Any]:
        """The statement of a batch; for a write that is `batched`."""
        table = names.of(self.table)
        if self.put is not None:
            return insert_statement(table, self.put) | _OLD_ITEM
        return statement(self.write, table, self.key, self.values) | _OLD_ITEM
