"""Which bytes are a JSON body: strictly RFC 8259, no name twice, nothing that cannot be written again, bounded.

Must not know what the body means. Two readers of one text must see the same, so what parsers disagree about is refused.
Promise: SEM-API-1.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable

from tickwright.api.exchange import JSON_TYPE, Request
from tickwright.api.problems import Refused, invalid
from tickwright.domain import limits
from tickwright.domain.outcomes import Code, Refusal

# Far deeper than a payload that people write, and far from where a parser gives up. A payload is kept as text, so the
# store's own limit (DynamoDB: 32) does not count.
DEPTH_MAX = 64
MERGE_PATCH_TYPE = "application/merge-patch+json"
_NAME_CHARS_SHOWN = 40


def read_json(request: Request) -> object:
    """The value in the body, or Refused."""
    _check_type(request)
    if len(request.body) > limits.BODY_BYTES_MAX:
        raise too_large()
    value = _parsed(request.body)
    if _is_deeper(value, DEPTH_MAX):
        raise invalid("", "too_deep", f"The body is nested deeper than {DEPTH_MAX}; make it flatter.")
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
        text = body.decode("utf-8")
        value: object = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=int
        )
        if "\\u" in text:
            # A lone surrogate parses, and could not be written again: not into an answer, not into a store.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        raise _malformed("The body is not UTF-8, or escapes half a character; send whole characters.") from None
    except RecursionError:
        raise invalid("", "too_deep", f"The body is nested deeper than {DEPTH_MAX}; make it flatter.") from None
    except ValueError as fault:
        raise _malformed(f"The body is not JSON: {fault}") from None
    return value


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


def _is_deeper(value: object, most: int) -> bool:
    """Level by level, without recursion: the input decides how deep it is."""
    level: list[object] = [value]
    for _ in range(most):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
