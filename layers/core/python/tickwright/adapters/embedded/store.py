"""The store on one SQLite file: what ports/store.py promises, for one machine.

Reads that may be stale by the port are exact here. Must not decide: `change.decide` does. Promises: SEM-STORE-1 to
SEM-STORE-9.
"""

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from tickwright.adapters.definitions import Definitions
from tickwright.adapters.embedded import entities, expiry, reads, writes
from tickwright.adapters.embedded.database import Database
from tickwright.adapters.embedded.entities import Entity, Key
from tickwright.adapters.embedded.whole import EmbeddedWhole
from tickwright.domain.changes import Change
from tickwright.domain.changes.heads import PutDefinition
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition, Head
from tickwright.domain.journal import Page
from tickwright.domain.lanes import Lane
from tickwright.domain.leases import BucketLease
from tickwright.domain.own_payloads import OwnPayload
from tickwright.domain.pools import Pool
from tickwright.domain.redrive_orders import Order, OrderId
from tickwright.domain.schedules import Calendar
from tickwright.domain.seats import Seat
from tickwright.domain.stored_logs import StoredLog
from tickwright.domain.tenants import ApiKey, IdempotencyRecord, NameRecord
from tickwright.domain.webhooks import Rotation
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.store import AnyChange, Applied, Listing, Outcome, Unknown

ItemT = TypeVar("ItemT")
KeyT = TypeVar("KeyT")


class EmbeddedStore:
    """A store in a Database, which others (the queue, another store) may share."""

    def __init__(self, database: Database) -> None:
        """Use a database that is open; whoever opened it closes it."""
        self._database = database
        self._definitions = Definitions()

    def whole(self) -> EmbeddedWhole:
        """All of this database, for an operator."""
        return EmbeddedWhole(self._database, self._definitions)

    # --- writes -------------------------------------------------------------------------------------------------
    async def write(self, change: Change[ItemT]) -> Outcome[ItemT]:
        """Load, decide, save."""
        outcome: Outcome[ItemT] = await self._write(partial(writes.write, change=change))
        return outcome

    async def write_each(self, changes: Sequence[AnyChange]) -> Sequence[Outcome[Any] | Unknown]:
        """One transaction, each decided on its own: here no outcome is ever Unknown."""
        return await self._write(partial(writes.write_each, changes=changes))

    async def write_together(self, changes: Sequence[AnyChange]) -> Sequence[Outcome[Any]]:
        """All or none."""
        outcomes = await self._write(partial(writes.write_together, changes=changes))
        for change, outcome in zip(changes, outcomes, strict=True):
            if isinstance(change, PutDefinition) and isinstance(outcome, Applied):
                self._definitions.keep(change.definition)
        return outcomes

    async def put_page(self, page: Page) -> None:
        """J."""
        await self._put(entities.PAGES, entities.page_key(page), page)

    async def delete_page(self, page: Page) -> None:
        """Delete it, if it is there."""
        await self._write(lambda connection: connection.execute(entities.DELETE_PAGE, entities.page_key(page)))

    async def put_log(self, log: StoredLog) -> None:
        """Put or replace it."""
        await self._put(entities.LOGS, entities.log_key(log.ref, log.place), log)

    async def put_api_key(self, api_key: ApiKey) -> None:
        """Put or replace it."""
        await self._put(entities.API_KEYS, entities.api_key_key(api_key.key_hash), api_key)

    async def sweep(self, now: Instant) -> int:
        """Remove rows whose time to live is over, a bounded number; says how many. Call it again while it is not 0."""
        return await self._write(partial(expiry.sweep, now=now))

    # --- strong reads -------------------------------------------------------------------------------------------
    async def head(self, job_id: JobId) -> Head | None:
        """One head."""
        return await self._item(entities.HEADS, (job_id,))

    async def heads(self, job_ids: Sequence[JobId]) -> dict[JobId, Head]:
        """Those that exist."""
        return await self._items(entities.HEADS, {job_id: (job_id,) for job_id in job_ids})

    async def execution(self, ref: ExecutionRef) -> Execution | None:
        """One execution."""
        return await self._item(entities.EXECUTIONS, ref)

    async def executions(self, refs: Sequence[ExecutionRef]) -> dict[ExecutionRef, Execution]:
        """Those that exist."""
        return await self._items(entities.EXECUTIONS, {ref: ref for ref in refs})

    async def definition(self, job_id: JobId, version: int) -> Definition | None:
        """One version of a job, from memory where this process has seen it: it never changes."""
        kept = self._definitions.get(job_id, version)
        if kept is not None:
            return kept
        definition: Definition | None = await self._item(entities.DEFINITIONS, (job_id, version))
        if definition is not None:
            self._definitions.keep(definition)
        return definition

    async def executions_of(
        self, job_id: JobId, *, limit: int, since: Instant | None = None, after_key: str | None = None
    ) -> Listing[Execution]:
        """A job's executions, newest key first."""
        asked = partial(reads.executions_of, job_id=job_id, limit=limit, since=since, after_key=after_key)
        return await self._read(asked)

    async def pages(self, bucket: int, *, until: Instant, limit: int) -> Sequence[Page]:
        """The oldest pages of a bucket."""
        return await self._read(partial(reads.pages, bucket=bucket, until=until, limit=limit))

    async def lease(self, bucket: int) -> BucketLease | None:
        """The record of a bucket's lease."""
        return await self._item(entities.LEASES, entities.lease_key(bucket))

    async def idempotency(self, tenant_id: TenantId, key: str) -> IdempotencyRecord | None:
        """What a request with this key has created."""
        return await self._item(entities.IDEMPOTENCY, entities.idempotency_key(tenant_id, key))

    async def named(self, tenant_id: TenantId, name: str) -> NameRecord | None:
        """The job that has this name."""
        return await self._item(entities.NAMES, entities.name_key(tenant_id, name))

    async def calendars(self, tenant_id: TenantId, names: Sequence[str]) -> dict[str, Calendar]:
        """Those that exist."""
        return await self._items(entities.CALENDARS, {name: entities.calendar_key(tenant_id, name) for name in names})

    async def calendar_versions(self, tenant_id: TenantId, name: str, versions: Sequence[int]) -> dict[int, Calendar]:
        """Those that exist."""
        keys = {version: entities.calendar_version_key(tenant_id, name, version) for version in versions}
        return await self._items(entities.CALENDARS, keys)

    async def calendars_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Calendar]:
        """A tenant's calendars by name."""
        return await self._read(partial(reads.calendars, tenant_id=tenant_id, limit=limit, after_key=after_key))

    async def logs_of(self, ref: ExecutionRef, *, limit: int, after_key: str | None = None) -> Listing[StoredLog]:
        """The logs of an execution's attempts, newest first."""
        return await self._read(partial(reads.logs, ref=ref, limit=limit, after_key=after_key))

    async def redrive_order(self, tenant_id: TenantId, order_id: OrderId) -> Order | None:
        """One order."""
        return await self._item(entities.ORDERS, entities.order_key(tenant_id, order_id))

    async def redrive_orders(
        self, tenant_id: TenantId | None, *, limit: int, after_key: str | None = None
    ) -> Listing[Order]:
        """Everybody's orders, or a tenant's."""
        return await self._read(partial(reads.orders, tenant_id=tenant_id, limit=limit, after_key=after_key))

    async def own_payload(self, ref: ExecutionRef) -> OwnPayload | None:
        """The payload that an execution has of its own."""
        return await self._item(entities.OWN_PAYLOADS, entities.own_payload_key(ref))

    async def webhook_rotation(self, tenant_id: TenantId) -> Rotation | None:
        """The last rotation of a tenant's signing secret."""
        return await self._item(entities.ROTATIONS, entities.rotation_key(tenant_id))

    async def pool(self, tenant_id: TenantId, name: str) -> Pool | None:
        """One pool of a tenant."""
        return await self._item(entities.POOLS, entities.pool_key(tenant_id, name))

    async def pools_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Pool]:
        """A tenant's pools by name."""
        return await self._read(partial(reads.pools, tenant_id=tenant_id, limit=limit, after_key=after_key))

    async def seats_of(self, tenant_id: TenantId) -> Sequence[Seat]:
        """A tenant's seats by number."""
        return await self._read(partial(reads.seats, tenant_id=tenant_id))

    async def api_keys_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[ApiKey]:
        """A tenant's keys by their hash."""
        return await self._read(partial(reads.api_keys, tenant_id=tenant_id, limit=limit, after_key=after_key))

    async def api_key(self, key_hash: str) -> ApiKey | None:
        """The key with this hash."""
        return await self._item(entities.API_KEYS, entities.api_key_key(key_hash))

    # --- reads that may be stale by the port --------------------------------------------------------------------
    async def due_eventually(
        self, bucket: int, lane: Lane, *, until: Instant, limit: int, after_key: str | None = None
    ) -> Listing[Head]:
        """Heads that are due, oldest first."""
        asked = partial(reads.due, bucket=bucket, lane=lane, until=until, limit=limit, after_key=after_key)
        return await self._read(asked)

    async def waiting_eventually(self, wait_key: str, *, until: Instant, limit: int) -> Sequence[ExecutionRef]:
        """Executions whose wait is over, oldest first."""
        return await self._read(partial(reads.waiting, wait_key=wait_key, until=until, limit=limit))

    async def jobs_eventually(
        self, tenant_id: TenantId, *, limit: int, prefix: str = "", after_key: str | None = None
    ) -> Listing[JobId]:
        """A tenant's jobs in the order of `listed_as`."""
        asked = partial(reads.jobs, tenant_id=tenant_id, limit=limit, prefix=prefix, after_key=after_key)
        return await self._read(asked)

    async def attention_eventually(
        self,
        tenant_id: TenantId,
        *,
        limit: int,
        since: Instant | None = None,
        until: Instant | None = None,
        after_key: str | None = None,
    ) -> Listing[ExecutionRef]:
        """A tenant's dead executions, newest first."""
        where = partial(reads.attention, tenant_id=tenant_id, since=since, until=until)
        return await self._read(partial(where, limit=limit, after_key=after_key))

    # --- how the database is asked ------------------------------------------------------------------------------
    async def _read(self, work: Callable[[sqlite3.Connection], ItemT]) -> ItemT:
        return await self._database.read(work, StoreUnavailable)

    async def _write(self, work: Callable[[sqlite3.Connection], ItemT]) -> ItemT:
        return await self._database.write(work, StoreUnavailable)

    async def _item(self, entity: Entity[ItemT], key: Key) -> ItemT | None:
        return await self._read(partial(reads.item, entity=entity, key=key))

    async def _items(self, entity: Entity[ItemT], keys: dict[KeyT, Key]) -> dict[KeyT, ItemT]:
        return await self._read(lambda connection: dict(reads.items(connection, entity, keys.items())))

    async def _put(self, entity: Entity[ItemT], key: Key, item: ItemT) -> None:
        await self._write(partial(writes.put, entity=entity, key=key, item=item))
