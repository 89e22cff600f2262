"""What a program gives the SDK and cannot be: refused where it is written, in words that say what to write.

Must not know what becomes of it, nor what the API would say. One text where several are asked for is several letters to
Python, and nobody's error until much later. Promise: SEM-SDK-18.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

_SENDABLE = re.compile(r"[\x20-\x7E]+")


def several(what: str, given: object) -> tuple[str, ...]:
    """Texts; raises TypeError for one alone, and for what is none."""
    if isinstance(given, str | bytes):
        raise TypeError(f"{what} takes several texts, as [{given!r}], and was given one, {given!r}")
    found = tuple(given) if isinstance(given, Iterable) else (None,)
    texts = tuple(one for one in found if isinstance(one, str))
    if len(texts) < len(found):
        raise TypeError(f"{what} takes a list of texts, not {given!r}")
    return texts


def whole(what: str, given: object, *, least: int, most: int | None = None) -> None:
    """Raise TypeError for what is no whole number, ValueError for one out of bounds."""
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"{what} is a whole number, not {given!r}")
    if given < least or (most is not None and given > most):
        raise ValueError(f"{what} is {least} at least{'' if most is None else f', {most} at most'}; {given} is not")


def an_object(what: str, given: object) -> None:
    """Raise TypeError for what is no JSON object."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} is a dictionary, not {given!r}")


def an_instant(given: object) -> None:
    """Raise TypeError for what is no datetime, ValueError for one without a zone."""
    if not isinstance(given, datetime):
        raise TypeError(f"an instant is a datetime with a zone, not {given!r}")
    if given.tzinfo is None:
        raise ValueError("an instant needs a zone: datetime.now(UTC), not datetime.now()")


def a_name(given: object) -> None:
    """Raise TypeError or ValueError for what names nothing: a request with it would be another request."""
    if not isinstance(given, str):
        raise TypeError(f"a name or an id is a text, not {given!r}")
    if given in {"", ".", ".."}:
        raise ValueError(f"{given!r} is no name and no id")


def a_header(what: str, given: object) -> None:
    """Raise TypeError or ValueError for what no header can hold."""
    if not isinstance(given, str):
        raise TypeError(f"{what} is a text, not {given!r}")
    if not _SENDABLE.fullmatch(given):
        raise ValueError(f"{what} is some printable ASCII characters, not {given!r}")
