"""Events as JSON log lines.

A line for every success would cost more than the executions themselves (1 KB each is $7,500 a month at 500 million a
day): what goes well is logged at DEBUG, what a person may have to look at at INFO.
"""

import json
import logging

from tickwright.domain.events import EventName, Happening

_LOG = logging.getLogger("tickwright")
_USUAL = frozenset(
    {
        EventName.TICK_DECIDED,
        EventName.EXECUTION_QUEUED,
        EventName.EXECUTION_CLAIMED,
        EventName.EXECUTION_SUCCEEDED,
        EventName.ENTRY_RESOLVED,
        EventName.CLAIM_REFUSED,
        # Lines of their own, as metrics.
        EventName.BUCKETS_COUNTED,
        EventName.PLACES_COUNTED,
    }
)


class LogTelemetry:
    """One line an event; names and labels as in domain/events.py."""

    def emit(self, happening: Happening) -> None:
        """Write one line."""
        level = logging.DEBUG if happening.name in _USUAL else logging.INFO
        if _LOG.isEnabledFor(level):
            line = {"event": happening.name.value, **happening.about, **happening.measured}
            _LOG.log(level, "%s", json.dumps(line, separators=(",", ":")))
