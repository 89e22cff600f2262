"""Reads single members of an object out of JSON, and gathers what is wrong with them.

Must not know what the members mean. Each reader returns the value, or None after noting an error, so that one answer
names everything that must change. Promise: SEM-SCHED-2.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.schedules.refusals import FieldError, ScheduleRefused, shown

# A member, or an entry of a member that is a list.
Place = str | tuple[str, int]
_Choice = TypeVar("_Choice", bound=StrEnum)

# Enough for everything a person could have meant; a hostile object gets no longer answer.
_ERRORS_MAX = 20
_NAME_CHARS_MAX = 40


class Members:
    """The members of one JSON object and the errors found in them so far."""

    def __init__(self, values: Mapping[str, object], errors: list[FieldError] | None = None, prefix: str = "") -> None:
        self._values = values
        self._errors: list[FieldError] = [] if errors is None else errors
        self._prefix = prefix

    def names(self) -> list[str]:
        """The names present, no more than an answer can list."""
        return [name for name, _ in zip(self._values, range(_ERRORS_MAX), strict=False)]

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """What has been noted so far."""
        return tuple(self._errors)

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def refuse(self, place: Place, code: str, message: str) -> None:
        """Note one thing to change; an empty name is the object itself."""
        if len(self._errors) < _ERRORS_MAX:
            self._errors.append(FieldError(self._prefix + _pointer(place), code, message))

    def raise_if_refused(self) -> None:
        if self._errors:
            raise ScheduleRefused(tuple(self._errors))

    def text(self, name: str, wanted: str) -> str | None:
        value = self._values.get(name)
        if value is None or isinstance(value, str):
            return value
        self._refuse_type(name, value, wanted)
        return None

    def texts(self, name: str, most: int, wanted: str) -> list[tuple[Place, str]]:
        """The place and text of each entry of a list, or of the one text that stands for a list of one."""
        value = self._values.get(name)
        if isinstance(value, str):
            return [(name, value)]
        if value in ([], ()):
            self.refuse(name, "bad_value", f"{name} is empty; name at least one")
            return []
        if not isinstance(value, list | tuple):
            self._refuse_type(name, value, f"{wanted}, or a list of them")
            return []
        if len(value) > most:
            self.refuse(name, "too_many", f"{name} has {len(value)} entries; the most is {most}")
            return []
        found: list[tuple[Place, str]] = []
        for at, entry in enumerate(value):
            if isinstance(entry, str):
                found.append(((name, at), entry))
            else:
                self._refuse_type((name, at), entry, wanted)
        return found

    def instant(self, name: str) -> Instant | None:
        text = self.text(name, "an instant such as 2026-11-29T22:57:33Z")
        if text is None:
            return None
        try:
            return from_rfc3339(text)
        except ValueError as problem:
            self.refuse(name, "bad_instant", f"{name} {problem}")
            return None

    def whole(self, name: str, low: int, high: int) -> int | None:
        value = self._values.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and low <= value <= high):
            return value
        self._refuse_type(name, value, f"a whole number from {low} to {high}")
        return None

    def flag(self, name: str) -> bool:
        value = self._values.get(name, False)
        if isinstance(value, bool):
            return value
        self._refuse_type(name, value, "true or false")
        return False

    def choice(self, name: str, default: _Choice) -> _Choice:
        """One of the words of the default's enumeration."""
        words = {word.value: word for word in type(default)}
        value = self._values.get(name, default.value)
        if isinstance(value, str) and value in words:
            return words[value]
        self._refuse_type(name, value, " or ".join(words))
        return default

    def inner(self, name: str, allowed: set[str]) -> "Members":
        """The members of an inner object, whose errors are noted here; empty if absent."""
        value = self._values.get(name, {})
        if not isinstance(value, Mapping):
            self._refuse_type(name, value, f"an object with {' and '.join(sorted(allowed))}")
            value = {}
        return self._checked(value, name, f"/{name}", allowed)

    def inners(self, name: str, most: int, allowed: set[str]) -> list["Members"]:
        """The members of each object of a list, whose errors are noted here; none if the list is absent."""
        value = self._values.get(name, [])
        if not isinstance(value, list | tuple):
            self._refuse_type(name, value, "a list of objects")
            return []
        if len(value) > most:
            self.refuse(name, "too_many", f"{name} has {len(value)} entries; the most is {most}")
            return []
        found = []
        for at, entry in enumerate(value):
            if isinstance(entry, Mapping):
                found.append(self._checked(entry, f"an entry of {name}", f"/{name}/{at}", allowed))
            else:
                self._refuse_type((name, at), entry, f"an object with {' and '.join(sorted(allowed))}")
        return found

    def _checked(self, value: Mapping[str, object], name: str, pointer: str, allowed: set[str]) -> "Members":
        inner = Members(value, self._errors, self._prefix + pointer)
        for key in inner.names():
            if key not in allowed:
                message = f"{shown(key)} is not a member of {name}; the members are {', '.join(sorted(allowed))}"
                inner.refuse(key, "unknown_field", message)
        return inner

    def _refuse_type(self, place: Place, value: object, wanted: str) -> None:
        name = place if isinstance(place, str) else f"{place[0]}[{place[1]}]"
        self.refuse(place, "bad_value", f"{name} is {shown(value)}; write {wanted}")


def _pointer(place: Place) -> str:
    """The place as a JSON pointer (RFC 6901), with a name of any length cut."""
    if place == "":
        return ""
    name, *index = (place,) if isinstance(place, str) else place
    escaped = str(name)[:_NAME_CHARS_MAX].replace("~", "~0").replace("/", "~1")
    return "".join([f"/{escaped}", *(f"/{at}" for at in index)])
