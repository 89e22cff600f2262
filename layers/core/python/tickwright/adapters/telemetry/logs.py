"""Events as JSON log lines."""

import json
import logging

from tickwright.domain.events import Happening

_LOG = logging.getLogger("tickwright")


class LogTelemetry:
    """One line an event, at INFO; names and labels as in domain/events.py."""

    def emit(self, happening: Happening) -> None:
        """Write one line."""
        if _LOG.isEnabledFor(logging.INFO):
            line = {"event": happening.name.value, **happening.about, **happening.measured}
            _LOG.info("%s", json.dumps(line, separators=(",", ":")))
