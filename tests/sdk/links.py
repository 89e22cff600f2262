"""A link that writes down what a handler says, and a context with it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tickwright_sdk import Context

AT = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)


@dataclass
class Noting:
    """Keeps notes and lines; stops when it is told to."""

    notes: list[tuple[float | None, str | None]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    reason: str | None = None
    stopped: threading.Event = field(default_factory=threading.Event)
    calls: list[Callable[[], object]] = field(default_factory=list)

    def stop(self, reason: str) -> None:
        """Give a reason to stop."""
        self.reason = reason
        self.stopped.set()
        for call in self.calls:
            call()

    def note(self, progress: float | None, checkpoint: str | None) -> None:
        """Keep it."""
        self.notes.append((progress, checkpoint))

    def write(self, line: str) -> None:
        """Keep it."""
        self.lines.append(line)

    def wait(self, seconds: float) -> None:
        """Wait for the stop."""
        self.stopped.wait(seconds)

    def when_stopped(self, call: Callable[[], object]) -> Callable[[], None]:
        """As the port says."""
        if self.reason is not None:
            call()
        self.calls.append(call)
        return lambda: self.calls.remove(call)


def a_context(link: Noting | None = None, **changed: Any) -> Context:  # noqa: ANN401 - any member
    """The first attempt of a run."""
    told: dict[str, Any] = {
        "execution_id": "job-1@2026-03-01T02:30:00Z",
        "job_id": "job-1",
        "lease_epoch": 1,
        "attempt": 1,
        "max_attempts": 3,
        "scheduled_time": AT,
        "deadline": AT.replace(hour=3),
        "link": link or Noting(),
    }
    return Context(**(told | changed))
