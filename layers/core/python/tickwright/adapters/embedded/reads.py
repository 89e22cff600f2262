"""How items are found: every statement that reads, literally, each with the index that serves it.

Must not decide anything. `rows` come in the order of their index; one more than asked for tells whether a list goes on.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from tickwright.adapters.embedded.entities import (
    API_KEYS,
    CALENDARS,
    EXECUTIONS,
    HEADS,
    LOGS,
    ORDERS,
    PAGES,
    POOLS,
    SEATS,
    Entity,
    Key,
    api_key_key,
    calendar_key,
    log_key,
    order_key,
    pool_key,
    seat_key,
)
from tickwright.adapters.readable import readable
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionKey, ExecutionRef, JobId, TenantId
from tickwright.domain.instants import Instant, from_key, to_key
from tickwright.domain.jobs import Head
from tickwright.domain.journal import Page
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import Pool
from tickwright.domain.redrive_orders import Order
from tickwright.domain.schedules import Calendar
from tickwright.domain.seats import Seat
from tickwright.domain.stored_logs import StoredLog
from tickwright.domain.tenants import ApiKey
from tickwright.ports.store import Listing

ItemT = TypeVar("ItemT")
KeyT = TypeVar("KeyT")
Rows = list[tuple[Any, ...]]

_DUE = """
    SELECT doc, next_run_at, job_id FROM heads
    WHERE bucket = :bucket AND lane = :lane AND next_run_at <= :until AND (next_run_at, job_id) > (:after, :job_id)
    ORDER BY next_run_at, job_id LIMIT :limit
"""
_WAITING = """
    SELECT job_id, key FROM executions WHERE wait_key = ? AND wait_at <= ? ORDER BY wait_at, job_id, key LIMIT ?
"""
_PAGES = "SELECT doc FROM journal WHERE bucket = ? AND check_at <= ? ORDER BY check_at, writer LIMIT ?"
_EXECUTIONS_OF = """
    SELECT doc FROM executions WHERE job_id = :job_id AND key >= :since AND key < :before ORDER BY key DESC LIMIT :limit
"""
# x'FF' is in no UTF-8 text and sorts behind every byte that is: the end of a prefix.
_JOBS = """
    SELECT listed_as, job_id FROM heads
    WHERE tenant_id = :tenant_id AND listed_as >= :prefix AND listed_as < :prefix || CAST(x'FF' AS TEXT)
        AND (listed_as, job_id) > (:listed_as, :job_id)
    ORDER BY listed_as, job_id LIMIT :limit
"""
_ATTENTION = """
    SELECT failed_at, job_id, key FROM executions
    WHERE tenant_id = :tenant_id AND failed_at >= :since AND failed_at <= :until
        AND (failed_at, job_id, key) < (:failed_at, :job_id, :key)
    ORDER BY failed_at DESC, job_id DESC, key DESC LIMIT :limit
"""
# `$` follows `#`: the end of the calendars, of which each key begins with CALENDAR#.
_CALENDARS = "SELECT doc FROM control WHERE pk = ? AND sk > ? AND sk < 'CALENDAR$' ORDER BY sk LIMIT ?"
_POOLS = "SELECT doc FROM control WHERE pk = ? AND sk > ? AND sk < 'POOL$' ORDER BY sk LIMIT ?"
_SEATS = "SELECT doc FROM control WHERE pk = ? AND sk > 'SEAT#' AND sk < 'SEAT$' ORDER BY sk"
_API_KEYS = "SELECT doc FROM control WHERE pk > ? AND pk < 'KEY$' AND sk = ? ORDER BY pk"
_LOGS = "SELECT doc FROM control WHERE pk = ? AND sk < ? ORDER BY sk DESC LIMIT ?"
_ORDERS = """
    SELECT doc, sk FROM control
    WHERE pk = :pk AND sk >= :first AND sk < :first || CAST(x'FF' AS TEXT) AND sk > :after ORDER BY sk LIMIT :limit
"""
_AFTER_ALL_KEYS = "~"  # keys begin with digits
_AFTER_ALL_INSTANTS = 1 << 62
_BEFORE_ALL = "-1"
_SEPARATOR = "\x00"  # in no name and no id


def item(connection: sqlite3.Connection, entity: Entity[ItemT], key: Key) -> ItemT | None:
    """One item by its key."""
    row = connection.execute(entity.load, key).fetchone()
    return None if row is None else entity.codec.load(row[0])


def items(
    connection: sqlite3.Connection, entity: Entity[ItemT], keys: Iterable[tuple[KeyT, Key]]
) -> Iterator[tuple[KeyT, ItemT]]:
    """Those of these items that exist, each beside its name."""
    for name, key in keys:
        found = item(connection, entity, key)
        if found is not None:
            yield name, found


def due(  # noqa: PLR0913 - a range takes its ends
    connection: sqlite3.Connection, bucket: int, lane: Lane, *, until: Instant, limit: int, after_key: str | None
) -> Listing[Head]:
    """By the index heads_due."""
    after, _, job_id = (after_key or _BEFORE_ALL).partition(_SEPARATOR)
    place = {"bucket": bucket, "lane": lane.value, "until": until, "after": int(after), "job_id": job_id}
    rows = connection.execute(_DUE, place | {"limit": limit + 1}).fetchall()
    listing = _listing(rows, limit, lambda row: row, lambda row: f"{row[1]}{_SEPARATOR}{row[2]}")
    heads = readable((row[0] for row in listing.items), HEADS.codec.load, "head")
    return Listing(items=heads, next_key=listing.next_key)


def waiting(connection: sqlite3.Connection, wait_key: str, *, until: Instant, limit: int) -> Sequence[ExecutionRef]:
    """By the index executions_waiting."""
    rows = connection.execute(_WAITING, (wait_key, until, limit))
    return [ExecutionRef(JobId(job_id), ExecutionKey(key)) for job_id, key in rows]


def pages(connection: sqlite3.Connection, bucket: int, *, until: Instant, limit: int) -> Sequence[Page]:
    """By the primary key."""
    rows = connection.execute(_PAGES, (bucket, until, limit))
    return [PAGES.codec.load(doc) for (doc,) in rows]


def executions_of(
    connection: sqlite3.Connection, job_id: JobId, *, limit: int, since: Instant | None, after_key: str | None
) -> Listing[Execution]:
    """By the primary key, backwards. A key begins with its time in fixed width, so keys sort as their instants do."""
    given = {
        "job_id": job_id,
        "since": "" if since is None else to_key(since),
        "before": _AFTER_ALL_KEYS if after_key is None else after_key,
        "limit": limit + 1,
    }
    rows = connection.execute(_EXECUTIONS_OF, given).fetchall()
    return _listing(rows, limit, lambda row: EXECUTIONS.codec.load(row[0]), lambda found: found.key)


def jobs(
    connection: sqlite3.Connection, tenant_id: TenantId, *, limit: int, prefix: str, after_key: str | None
) -> Listing[JobId]:
    """By the index heads_listed."""
    listed_as, _, job_id = (after_key or "").partition(_SEPARATOR)
    given = {"tenant_id": tenant_id, "prefix": prefix, "listed_as": listed_as, "job_id": job_id, "limit": limit + 1}
    rows = connection.execute(_JOBS, given).fetchall()
    listing = _listing(rows, limit, lambda row: row, _SEPARATOR.join)
    return Listing(items=[JobId(job_id) for _, job_id in listing.items], next_key=listing.next_key)


def attention(  # noqa: PLR0913 - a range takes its ends
    connection: sqlite3.Connection,
    tenant_id: TenantId,
    *,
    limit: int,
    since: Instant | None,
    until: Instant | None,
    after_key: str | None,
) -> Listing[ExecutionRef]:
    """By the index executions_attention, backwards."""
    failed_at, job_id, key = _attention_place(after_key)
    place = {"failed_at": failed_at, "job_id": job_id, "key": key}
    ends = {"since": since or 0, "until": _AFTER_ALL_INSTANTS if until is None else until}
    given = {"tenant_id": tenant_id, **place, **ends, "limit": limit + 1}
    rows = connection.execute(_ATTENTION, given).fetchall()
    listing = _listing(rows, limit, lambda row: row, lambda row: _SEPARATOR.join((to_key(row[0]), *row[1:])))
    refs = [ExecutionRef(JobId(job_id), ExecutionKey(key)) for _, job_id, key in listing.items]
    return Listing(items=refs, next_key=listing.next_key)


def calendars(
    connection: sqlite3.Connection, tenant_id: TenantId, *, limit: int, after_key: str | None
) -> Listing[Calendar]:
    """By the primary key. No calendar has an empty name, so the first comes behind it."""
    rows = connection.execute(_CALENDARS, (*calendar_key(tenant_id, after_key or ""), limit + 1)).fetchall()
    return _listing(rows, limit, lambda row: CALENDARS.codec.load(row[0]), lambda found: found.name)


def logs(connection: sqlite3.Connection, ref: ExecutionRef, *, limit: int, after_key: str | None) -> Listing[StoredLog]:
    """By the primary key, backwards."""
    rows = connection.execute(_LOGS, (*log_key(ref, after_key or _AFTER_ALL_KEYS), limit + 1)).fetchall()
    return _listing(rows, limit, lambda row: LOGS.codec.load(row[0]), lambda found: found.place)


def orders(
    connection: sqlite3.Connection, tenant_id: TenantId | None, *, limit: int, after_key: str | None
) -> Listing[Order]:
    """By the primary key: everybody's, or one tenant's."""
    pk, first = order_key(tenant_id or "", "")
    given = {"pk": pk, "first": first if tenant_id else "", "after": after_key or "", "limit": limit + 1}
    rows = connection.execute(_ORDERS, given).fetchall()
    listing = _listing(rows, limit, lambda row: row, lambda row: str(row[1]))
    return Listing(items=[ORDERS.codec.load(row[0]) for row in listing.items], next_key=listing.next_key)


def seats(connection: sqlite3.Connection, tenant_id: TenantId) -> Sequence[Seat]:
    """By the primary key."""
    partition, _ = seat_key(tenant_id, 0)
    return [SEATS.codec.load(doc) for (doc,) in connection.execute(_SEATS, (partition,))]


def pools(connection: sqlite3.Connection, tenant_id: TenantId, *, limit: int, after_key: str | None) -> Listing[Pool]:
    """By the primary key. No pool has an empty name, so the first comes behind it."""
    rows = connection.execute(_POOLS, (*pool_key(tenant_id, after_key or ""), limit + 1)).fetchall()
    return _listing(rows, limit, lambda row: POOLS.codec.load(row[0]), lambda found: found.name)


def api_keys(
    connection: sqlite3.Connection, tenant_id: TenantId, *, limit: int, after_key: str | None
) -> Listing[ApiKey]:
    """Everybody's, by the primary key: one machine has a handful."""
    after, sort = api_key_key(after_key or "")
    found = (API_KEYS.codec.load(doc) for (doc,) in connection.execute(_API_KEYS, (after, sort)))
    mine = [(key,) for key in found if key.tenant_id == tenant_id]
    return _listing(mine, limit, lambda row: row[0], lambda key: key.key_hash)


def _attention_place(after_key: str | None) -> tuple[int, str, str]:
    if after_key is None:
        return _AFTER_ALL_INSTANTS, "", ""
    failed_at, _, rest = after_key.partition(_SEPARATOR)
    job_id, _, key = rest.partition(_SEPARATOR)
    return from_key(failed_at), job_id, key


def _listing(
    rows: Rows, limit: int, made: Callable[[tuple[Any, ...]], ItemT], key_of: Callable[[ItemT], str]
) -> Listing[ItemT]:
    """The rows asked for; one more than that means that the list goes on behind the last of them."""
    items = [made(row) for row in rows[:limit]]
    return Listing(items=items, next_key=key_of(items[-1]) if len(rows) > limit else None)
