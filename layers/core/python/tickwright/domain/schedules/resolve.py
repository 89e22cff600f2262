"""Turns every `H` of a cron expression into plain numbers, and every alias into its fields.

What comes out is an ordinary expression that means the same for ever: it is what gets stored, shown as `resolvedCron`
and evaluated. Must not know what the fields then mean. Promise: SEM-SCHED-12, SEM-SCHED-13.
"""

import re

from tickwright.domain.schedules.fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    FieldKind,
    refused,
)
from tickwright.domain.schedules.hashing import HashIdentity, slot
from tickwright.domain.schedules.refusals import CronRefused, shown

KINDS = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)
# One row of the due index holds the schedule: this and the other members stay under a kilobyte.
EXPRESSION_CHARS_MAX = 256

_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    # With a tilde an alias is spread instead of striking at the full hour.
    "@hourly~": "H * * * *",
    "@daily~": "H H * * *",
    "@midnight~": "H H(0-2) * * *",
    "@weekly~": "H H * * H",
    "@monthly~": "H H H * *",
    "@yearly~": "H H H H *",
    "@annually~": "H H H H *",
}
_HASHED = re.compile(r"H(?:\(([0-9]+)-([0-9]+)\))?(?:/([0-9]+))?")
_PRINTABLE = re.compile(r"[\t -~]*")
_FIVE = 5
_SIX = 6


def split(text: str) -> tuple[str, ...]:
    """The texts of the five or six fields, aliases written out, or CronRefused."""
    if len(text) > EXPRESSION_CHARS_MAX:
        raise CronRefused("too_long", f"has {len(text)} characters; the most is {EXPRESSION_CHARS_MAX}")
    if "\n" in text or "\r" in text:
        raise CronRefused("line_break", f"{shown(text)} holds a line break; write it in one line without")
    if not _PRINTABLE.fullmatch(text):
        raise CronRefused("not_ascii", f"{shown(text)} holds a character beyond plain ASCII; retype it")
    bare = text.strip(" \t")
    if bare.startswith("@"):
        bare = _alias(bare)
    fields = tuple(bare.replace("\t", " ").split())
    if len(fields) not in {_FIVE, _SIX}:
        wanted = "write five (minute hour day-of-month month day-of-week), or six with seconds first"
        raise CronRefused("field_count", f"{shown(text)} has {len(fields)} fields; {wanted}")
    return fields


def resolve(fields: tuple[str, ...], identity: HashIdentity) -> tuple[str, ...]:
    """The same fields with every H replaced by what it stands for."""
    kinds = KINDS[-len(fields) :]
    return tuple(
        _resolved(kind, field, identity) if "H" in field.upper() else field
        for kind, field in zip(kinds, fields, strict=True)
    )


def uses_hash(fields: tuple[str, ...]) -> bool:
    """Whether any field is hashed, so that the times depend on who asks."""
    return any(_HASHED.fullmatch(item) for field in fields for item in field.upper().split(","))


def _alias(text: str) -> str:
    found = _ALIASES.get(text.lower())
    if found is None:
        known = ", ".join(name for name in _ALIASES if not name.endswith("~"))
        raise CronRefused("unknown_alias", f"{shown(text)} is not an alias; write one of {known}, alone")
    return found


def _resolved(kind: FieldKind, field: str, identity: HashIdentity) -> str:
    return ",".join(_resolved_item(kind, item, identity) for item in field.upper().split(","))


def _resolved_item(kind: FieldKind, item: str, identity: HashIdentity) -> str:
    match = _HASHED.fullmatch(item)
    if match is None:
        return item
    low, high, step = (None if part is None else int(part) for part in match.groups())
    if low is None or high is None:
        low, high = kind.hash_low, kind.hash_high
    _check_bounds(kind, item, (low, high), step)
    if step is None:
        return str(low + slot(identity, kind.name, high - low + 1))
    first = low + slot(identity, kind.name, step)
    return f"{first}-{high}/{step}"


def _check_bounds(kind: FieldKind, item: str, bounds: tuple[int, int], step: int | None) -> None:
    low, high = bounds
    if low > high:
        raise refused(kind, item, "bad_hash", f"runs backwards; write H({high}-{low})")
    if low < kind.low or high > kind.high:
        raise refused(kind, item, "bad_hash", f"is out of range; keep it within H({kind.low}-{kind.high})")
    width = high - low + 1
    if step is not None and not 1 <= step <= width:
        raise refused(kind, item, "bad_hash", f"has a step that does not fit; write 1 to {width}")
