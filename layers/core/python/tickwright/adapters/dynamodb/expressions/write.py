"""What a literal write is, and how it is rendered: as an expression of one item, or as a PartiQL statement of a batch.

`#name` is always the attribute `name`, so the names are generated. `:name` is a value: the states and a few other
constants are known here, all others are given, and what is asked and given must match exactly. Nothing is put together:
both forms are the same text, with whitespace collapsed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tickwright.adapters.dynamodb import wire
from tickwright.adapters.dynamodb.wire import Item, Value
from tickwright.domain.jobs import JobStatus
from tickwright.domain.transitions import Event, State


class Kind(Enum):
    """What a write does with the item when its condition holds."""

    PUT = "put"  # replace the whole item by the one given
    UPDATE = "update"
    CHECK = "check"  # nothing: the condition stands in a transaction
    DELETE = "delete"  # take the item away: only an operator does


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write, as a reader could paste it into the console."""

    says: str
    condition: str
    update: str = ""
    kind: Kind = Kind.UPDATE
    moves: tuple[Event, State] | None = None  # which transition of the table this is, and where it leads
    # Whether it may go out as a statement of a batch. PartiQL has no if_not_exists, and not every engine reads its OR,
    # or writes into a map by it.
    batched: bool = True

    def __post_init__(self) -> None:
        """An update updates, nothing else does; a put in a batch is INSERT, which is put-if-absent and no more."""
        assert (self.kind is Kind.UPDATE) == bool(self.update)
        assert self.kind not in {Kind.CHECK, Kind.DELETE} or not self.batched
        assert self.kind is not Kind.PUT or self.batched == (_words(self.condition) in _IF_ABSENT)
        assert not self.batched or not _BEYOND_PARTIQL.search(f"{self.condition} {self.update}")


_IF_ABSENT: Final = {"attribute_not_exists(#jobId)", "attribute_not_exists(#pk)"}
_BEYOND_PARTIQL: Final = re.compile(r"if_not_exists|\bOR\b|\.#")
_NAME: Final = re.compile(r"#(\w+)")
_VALUE: Final = re.compile(r":(\w+)")
_CLAUSE: Final = re.compile(r"\b(SET|REMOVE)\b")
# States and statuses are one set of words: CANCELLED is the same word in both.
CONSTANTS: Final[Mapping[str, Value]] = {
    **{state.value.lower(): wire.text(state.value) for state in State},
    **{status.value.lower(): wire.text(status.value) for status in JobStatus},
    "one": wire.number(1),
    "true": wire.TRUE,
    "false": wire.FALSE,
}


def expression_fields(write: Write, given: Item) -> dict[str, object]:
    """The expressions with their names and values, as UpdateItem, PutItem and TransactWriteItems take them."""
    condition, update = _words(write.condition), _words(write.update)
    text = f"{condition} {update}"
    fields: dict[str, object] = {"ConditionExpression": condition, "ExpressionAttributeNames": names_in(text)}
    values = _values(_VALUE.findall(text), given)
    if update:
        fields["UpdateExpression"] = update
    if values:
        fields["ExpressionAttributeValues"] = {f":{name}": value for name, value in values.items()}
    return fields


def statement(write: Write, table: str, key: Item, given: Item) -> dict[str, object]:
    """The twin of a conditional update: the same words, values in the order of their places, and the key in front."""
    assert write.batched
    assert write.kind is Kind.UPDATE
    key_words = " AND ".join(f'"{name}" = ?' for name in key)
    update, condition = _clauses(_words(write.update)), _words(write.condition)
    values = _values(_VALUE.findall(f"{update} {condition}"), given)
    places = [values[name] for name in _VALUE.findall(update)]
    places += key.values()
    places += [values[name] for name in _VALUE.findall(condition)]
    text = f'UPDATE "{table}" {_partiql(update)} WHERE {key_words} AND {_partiql(condition)} RETURNING ALL NEW *'
    return {"Statement": text, "Parameters": places}


def insert_statement(table: str, item: Item) -> dict[str, object]:
    """The twin of a put-if-absent."""
    members = ", ".join(f"'{name}': ?" for name in item)
    return {"Statement": f'INSERT INTO "{table}" VALUE {{{members}}}', "Parameters": list(item.values())}


def names_in(text: str) -> dict[str, str]:
    """The names map of an expression."""
    return {f"#{name}": name for name in sorted(set(_NAME.findall(text)))}


def _values(asked: Iterable[str], given: Item) -> dict[str, Value]:
    asked = set(asked)
    assert given.keys() == asked - CONSTANTS.keys(), f"asked {sorted(asked)}, given {sorted(given)}"
    return {name: given[name] if name in given else CONSTANTS[name] for name in sorted(asked)}


def _words(text: str) -> str:
    return " ".join(text.split())


def _clauses(update: str) -> str:
    """PartiQL repeats the verb where an update expression has a comma."""
    parts = _CLAUSE.split(update)[1:]
    clauses = [f"{verb} {one}" for verb, many in zip(parts[::2], parts[1::2], strict=True) for one in _listed(many)]
    return " ".join(clauses)


def _listed(many: str) -> list[str]:
    return [one.strip() for one in many.split(",")]


def _partiql(text: str) -> str:
    text = re.sub(r"attribute_not_exists\(#(\w+)\)", r"#\1 IS MISSING", text)
    return _VALUE.sub("?", _NAME.sub(r'"\1"', text))
