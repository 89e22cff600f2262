"""The store: jobs, executions, the journal and control records, behind one Protocol.

Everything that decides is a conditional write (domain/changes); every conditional write answers with the new item or
with the item that refused it. Reads are strongly consistent unless their name ends in `_eventually`. A failed read is
never an empty answer: it raises StoreUnavailable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

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

ItemT = TypeVar("ItemT")
AnyChange = Change[Any]


@dataclass(frozen=True, slots=True)
class Applied(Generic[ItemT]):
    """The write won, now or before a lost reply; `new` is the item as it is after it."""

    new: ItemT


@dataclass(frozen=True, slots=True)
class Refused(Generic[ItemT]):
    """The condition did not hold; `old` is the item that refused it, None if there is none."""

    old: ItemT | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """One write of a batch whose outcome is not known (throttled or cut off to the end): try again later."""


Outcome = Applied[ItemT] | Refused[ItemT]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[ItemT]):
    """One page of a list; `next_key` is where the next begins, None at the end. An empty page may have a next."""

    items: Sequence[ItemT]
    next_key: str | None


class Store(Protocol):
    """Where the truth is."""

    # --- writes -------------------------------------------------------------------------------------------------
    async def write(self, change: Change[ItemT]) -> Outcome[ItemT]:
        """Carry out one conditional write, atomically.

        A write whose reply was lost is repeated and then judged by the item (`change.mine`). Throttles and conflicts
        are retried with jitter; StoreUnavailable after that means that the outcome is not known (StoreBusy: and that
        the last word was one of those).
        """
        ...

    async def write_each(self, changes: Sequence[AnyChange]) -> Sequence[Outcome[Any] | Unknown]:
        """Carry out independent writes of different items: an outcome each, in their order, nothing atomic across them.

        Any number: batched inside. Raises StoreUnavailable only if not one outcome is known.
        """
        ...

    async def write_together(self, changes: Sequence[AnyChange]) -> Sequence[Outcome[Any]]:
        """Carry out writes of different items all or none (at most 100).

        All Applied, or at least one Refused; where one is Refused nothing was written, and those that would have been
        applied are Refused with the item as it is (None if unknown). A transaction whose reply was lost is recognised
        as in `write`.
        """
        ...

    async def put_page(self, page: Page) -> None:
        """J: put a journal page under its (bucket, checkAt, writer), which is fresh."""
        ...

    async def delete_page(self, page: Page) -> None:
        """Delete a page, whose kept entries stand elsewhere. Deleting one that is gone is no error."""
        ...

    async def put_log(self, log: StoredLog) -> None:
        """Put or replace the log of one attempt: only the holder of its epoch writes it."""
        ...

    # --- strong reads -------------------------------------------------------------------------------------------
    async def head(self, job_id: JobId) -> Head | None:
        """One head."""
        ...

    async def heads(self, job_ids: Sequence[JobId]) -> dict[JobId, Head]:
        """Those of these heads that exist."""
        ...

    async def execution(self, ref: ExecutionRef) -> Execution | None:
        """One execution."""
        ...

    async def executions(self, refs: Sequence[ExecutionRef]) -> dict[ExecutionRef, Execution]:
        """Those of these executions that exist."""
        ...

    async def definition(self, job_id: JobId, version: int) -> Definition | None:
        """One version of a job (immutable: an eventually consistent hit is proof, a miss is repeated strongly)."""
        ...

    async def executions_of(
        self, job_id: JobId, *, limit: int, since: Instant | None = None, after_key: str | None = None
    ) -> Listing[Execution]:
        """A job's executions, newest key first, down to `since` (inclusive); `after_key` goes on where a page ended."""
        ...

    async def pages(self, bucket: int, *, until: Instant, limit: int) -> Sequence[Page]:
        """The oldest pages of a bucket's journal with `check_at` at or before `until`, without a cursor."""
        ...

    async def lease(self, bucket: int) -> BucketLease | None:
        """The record of a bucket's lease."""
        ...

    async def idempotency(self, tenant_id: TenantId, key: str) -> IdempotencyRecord | None:
        """What a request with this key has created. May be expired: look at `expires_at`."""
        ...

    async def named(self, tenant_id: TenantId, name: str) -> NameRecord | None:
        """The job that has this name."""
        ...

    async def calendars(self, tenant_id: TenantId, names: Sequence[str]) -> dict[str, Calendar]:
        """Those of a tenant's calendars that exist, as they stand now, retired ones too."""
        ...

    async def calendar_versions(self, tenant_id: TenantId, name: str, versions: Sequence[int]) -> dict[int, Calendar]:
        """Those of these versions of a calendar that exist."""
        ...

    async def calendars_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Calendar]:
        """A tenant's calendars by name, as they stand now, retired ones too."""
        ...

    async def logs_of(self, ref: ExecutionRef, *, limit: int, after_key: str | None = None) -> Listing[StoredLog]:
        """The logs of an execution's attempts, newest first. One may be there a while after its `expires_at`."""
        ...

    async def redrive_order(self, tenant_id: TenantId, order_id: OrderId) -> Order | None:
        """One order to redrive."""
        ...

    async def redrive_orders(
        self, tenant_id: TenantId | None, *, limit: int, after_key: str | None = None
    ) -> Listing[Order]:
        """A tenant's orders, or (None) everybody's; those that have ended too."""
        ...

    async def own_payload(self, ref: ExecutionRef) -> OwnPayload | None:
        """The payload that an execution has of its own."""
        ...

    async def webhook_rotation(self, tenant_id: TenantId) -> Rotation | None:
        """The last rotation of a tenant's signing secret."""
        ...

    async def pool(self, tenant_id: TenantId, name: str) -> Pool | None:
        """One pool of a tenant."""
        ...

    async def pools_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[Pool]:
        """A tenant's pools by name."""
        ...

    async def seats_of(self, tenant_id: TenantId) -> Sequence[Seat]:
        """A tenant's seats that have been taken, by number; those that are free again may be among them."""
        ...

    async def api_key(self, key_hash: str) -> ApiKey | None:
        """The key with this hash."""
        ...

    async def api_keys_of(self, tenant_id: TenantId, *, limit: int, after_key: str | None = None) -> Listing[ApiKey]:
        """A tenant's keys by their hash, those that have expired too."""
        ...

    async def put_api_key(self, api_key: ApiKey) -> None:
        """Put or replace a key. One that can be found by its hash is among those of its tenant."""
        ...

    # --- reads that may be stale: they only say where to look ----------------------------------------------------
    async def due_eventually(
        self, bucket: int, lane: Lane, *, until: Instant, limit: int, after_key: str | None = None
    ) -> Listing[Head]:
        """Heads of the due index with `nextRunAt` at or before `until`, oldest first.

        One that cannot be read is left out, with an error in the log: it must not hide the others (B094).
        """
        ...

    async def waiting_eventually(self, wait_key: str, *, until: Instant, limit: int) -> Sequence[ExecutionRef]:
        """Executions of the waiting index whose `wait_at` is at or before `until`, oldest first."""
        ...

    async def jobs_eventually(
        self, tenant_id: TenantId, *, limit: int, prefix: str = "", after_key: str | None = None
    ) -> Listing[JobId]:
        """A tenant's jobs in the order of `listed_as`, those whose `listed_as` begins with `prefix`."""
        ...

    async def attention_eventually(
        self,
        tenant_id: TenantId,
        *,
        limit: int,
        since: Instant | None = None,
        until: Instant | None = None,
        after_key: str | None = None,
    ) -> Listing[ExecutionRef]:
        """A tenant's dead executions, newest `failed_at` first; both ends of the range belong to it."""
        ...
