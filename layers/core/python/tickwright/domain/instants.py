"""One kind of instant: UTC milliseconds since the epoch, and its written forms.

Settles how an instant is read from and written to text. It knows no time zones beside a numeric
offset, no clock and no schedule. Promise: SEM-SCHED-1 (times are RFC 3339 UTC with milliseconds).
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, NewType

__all__ = [
    "Instant",
    "from_datetime",
    "from_key",
    "from_rfc3339",
    "to_datetime",
    "to_key",
    "to_rfc3339",
]

Instant = NewType("Instant", int)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)
# The longest useful text has nine digits of fraction and an offset: 35 characters.
_TEXT_CHARS_MAX: Final = 40
_DATE: Final = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_CLOCK: Final = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
_OFFSET: Final = r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
_RFC3339: Final = re.compile(f"{_DATE}[Tt]{_CLOCK}{_OFFSET}")
_KEY: Final = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{3})Z")
_HOURS_IN_DAY: Final = 24
_MINUTES_IN_HOUR: Final = 60
_EXAMPLE: Final = "write it as 2026-11-29T22:57:33.000Z"


def from_rfc3339(text: str) -> Instant:
    """Read an RFC 3339 instant; digits finer than a millisecond are cut off."""
    match = _RFC3339.fullmatch(text) if len(text) <= _TEXT_CHARS_MAX else None
    if match is None:
        shown = text[:_TEXT_CHARS_MAX]
        message = f"{shown!r} is not an RFC 3339 instant with an offset; {_EXAMPLE}"
        raise ValueError(message)
    *fields, fraction, offset = match.groups()
    try:
        moment = datetime(*map(int, fields), tzinfo=_zone(offset))  # type: ignore[misc, arg-type]
        # Proves that the offset pushed the instant past neither year 1 nor year 9999.
        whole = from_datetime(moment.astimezone(UTC))
    except (ValueError, OverflowError) as problem:
        message = f"{text!r} is not a possible date and time ({problem}); {_EXAMPLE}"
        raise ValueError(message) from None
    return Instant(whole + int(((fraction or "") + "000")[:3]))


def to_rfc3339(instant: Instant) -> str:
    """Write with exactly three digits of fraction and Z."""
    return to_datetime(instant).isoformat(timespec="milliseconds")[:-6] + "Z"


def from_datetime(moment: datetime) -> Instant:
    """Take an aware datetime of any zone; microseconds are cut off."""
    if moment.utcoffset() is None:
        message = "a datetime without a zone names no instant; give it one"
        raise ValueError(message)
    return Instant((moment - _EPOCH) // _MS)


def to_datetime(instant: Instant) -> datetime:
    """Give the aware UTC datetime of an instant."""
    return _EPOCH + instant * _MS


def to_key(instant: Instant) -> str:
    """Write the fixed-width form used inside keys; it sorts as the instants do."""
    text = to_rfc3339(instant)
    return text.replace("-", "").replace(":", "").replace(".", "")


def from_key(text: str) -> Instant:
    """Read the fixed-width key form back."""
    match = _KEY.fullmatch(text)
    if match is None:
        shown = text[:_TEXT_CHARS_MAX]
        message = f"{shown!r} is not an instant key such as 20261129T225733000Z"
        raise ValueError(message)
    *fields, fraction = map(int, match.groups())
    moment = datetime(*fields, tzinfo=UTC)  # type: ignore[misc, arg-type]
    return Instant((moment - _EPOCH) // _MS + fraction)


def _zone(offset: str) -> timezone:
    if offset in {"Z", "z"}:
        return UTC
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours >= _HOURS_IN_DAY or minutes >= _MINUTES_IN_HOUR:
        message = f"offset {offset} is out of range"
        raise ValueError(message)
    size = timedelta(hours=hours, minutes=minutes)
    return timezone(-size if offset[0] == "-" else size)
