"""The changes of bucket leases, idempotency records, names, calendars and deletions as requests."""

from tickwright.adapters.dynamodb import keys, wire
from tickwright.adapters.dynamodb.expressions import control as expressions
from tickwright.adapters.dynamodb.expressions.write import Write
from tickwright.adapters.dynamodb.items import control as items
from tickwright.adapters.dynamodb.requests.request import Request
from tickwright.adapters.dynamodb.tables import Table
from tickwright.adapters.dynamodb.wire import Item
from tickwright.domain.changes.calendars import PutCalendar, PutCalendarVersion
from tickwright.domain.changes.pools import PutPool
from tickwright.domain.deletions import CallOff, Deletion, PutDeletion
from tickwright.domain.leases import RenewBucket, TakeBucket
from tickwright.domain.seats import PutSeat, furthest_end
from tickwright.domain.tenants import PutIdempotency, PutName
from tickwright.domain.webhooks import PutRotation


def take_bucket(change: TakeBucket) -> Request:
    """Take a bucket: a new record where there is none, else the one that was seen."""
    if change.seen_rvn is None:
        first = change.decide(None)
        assert first is not None
        return _of_lease(change.bucket, expressions.TAKE_NEW_BUCKET, {}, put=items.lease_to_item(first))
    values = {
        "owner": wire.text(change.owner),
        "rvn": wire.text(change.rvn),
        "seenRvn": wire.text(change.seen_rvn),
    }
    if change.epoch_base == 0:
        return _of_lease(change.bucket, expressions.TAKE_BUCKET, values)
    values["epochBase"] = wire.number(change.epoch_base)
    return _of_lease(change.bucket, expressions.TAKE_BUCKET_ABOVE_A_BASE, values)


def renew_bucket(change: RenewBucket) -> Request:
    """Keep a bucket, or give it up."""
    write = expressions.GIVE_UP_BUCKET if change.give_up else expressions.RENEW_BUCKET
    values = {
        "holder": wire.text(change.holder),
        "epoch": wire.number(change.epoch),
        "rvn": wire.text(change.rvn),
        "drained": wire.flag(change.drained),
        "tzdata": wire.text(change.tzdata),
    }
    return _of_lease(change.bucket, write, values)


def put_idempotency(change: PutIdempotency) -> Request:
    """Note a request."""
    record = change.record
    return Request(
        table=Table.CONTROL,
        key=keys.idempotency(record.tenant_id, record.key),
        write=expressions.PUT_IDEMPOTENCY,
        read=items.idempotency_from_item,
        values={"now": wire.number(change.now)},
        put=items.idempotency_to_item(record),
    )


def put_name(change: PutName) -> Request:
    """Take a name, or give it up."""
    record = change.record
    return Request(
        table=Table.CONTROL,
        key=keys.name(record.tenant_id, record.name),
        write=expressions.PUT_NAME,
        read=items.name_from_item,
        values={"jobId": wire.text(record.job_id)},
        put=items.name_to_item(record),
    )


def put_rotation(change: PutRotation) -> Request:
    """Go on to the next signing secret."""
    return Request(
        table=Table.CONTROL,
        key=keys.webhook(change.rotation.tenant_id),
        write=expressions.PUT_FIRST_ROTATION if change.seen is None else expressions.PUT_ROTATION,
        read=items.rotation_from_item,
        values={} if change.seen is None else {"seenNumber": wire.number(change.seen)},
        put=items.rotation_to_item(change.rotation),
    )


def put_pool(change: PutPool) -> Request:
    """Put a pool where there was none, or over the version that was seen."""
    pool, seen = change.pool, change.seen_version
    return Request(
        table=Table.CONTROL,
        key=keys.pool(pool.tenant_id, pool.name),
        write=expressions.PUT_NEW_POOL if seen is None else expressions.PUT_POOL,
        read=items.pool_from_item,
        values={} if seen is None else {"seenVersion": wire.number(seen)},
        put=items.pool_to_item(pool),
    )


def put_seat(change: PutSeat) -> Request:
    """Take a seat, or leave it."""
    seat = change.seat
    return Request(
        table=Table.CONTROL,
        key=keys.seat(seat.tenant_id, seat.number),
        write=expressions.PUT_SEAT,
        read=items.seat_from_item,
        values={
            "now": wire.number(change.now),
            "furthest": wire.number(furthest_end(change.now, change.clock_error_ms)),
            "token": wire.text(seat.token),
        },
        put=items.seat_to_item(seat),
    )


def put_calendar(change: PutCalendar) -> Request:
    """Put a calendar where there was none, or in place of the one that was seen."""
    seen, calendar = change.seen_token, change.calendar
    return Request(
        table=Table.CONTROL,
        key=keys.calendar(calendar.tenant_id, calendar.name),
        write=expressions.PUT_NEW_CALENDAR if seen is None else expressions.PUT_CALENDAR,
        read=items.calendar_from_item,
        values={} if seen is None else {"seenToken": wire.text(seen)},
        put=items.calendar_to_item(calendar),
    )


def put_calendar_version(change: PutCalendarVersion) -> Request:
    """Keep a version."""
    calendar = change.calendar
    return Request(
        table=Table.CONTROL,
        key=keys.calendar_version(calendar.tenant_id, calendar.name, calendar.version),
        write=expressions.PUT_CALENDAR_VERSION,
        read=items.calendar_from_item,
        values={},
        put=items.calendar_version_to_item(calendar),
    )


def put_deletion(change: PutDeletion) -> Request:
    """Note how far a deletion has come."""
    write, values = _over(change.seen)
    return Request(
        table=Table.CONTROL,
        key=keys.deletion(change.deletion.tenant_id),
        write=write,
        read=items.deletion_from_item,
        values=values,
        put=items.deletion_to_item(change.deletion),
    )


def call_off(change: CallOff) -> Request:
    """Take the record of a deletion away."""
    return Request(
        table=Table.CONTROL,
        key=keys.deletion(change.seen.tenant_id),
        write=expressions.CALL_OFF_DELETION,
        read=items.deletion_from_item,
        values={"seenAskedAt": wire.number(change.seen.asked_at)},
    )


def _over(seen: Deletion | None) -> tuple[Write, Item]:
    if seen is None:
        return expressions.PUT_NEW_DELETION, {}
    asked_at = {"seenAskedAt": wire.number(seen.asked_at)}
    if seen.ended_at is not None:
        return expressions.PUT_DELETION_OVER_ENDED, asked_at | {"seenEndedAt": wire.number(seen.ended_at)}
    if seen.still_at is not None:
        return expressions.PUT_DELETION_OVER_STILL, asked_at | {"seenStillAt": wire.number(seen.still_at)}
    return expressions.PUT_DELETION_OVER_MOVING, asked_at


def _of_lease(bucket: int, write: Write, values: Item, *, put: Item | None = None) -> Request:
    return Request(
        table=Table.CONTROL,
        key=keys.lease(bucket),
        write=write,
        read=items.lease_from_item,
        values=values,
        put=put,
    )
