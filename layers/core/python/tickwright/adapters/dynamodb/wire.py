"""How a plain value is written as DynamoDB's tagged value, and read back.

Must not know an entity. Numbers are whole (instants, counts, epochs), so that no precision is lost on the way.
"""

from collections.abc import Iterable
from typing import Any, Final

Value = dict[str, Any]
Item = dict[str, Value]

TRUE: Final[Value] = {"BOOL": True}
FALSE: Final[Value] = {"BOOL": False}


def text(value: str) -> Value:
    """A string."""
    return {"S": value}


def number(value: int) -> Value:
    """A whole number."""
    assert not isinstance(value, bool)
    return {"N": str(value)}


def ttl(instant: int) -> Value:
    """When DynamoDB may forget an item: its seconds, and not before an instant in milliseconds."""
    return number(-(-instant // 1_000))


def flag(value: bool) -> Value:  # noqa: FBT001 - the value itself
    """True or false."""
    return TRUE if value else FALSE


def text_set(values: Iterable[str]) -> Value:
    """A set of strings; an empty one cannot be stored, so it is an absent attribute."""
    members = sorted(values)
    assert members
    return {"SS": members}


def text_list(values: Iterable[str]) -> Value:
    """A list of strings."""
    return {"L": [text(value) for value in values]}


def document(value: Item) -> Value:
    """A map."""
    return {"M": value}


def as_text(value: Value) -> str:
    """Read a string."""
    read: str = value["S"]
    return read


def as_number(value: Value) -> int:
    """Read a whole number."""
    return int(value["N"])


def as_flag(value: Value) -> bool:
    """Read true or false."""
    read: bool = value["BOOL"]
    return read


def as_text_set(value: Value) -> frozenset[str]:
    """Read a set of strings."""
    return frozenset(value["SS"])


def as_text_list(value: Value) -> tuple[str, ...]:
    """Read a list of strings."""
    return tuple(as_text(member) for member in value["L"])


def as_document(value: Value) -> Item:
    """Read a map."""
    read: Item = value["M"]
    return read
