"""What is wrong with a job, collected, so that a user sees all of it at once.

Must not know what is looked at: domain/job_rules.py and domain/target_rules.py do. Promise: SEM-JOB-3.
"""

from collections.abc import Mapping
from typing import TypeVar, cast

from tickwright.domain.outcomes import FieldProblem

T = TypeVar("T")


class Problems:
    """A list that grows: each problem names its field and says what to change."""

    def __init__(self) -> None:
        self.found: list[FieldProblem] = []

    def add(self, pointer: str, code: str, message: str) -> None:
        """One more."""
        self.found.append(FieldProblem(pointer=pointer, code=code, message=message))

    def number(self, at: str, value: object, lowest: float, highest: float, default: T) -> T:
        """The number if it lies within the bounds, else the default and a problem."""
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not lowest <= value <= highest:
            self.add(at, "out_of_range", f"{value!r} is not between {lowest:g} and {highest:g}; use a number within.")
            return default
        return cast("T", value)

    def choice(self, at: str, value: object, options: Mapping[str, T], default: T) -> T:
        """One of the options by its name."""
        if value is None:
            return default
        if not isinstance(value, str) or value not in options:
            self.add(at, "unknown_value", f"{value!r} is none of {', '.join(options)}; use one of them.")
            return default
        return options[value]
