"""The one vocabulary of what can happen."""

import re
from pathlib import Path

import pytest

from tickwright.domain.events import EventName

_CORE = Path(__file__).parents[2] / "layers" / "core" / "python" / "tickwright"


@pytest.mark.sem("SEM-EVENT-1")
def test_every_event_has_a_name_of_its_own_that_logs_and_metrics_can_carry() -> None:
    """Lower case, words joined by underscores."""
    values = [name.value for name in EventName]

    assert len(set(values)) == len(values)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)+", value) for value in values)


@pytest.mark.sem("SEM-EVENT-1")
def test_every_event_is_emitted_somewhere() -> None:
    """A name that nothing emits is an alarm that never rings."""
    emitted = "".join(
        path.read_text() for folder in ("services", "loops", "api") for path in (_CORE / folder).glob("*.py")
    )

    assert [name for name in EventName if f"EventName.{name.name}" not in emitted] == []
