"""How a schedule is refused: which field, which code, and what to change.

Must not know HTTP, nor who asked. Pointers are JSON pointers inside the schedule object, so that a caller may put its
own prefix before them. Promise: SEM-SCHED-2.
"""

from dataclasses import dataclass

# A refusal quotes at most this much of what it refuses: inputs of a megabyte must not come back in an error.
_SHOWN_CHARS_MAX = 40
_SHOWN_BITS_MAX = 128


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing to change."""

    pointer: str
    code: str
    message: str


class ScheduleRefused(ValueError):  # noqa: N818 -- a refusal is an answer to a user, not a fault of the program
    """The schedule was not accepted; `errors` holds everything that must change."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        super().__init__("; ".join(f"{error.pointer or '/'}: {error.message}" for error in errors))
        self.errors = errors


class CalendarRefused(ValueError):  # noqa: N818 -- as above
    """The calendar was not accepted; `errors` holds everything that must change."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        super().__init__("; ".join(f"{error.pointer or '/'}: {error.message}" for error in errors))
        self.errors = errors


class CronRefused(ValueError):  # noqa: N818 -- as above
    """One cron expression was not accepted; it has no pointer, since it may stand anywhere."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def shown(value: object) -> str:
    """The value as a message quotes it, cut to a bounded length."""
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN_CHARS_MAX else f"{value[:_SHOWN_CHARS_MAX]}...")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS_MAX:
        return "a very large number"
    if value is None or isinstance(value, int | float):
        return "null" if value is None else str(value)
    return "a list" if isinstance(value, list | tuple) else "an object"
