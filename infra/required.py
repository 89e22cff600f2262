"""What a setting has to be: a wrong one is named, with what it may be, and nothing is built.

No assertion: those may be stripped, and a wrong setting is nobody's bug. Must not know a setting.
"""

import sys
import traceback
from pathlib import Path

# Where an installation's settings are written: the line that a person has to look at.
_WRITTEN = Path(__file__).resolve().parent / "settings.py"


class SettingRefused(SystemExit):
    """Ends a command with status 2, as a wrong argument does. What is wrong stands on standard error, in one line."""

    def __init__(self, told: str) -> None:
        super().__init__(2)
        self.told = told
        sys.stderr.write(f"{told}\n")

    def __str__(self) -> str:
        return self.told


def require(holds: bool, field: str, value: object, allowed: str) -> None:  # noqa: FBT001 - the claim comes first
    """End with the field, its value and what it may be, unless this holds."""
    if not holds:
        raise SettingRefused(f"{_place()}{field} is {value!r}: {allowed}")


def _place() -> str:
    """The line of the settings that is being read; none where a test or a tool makes them."""
    lines = [frame.lineno for frame in traceback.extract_stack() if Path(frame.filename) == _WRITTEN]
    return f"infra/{_WRITTEN.name}:{lines[-1]}: " if lines else ""
