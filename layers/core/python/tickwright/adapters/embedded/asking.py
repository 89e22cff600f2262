"""What it is to ask a connection for something, and how many writes share one transaction.

Each writer's work is judged on its own: one that breaks off is undone alone, and the others are committed.
Must not know threads.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tickwright.adapters.embedded.faults import StoreUnusable
from tickwright.ports.faults import Unavailable


@dataclass(frozen=True, slots=True)
class Asked:
    """Work for a connection, and the fault that says that it could not be done now."""

    work: Callable[[sqlite3.Connection], Any]
    fault: type[Unavailable]
    writes: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it."""

    value: Any = None
    problem: Exception | None = None

    def given(self) -> Any:  # noqa: ANN401 - whatever the work returns
        """The value, or the problem raised."""
        if self.problem is not None:
            raise self.problem
        return self.value


def carry_out(connection: sqlite3.Connection, asked: Sequence[Asked]) -> list[Answer]:
    """Answer all, in their order: reads at once, and all writes in one transaction."""
    answers = {id(one): _attempted(connection, one) for one in asked if not one.writes}
    writes = [one for one in asked if one.writes]
    if writes:
        answers |= zip(map(id, writes), _committed(connection, writes), strict=True)
    return [answers[id(one)] for one in asked]


def _committed(connection: sqlite3.Connection, writes: list[Asked]) -> list[Answer]:
    try:
        connection.execute("BEGIN IMMEDIATE")
        answers = [_isolated(connection, one) for one in writes]
        connection.execute("COMMIT")
    except sqlite3.Error as problem:
        with suppress(sqlite3.Error):  # SQLite has rolled back by itself after some errors
            connection.execute("ROLLBACK")
        return [Answer(problem=_named(problem, one.fault)) for one in writes]
    return answers


def _isolated(connection: sqlite3.Connection, one: Asked) -> Answer:
    connection.execute("SAVEPOINT one")
    answer = _attempted(connection, one)
    if answer.problem is not None:
        connection.execute("ROLLBACK TO one")
    connection.execute("RELEASE one")
    return answer


def _attempted(connection: sqlite3.Connection, one: Asked) -> Answer:
    try:
        return Answer(value=one.work(connection))
    except sqlite3.Error as problem:
        return Answer(problem=_named(problem, one.fault))
    except Exception as bug:  # noqa: BLE001 - raised again where the work was asked for; others' work goes on
        return Answer(problem=bug)


def _named(problem: sqlite3.Error, fault: type[Unavailable]) -> Exception:
    """A fault of the moment (busy, full, an I/O error), a file that is damaged, or a bug of ours as it is."""
    if isinstance(problem, sqlite3.OperationalError):
        return fault(str(problem))
    if type(problem) is sqlite3.DatabaseError:
        return StoreUnusable(str(problem))
    return problem
