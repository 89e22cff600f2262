"""Where events go."""

from typing import Protocol

from tickwright.domain.events import Happening


class Telemetry(Protocol):
    """Takes what happened. Never raises and never waits: work does not depend on who watches it."""

    def emit(self, happening: Happening) -> None:
        """Note one event."""
        ...
