"""How an entity's fields become attributes, and back: a table of fields, read in both directions.

A field without a value is an absent attribute. Must not know an entity.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from tickwright.adapters.dynamodb import wire
from tickwright.adapters.dynamodb.wire import Item, Value

EntityT = TypeVar("EntityT")


@dataclass(frozen=True, slots=True)
class Codec:
    """One kind of value, to and from its tagged form; `absent` is what no attribute means."""

    write: Callable[[Any], Value]
    read: Callable[[Value], Any]
    absent: object = None


TEXT: Final = Codec(wire.text, wire.as_text)
NUMBER: Final = Codec(wire.number, wire.as_number)
FLAG: Final = Codec(wire.flag, wire.as_flag)
# As its shortest text: a number of the store is decimal, and may come back as another one.
FRACTION: Final = Codec(lambda value: wire.text(repr(value)), lambda value: float(wire.as_text(value)))


def one_of(kind: type[Enum]) -> Codec:
    """A member of an enum, by its value."""
    return Codec(lambda member: wire.text(member.value), lambda value: kind(wire.as_text(value)))


def set_of(kind: type[Enum]) -> Codec:
    """A set of members; the empty set is absent."""
    return Codec(
        lambda members: wire.text_set(member.value for member in members),
        lambda value: frozenset(kind(member) for member in wire.as_text_set(value)),
        absent=frozenset(),
    )


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name in the domain, its attribute and what older items may have instead of it, and its kind."""

    name: str
    attribute: str
    codec: Codec
    was: str = ""


@dataclass(frozen=True, slots=True)
class Shape(Generic[EntityT]):
    """All fields of an entity. The key's attributes that are not fields are added by whoever knows the key."""

    build: Callable[..., EntityT]
    fields: tuple[Field, ...]

    def attributes(self, entity: EntityT) -> dict[str, Value]:
        """The entity's attributes."""
        return {
            field.attribute: field.codec.write(value)
            for field in self.fields
            if (value := getattr(entity, field.name)) != field.codec.absent
        }

    def entity(self, item: Item) -> EntityT:
        """The entity that an item holds."""
        return self.build(**{field.name: _read(field, item) for field in self.fields})


def nested(shape: Shape[Any]) -> Codec:
    """An entity within an entity, as a map."""
    return Codec(
        lambda entity: wire.document(shape.attributes(entity)),
        lambda value: shape.entity(wire.as_document(value)),
    )


def _read(field: Field, item: Item) -> object:
    value = item.get(field.attribute, item.get(field.was))
    return field.codec.absent if value is None else field.codec.read(value)
