"""The store port for one simulated process: each method is one call that travels to the State and back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tests.sim.process import Process
from tests.sim.state import State
from tickwright.adapters.embedded import entities
from tickwright.domain.changes import Change
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId, TenantId
from tickwright.domain.instants import Instant, to_key
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
from tickwright.ports.faults import StoreUnavailable, Unavailable
from tickwright.ports.store import AnyChange, Listing, Outcome, Unknown

ItemT = TypeVar("ItemT")
_FAR = 1 << 49  # so that what died last comes first in the order of its text


@dataclass(slots=True)
class SimStore:
    """A process's way to the state."""

    state: State
    process: Process

    async def _read(self, do: Callable[[], ItemT]) -> ItemT:
        return await self.process.call(do, StoreUnavailable)

    async def _write(self, do: Callable[[], ItemT]) -> ItemT:
        return await self.process.call(do, StoreUnavailable, writes=True)

    # --- writes --------------------------------------------------------------------------------------------------
    async def write(self, change: Change[ItemT]) -> Outcome[ItemT]:
        """One write."""
        outcome: Outcome[ItemT] = await self._write(lambda: self.state.write(change, self.process.member))
        return outcome

    async def write_each(self, changes: Sequence[AnyChange]) -> Sequence[Outcome[Any] | Unknown]:
        """In one message, each on its own: nothing is atomic across a batch."""
        each = [partial(self.state.write, change, self.process.member) for change in changes]
        answers = await self.process.call_each(each, StoreUnavailable)
        outcomes = [Unknown() if isinstance(answer, Unavailable) else answer for answer in answers]
        if outcomes and all(isinstance(outcome, Unknown) for outcome in outcomes):
            raise StoreUnavailable("no outcome is known")
        return outcomes

    async def write_together(self, changes: Sequence[AnyChange]) -> Sequence[Outcome[Any]]:
        """All or none."""
        return await self._write(lambda: self.state.write_together(changes, self.process.member))

    async def put_page(self, page: Page) -> None:
        """J."""
        await self._write(lambda: self.state.put_page(page))

    async def delete_page(self, page: Page) -> None:
        """Delete it."""
        await self._write(lambda: self.state.delete_page(page))

    async def put_log(self, log: StoredLog) -> None:
        """A write like any other that may be lost; nobody reads logs here, so none is kept."""
        assert log.text
        await self._write(lambda: None)

    async def put_api_key(self, api_key: ApiKey) -> None:
        """Nobody asks for keys here."""
        raise NotImplementedError

    # --- strong reads --------------------------------------------------------------------------------------------
    async def head(self, job_id: JobId) -> Head | None:
        """One head."""
        return await self._read(lambda: self.state.heads.get(job_id))

    async def heads(self, job_ids: Sequence[JobId]) -> dict[JobId, Head]:
        """Those that exist."""
        return await self._read(lambda: {one: self.state.heads[one] for one in job_ids if one in self.state.heads})

    async def execution(self, ref: ExecutionRef) -> Execution | None:
        """One execution."""
        return await self._read(lambda: self.state.executions.get(ref.job_id, {}).get(ref.key))

    async def executions(self, refs: Sequence[ExecutionRef]) -> dict[ExecutionRef, Execution]:
        """Those that exist."""

        def found() -> dict[ExecutionRef, Execution]:
            rows = ((ref, self.state.executions.get(ref.job_id, {}).get(ref.key)) for ref in refs)
            return {ref: row for ref, row in rows if row is not None}

        return await self._read(found)

    async def definition(self, job_id: JobId, version: int) -> Definition | None:
        """One version."""
        found: Definition | None = self.state.item(entities.DEFINITIONS, (job_id, version))
        return found or await self._read(lambda: self.state.item(entities.DEFINITIONS, (job_id, version)))

    async def executions_of(
        self, job_id: JobId, *, limit: int, since: Instant | None = None, after_key: str | None = None
    ) -> Listing[Execution]:
        """A job's executions, newest key first."""

        def found() -> Listing[Execution]:
            rows = self.state.executions.get(job_id, {})
            low = "" if since is None else to_key(since)
            keys = sorted((key for key in rows if key >= low and (after_key is None or key < after_key)), reverse=True)
            more = keys[limit - 1] if len(keys) > limit else None
            return Listing(items=[rows[key] for key in keys[:limit]], next_key=more)

        return await self._read(found)

    async def pages(self, bucket: int, *, until: Instant, limit: int) -> Sequence[Page]:
        """The oldest pages of a bucket."""

        def found() -> Sequence[Page]:
            keys = sorted(key for key in self.state.pages if key[0] == bucket and key[1] <= until)
            return [self.state.pages[key] for key in keys[:limit]]

        return await self._read(found)

    async def lease(self, bucket: int) -> BucketLease | None:
        """A bucket's record."""
        return await self._read(lambda: self.state.item(entities.LEASES, entities.lease_key(bucket)))

    async def idempotency(self, tenant_id: TenantId, key: str) -> IdempotencyRecord | None:
        """What a request has created."""
        place = entities.idempotency_key(tenant_id, key)
        return await self._read(lambda: self.state.item(entities.IDEMPOTENCY, place))

    async def named(self, tenant_id: TenantId, name: str) -> NameRecord | None:
        """The job of a name."""
        return await self._read(lambda: self.state.item(entities.NAMES, entities.name_key(tenant_id, name)))

    async def calendars(self, tenant_id: TenantId, names: Sequence[str]) -> dict[str, Calendar]:
        """Those that exist."""

        def found() -> dict[str, Calendar]:
            each = {name: self.state.item(entities.CALENDARS, entities.calendar_key(tenant_id, name)) for name in names}
            return {name: one for name, one in each.items() if one is not None}

        return await self._read(found)

    async def calendar_versions(self, tenant_id: TenantId, name: str, versions: Sequence[int]) -> dict[int, Calendar]:
        """Those that exist."""

        def found() -> dict[int, Calendar]:
            kept = entities.CALENDARS
            keys = {version: entities.calendar_version_key(tenant_id, name, version) for version in versions}
            each = {version: self.state.item(kept, key) for version, key in keys.items()}
            return {version: one for version, one in each.items() if one is not None}

        return await self._read(found)

    async def calendars_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Calendar]:
        """A tenant's, by name."""

        def found() -> Listing[Calendar]:
            mine = [one for one in self.state.calendars() if one.tenant_id == tenant_id]
            return _page_of(mine, lambda calendar: calendar.name, limit, after_key)

        return await self._read(found)

    async def logs_of(self, ref: ExecutionRef, *, limit: int, after_key: str | None = None) -> Listing[StoredLog]:
        """Nobody reads logs here."""
        raise NotImplementedError

    async def redrive_order(self, tenant_id: TenantId, order_id: OrderId) -> Order | None:
        """One order."""
        return await self._read(lambda: self.state.item(entities.ORDERS, entities.order_key(tenant_id, order_id)))

    async def redrive_orders(
        self, tenant_id: TenantId | None, *, limit: int, after_key: str | None = None
    ) -> Listing[Order]:
        """Everybody's, or a tenant's."""

        def found() -> Listing[Order]:
            mine = [order for order in self.state.orders() if tenant_id in {None, order.tenant_id}]
            return _page_of(mine, lambda order: f"{order.tenant_id}#{order.order_id}", limit, after_key)

        return await self._read(found)

    async def own_payload(self, ref: ExecutionRef) -> OwnPayload | None:
        """The payload that an execution has of its own."""
        return await self._read(lambda: self.state.item(entities.OWN_PAYLOADS, entities.own_payload_key(ref)))

    async def webhook_rotation(self, tenant_id: TenantId) -> Rotation | None:
        """Nobody signs here."""
        raise NotImplementedError

    async def pool(self, tenant_id: TenantId, name: str) -> Pool | None:
        """Nobody has a pool here."""
        raise NotImplementedError

    async def pools_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Pool]:
        """Nobody has a pool here."""
        raise NotImplementedError

    async def seats_of(self, tenant_id: TenantId) -> Sequence[Seat]:
        """Nobody waits for a pool here."""
        raise NotImplementedError

    async def api_keys_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[ApiKey]:
        """Nobody asks for keys here."""
        raise NotImplementedError

    async def api_key(self, key_hash: str) -> ApiKey | None:
        """Nobody asks for keys here."""
        raise NotImplementedError

    # --- reads that may be stale ---------------------------------------------------------------------------------
    async def due_eventually(
        self, bucket: int, lane: Lane, *, until: Instant, limit: int, after_key: str | None = None
    ) -> Listing[Head]:
        """Heads of the due index as it shows them."""

        def found() -> Listing[Head]:
            due = [
                head
                for head in self.state.shown_heads()
                if head.bucket == bucket and head.lane is lane and (head.next_run_at or until) <= until
            ]
            ordered = sorted(due, key=lambda head: (head.next_run_at or 0, head.job_id))
            return _page_of(ordered, lambda head: f"{head.next_run_at or 0:015d} {head.job_id}", limit, after_key)

        return await self._read(found)

    async def waiting_eventually(self, wait_key: str, *, until: Instant, limit: int) -> Sequence[ExecutionRef]:
        """Executions of the waiting index as it shows them."""

        def found() -> Sequence[ExecutionRef]:
            waiting = [
                row
                for row in self.state.shown_executions()
                if row.wait_key == wait_key and row.wait_at is not None and row.wait_at <= until
            ]
            return [row.ref for row in sorted(waiting, key=lambda row: (row.wait_at or 0, row.ref))[:limit]]

        return await self._read(found)

    async def jobs_eventually(
        self, tenant_id: TenantId, *, limit: int, prefix: str = "", after_key: str | None = None
    ) -> Listing[JobId]:
        """A tenant's jobs."""

        def found() -> Listing[JobId]:
            mine = [head for head in self.state.shown_heads() if head.tenant_id == tenant_id]
            named = sorted(
                (head for head in mine if head.listed_as.startswith(prefix)), key=lambda head: head.listed_as
            )
            page = _page_of(named, lambda head: f"{head.listed_as} {head.job_id}", limit, after_key)
            return Listing(items=[head.job_id for head in page.items], next_key=page.next_key)

        return await self._read(found)

    async def attention_eventually(
        self,
        tenant_id: TenantId,
        *,
        limit: int,
        since: Instant | None = None,
        until: Instant | None = None,
        after_key: str | None = None,
    ) -> Listing[ExecutionRef]:
        """A tenant's dead executions."""

        def meant(died_at: Instant | None) -> bool:
            return died_at is not None and (since or 0) <= died_at and (until is None or died_at <= until)

        def found() -> Listing[ExecutionRef]:
            mine = [row for row in self.state.shown_executions() if row.tenant_id == tenant_id]
            dead = [(_FAR - row.failed_at, row.ref) for row in mine if row.failed_at and meant(row.failed_at)]
            page = _page_of(sorted(dead), lambda one: f"{one[0]:015d} {one[1]}", limit, after_key)
            return Listing(items=[ref for _, ref in page.items], next_key=page.next_key)

        return await self._read(found)


def _page_of(
    items: Sequence[ItemT], key_of: Callable[[ItemT], str], limit: int, after_key: str | None
) -> Listing[ItemT]:
    left = [item for item in items if after_key is None or key_of(item) > after_key]
    return Listing(items=left[:limit], next_key=key_of(left[limit - 1]) if len(left) > limit else None)
