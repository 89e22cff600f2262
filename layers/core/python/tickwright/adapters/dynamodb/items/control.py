"""What the small records look like: bucket leases, API keys, idempotency records, names, rotations, calendars, seats.

`ttl`, in seconds, lets DynamoDB forget an idempotency record in the days after nobody asks for it any more; `expiresAt`
says when it ends.
"""

from tickwright.adapters.dynamodb import keys, wire
from tickwright.adapters.dynamodb.items.shape import FLAG, NUMBER, TEXT, Codec, Field, Shape, set_of
from tickwright.adapters.dynamodb.wire import Item
from tickwright.domain.deletions import Deletion
from tickwright.domain.leases import BucketLease
from tickwright.domain.pools import Pool
from tickwright.domain.schedules import Calendar, content_text, from_content_text
from tickwright.domain.seats import Seat
from tickwright.domain.tenants import ApiKey, IdempotencyRecord, NameRecord, Scope
from tickwright.domain.webhooks import Rotation

_LEASE = Shape(
    BucketLease,
    (
        Field("bucket", "bucket", NUMBER),
        Field("owner", "owner", TEXT),
        Field("lease_epoch", "leaseEpoch", NUMBER),
        Field("rvn", "rvn", TEXT),
        Field("drained", "drained", FLAG),
        Field("tzdata", "tzdata", Codec(wire.text, wire.as_text, absent="")),
        Field("epoch_base", "epochBase", Codec(wire.number, wire.as_number, absent=0)),
    ),
)
_API_KEY = Shape(
    ApiKey,
    (
        Field("key_hash", "keyHash", TEXT),
        Field("tenant_id", "tenantId", TEXT),
        Field("scopes", "scopes", set_of(Scope)),
        Field("label", "label", TEXT),
        Field("created_at", "createdAt", NUMBER),
        Field("expires_at", "expiresAt", NUMBER),
        Field("revoked", "revoked", Codec(wire.flag, wire.as_flag, absent=False)),
        Field("made_by", "madeBy", TEXT),
    ),
)
_IDEMPOTENCY = Shape(
    IdempotencyRecord,
    (
        Field("tenant_id", "tenantId", TEXT),
        Field("key", "key", TEXT),
        Field("body_hash", "bodyHash", TEXT),
        Field("job_id", "jobId", TEXT),
        Field("answer", "answer", TEXT),
        Field("expires_at", "expiresAt", NUMBER),
        Field("token", "token", TEXT),
        Field("kept_until", "keptUntil", NUMBER),
    ),
)
_NAME = Shape(
    NameRecord,
    (
        Field("tenant_id", "tenantId", TEXT),
        Field("name", "name", TEXT),
        Field("job_id", "jobId", TEXT),
        Field("released", "released", FLAG),
    ),
)
_DELETION = Shape(
    Deletion,
    (
        Field("tenant_id", "tenantId", TEXT),
        Field("asked_at", "askedAt", NUMBER),
        Field("still_at", "stillAt", NUMBER),
        Field("removes_at", "removesAt", NUMBER),
        Field("ended_at", "endedAt", NUMBER),
    ),
)
_CALENDAR = Shape(
    Calendar,
    (
        Field("tenant_id", "tenantId", TEXT),
        Field("name", "name", TEXT),
        Field("version", "version", NUMBER),
        Field(
            "content",
            "content",
            Codec(
                lambda content: wire.text(content_text(content)), lambda value: from_content_text(wire.as_text(value))
            ),
        ),
        Field("updated_at", "updatedAt", NUMBER),
        Field("retired", "retired", FLAG),
        Field("write_token", "writeToken", TEXT),
    ),
)


_ROTATION = Shape(
    Rotation,
    (
        Field("tenant_id", "tenantId", TEXT),
        Field("number", "number", NUMBER),
        Field("rotated_at", "rotatedAt", NUMBER),
    ),
)


_POOL = Shape(
    Pool,
    (
        Field("tenant_id", "tenantId", TEXT),
        Field("name", "name", TEXT),
        Field("description", "description", TEXT),
        Field("created_at", "createdAt", NUMBER),
        Field("version", "version", NUMBER),
        Field("deleted_at", "deletedAt", NUMBER),
    ),
)


_SEAT = Shape(
    Seat,
    (
        Field("tenant_id", "tenantId", TEXT),
        Field("number", "number", NUMBER),
        Field("token", "token", TEXT),
        Field("until", "until", NUMBER),
    ),
)


def lease_to_item(lease: BucketLease) -> Item:
    """A bucket's record."""
    return _LEASE.attributes(lease) | keys.lease(lease.bucket)


def lease_from_item(item: Item) -> BucketLease:
    """The lease of an item."""
    return _LEASE.entity(item)


def api_key_to_item(api_key: ApiKey) -> Item:
    """A key. It has no ttl: one that has expired is refused with that reason, not as unknown."""
    return _API_KEY.attributes(api_key) | keys.api_key(api_key.key_hash)


def api_key_from_item(item: Item) -> ApiKey:
    """The key of an item."""
    return _API_KEY.entity(item)


def idempotency_to_item(record: IdempotencyRecord) -> Item:
    """A request's record, to be forgotten when nobody asks for it any more."""
    return (
        _IDEMPOTENCY.attributes(record)
        | keys.idempotency(record.tenant_id, record.key)
        | {"ttl": wire.ttl(record.forgotten_at)}
    )


def idempotency_from_item(item: Item) -> IdempotencyRecord:
    """The record of an item."""
    return _IDEMPOTENCY.entity(item)


def deletion_to_item(deletion: Deletion) -> Item:
    """How far the deletion of a tenant has come; once it has ended, DynamoDB forgets it in time."""
    item = keys.deletion(deletion.tenant_id) | _DELETION.attributes(deletion)
    ends = deletion.forgotten_at
    return item if ends is None else item | {"ttl": wire.ttl(ends)}


def deletion_from_item(item: Item) -> Deletion:
    """How far the deletion of a tenant has come."""
    return _DELETION.entity(item)


def name_to_item(record: NameRecord) -> Item:
    """A name's record."""
    return _NAME.attributes(record) | keys.name(record.tenant_id, record.name)


def name_from_item(item: Item) -> NameRecord:
    """The record of an item."""
    return _NAME.entity(item)


def rotation_to_item(rotation: Rotation) -> Item:
    """The last rotation of a tenant's signing secret."""
    return _ROTATION.attributes(rotation) | keys.webhook(rotation.tenant_id)


def rotation_from_item(item: Item) -> Rotation:
    """The rotation of an item."""
    return _ROTATION.entity(item)


def pool_to_item(pool: Pool) -> Item:
    """A tenant's pool; one that was deleted is to be forgotten."""
    ttl = {} if pool.forgotten_at is None else {"ttl": wire.ttl(pool.forgotten_at)}
    return _POOL.attributes(pool) | keys.pool(pool.tenant_id, pool.name) | ttl


def pool_from_item(item: Item) -> Pool:
    """The pool of an item."""
    return _POOL.entity(item)


def seat_to_item(seat: Seat) -> Item:
    """A tenant's seat, to be forgotten after its end."""
    return _SEAT.attributes(seat) | keys.seat(seat.tenant_id, seat.number) | {"ttl": wire.ttl(seat.until)}


def seat_from_item(item: Item) -> Seat:
    """The seat of an item."""
    return _SEAT.entity(item)


def calendar_to_item(calendar: Calendar) -> Item:
    """A calendar as it stands now."""
    return _CALENDAR.attributes(calendar) | keys.calendar(calendar.tenant_id, calendar.name)


def calendar_version_to_item(calendar: Calendar) -> Item:
    """A version of a calendar."""
    return _CALENDAR.attributes(calendar) | keys.calendar_version(calendar.tenant_id, calendar.name, calendar.version)


def calendar_from_item(item: Item) -> Calendar:
    """The calendar of an item."""
    return _CALENDAR.entity(item)
