"""What an operator asks of the store on one SQLite file: ports/whole.py. Reads are exact here."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from tickwright.adapters.definitions import Definitions
from tickwright.adapters.embedded import entities, reads, writes
from tickwright.adapters.embedded.codec import Codec
from tickwright.adapters.embedded.database import Database
from tickwright.adapters.embedded.entities import Entity
from tickwright.domain.deletions import CallOff, Deletion, PutDeletion
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionKey, ExecutionRef, JobId, TenantId
from tickwright.domain.jobs import Head
from tickwright.domain.tenants import ApiKey
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.store import Listing
from tickwright.ports.whole import UNREADABLE, Scanned, Sign

ItemT = TypeVar("ItemT")

DELETIONS: Final = Entity(
    codec=Codec(Deletion, sparse=True),
    columns=lambda deletion: (deletion.forgotten_at,),
    load=entities.NAMES.load,
    save=entities.NAMES.save,
)
_HEADS = "SELECT doc, job_id FROM heads WHERE job_id > ? ORDER BY job_id LIMIT ?"
_EXECUTIONS = "SELECT doc, job_id, key FROM executions WHERE (job_id, key) > (?, ?) ORDER BY job_id, key LIMIT ?"
_API_KEYS = "SELECT doc, pk, sk FROM control WHERE (pk, sk) > (?, ?) AND sk = 'KEY' ORDER BY pk, sk LIMIT ?"
_SIGNS = """
    SELECT json_array(
        json_extract(doc, '$.tenant_id'),
        CASE sk WHEN 'KEY' THEN doc END,
        CASE sk WHEN 'DELETION' THEN doc END
    ), pk, sk
    FROM control WHERE (pk, sk) > (?, ?) AND (sk = 'KEY' OR pk LIKE 'TENANT#%') ORDER BY pk, sk LIMIT ?
"""
_FORGET_KEPT = "DELETE FROM control WHERE pk = ? OR (pk = ? AND sk = ?)"
_FORGET_EXECUTION = "DELETE FROM executions WHERE job_id = ? AND key = ?"
_FORGET_DEFINITIONS = "DELETE FROM definitions WHERE job_id = ? AND json_extract(doc, '$.tenant_id') = ?"
_FORGET_HEAD = "DELETE FROM heads WHERE job_id = ? AND tenant_id = ?"
_JOBS_KEPT = """
    SELECT job_id FROM heads WHERE tenant_id = :tenant AND job_id > :after
    UNION SELECT job_id FROM definitions WHERE json_extract(doc, '$.tenant_id') = :tenant AND job_id > :after
    ORDER BY job_id LIMIT :limit
"""
_EXECUTIONS_KEPT = """
    SELECT job_id, key FROM executions WHERE tenant_id = ? AND (job_id, key) > (?, ?) ORDER BY job_id, key LIMIT ?
"""
_RECORDS = "SELECT pk, sk FROM control WHERE pk = ? AND sk != ? LIMIT ?"
_ORDERS = "SELECT pk, sk FROM control WHERE pk = ? AND sk >= ? AND sk < ? || CAST(x'FF' AS TEXT) LIMIT ?"
_KEYS = "SELECT pk, sk FROM control WHERE sk = ? AND json_extract(doc, '$.tenant_id') = ? LIMIT ?"
_FORGET_RECORD = "DELETE FROM control WHERE pk = ? AND sk = ?"
_SEPARATOR = "\x00"  # in no id


def deletion_key(tenant_id: TenantId) -> entities.Key:
    """How far the deletion of a tenant has come."""
    return f"TENANT#{tenant_id}", "DELETION"


class EmbeddedWhole:
    """All of a Database, which a store shares."""

    def __init__(self, database: Database, definitions: Definitions) -> None:
        """`definitions`: what the store remembers."""
        self._database = database
        self._definitions = definitions

    async def every_head_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Head]:
        """By the primary key."""
        rows = await self._rows(_HEADS, (after_key or "", limit))
        return _scanned(rows, entities.HEADS.codec.load, limit)

    async def every_execution_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Execution]:
        """By the primary key."""
        job_id, _, key = (after_key or "").partition(_SEPARATOR)
        rows = await self._rows(_EXECUTIONS, (job_id, key, limit))
        return _scanned(rows, entities.EXECUTIONS.codec.load, limit)

    async def every_api_key_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[ApiKey]:
        """By the primary key."""
        pk, _, sk = (after_key or "").partition(_SEPARATOR)
        return _scanned(await self._rows(_API_KEYS, (pk, sk, limit)), entities.API_KEYS.codec.load, limit)

    async def every_sign_eventually(self, *, limit: int, after_key: str | None = None) -> Scanned[Sign]:
        """By the primary key."""
        pk, _, sk = (after_key or "").partition(_SEPARATOR)
        return _scanned(await self._rows(_SIGNS, (pk, sk, limit)), _sign, limit)

    async def forget_executions(self, refs: Sequence[ExecutionRef]) -> None:
        """In one transaction."""
        await self._write(partial(_forget_executions, refs=refs))

    async def jobs_kept_of_eventually(
        self, tenant_id: TenantId, *, limit: int, after_key: str | None = None
    ) -> Listing[JobId]:
        """By both tables."""
        rows = await self._rows(_JOBS_KEPT, {"tenant": tenant_id, "after": after_key or "", "limit": limit})
        found = [JobId(row[0]) for row in rows]
        return Listing(items=found, next_key=found[-1] if len(found) == limit else None)

    async def executions_kept_of_eventually(
        self, tenant_id: TenantId, *, limit: int, after_key: str | None = None
    ) -> Listing[ExecutionRef]:
        """By the primary key."""
        job_id, _, key = (after_key or "").partition(_SEPARATOR)
        rows = await self._rows(_EXECUTIONS_KEPT, (tenant_id, job_id, key, limit))
        found = [ExecutionRef(JobId(row[0]), ExecutionKey(row[1])) for row in rows]
        return Listing(items=found, next_key=_SEPARATOR.join(found[-1]) if len(found) == limit else None)

    async def forget_job(self, tenant_id: TenantId, job_id: JobId) -> None:
        """In one transaction."""

        def forget(connection: sqlite3.Connection) -> None:
            connection.execute(_FORGET_DEFINITIONS, (job_id, tenant_id))
            connection.execute(_FORGET_HEAD, (job_id, tenant_id))

        await self._write(forget)
        self._definitions.forget(job_id)

    async def forget_records(self, tenant_id: TenantId, *, limit: int) -> int:
        """In one transaction."""
        return await self._write(partial(_forget_records, tenant_id=tenant_id, limit=limit))

    async def deletion(self, tenant_id: TenantId) -> Deletion | None:
        """The record."""
        found = partial(reads.item, entity=DELETIONS, key=deletion_key(tenant_id))
        return await self._database.read(found, StoreUnavailable)

    async def put_deletion(self, change: PutDeletion) -> bool:
        """The record, in one transaction with the look at it."""
        key = deletion_key(change.deletion.tenant_id)

        def put(connection: sqlite3.Connection) -> bool:
            new = change.decide(reads.item(connection, DELETIONS, key))
            if new is not None:
                writes.put(connection, DELETIONS, key, new)
            return new is not None

        return await self._write(put)

    async def call_off(self, change: CallOff) -> bool:
        """The record, in one transaction with the look at it."""
        key = deletion_key(change.seen.tenant_id)

        def take_away(connection: sqlite3.Connection) -> bool:
            old = reads.item(connection, DELETIONS, key)
            if change.allows(old):
                connection.execute(_FORGET_RECORD, key)
            return old is None or change.allows(old)

        return await self._write(take_away)

    async def _rows(self, statement: str, values: tuple[object, ...] | dict[str, object]) -> list[tuple[Any, ...]]:
        return await self._database.read(
            lambda connection: connection.execute(statement, values).fetchall(), StoreUnavailable
        )

    async def _write(self, work: Callable[[sqlite3.Connection], ItemT]) -> ItemT:
        return await self._database.write(work, StoreUnavailable)


def _scanned(rows: Sequence[tuple[Any, ...]], load: Callable[[str], ItemT], limit: int) -> Scanned[ItemT]:
    """What can be read of them; one row of another version hides none beside it."""
    found, unreadable = list[ItemT](), list[str]()
    for doc, *place in rows:
        try:
            found.append(load(doc))
        except UNREADABLE:
            unreadable.append(" ".join(place))
    last = _SEPARATOR.join(rows[-1][1:]) if len(rows) == limit else None
    return Scanned(items=found, next_key=last, unreadable=unreadable)


def _sign(told: str) -> Sign:
    tenant_id, key, deletion = json.loads(told)
    return Sign(
        tenant_id=TenantId(tenant_id),
        key=None if key is None else entities.API_KEYS.codec.load(key),
        deletion=None if deletion is None else DELETIONS.codec.load(deletion),
    )


def _forget_executions(connection: sqlite3.Connection, refs: Sequence[ExecutionRef]) -> None:
    for ref in refs:
        logs, _ = entities.log_key(ref, "")
        connection.execute(_FORGET_KEPT, (logs, *entities.own_payload_key(ref)))
    connection.executemany(_FORGET_EXECUTION, refs)


def _forget_records(connection: sqlite3.Connection, tenant_id: TenantId, limit: int) -> int:
    partition, own = deletion_key(tenant_id)
    orders, first = entities.order_key(tenant_id, "")
    _, key = entities.api_key_key("")
    asked: tuple[tuple[str, tuple[object, ...]], ...] = (
        (_RECORDS, (partition, own)),
        (_ORDERS, (orders, first, first)),
        (_KEYS, (key, tenant_id)),
    )
    found: list[tuple[str, str]] = []
    for statement, values in asked:
        found += connection.execute(statement, (*values, limit - len(found))).fetchall()
    connection.executemany(_FORGET_RECORD, found)
    return len(found)
