"""The store on DynamoDB: what ports/store.py promises, by keys, items and literal expressions.

Must not decide: conditions do. Promises: SEM-STORE-1 to SEM-STORE-8; every key and its cost: keys.py.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from tickwright.adapters.aws.calls import Calls
from tickwright.adapters.aws.clients import CONNECTIONS
from tickwright.adapters.aws.patience import Persistence
from tickwright.adapters.definitions import Definitions
from tickwright.adapters.dynamodb import keys, listings, wire
from tickwright.adapters.dynamodb.asked import asked_of
from tickwright.adapters.dynamodb.batches import write_each
from tickwright.adapters.dynamodb.engine import Engine, Options
from tickwright.adapters.dynamodb.expressions import queries
from tickwright.adapters.dynamodb.items import control, executions, jobs, journal, logs, redrives
from tickwright.adapters.dynamodb.reader import Reader
from tickwright.adapters.dynamodb.single import write_alone
from tickwright.adapters.dynamodb.tables import Table, TableNames
from tickwright.adapters.dynamodb.transactions import write_together
from tickwright.adapters.dynamodb.whole import DynamoDbWhole
from tickwright.adapters.dynamodb.wire import Item
from tickwright.adapters.readable import readable
from tickwright.domain import limits
from tickwright.domain.changes import Change
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
from tickwright.ports.clock import Clock
from tickwright.ports.entropy import Entropy
from tickwright.ports.faults import StoreBusy, StoreUnavailable
from tickwright.ports.store import AnyChange, Listing, Outcome, Unknown

ItemT = TypeVar("ItemT")


class DynamoDbStore:
    """A store in four tables. Safe to use from many coroutines; any number of processes may share the tables."""

    def __init__(
        self,
        client: object,
        tables: TableNames,
        *,
        clock: Clock,
        entropy: Entropy,
        options: Options,
    ) -> None:
        """Use a client made by adapters/aws/clients.py; whoever made it closes it."""
        always = {} if options.meter is None else {"ReturnConsumedCapacity": "INDEXES"}
        self._engine = Engine(
            calls=Calls(client, threads=CONNECTIONS, meter=options.meter, always=always),
            names=tables,
            persistence=Persistence(
                clock=clock, entropy=entropy, patience=options.patience, fault=StoreUnavailable, busy=StoreBusy
            ),
            partiql=options.partiql,
        )
        self._reader = Reader(self._engine)
        self._entropy = entropy
        self._definitions = Definitions(clock)

    def close(self) -> None:
        """Let go of the threads."""
        self._engine.calls.close()

    def whole(self) -> DynamoDbWhole:
        """All of these tables, for an operator."""
        return DynamoDbWhole(self._engine)

    # --- writes -------------------------------------------------------------------------------------------------
    async def write(self, change: Change[ItemT]) -> Outcome[ItemT]:
        """One conditional write."""
        (asked,) = asked_of([change])
        return await write_alone(self._engine, asked)

    async def write_each(self, changes: Sequence[AnyChange]) -> Sequence[Outcome[Any] | Unknown]:
        """Independent conditional writes."""
        return await write_each(self._engine, self._reader, changes)

    async def write_together(self, changes: Sequence[AnyChange]) -> Sequence[Outcome[Any]]:
        """All or none."""
        return await write_together(self._engine, self._reader, changes, token=self._entropy.token())

    async def put_page(self, page: Page) -> None:
        """J. No condition: the writer in the key is fresh, so a repeat replaces the page by itself."""
        await self._put(Table.JOURNAL, journal.page_to_item(page))

    async def delete_page(self, page: Page) -> None:
        """Delete it, if it is there."""
        await self._engine.ask(
            "delete_item", {"TableName": self._engine.name_of(Table.JOURNAL), "Key": keys.page_of(page)}
        )

    async def put_log(self, log: StoredLog) -> None:
        """Put or replace it. No condition: the epoch in the key is its writer's alone."""
        await self._put(Table.CONTROL, logs.to_item(log))

    async def put_api_key(self, api_key: ApiKey) -> None:
        """Put or replace it."""
        # In this order: cut off between the two, there is an entry of no key, and never a key that nobody can list.
        await self._put(Table.CONTROL, keys.api_key_of(api_key.tenant_id, api_key.key_hash))
        await self._put(Table.CONTROL, control.api_key_to_item(api_key))

    async def _put(self, table: Table, item: Item) -> None:
        await self._engine.ask("put_item", {"TableName": self._engine.name_of(table), "Item": item})

    # --- strong reads -------------------------------------------------------------------------------------------
    async def head(self, job_id: JobId) -> Head | None:
        """One head."""
        item = await self._reader.get(Table.JOBS, keys.head(job_id))
        return None if item is None else jobs.head_from_item(item)

    async def heads(self, job_ids: Sequence[JobId]) -> dict[JobId, Head]:
        """Those that exist."""
        items = await self._reader.get_many(Table.JOBS, [keys.head(job_id) for job_id in _different(job_ids)])
        return {head.job_id: head for head in map(jobs.head_from_item, items)}

    async def execution(self, ref: ExecutionRef) -> Execution | None:
        """One execution."""
        item = await self._reader.get(Table.EXECUTIONS, keys.execution(ref))
        return None if item is None else executions.from_item(item)

    async def executions(self, refs: Sequence[ExecutionRef]) -> dict[ExecutionRef, Execution]:
        """Those that exist."""
        items = await self._reader.get_many(Table.EXECUTIONS, [keys.execution(ref) for ref in _different(refs)])
        return {execution.ref: execution for execution in map(executions.from_item, items)}

    async def definition(self, job_id: JobId, version: int) -> Definition | None:
        """One version of a job, from memory, or eventually, or strongly."""
        kept = self._definitions.get(job_id, version)
        if kept is not None:
            return kept
        key = keys.definition(job_id, version)
        item = await self._reader.get(Table.JOBS, key, strong=False) or await self._reader.get(Table.JOBS, key)
        if item is None:
            return None
        definition = jobs.definition_from_item(item)
        self._definitions.keep(definition)
        return definition

    async def executions_of(
        self, job_id: JobId, *, limit: int, since: Instant | None = None, after_key: str | None = None
    ) -> Listing[Execution]:
        """A job's executions, newest key first."""
        query, values = listings.executions_of(job_id, since)
        after = None if after_key is None else listings.after_execution(job_id, after_key)
        items, last = await self._reader.page(query, values, limit=limit, after=after)
        return Listing(
            items=[executions.from_item(item) for item in items],
            next_key=None if last is None else listings.execution_key(last),
        )

    async def pages(self, bucket: int, *, until: Instant, limit: int) -> Sequence[Page]:
        """The oldest pages of a bucket."""
        values = {"bucket": keys.journal_bucket(bucket), "bound": wire.text(keys.page_bound(until))}
        return [journal.page_from_item(item) for item in await self._reader.range(queries.PAGES, values, limit=limit)]

    async def lease(self, bucket: int) -> BucketLease | None:
        """The record of a bucket's lease."""
        item = await self._reader.get(Table.CONTROL, keys.lease(bucket))
        return None if item is None else control.lease_from_item(item)

    async def idempotency(self, tenant_id: TenantId, key: str) -> IdempotencyRecord | None:
        """What a request with this key has created."""
        item = await self._reader.get(Table.CONTROL, keys.idempotency(tenant_id, key))
        return None if item is None else control.idempotency_from_item(item)

    async def named(self, tenant_id: TenantId, name: str) -> NameRecord | None:
        """The job that has this name."""
        item = await self._reader.get(Table.CONTROL, keys.name(tenant_id, name))
        return None if item is None else control.name_from_item(item)

    async def calendars(self, tenant_id: TenantId, names: Sequence[str]) -> dict[str, Calendar]:
        """Those that exist."""
        asked = [keys.calendar(tenant_id, name) for name in _different(names)]
        found = map(control.calendar_from_item, await self._reader.get_many(Table.CONTROL, asked))
        return {calendar.name: calendar for calendar in found}

    async def calendar_versions(self, tenant_id: TenantId, name: str, versions: Sequence[int]) -> dict[int, Calendar]:
        """Those that exist."""
        asked = [keys.calendar_version(tenant_id, name, version) for version in _different(versions)]
        found = map(control.calendar_from_item, await self._reader.get_many(Table.CONTROL, asked))
        return {calendar.version: calendar for calendar in found}

    async def calendars_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Calendar]:
        """A tenant's calendars by name."""
        query, values = listings.calendars_of(tenant_id)
        after = None if after_key is None else keys.calendar(tenant_id, after_key)
        items, last = await self._reader.page(query, values, limit=limit, after=after)
        return Listing(
            items=[control.calendar_from_item(item) for item in items],
            next_key=None if last is None else listings.calendar_key(last),
        )

    async def logs_of(self, ref: ExecutionRef, *, limit: int, after_key: str | None = None) -> Listing[StoredLog]:
        """The logs of an execution's attempts, newest first."""
        query, values = listings.logs_of(ref)
        after = None if after_key is None else keys.log(ref, after_key)
        items, last = await self._reader.page(query, values, limit=limit, after=after)
        return Listing(
            items=[logs.from_item(item) for item in items], next_key=None if last is None else listings.log_key(last)
        )

    async def redrive_order(self, tenant_id: TenantId, order_id: OrderId) -> Order | None:
        """One order."""
        item = await self._reader.get(Table.CONTROL, keys.order(tenant_id, order_id))
        return None if item is None else redrives.order_from_item(item)

    async def redrive_orders(
        self, tenant_id: TenantId | None, *, limit: int, after_key: str | None = None
    ) -> Listing[Order]:
        """A tenant's orders, or everybody's."""
        query, values = listings.orders_of(tenant_id)
        after = None if after_key is None else listings.after_order(after_key)
        items, last = await self._reader.page(query, values, limit=limit, after=after)
        return Listing(
            items=[redrives.order_from_item(item) for item in items],
            next_key=None if last is None else listings.order_key(last),
        )

    async def own_payload(self, ref: ExecutionRef) -> OwnPayload | None:
        """The payload that an execution has of its own."""
        item = await self._reader.get(Table.CONTROL, keys.own_payload(ref))
        return None if item is None else redrives.own_payload_from_item(item)

    async def webhook_rotation(self, tenant_id: TenantId) -> Rotation | None:
        """The last rotation of a tenant's signing secret."""
        item = await self._reader.get(Table.CONTROL, keys.webhook(tenant_id))
        return None if item is None else control.rotation_from_item(item)

    async def pool(self, tenant_id: TenantId, name: str) -> Pool | None:
        """One pool of a tenant."""
        item = await self._reader.get(Table.CONTROL, keys.pool(tenant_id, name))
        return None if item is None else control.pool_from_item(item)

    async def pools_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Pool]:
        """A tenant's pools by name."""
        query, values = listings.pools_of(tenant_id)
        after = None if after_key is None else keys.pool(tenant_id, after_key)
        items, last = await self._reader.page(query, values, limit=limit, after=after)
        next_key = None if last is None else listings.pool_key(last)
        return Listing(items=[control.pool_from_item(item) for item in items], next_key=next_key)

    async def seats_of(self, tenant_id: TenantId) -> Sequence[Seat]:
        """A tenant's seats by number."""
        query, values = listings.seats_of(tenant_id)
        items = await self._reader.range(query, values, limit=limits.SEATS_OF_TENANT_MAX)
        return [control.seat_from_item(item) for item in items]

    async def api_keys_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[ApiKey]:
        """A tenant's keys by their hash."""
        query, values = listings.api_keys_of(tenant_id)
        after = None if after_key is None else keys.api_key_of(tenant_id, after_key)
        entries, last = await self._reader.page(query, values, limit=limit, after=after)
        items = await self._reader.get_many(
            Table.CONTROL, [keys.api_key(listings.hash_of_entry(entry)) for entry in entries]
        )
        found = sorted(map(control.api_key_from_item, items), key=lambda key: key.key_hash)
        return Listing(items=found, next_key=None if last is None else listings.hash_of_entry(last))

    async def api_key(self, key_hash: str) -> ApiKey | None:
        """The key with this hash."""
        item = await self._reader.get(Table.CONTROL, keys.api_key(key_hash))
        return None if item is None else control.api_key_from_item(item)

    # --- reads that may be stale --------------------------------------------------------------------------------
    async def due_eventually(
        self, bucket: int, lane: Lane, *, until: Instant, limit: int, after_key: str | None = None
    ) -> Listing[Head]:
        """Heads that are due, oldest first."""
        values = {"bucket": wire.text(keys.due(bucket, lane)), "until": wire.number(until)}
        after = None if after_key is None else listings.after_due(bucket, lane, after_key)
        items, last = await self._reader.span(queries.DUE, values, limit=limit, after=after)
        next_key = None if last is None else listings.due_key(last)
        return Listing(items=readable(items, jobs.head_from_item, "head"), next_key=next_key)

    async def waiting_eventually(self, wait_key: str, *, until: Instant, limit: int) -> Sequence[ExecutionRef]:
        """Executions whose wait is over, oldest first."""
        values = {"waitKey": wire.text(wait_key), "until": wire.number(until)}
        return [executions.ref_of(item) for item in await self._reader.range(queries.WAITING, values, limit=limit)]

    async def jobs_eventually(
        self, tenant_id: TenantId, *, limit: int, prefix: str = "", after_key: str | None = None
    ) -> Listing[JobId]:
        """A tenant's jobs in the order of `listed_as`."""
        query, values = listings.jobs_of(tenant_id, prefix)
        after = None if after_key is None else listings.after_job(tenant_id, after_key)
        items, last = await self._reader.page(query, values, limit=limit, after=after)
        return Listing(
            items=[jobs.job_id_of(item) for item in items], next_key=None if last is None else listings.job_key(last)
        )

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
        after = None if after_key is None else listings.after_attention(tenant_id, after_key)
        values = listings.attention_of(tenant_id, since, until)
        items, last = await self._reader.page(queries.ATTENTION, values, limit=limit, after=after)
        return Listing(
            items=[executions.ref_of(item) for item in items],
            next_key=None if last is None else listings.attention_key(last),
        )


def _different(names: Iterable[ItemT]) -> list[ItemT]:
    """Each once: a request that names a key twice is refused."""
    return list(dict.fromkeys(names))
