"""Which bytes are a JSON body: strictly RFC 8259, no name twice, nothing that cannot be written again, bounded.

Must not know what the body means. Two readers of one text must see the same, so what parsers disagree about is refused.
Promises: SEM-API-1, SEM-API-6.
"""

import gc
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tickwright.api.exchange import JSON_TYPE, Request
from tickwright.api.overfull import refuse_long_part, refuse_overfull
from tickwright.api.problems import Refused, invalid
from tickwright.domain import limits
from tickwright.domain.outcomes import Code, Refusal

# Far deeper than a payload that people write, and far from where a parser gives up. A payload is kept as text, so the
# store's own limit (DynamoDB: 32) does not count.
DEPTH_MAX = 64
MERGE_PATCH_TYPE = "application/merge-patch+json"
_NAME_CHARS_SHOWN = 40
_ESCAPED_COLONS = ("\\u003a", "\\u003A")
_CONTAINERS = frozenset({dict, list})


def read_json(request: Request) -> object:
    """The value in the body, or Refused."""
    _check_type(request)
    if len(request.body) > limits.BODY_BYTES_MAX:
        raise too_large()
    value = _parsed(request.body)
    refuse_overfull(value)
    refuse_long_part(value, request.body)
    _refuse_what_readers_disagree_about(value, request.body.decode("utf-8"))
    if _may_be_deeper(request.body, DEPTH_MAX) and _is_deeper(value, DEPTH_MAX):
        raise _too_deep()
    return value


def too_large() -> Refused:
    """The refusal of a body over the limit; a server may stop reading there."""
    return Refused(
        Refusal(code=Code.TOO_LARGE, detail=f"A body may have {limits.BODY_BYTES_MAX} bytes; send a smaller one.")
    )


def _check_type(request: Request) -> None:
    media, _, parameters = (request.header("content-type") or "").partition(";")
    wanted = {JSON_TYPE, MERGE_PATCH_TYPE} if request.method == "PATCH" else {JSON_TYPE}
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if media.strip().lower() not in wanted or charset not in {"", "utf-8", "utf8"}:
        detail = f"Send `Content-Type: {' or '.join(sorted(wanted))}`, in UTF-8."
        raise Refused(Refusal(code=Code.UNSUPPORTED_MEDIA_TYPE, detail=detail))


def _parsed(body: bytes) -> object:
    try:
        with _collector_at_rest():
            value: object = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeError:
        raise _no_characters() from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as fault:
        raise _malformed(f"The body is not JSON: {fault}") from None
    return value


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """While many objects are made, the collector walks them again and again; JSON has no cycles for it to find.

    A megabyte of brackets is read in a quarter of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _refuse_what_readers_disagree_about(value: object, text: str) -> None:
    """A name that stands twice, an infinite number, half a character.

    The value is written again: a name that was dropped took its colon along, and the rest cannot be written. Looking at
    each object and each number while it is read would take many times as long, and is done only to tell which it is.
    """
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Half a character parses, and could not be written: not into an answer, not into a store.
        written.encode("utf-8")
        is_suspect = written.count(":") != text.count(":") or any(colon in text for colon in _ESCAPED_COLONS)
    except UnicodeError:
        raise _no_characters() from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        is_suspect = True
    if is_suspect:
        _look_closely(text)


def _look_closely(text: str) -> None:
    try:
        json.loads(text, object_pairs_hook=_unique, parse_float=_finite)
    except ValueError as fault:
        raise _malformed(f"The body is not JSON: {fault}") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = Counter(name for name, _ in pairs)
        twice = names.most_common(1)[0][0]
        raise ValueError(f"the name {twice[:_NAME_CHARS_SHOWN]!r} stands twice in one object; keep one.")
    return members


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON number; leave it out or write null.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:_NAME_CHARS_SHOWN]} is too large; write it as a string.")
    return number


def _malformed(detail: str) -> Refused:
    return Refused(Refusal(code=Code.MALFORMED_JSON, detail=detail))


def _no_characters() -> Refused:
    return _malformed("The body is not UTF-8, or escapes half a character; send whole characters.")


def _too_deep() -> Refused:
    return invalid("", "too_deep", f"The body is nested deeper than {DEPTH_MAX}; make it flatter.")


def _may_be_deeper(body: bytes, most: int) -> bool:
    return body.count(b"[") + body.count(b"{") > most


def _is_deeper(value: object, most: int) -> bool:
    """Level by level, without recursion: the input decides how deep it is."""
    level: list[object] = [value]
    for _ in range(most):
        level = [inner for outer in level for inner in _inside(outer) if type(inner) in _CONTAINERS]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
