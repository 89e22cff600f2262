"""How each kind of item is kept: under which key, with which columns beside it, and which write is about which kind.

All statements that write items stand here, literally. Must not know when an item may change: that is `change.decide`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tickwright.adapters.embedded.codec import Codec
from tickwright.domain.changes import calendars, executions, heads, moves, pools
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef
from tickwright.domain.jobs import Definition, Head
from tickwright.domain.journal import Page, PutPage
from tickwright.domain.leases import BucketLease, RenewBucket, TakeBucket
from tickwright.domain.own_payloads import KeepOwnPayload, OwnPayload, PutOwnPayload
from tickwright.domain.pools import Pool
from tickwright.domain.redrive_orders import Order, PutOrder
from tickwright.domain.schedules import Calendar
from tickwright.domain.seats import PutSeat, Seat
from tickwright.domain.stored_logs import StoredLog
from tickwright.domain.tenants import ApiKey, IdempotencyRecord, NameRecord, PutIdempotency, PutName
from tickwright.domain.webhooks import PutRotation, Rotation

ItemT = TypeVar("ItemT")
Key = tuple[str | int, ...]
Columns = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity(Generic[ItemT]):
    """One kind of item. `load` takes the key; `save` takes the key, then the columns, then the text of the item."""

    codec: Codec[ItemT]
    columns: Callable[[ItemT], Columns]
    load: str
    save: str


def _head_columns(head: Head) -> Columns:
    return head.tenant_id, head.listed_as, head.bucket, head.lane.value, head.next_run_at


def _execution_columns(execution: Execution) -> Columns:
    expires_at = None if execution.ttl is None else execution.ttl * 1_000
    return execution.tenant_id, execution.wait_key, execution.wait_at, execution.failed_at, expires_at


HEADS = Entity(
    codec=Codec(Head, sparse=True),
    columns=_head_columns,
    load="SELECT doc FROM heads WHERE job_id = ?",
    save="""
        INSERT INTO heads (job_id, tenant_id, listed_as, bucket, lane, next_run_at, doc) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (job_id) DO UPDATE SET
            tenant_id = excluded.tenant_id, listed_as = excluded.listed_as, bucket = excluded.bucket,
            lane = excluded.lane, next_run_at = excluded.next_run_at, doc = excluded.doc
    """,
)
EXECUTIONS = Entity(
    codec=Codec(Execution, sparse=True),
    columns=_execution_columns,
    load="SELECT doc FROM executions WHERE job_id = ? AND key = ?",
    save="""
        INSERT INTO executions (job_id, key, tenant_id, wait_key, wait_at, failed_at, expires_at, doc)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (job_id, key) DO UPDATE SET
            tenant_id = excluded.tenant_id, wait_key = excluded.wait_key, wait_at = excluded.wait_at,
            failed_at = excluded.failed_at, expires_at = excluded.expires_at, doc = excluded.doc
    """,
)
DEFINITIONS = Entity(
    codec=Codec(Definition),
    columns=lambda _definition: (),
    load="SELECT doc FROM definitions WHERE job_id = ? AND version = ?",
    save="""
        INSERT INTO definitions (job_id, version, doc) VALUES (?, ?, ?)
        ON CONFLICT (job_id, version) DO UPDATE SET doc = excluded.doc
    """,
)
PAGES = Entity(
    codec=Codec(Page, sparse=True),
    columns=lambda _page: (),
    load="SELECT doc FROM journal WHERE bucket = ? AND check_at = ? AND writer = ?",
    save="""
        INSERT INTO journal (bucket, check_at, writer, doc) VALUES (?, ?, ?, ?)
        ON CONFLICT (bucket, check_at, writer) DO UPDATE SET doc = excluded.doc
    """,
)
DELETE_PAGE = "DELETE FROM journal WHERE bucket = ? AND check_at = ? AND writer = ?"

_LOAD_CONTROL = "SELECT doc FROM control WHERE pk = ? AND sk = ?"
_SAVE_CONTROL = """
    INSERT INTO control (pk, sk, expires_at, doc) VALUES (?, ?, ?, ?)
    ON CONFLICT (pk, sk) DO UPDATE SET expires_at = excluded.expires_at, doc = excluded.doc
"""
LEASES = Entity(codec=Codec(BucketLease), columns=lambda _lease: (None,), load=_LOAD_CONTROL, save=_SAVE_CONTROL)
IDEMPOTENCY = Entity(
    codec=Codec(IdempotencyRecord),
    columns=lambda record: (record.forgotten_at,),
    load=_LOAD_CONTROL,
    save=_SAVE_CONTROL,
)
NAMES = Entity(codec=Codec(NameRecord), columns=lambda _record: (None,), load=_LOAD_CONTROL, save=_SAVE_CONTROL)
CALENDARS = Entity(codec=Codec(Calendar), columns=lambda _calendar: (None,), load=_LOAD_CONTROL, save=_SAVE_CONTROL)
LOGS = Entity(codec=Codec(StoredLog), columns=lambda log: (log.expires_at,), load=_LOAD_CONTROL, save=_SAVE_CONTROL)
ORDERS = Entity(
    codec=Codec(Order, sparse=True),
    columns=lambda order: (order.expires_at,),
    load=_LOAD_CONTROL,
    save=_SAVE_CONTROL,
)
OWN_PAYLOADS = Entity(
    codec=Codec(OwnPayload),
    columns=lambda payload: (payload.expires_at,),
    load=_LOAD_CONTROL,
    save=_SAVE_CONTROL,
)
ROTATIONS = Entity(codec=Codec(Rotation), columns=lambda _rotation: (None,), load=_LOAD_CONTROL, save=_SAVE_CONTROL)
POOLS = Entity(codec=Codec(Pool), columns=lambda pool: (pool.forgotten_at,), load=_LOAD_CONTROL, save=_SAVE_CONTROL)
SEATS = Entity(codec=Codec(Seat), columns=lambda seat: (seat.until,), load=_LOAD_CONTROL, save=_SAVE_CONTROL)
API_KEYS = Entity(codec=Codec(ApiKey), columns=lambda _key: (None,), load=_LOAD_CONTROL, save=_SAVE_CONTROL)


def lease_key(bucket: int) -> Key:
    """The record of a bucket's lease."""
    return f"BUCKET#{bucket}", "LEASE"


def idempotency_key(tenant_id: str, key: str) -> Key:
    """What a tenant's request with this key has created."""
    return f"TENANT#{tenant_id}", f"IDEMPOTENCY#{key}"


def rotation_key(tenant_id: str) -> Key:
    """The last rotation of a tenant's signing secret."""
    return f"TENANT#{tenant_id}", "WEBHOOK"


def name_key(tenant_id: str, name: str) -> Key:
    """The job of this name within its tenant."""
    return f"TENANT#{tenant_id}", f"NAME#{name}"


def pool_key(tenant_id: str, name: str) -> Key:
    """A tenant's pool; pools of a tenant lie in the order of their names."""
    return f"TENANT#{tenant_id}", f"POOL#{name}"


def seat_key(tenant_id: str, number: int) -> Key:
    """One of a tenant's seats; they lie in the order of their numbers."""
    return f"TENANT#{tenant_id}", f"SEAT#{number:03d}"


def calendar_key(tenant_id: str, name: str) -> Key:
    """A tenant's calendar as it stands now; calendars of a tenant lie in the order of their names."""
    return f"TENANT#{tenant_id}", f"CALENDAR#{name}"


def calendar_version_key(tenant_id: str, name: str, version: int) -> Key:
    """One version of a calendar."""
    return f"TENANT#{tenant_id}", f"CALENDARVERSION#{name}#{version}"


def _current(change: calendars.PutCalendar) -> Key:
    return calendar_key(change.calendar.tenant_id, change.calendar.name)


def _kept(change: calendars.PutCalendarVersion) -> Key:
    return calendar_version_key(change.calendar.tenant_id, change.calendar.name, change.calendar.version)


def log_key(ref: ExecutionRef, place: str) -> Key:
    """The log of one attempt; those of an execution lie in the order of their epochs."""
    return f"LOG#{ref.id}", place


def order_key(tenant_id: str, order_id: str) -> Key:
    """An order to redrive: all lie together, a tenant's beside one another, for whoever carries them out."""
    return "REDRIVES", f"{tenant_id}#{order_id}"


def own_payload_key(ref: ExecutionRef) -> Key:
    """The payload that one execution has of its own."""
    return f"PAYLOAD#{ref.job_id}", ref.key


def api_key_key(key_hash: str) -> Key:
    """The API key with this hash."""
    return f"KEY#{key_hash}", "KEY"


def page_key(page: Page) -> Key:
    """A page of the journal: a bucket's pages lie in the order in which they are looked at."""
    return page.bucket, page.check_at, page.writer


_OF_EXECUTIONS = (
    *(executions.Insert, executions.Claim, executions.Heartbeat, executions.Succeed, executions.Fail, executions.Reap),
    *(executions.StrikeOwed, moves.Stop, moves.ReapStopping, moves.PutOff, moves.Cancel, moves.Release, moves.Expire),
    *(moves.Redrive, moves.Discard),
)
_OF_HEADS = (heads.PutHead, heads.Advance, heads.Rewrite, heads.Occupy, heads.StillOpen, heads.Reopen)

# Which kind of item a write is about, and its key. A write that is missing here is a KeyError; a test walks them all.
PLACES: dict[type, tuple[Entity[Any], Callable[[Any], Key]]] = {
    **dict.fromkeys(_OF_EXECUTIONS, (EXECUTIONS, lambda change: change.ref)),
    **dict.fromkeys(_OF_HEADS, (HEADS, lambda change: (change.job_id,))),
    PutPage: (PAGES, lambda change: page_key(change.page)),
    heads.PutDefinition: (DEFINITIONS, lambda change: (change.definition.job_id, change.definition.version)),
    TakeBucket: (LEASES, lambda change: lease_key(change.bucket)),
    RenewBucket: (LEASES, lambda change: lease_key(change.bucket)),
    PutIdempotency: (IDEMPOTENCY, lambda change: idempotency_key(change.record.tenant_id, change.record.key)),
    pools.PutPool: (POOLS, lambda change: pool_key(change.pool.tenant_id, change.pool.name)),
    PutSeat: (SEATS, lambda change: seat_key(change.seat.tenant_id, change.seat.number)),
    calendars.PutCalendar: (CALENDARS, _current),
    calendars.PutCalendarVersion: (CALENDARS, _kept),
    PutOrder: (ORDERS, lambda change: order_key(change.order.tenant_id, change.order.order_id)),
    PutOwnPayload: (OWN_PAYLOADS, lambda change: own_payload_key(change.ref)),
    KeepOwnPayload: (OWN_PAYLOADS, lambda change: own_payload_key(change.ref)),
    PutRotation: (ROTATIONS, lambda change: rotation_key(change.rotation.tenant_id)),
    PutName: (NAMES, lambda change: name_key(change.record.tenant_id, change.record.name)),
}
