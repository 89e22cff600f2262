"""What a handler's first parameter may be: reads a payload into it, and writes one from it.

Must not know who calls. pydantic is loaded only where a hint asks for more than plain JSON, and at the first use: it
takes half a second. Promise: SEM-SDK-4.
"""

import json
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from tickwright_sdk import limits
from tickwright_sdk.results import json_text

_PLAIN = (dict, list, str, int, float, bool)
_ANYTHING = object()


class BadPayload(ValueError):  # noqa: N818 - said of the payload
    """The payload is not what the handler's hint asks for."""


class BadHint(TypeError):  # noqa: N818 - said of the hint
    """The hint of a handler's payload cannot be used."""


class Shape:
    """The hint of one handler's payload. It is resolved as soon as it can be: at the decoration, or at first use."""

    def __init__(self, fn: Callable[..., object], names: Mapping[str, object]) -> None:
        """Resolve the hint, with the local names of whoever decorates."""
        self._fn = fn
        self._names = dict(names)
        self._hint: Any = None
        self._known = False
        self._adapter: Any = None
        try:
            self._resolve()
        except NameError:
            return  # a class that stands further down in its module: it is there at first use

    def read(self, text: str) -> Any:  # noqa: ANN401 - what the hint says
        """The payload as the handler asks for it. Raises BadPayload, or BadHint."""
        hint = self._resolved()
        if not _is_plain(hint):
            return self._read_typed(text)
        value = json.loads(text)
        wanted = _plain_class(hint)
        if wanted is not None and not _is_a(value, wanted):
            raise BadPayload(f"the payload is a {type(value).__name__}, and the handler asks for {wanted.__name__}")
        return value

    def text_of(self, value: object) -> str:
        """A payload as JSON text, checked as `read` will check it. Raises BadPayload, BadHint or NotKept."""
        if _is_plain(self._resolved()):
            text = json_text(value, bytes_max=limits.PAYLOAD_BYTES_MAX)
            self.read(text)
            return text
        adapter = self._typed()
        # Dumping a wrong value only warns: it is judged first.
        judged = _judged(adapter.validate_python, value)
        return str(adapter.dump_json(judged).decode())

    def schema(self) -> dict[str, Any] | None:
        """The JSON schema of the payload; None for plain JSON."""
        if _is_plain(self._resolved()):
            return None
        found: dict[str, Any] = self._typed().json_schema()
        return found

    def _read_typed(self, text: str) -> object:
        return _judged(self._typed().validate_json, text)

    def _typed(self) -> Any:  # noqa: ANN401 - pydantic's TypeAdapter, which is not always there
        if self._adapter is None:
            self._adapter = _adapter(self._hint, self._fn)
        return self._adapter

    def _resolved(self) -> object:
        try:
            self._resolve()
        except NameError as fault:
            message = f"The payload's hint of {self._fn!r} names {fault.name!r}, which is not to be found at run time."
            raise BadHint(message) from None
        return self._hint

    def _resolve(self) -> None:
        if self._known:
            return
        hint = _first_hint(self._fn)
        if isinstance(hint, str):
            # The first parameter's alone: a hint that only type checkers can see elsewhere must not spoil this one.
            holder = types.SimpleNamespace(__annotations__={"payload": hint})
            spaces = getattr(self._fn, "__globals__", {}), self._names
            hint = typing.get_type_hints(holder, *spaces, include_extras=True)["payload"]
        self._hint, self._known, self._names = hint, True, {}


def _first_hint(fn: Callable[..., object]) -> object:
    hints = getattr(fn, "__annotations__", {})
    code = getattr(fn, "__code__", None)
    if code is None or code.co_argcount == 0:
        return _ANYTHING
    first = 1 if hasattr(fn, "__self__") else 0
    return hints.get(code.co_varnames[first], _ANYTHING)


def _is_plain(hint: object) -> bool:
    return hint in (_ANYTHING, Any, object, None, type(None), *_PLAIN) or _is_json_of_any(hint)


def _is_json_of_any(hint: object) -> bool:
    anything = (Any, object)
    match get_origin(hint), get_args(hint):
        case (origin, (key, value)) if origin in (dict, Mapping):
            return key is str and value in anything
        case (origin, (value,)) if origin is list:
            return value in anything
        case _:
            return False


def _plain_class(hint: object) -> type | None:
    if hint in (None, type(None)):
        return type(None)
    origin = get_origin(hint) or hint
    if origin is Mapping:
        return dict
    return origin if isinstance(origin, type) and origin in _PLAIN else None


def _is_a(value: object, wanted: type) -> bool:
    if isinstance(value, bool):
        return wanted is bool
    if wanted is float:
        return isinstance(value, int | float)
    return isinstance(value, wanted)


def _adapter(hint: Any, fn: Callable[..., object]) -> Any:  # noqa: ANN401 - as above
    try:
        from pydantic import TypeAdapter  # noqa: PLC0415 - half a second: for those who need it
        from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation  # noqa: PLC0415
    except ImportError:
        raise BadHint(
            f"{fn!r} asks for a payload of type {hint!r}: install tickwright-sdk[typed], or ask for plain JSON"
        ) from None
    try:
        return TypeAdapter(hint)
    except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation) as fault:
        raise BadHint(f"{fn!r} asks for a payload of type {hint!r}, which JSON cannot be read into") from fault


def _judged(judge: Callable[[Any], object], value: object) -> object:
    validation_error = sys.modules["pydantic"].ValidationError
    try:
        return judge(value)
    except validation_error as fault:
        # The values stay out of it: an error is stored and shown, and a payload may hold secrets.
        found = fault.errors(include_input=False, include_url=False, include_context=False)
        said = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'payload'}: {one['msg']}" for one in found[:10])
        raise BadPayload(said) from None
