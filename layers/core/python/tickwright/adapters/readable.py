"""How a row that cannot be read costs itself alone: it is left out of an index's answer, with an error in the log.

For indexes only, which say where to look: a strong read of one item that cannot be read raises. A row written by a
newer version, or damaged, must not hide the rows of all other tenants (failure B094).
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

_LOG = logging.getLogger("tickwright")
RowT = TypeVar("RowT")
ItemT = TypeVar("ItemT")


def readable(rows: Iterable[RowT], read: Callable[[RowT], ItemT], what: str) -> Sequence[ItemT]:
    """The items of those rows that can be read."""
    items: list[ItemT] = []
    for row in rows:
        try:
            items.append(read(row))
        except Exception:  # noqa: BLE001 - whatever is wrong with it
            _LOG.exception("a %s cannot be read and is left out", what)
    return items
