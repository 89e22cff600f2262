"""What an order to redrive looks like, and the payload that an execution has of its own.

`ttl`, in seconds, lets DynamoDB forget them in the days after `expiresAt`; nothing here decides by either.
"""

import json
from collections.abc import Iterable

from tickwright.adapters.dynamodb import keys, wire
from tickwright.adapters.dynamodb.items.shape import FLAG, NUMBER, TEXT, Codec, Field, Shape, nested, one_of
from tickwright.adapters.dynamodb.wire import Item, Value
from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.executions import Reason
from tickwright.domain.ids import Epoch, ExecutionKey, ExecutionRef, JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.own_payloads import OwnPayload
from tickwright.domain.redrive_orders import Canary, Letter, Order, OrderStatus, Watched

_FILTER = Shape(
    DeadFilter,
    (
        Field("job_id", "jobId", TEXT),
        Field("fingerprint", "fingerprint", TEXT),
        Field("error_class", "errorClass", TEXT),
        Field("reason", "reason", one_of(Reason)),
        Field("since", "since", NUMBER),
        Field("until", "until", NUMBER),
    ),
)
_CANARY = Shape(Canary, (Field("first", "first", NUMBER), Field("failures_max", "failuresMax", NUMBER)))
# Many small things in one text: a list of maps would name each attribute again for each of them.
_HAND = Codec(
    lambda hand: _listed((letter.ref, letter.epoch) for letter in hand),
    lambda value: tuple(Letter(ref=ref, epoch=Epoch(number)) for ref, number in _read(value)),
    absent=(),
)
_WATCHED = Codec(
    lambda watched: _listed((one.ref, one.generation) for one in watched),
    lambda value: tuple(Watched(ref=ref, generation=number) for ref, number in _read(value)),
    absent=(),
)
_ORDER = Shape(
    Order,
    (
        Field("tenant_id", "tenantId", TEXT),
        Field("order_id", "orderId", TEXT),
        Field("wanted", "wanted", nested(_FILTER)),
        Field("rate_per_min", "ratePerMin", NUMBER),
        Field("created_at", "createdAt", NUMBER),
        Field("next_at", "nextAt", NUMBER),
        Field("expires_at", "expiresAt", NUMBER),
        Field("canary", "canary", nested(_CANARY)),
        Field("version", "version", NUMBER),
        Field("write_token", "writeToken", TEXT),
        Field("status", "status", one_of(OrderStatus)),
        Field("ended_at", "endedAt", NUMBER),
        Field("after_key", "afterKey", TEXT),
        Field("exhausted", "exhausted", FLAG),
        Field("hand", "hand", _HAND),
        Field("redriven", "redriven", NUMBER),
        Field("put_off", "putOff", NUMBER),
        Field("refused", "refused", NUMBER),
        Field("redriven_before", "redrivenBefore", NUMBER),
        Field("idle_passes", "idlePasses", NUMBER),
        Field("watched", "watched", _WATCHED),
        Field("canary_over", "canaryOver", FLAG),
        Field("canary_ended", "canaryEnded", NUMBER),
        Field("canary_died", "canaryDied", NUMBER),
    ),
)


def _listed(pairs: Iterable[tuple[ExecutionRef, int]]) -> Value:
    return wire.text(json.dumps([[*ref, number] for ref, number in pairs], separators=(",", ":")))


def _read(value: Value) -> list[tuple[ExecutionRef, int]]:
    return [
        (ExecutionRef(JobId(job_id), ExecutionKey(key)), number)
        for job_id, key, number in json.loads(wire.as_text(value))
    ]


def order_to_item(order: Order) -> Item:
    """An order, to be forgotten some time after its end."""
    ttl = wire.ttl(order.expires_at)
    return _ORDER.attributes(order) | keys.order(order.tenant_id, order.order_id) | {"ttl": ttl}


def order_from_item(item: Item) -> Order:
    """The order of an item."""
    return _ORDER.entity(item)


def own_payload_to_item(payload: OwnPayload) -> Item:
    """A payload beside its execution."""
    return {
        **keys.own_payload(payload.ref),
        "tenantId": wire.text(payload.tenant_id),
        "payload": wire.text(payload.payload),
        "secrets": wire.text(json.dumps(payload.secrets)),
        "expiresAt": wire.number(payload.expires_at),
        "ttl": wire.ttl(payload.expires_at),
    }


def own_payload_from_item(item: Item) -> OwnPayload:
    """The payload of an item."""
    job_id = wire.as_text(item["pk"]).removeprefix(keys.PAYLOAD)
    return OwnPayload(
        ref=ExecutionRef(JobId(job_id), ExecutionKey(wire.as_text(item["sk"]))),
        tenant_id=TenantId(wire.as_text(item["tenantId"])),
        payload=wire.as_text(item["payload"]),
        expires_at=Instant(wire.as_number(item["expiresAt"])),
        secrets=tuple(json.loads(wire.as_text(item["secrets"]))) if "secrets" in item else (),
    )
