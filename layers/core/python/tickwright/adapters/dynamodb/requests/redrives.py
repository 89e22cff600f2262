"""The changes of orders to redrive, and of payloads that executions have of their own, as requests."""

from tickwright.adapters.dynamodb import keys, wire
from tickwright.adapters.dynamodb.expressions import redrives as expressions
from tickwright.adapters.dynamodb.items import redrives as items
from tickwright.adapters.dynamodb.requests.request import Request
from tickwright.adapters.dynamodb.tables import Table
from tickwright.domain.own_payloads import KeepOwnPayload, PutOwnPayload
from tickwright.domain.redrive_orders import PutOrder


def put_order(change: PutOrder) -> Request:
    """Give an order, or write it after a step."""
    order, seen = change.order, change.seen_version
    return Request(
        table=Table.CONTROL,
        key=keys.order(order.tenant_id, order.order_id),
        write=expressions.PUT_NEW_ORDER if seen is None else expressions.PUT_ORDER,
        read=items.order_from_item,
        values={} if seen is None else {"seenVersion": wire.number(seen)},
        put=items.order_to_item(order),
    )


def put_own_payload(change: PutOwnPayload) -> Request:
    """Keep a payload."""
    return Request(
        table=Table.CONTROL,
        key=keys.own_payload(change.ref),
        write=expressions.PUT_OWN_PAYLOAD,
        read=items.own_payload_from_item,
        values={},
        put=items.own_payload_to_item(change.payload),
    )


def keep_own_payload(change: KeepOwnPayload) -> Request:
    """Keep it longer."""
    values = {"expiresAt": wire.number(change.expires_at), "ttl": wire.ttl(change.expires_at)}
    return Request(
        table=Table.CONTROL,
        key=keys.own_payload(change.ref),
        write=expressions.KEEP_OWN_PAYLOAD,
        read=items.own_payload_from_item,
        values=values,
    )
