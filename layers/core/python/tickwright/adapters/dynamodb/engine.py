"""How DynamoDB is asked: one operation, tried again while what goes wrong passes.

Must not know an item. What an engine cannot do is said once, in its options.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tickwright.adapters.aws.calls import Answer, Calls, Meter
from tickwright.adapters.aws.patience import Patience, Persistence
from tickwright.adapters.dynamodb.tables import Table, TableNames

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What differs between installations, tests and measurements."""

    patience: Patience = field(default_factory=Patience)
    partiql: bool = True  # false for an engine that does not read statements: a batch is then so many single writes
    meter: Meter | None = None  # is shown the capacity that each call has used


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The calls of one client on the four tables."""

    calls: Calls
    names: TableNames
    persistence: Persistence
    partiql: bool

    def name_of(self, table: Table) -> str:
        """What a table is called here."""
        return self.names.of(table)

    async def call(self, operation: str, request: Mapping[str, Any]) -> Answer:
        """Call once; raises what the client raises."""
        return await self.calls(operation, request)

    async def ask(self, operation: str, request: Mapping[str, Any]) -> Answer:
        """Call until there is an answer."""
        return await self.persist(operation, lambda: self.calls(operation, request))

    async def persist(self, operation: str, attempt: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Attempt until there is an answer."""
        return await self.persistence.persist(operation, attempt)
