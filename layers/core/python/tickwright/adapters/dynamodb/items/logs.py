"""What the log of an attempt looks like: a control record that is forgotten by its `ttl`, in seconds."""

from tickwright.adapters.dynamodb import keys, wire
from tickwright.adapters.dynamodb.items.shape import NUMBER, TEXT, Codec, Field, Shape, one_of
from tickwright.adapters.dynamodb.wire import Item
from tickwright.domain.ids import ExecutionRef, parse_execution_id
from tickwright.domain.stored_logs import SaidBy, StoredLog


def _ref_of(value: wire.Value) -> ExecutionRef:
    ref = parse_execution_id(wire.as_text(value))
    assert ref is not None
    return ref


_LOG = Shape(
    StoredLog,
    (
        Field("ref", "executionId", Codec(lambda ref: wire.text(ref.id), _ref_of)),
        Field("epoch", "leaseEpoch", NUMBER),
        Field("said_by", "saidBy", one_of(SaidBy)),
        Field("generation", "generation", NUMBER),
        Field("attempt", "attempt", NUMBER),
        Field("text", "text", TEXT),
        Field("cut", "cut", NUMBER),
        Field("written_at", "writtenAt", NUMBER),
        Field("expires_at", "expiresAt", NUMBER),
    ),
)


def to_item(log: StoredLog) -> Item:
    """The whole item."""
    return _LOG.attributes(log) | keys.log(log.ref, log.place) | {"ttl": wire.ttl(log.expires_at)}


def from_item(item: Item) -> StoredLog:
    """The log of an item."""
    return _LOG.entity(item)
