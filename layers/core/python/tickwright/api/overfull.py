"""Which bodies are refused before their contents are looked at: too wide, too many values, too long a text or payload.

Whatever comes after this, models, rules and the strict second look, then works on little, whatever was sent. Must not
know what a member means, beside which hold a tenant's own JSON. Promises: SEM-API-1, SEM-API-6.
"""

import re
from collections.abc import Iterable, Mapping

from tickwright.api.problems import invalid
from tickwright.domain import limits

# Far more than any object, list or text of the API has; what lies within is refused member by member.
MEMBERS_MAX = 128
ENTRIES_MAX = 1_000  # a calendar has as many
TEXT_CHARS_MAX = 65_536
ALL_TEXTS_CHARS_MAX = 4 * TEXT_CHARS_MAX
VALUES_MAX = 6_000
BATCH_VALUES_MAX = 20_000
_NAME_CHARS_SHOWN = 40
# A tenant's own JSON is bounded by its length alone, and not entered.
_LENGTHS: Mapping[str, int] = {"payload": limits.PAYLOAD_BYTES_MAX, "result": limits.RESULT_BYTES_MAX}
_PLACES_OF_OWN_JSON = re.compile(r"(?:/jobs/[0-9]+)?")
_BYTES_A_VALUE = 64
_WITH_LENGTH = (str, dict, list)


def refuse_overfull(value: object) -> int:
    """Refuse what is wider than anything is; else how many bytes, at most, all takes beside a tenant's own JSON."""
    values_max = BATCH_VALUES_MAX if isinstance(value, dict) and "jobs" in value else VALUES_MAX
    pending: list[tuple[str, object]] = [("", value)]
    seen, chars = 1, 0
    while pending:
        at, here = pending.pop()
        seen += len(here) if isinstance(here, dict | list) else 0
        chars += _chars(at, here)
        pending += _inside(at, here)
        if seen > values_max or (chars > ALL_TEXTS_CHARS_MAX and values_max == VALUES_MAX):
            raise invalid("", "too_many", "It has more members and texts than there can be; leave some out.")
    return 4 * chars + _BYTES_A_VALUE * seen


def refuse_long_part(value: object, body: bytes) -> None:
    """Refuse a tenant's JSON that is longer than it may be, by the length of the body, without writing it again."""
    held = [name for name in _LENGTHS if isinstance(value, dict) and name in value]
    if len(body) <= limits.RESULT_BYTES_MAX or len(held) != 1:
        return
    at_least = _bare_bytes(body) - refuse_overfull(value)
    limit = _LENGTHS[held[0]]
    if at_least > limit:
        advice = f"it has more than the {limit} bytes that it may have; store it elsewhere and pass a reference."
        raise invalid(f"/{held[0]}", "too_large", advice)


def _inside(at: str, here: object) -> Iterable[tuple[str, object]]:
    """What is in an object or a list and has a length itself, with its pointers."""
    if isinstance(here, dict):
        if len(here) > MEMBERS_MAX:
            remedy = f"It has {len(here)} members and may have {MEMBERS_MAX}; leave out those not in /v1/openapi.json."
            raise invalid(at, "too_many", remedy)
        kept = _LENGTHS if _PLACES_OF_OWN_JSON.fullmatch(at) else ()
        looked_at = (item for item in here.items() if item[0] not in kept and isinstance(item[1], _WITH_LENGTH))
        return [(f"{at}/{_step(name)}", inner) for name, inner in looked_at]
    if isinstance(here, list):
        if len(here) > ENTRIES_MAX:
            raise invalid(at, "too_many", f"It has {len(here)} entries and may have {ENTRIES_MAX}; leave some out.")
        return [(f"{at}/{index}", inner) for index, inner in enumerate(here) if isinstance(inner, _WITH_LENGTH)]
    return ()


def _chars(at: str, here: object) -> int:
    """How long a text is, or the names of an object."""
    texts = [here] if isinstance(here, str) else here if isinstance(here, dict) and len(here) <= MEMBERS_MAX else ()
    for text in texts:
        if len(text) > TEXT_CHARS_MAX:
            remedy = f"A text or a name has {len(text)} characters and may have {TEXT_CHARS_MAX}; shorten it."
            raise invalid(at, "too_long", remedy)
    return sum(map(len, texts))


def _step(name: str) -> str:
    return name[:_NAME_CHARS_SHOWN].replace("~", "~0").replace("/", "~1")


def _bare_bytes(body: bytes) -> int:
    r"""What the body has at least when it is written again: no blanks, and `\u00e9` as two bytes."""
    dense = body.translate(None, b" \n\t\r")
    return len(dense) - 5 * dense.count(b"\\u") - dense.count(b"\\/")
