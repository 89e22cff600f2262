"""How a conditional write is carried out: load, let the change decide, save; all inside the transaction of the caller.

The only rule here is the port's: what is refused but shows this very write is a reply that was lost. Must not know
what a change means. Promises: SEM-STORE-1, SEM-STORE-2, SEM-STORE-3,
SEM-STORE-5.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tickwright.adapters.embedded import reads
from tickwright.adapters.embedded.entities import PLACES, Entity, Key
from tickwright.domain import limits
from tickwright.ports.store import AnyChange, Applied, Outcome, Refused


@dataclass(frozen=True, slots=True)
class Judged:
    """A change, decided on the item that is there: `new` is what to save, None where there is nothing to save."""

    entity: Entity[Any]
    key: Key
    old: Any
    new: Any
    outcome: Outcome[Any]


def write(connection: sqlite3.Connection, change: AnyChange) -> Outcome[Any]:
    """One write."""
    judged = _judged(connection, change)
    _save(connection, judged)
    return judged.outcome


def write_each(connection: sqlite3.Connection, changes: Sequence[AnyChange]) -> list[Outcome[Any]]:
    """Each decided on its own, after those before it."""
    return [write(connection, change) for change in changes]


def write_together(connection: sqlite3.Connection, changes: Sequence[AnyChange]) -> list[Outcome[Any]]:
    """All decided first, then all saved, or none."""
    assert len(changes) <= limits.TRANSACTION_WRITES_MAX
    all_judged = [_judged(connection, change) for change in changes]
    assert len({(judged.entity.load, judged.key) for judged in all_judged}) == len(changes), "an item twice"
    if any(isinstance(judged.outcome, Refused) for judged in all_judged):
        return [Refused(judged.old) for judged in all_judged]
    for judged in all_judged:
        _save(connection, judged)
    return [judged.outcome for judged in all_judged]


def _judged(connection: sqlite3.Connection, change: AnyChange) -> Judged:
    entity, key_of = PLACES[type(change)]
    key = key_of(change)
    old = reads.item(connection, entity, key)
    new = change.decide(old)
    return Judged(entity, key, old, new, _outcome(change, old, new))


def _outcome(change: AnyChange, old: Any, new: Any) -> Outcome[Any]:  # noqa: ANN401 - items of any kind
    if new is not None:
        return Applied(new)
    return Applied(old) if old is not None and change.mine(old) else Refused(old)


def _save(connection: sqlite3.Connection, judged: Judged) -> None:
    if judged.new is not None:
        put(connection, judged.entity, judged.key, judged.new)


def put(connection: sqlite3.Connection, entity: Entity[Any], key: Key, item: Any) -> None:  # noqa: ANN401
    """Put or replace an item, with the columns that its indexes need."""
    connection.execute(entity.save, (*key, *entity.columns(item), entity.codec.dump(item)))
