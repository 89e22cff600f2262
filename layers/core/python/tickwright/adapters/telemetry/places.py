"""The count of a machine's places as a metric: a log line in CloudWatch's embedded metric format, so no request.

Must not know what is made of it: infra/ scales the fleet by it. All other events go on as they are.
"""

import json
import logging
from dataclasses import dataclass

from tickwright.domain.events import EventName, Happening
from tickwright.ports.clock import Clock
from tickwright.ports.telemetry import Telemetry

NAMESPACE = "Tickwright"
_DIMENSIONS = ("Stage", "Fleet")
_METRICS = ({"Name": "PlacesTaken", "Unit": "Percent"}, {"Name": "AtWork", "Unit": "Count"})
_LOG = logging.getLogger("tickwright")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacesTelemetry:
    """Turns the counts of one machine into metrics of its fleet."""

    inner: Telemetry
    clock: Clock
    stage: str
    fleet: str

    def emit(self, happening: Happening) -> None:
        """Write one line, or pass the event on."""
        if happening.name is EventName.PLACES_COUNTED:
            _LOG.info("%s", json.dumps(self._line(happening), separators=(",", ":")))
        else:
            self.inner.emit(happening)

    def _line(self, counted: Happening) -> dict[str, object]:
        described = {"Namespace": NAMESPACE, "Dimensions": [list(_DIMENSIONS)], "Metrics": list(_METRICS)}
        return {
            "_aws": {"Timestamp": int(self.clock.now()), "CloudWatchMetrics": [described]},
            "event": counted.name.value,
            "Stage": self.stage,
            "Fleet": self.fleet,
            "PlacesTaken": counted.measured["placesTakenPercent"],
            "AtWork": counted.measured["atWork"],
        }
