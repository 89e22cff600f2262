"""The fence in an SQL write: a guard row first in the transaction, or the number in the row itself.

For SQLite (`mark="?"`) and PostgreSQL (`mark="%s"`), through a cursor of any driver; MySQL counts changed rows and has
no WHERE in its upsert, so it needs other statements. Must not know a driver. Promise: SEM-SDK-12.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tickwright_sdk.arguments import several
from tickwright_sdk.fences import Fence, FenceRefused

GUARDS = "tickwright_fences"
# For a migration of one's own. A guard is as small as a row can be, and there is one an owner.
CREATE_GUARDS = f"CREATE TABLE IF NOT EXISTS {GUARDS} (owner TEXT PRIMARY KEY, fence BIGINT NOT NULL)"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?")


class Cursor(Protocol):
    """A DB-API cursor."""

    @property
    def rowcount(self) -> int:
        """How many rows the last statement wrote."""
        ...

    def execute(self, statement: str, values: Sequence[Any], /) -> Any:  # noqa: ANN401 - the driver's
        """Carry out a statement."""
        ...

    def fetchone(self) -> Any:  # noqa: ANN401 - the driver's
        """The next row."""
        ...


class NoSuchRow(LookupError):  # noqa: N818 - says what is the matter
    """An update found no row with this key; nothing was written."""


@dataclass(frozen=True, slots=True)
class FencedWrites:
    """The writes of one attempt through one cursor. Each raises FenceRefused where a later attempt was there before."""

    cursor: Cursor
    fence: Fence
    mark: str = "?"

    def guard(self) -> None:
        """Pass the guard, before anything else of the transaction; what is raised then rolls all of it back.

        Until the commit the guard row is held: no other attempt writes in between, and a zombie waits, and is refused.
        Needs the table of CREATE_GUARDS. Whatever the transaction then writes needs no fence of its own.
        """
        self.upsert(GUARDS, {"owner": self.fence.owner}, key=("owner",))

    def upsert(self, table: str, row: Mapping[str, Any], *, key: Sequence[str]) -> None:
        """Insert a row, or update the one with this key.

        The table has a column `fence BIGINT NOT NULL` and a unique constraint on `key`.
        """
        key = several("key", key)
        whole = {**row, "fence": self.fence.number}
        columns, into = [_name(name) for name in whole], _name(table)
        sets = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
        # Names are checked to be nothing else; values never stand in the statement.
        statement = (
            f"INSERT INTO {into} ({', '.join(columns)}) VALUES ({', '.join([self.mark] * len(columns))})"  # noqa: S608 - see above
            f" ON CONFLICT ({', '.join(_name(name) for name in key)})"
            f" DO UPDATE SET {sets} WHERE excluded.fence >= {into}.fence"
        )
        self.cursor.execute(statement, list(whole.values()))
        if self.cursor.rowcount == 0:
            raise FenceRefused(self.fence, self._seen(table, {name: row[name] for name in key}), table)

    def update(self, table: str, values: Mapping[str, Any], *, key: Mapping[str, Any]) -> None:
        """Update the row with this key `WHERE fence <= ?`.

        That writes no row either where there is none: then it is NoSuchRow that is raised.
        """
        whole = {**values, "fence": self.fence.number}
        sets = ", ".join(f"{_name(name)} = {self.mark}" for name in whole)
        statement = f"UPDATE {_name(table)} SET {sets} WHERE {self._where(key)} AND fence <= {self.mark}"  # noqa: S608 - see above
        self.cursor.execute(statement, [*whole.values(), *key.values(), self.fence.number])
        if self.cursor.rowcount > 0:
            return
        seen = self._seen(table, key)
        if seen is None:
            raise NoSuchRow(f"{table} has no row with this key; nothing was written.")
        raise FenceRefused(self.fence, seen, table)

    def _seen(self, table: str, key: Mapping[str, Any]) -> int | None:
        self.cursor.execute(f"SELECT fence FROM {_name(table)} WHERE {self._where(key)}", list(key.values()))  # noqa: S608 - see above
        found = self.cursor.fetchone()
        return None if found is None or found[0] is None else int(found[0])

    def _where(self, key: Mapping[str, Any]) -> str:
        return " AND ".join(f"{_name(name)} = {self.mark}" for name in key)


def _name(name: str) -> str:
    """A name goes into the statement as it is, so it may be nothing but a name."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no plain name of a table or column.")
    return name
