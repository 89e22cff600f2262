"""How values of the tests become plain JSON and the same values again, by what their fields declare.

Knows dataclasses, enums, tuples, sets and choices between them; whatever else is declared passes as it is,
so it must be plain already. A field that a file lacks keeps its default: a kept file outlives a new field. Must not
know any class.
"""

from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import cycle
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

_OF = "is"  # tells which of several dataclasses a value is


def plain_of(value: object) -> Any:  # noqa: ANN401 - whatever JSON has
    """A value as JSON has it; a dataclass says its name, since a field may allow for several."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {_OF: type(value).__name__} | {one.name: plain_of(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple | list):
        return [plain_of(one) for one in value]
    if isinstance(value, frozenset):
        return sorted(map(plain_of, value))
    if isinstance(value, dict):
        return {name: plain_of(one) for name, one in value.items()}
    return value


def value_of(declared: Any, plain: Any) -> Any:  # noqa: ANN401 - a type, and whatever JSON has
    """The value of a declared type that became this."""
    if get_origin(declared) in {Union, UnionType}:
        return value_of(_chosen(get_args(declared), plain), plain)
    if get_origin(declared) is frozenset:
        return frozenset(value_of(get_args(declared)[0], one) for one in plain)
    if get_origin(declared) is tuple:
        kinds = get_args(declared)
        each = cycle(kinds[:1]) if kinds[-1] is Ellipsis else kinds
        return tuple(value_of(kind, one) for kind, one in zip(each, plain, strict=False))
    if isinstance(declared, type) and issubclass(declared, Enum):
        return declared(plain)
    if isinstance(declared, type) and is_dataclass(declared):
        hints = get_type_hints(declared)
        return declared(**{name: value_of(hints[name], one) for name, one in plain.items() if name != _OF})
    return plain


def _chosen(choices: tuple[Any, ...], plain: object) -> Any:  # noqa: ANN401 - a type
    """Which of several types became this."""
    if plain is None:
        return NoneType
    if isinstance(plain, dict) and _OF in plain:
        return next(one for one in choices if isinstance(one, type) and one.__name__ == plain[_OF])
    return next(one for one in choices if one is not NoneType and not is_dataclass(one))
