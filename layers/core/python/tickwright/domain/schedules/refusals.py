"""How a schedule is refused: which field, which code, and what to change.

Must not know HTTP, nor who asked. Pointers are JSON pointers inside the schedule object, so that a caller may put its
own prefix before them. Promise: SEM-SCHED-2.
"""

from dataclasses import dataclass

# A refusal quotes at most this much of what it refuses: inputs of a megabyte must not come back in an error.
_SHOWN_CHARS_MAX = 40


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing to change."""

    pointer: str
    code: str
    message: str


class ScheduleRefused(ValueError):
    """The schedule was not accepted; `errors` holds everything that must change."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        super().__init__("; ".join(f"{error.pointer or '/'}: {error.message}" for error in errors))
        self.errors = errors


class CronRefused(ValueError):
    """One cron expression was not accepted; it has no pointer, since it may stand anywhere."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def shown(value: object) -> str:
    """The value as a message quotes it, cut to a bounded length."""
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN_CHARS_MAX else f"{value[:_SHOWN_CHARS_MAX]}...")
    if isinstance(value, bool | float | None):
        return {True: "true", False: "false", None: "null"}.get(value, repr(value))
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 4 * _SHOWN_CHARS_MAX else "a very large number"
    return "a list" if isinstance(value, list | tuple) else "an object"
