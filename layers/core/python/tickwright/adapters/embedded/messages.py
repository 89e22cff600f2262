"""How hints and dead letters lie in the file: every statement of the queue, literally, and the form of a message.

Must not know a clock or how one waits. A receipt names the message and how often it had been received, so that an old
one moves nothing. Promises: SEM-QUEUE-2, SEM-QUEUE-4, SEM-QUEUE-5.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tickwright.adapters.embedded.codec import Codec
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import LAMBDA
from tickwright.ports.queue import DeadLetter, Hint, Received


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A hint with the version of its form: one of another version is not guessed at."""

    v: Literal[1] = 1
    hint: Hint


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A message that no reader is given any more, and why."""

    lane: Lane
    reason: str
    body: str
    pool: str = LAMBDA


_ENVELOPES = Codec(Envelope)
_LETTERS = Codec(DeadLetter)
UNREADABLE = "unreadable"
TOO_OFTEN = "received too often"

_SEND = "INSERT INTO messages (lane, visible_at, body) VALUES (?, ?, ?)"
_NEXT_VISIBLE = "SELECT min(visible_at) FROM messages WHERE lane = ?"
_VISIBLE = """
    SELECT id, receive_count, body FROM messages WHERE lane = ? AND visible_at <= ? ORDER BY visible_at, id LIMIT ?
"""
_TAKE = "UPDATE messages SET visible_at = ?, receive_count = receive_count + 1 WHERE id = ?"
_DELETE = "DELETE FROM messages WHERE id = ? AND receive_count = ?"
_SHOW = "UPDATE messages SET visible_at = ? WHERE id = ? AND receive_count = ?"
_DEPTH = "SELECT count(*) FROM messages WHERE lane = ?"
_SET_ASIDE = """
    INSERT INTO set_aside (lane, reason, set_aside_at, body) SELECT lane, ?, ?, body FROM messages WHERE id = ?
"""
_REMOVE = "DELETE FROM messages WHERE id = ?"
_LIST_SET_ASIDE = "SELECT lane, reason, body FROM set_aside ORDER BY id LIMIT ?"
_SEND_DEAD = "INSERT INTO dead_letters (sent_at, body) VALUES (?, ?)"
_LIST_DEAD = "SELECT body FROM dead_letters ORDER BY id LIMIT ?"
_FORGET = ("DELETE FROM dead_letters WHERE sent_at <= ?", "DELETE FROM set_aside WHERE set_aside_at <= ?")
_REMOVE_ALL = "DELETE FROM messages WHERE lane = ?"
_FORGET_HINTS = "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE visible_at <= ? LIMIT ?)"


def queue_name(pool: str, lane: Lane) -> str:
    """What stands in the column `lane`: a pool's lane, of which the pool `lambda`, the first, has the bare name."""
    return lane.value if pool == LAMBDA else f"{pool}#{lane.value}"


def _pool_and_lane(name: str) -> tuple[str, Lane]:
    pool, _, lane = name.rpartition("#")
    return pool or LAMBDA, Lane(lane)


def put(connection: sqlite3.Connection, hints: Iterable[tuple[Hint, Instant]]) -> None:
    """Put hints, each with the instant from which it is visible."""
    rows = [
        (queue_name(hint.queue, hint.lane), visible_at, _ENVELOPES.dump(Envelope(hint=hint)))
        for hint, visible_at in hints
    ]
    connection.executemany(_SEND, rows)


def next_visible(connection: sqlite3.Connection, names: Iterable[str]) -> Instant | None:
    """When the next message of any of these queues is visible, or has been since."""
    found = [connection.execute(_NEXT_VISIBLE, (name,)).fetchone()[0] for name in names]
    return min((Instant(visible_at) for visible_at in found if visible_at is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """What a reader asks for: of these queues, the first before the others."""

    names: Sequence[str]
    limit: int
    now: Instant
    visible_again_at: Instant
    receives_max: int


def take(connection: sqlite3.Connection, taking: Taking) -> list[Received]:
    """The oldest visible messages, now in the reader's hand; those that nobody can use are set aside."""
    taken: list[Received] = []
    for name in taking.names:
        asked = (name, taking.now, taking.limit - len(taken))
        taken += _taken(connection, connection.execute(_VISIBLE, asked).fetchall(), taking)
    return taken


def _taken(connection: sqlite3.Connection, rows: Sequence[tuple[int, int, str]], taking: Taking) -> Iterator[Received]:
    for message_id, count, body in rows:
        hint = _hint(body)
        if hint is None or count >= taking.receives_max:
            reason = UNREADABLE if hint is None else TOO_OFTEN
            connection.execute(_SET_ASIDE, (reason, taking.now, message_id))
            connection.execute(_REMOVE, (message_id,))
        else:
            connection.execute(_TAKE, (taking.visible_again_at, message_id))
            yield Received(hint=hint, receipt=f"{message_id}.{count + 1}", receive_count=count + 1)


def _hint(body: str) -> Hint | None:
    try:
        return _ENVELOPES.load(body).hint
    except ValueError:
        return None


def delete(connection: sqlite3.Connection, receipts: Iterable[str]) -> None:
    """Take messages off, where the receipt is the last one given."""
    connection.executemany(_DELETE, [_named_by(receipt) for receipt in receipts])


def show(connection: sqlite3.Connection, receipt: str, visible_at: Instant) -> None:
    """Move the end of a message's invisibility, where the receipt is the last one given."""
    connection.execute(_SHOW, (visible_at, *_named_by(receipt)))


def _named_by(receipt: str) -> tuple[int, int]:
    message_id, _, count = receipt.partition(".")
    return int(message_id), int(count)


def remove_all(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """Remove all that is in these queues."""
    connection.executemany(_REMOVE_ALL, [(name,) for name in names])


def depth(connection: sqlite3.Connection, name: str) -> int:
    """How many messages a queue holds: visible, delayed and in hand."""
    (count,) = connection.execute(_DEPTH, (name,)).fetchone()
    return int(count)


def set_aside(connection: sqlite3.Connection, limit: int) -> list[SetAside]:
    """The oldest messages that were set aside."""
    found: list[SetAside] = []
    for name, reason, body in connection.execute(_LIST_SET_ASIDE, (limit,)):
        pool, lane = _pool_and_lane(name)
        found.append(SetAside(lane=lane, reason=reason, body=body, pool=pool))
    return found


def put_dead(connection: sqlite3.Connection, letter: DeadLetter, now: Instant) -> None:
    """Put a dead letter."""
    connection.execute(_SEND_DEAD, (now, _LETTERS.dump(letter)))


def dead(connection: sqlite3.Connection, limit: int) -> list[DeadLetter]:
    """The oldest dead letters."""
    return [_LETTERS.load(body) for (body,) in connection.execute(_LIST_DEAD, (limit,))]


def forget(connection: sqlite3.Connection, before: Instant) -> int:
    """Remove dead letters and messages set aside up to an instant; says how many."""
    return sum(connection.execute(statement, (before,)).rowcount for statement in _FORGET)


def forget_hints(connection: sqlite3.Connection, before: Instant, limit: int) -> int:
    """Remove so many hints that nobody has taken since an instant; says how many."""
    return connection.execute(_FORGET_HINTS, (before, limit)).rowcount
