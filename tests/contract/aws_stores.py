"""Stores and tables on a real engine, for the tests of the AWS adapters."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.emulators.clients import aws_client
from tests.support.tables import create_tables
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.dynamodb.engine import Options
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.dynamodb.tables import Table, TableNames
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.ports.clock import Clock

_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Ground:
    """Four tables of one engine, fresh, and a client to look into them beside the store."""

    client: Any  # typed clients are invariant in the shapes of items
    tables: TableNames

    def store(self, client: object | None = None, *, clock: Clock | None = None, **options: Any) -> DynamoDbStore:  # noqa: ANN401 - any of Options
        """A store on these tables, on another client or clock where one is given."""
        return DynamoDbStore(
            client or self.client,
            self.tables,
            clock=clock or SystemClock(),
            entropy=SystemEntropy(),
            options=Options(**options),
        )

    def settle(self, table: str, items: Mapping[str, Mapping[str, Any] | None], keys: Mapping[str, Any]) -> None:
        """Make the table hold these items at these keys, and none where there is none, without any condition."""
        requests = [
            {"PutRequest": {"Item": item}} if item is not None else {"DeleteRequest": {"Key": keys[name]}}
            for name, item in items.items()
        ]
        for start in range(0, len(requests), 25):
            self.client.batch_write_item(RequestItems={table: requests[start : start + 25]})

    def empty(self) -> None:
        """Remove every item."""
        for table in Table:
            name = self.tables.of(table)
            keys = [key["AttributeName"] for key in self.client.describe_table(TableName=name)["Table"]["KeySchema"]]
            items = self.client.scan(TableName=name, ConsistentRead=True)["Items"]
            found = {str(number): {key: item[key] for key in keys} for number, item in enumerate(items)}
            self.settle(name, dict.fromkeys(found), found)

    def stored(self, table: str, keys: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """These items as they stand; up to 100."""
        asked = {table: {"Keys": keys, "ConsistentRead": True}}
        if not keys:
            return []
        items: list[Mapping[str, Any]] = self.client.batch_get_item(RequestItems=asked)["Responses"][table]
        return items


def new_tables(endpoint: str | None) -> Ground:
    """Fresh tables at an endpoint; None is moto in this process."""
    client = aws_client("dynamodb", endpoint)
    return Ground(client, TableNames(**create_tables(client, prefix=f"aws-{next(_NUMBERS)}-")))


@contextmanager
def ground(endpoint: str | None) -> Iterator[Ground]:
    """Fresh tables, and their end."""
    made = new_tables(endpoint)
    try:
        yield made
    finally:
        for table in Table:
            made.client.delete_table(TableName=made.tables.of(table))
