"""What an ISO 8601 duration means when it must be a fixed length: weeks, days, hours, minutes and seconds.

Years and months have no fixed length and are refused: that is what cron is for. Must not know schedules.
"""

import re

_DIGITS = "([0-9]{1,9})"
_DURATION = re.compile(
    f"P(?:{_DIGITS}W|(?:{_DIGITS}D)?(?:T(?=[0-9])(?:{_DIGITS}H)?(?:{_DIGITS}M)?(?:([0-9]{{1,9}})(?:[.,]([0-9]{{1,3}}))?S)?)?)",
)
_CALENDAR = re.compile(r"P[0-9]+[YM][0-9YMDTHS.,]*")
_TEXT_CHARS_MAX = 64
_EXAMPLES = "write it as PT30S, PT15M, PT6H or P1D"
_MS = (7 * 86_400_000, 86_400_000, 3_600_000, 60_000, 1_000)


def duration_ms(text: str) -> int:
    """The length in milliseconds, or ValueError with what to write instead."""
    if len(text) <= _TEXT_CHARS_MAX and _CALENDAR.fullmatch(text):
        raise ValueError("counts months or years, which have no fixed length; use cron for those")
    match = _DURATION.fullmatch(text) if len(text) <= _TEXT_CHARS_MAX else None
    if match is None or not any(match.groups()):
        raise ValueError(f"is not an ISO 8601 duration; {_EXAMPLES}")
    *whole, fraction = match.groups()
    total = sum(int(part or 0) * size for part, size in zip(whole, _MS, strict=True))
    return total + int((fraction or "").ljust(3, "0"))


def duration_text(length_ms: int) -> str:
    """The shortest duration of that length, which is above zero, in days, hours, minutes and seconds."""
    assert length_ms > 0
    days, rest = divmod(length_ms, _MS[1])
    hours, rest = divmod(rest, _MS[2])
    minutes, rest = divmod(rest, _MS[3])
    seconds = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") if rest else 0
    time = "".join(f"{part}{unit}" for part, unit in ((hours, "H"), (minutes, "M"), (seconds, "S")) if part)
    return f"P{f'{days}D' if days else ''}{f'T{time}' if time else ''}"
