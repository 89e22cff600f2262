"""Measurements as metrics: lines in CloudWatch's embedded metric format, so that no request is made for them.

What one step of the event loop has measured together becomes one line: a batch of claims costs one and not ten. Must
not know what is made of a metric: infra/ scales, draws and warns by them. Never by tenant or job: each combination of
dimensions is paid for by the month.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from tickwright.domain.events import EventName, Happening
from tickwright.ports.clock import Clock
from tickwright.ports.telemetry import Telemetry

NAMESPACE = "Tickwright"
# A line holds so many values of a metric.
_VALUES_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A measurement of an event, under the name that dashboards and alarms know; without one, each event counts 1."""

    name: str
    unit: str
    measured: str | None = None

    def value_of(self, measured: Mapping[str, float]) -> float:
        """What one event contributes."""
        return 1 if self.measured is None else measured[self.measured]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What an event gives. `by`: the labels that are dimensions besides, by the dimensions' names."""

    metrics: tuple[Metric, ...]
    by: Mapping[str, str] = field(default_factory=dict)


# How late a run starts after it could have: what the installation promises its tenants.
OF_CLAIMS = {
    EventName.EXECUTION_CLAIMED: Measured(
        metrics=(Metric(name="DispatchLag", unit="Milliseconds", measured="startLagMs"),), by={"Lane": "lane"}
    )
}
# A bug of ours, which costs one run or one bucket at a time; a port that did not answer.
_BUG = Measured(metrics=(Metric(name="Bugs", unit="Count"),))
_FAULT = Measured(metrics=(Metric(name="Faults", unit="Count"),))
# Whoever looks at the journal finds what nobody takes, whatever the reason: at most an hour passes between two looks.
_WAIT = Metric(name="RunWait", unit="Milliseconds", measured="waitedMs")
OF_TROUBLE = {
    EventName.RUNS_WAIT: Measured(metrics=(_WAIT,), by={"Lane": "lane"}),
    # What is due and not decided, whatever the reason: the watch asks the due index of each bucket, once a minute.
    EventName.TICK_WAITS: Measured(metrics=(Metric(name="TickWait", unit="Milliseconds", measured="waitedMs"),)),
    EventName.ATTEMPT_BROKE: _BUG,
    EventName.LOOP_BROKE: _BUG,
    EventName.TICK_POISONED: _BUG,
    EventName.SCHEDULE_DISAGREEMENT: _BUG,
    EventName.BASE_LOWERED: _BUG,  # of whoever deployed: it is put right in the settings
    EventName.STORE_FAULT: _FAULT,
    EventName.QUEUE_FAULT: _FAULT,
    # Since SQS leaves a message out of its ages that has come a few times and was not deleted.
    EventName.SUBMISSION_WAITS: Measured(
        metrics=(Metric(name="SubmissionWait", unit="Milliseconds", measured="waitedMs"),)
    ),
}
# A scheduler that is alive serves buckets each second.
OF_BUCKETS = {
    EventName.BUCKETS_COUNTED: Measured(metrics=(Metric(name="BucketsServed", unit="Count", measured="served"),))
}
# A machine of the fleet: how many there are follows it.
OF_PLACES = {
    EventName.PLACES_COUNTED: Measured(
        metrics=(Metric(name="PlacesTaken", unit="Percent", measured="placesTakenPercent"),)
    )
}

_Key = tuple[EventName, tuple[str, ...]]


@dataclass(slots=True, kw_only=True)
class MetricTelemetry:
    """Writes the metrics of some events, and passes every event on. `dimensions` are those of all of them."""

    inner: Telemetry
    clock: Clock
    dimensions: Mapping[str, str]
    events: Mapping[EventName, Measured]
    _gathered: dict[_Key, list[Mapping[str, float]]] = field(default_factory=dict)

    def emit(self, happening: Happening) -> None:
        """Note what is measured, and pass the event on."""
        measured = self.events.get(happening.name)
        if measured is not None:
            if not self._gathered:
                self._write_soon()
            labels = tuple(happening.about[label] for label in measured.by.values())
            self._gathered.setdefault((happening.name, labels), []).append(happening.measured)
        self.inner.emit(happening)

    def _write_soon(self) -> None:
        """When the step of the loop that is under way has ended: before anything is waited for."""
        asyncio.get_running_loop().call_soon(self._write)

    def _write(self) -> None:
        gathered, self._gathered = self._gathered, {}
        for key, values in gathered.items():
            for start in range(0, len(values), _VALUES_MAX):
                # Not through logging: Lambda would wrap the line, and a metric in a wrapping is none.
                sys.stdout.write(self._line(key, values[start : start + _VALUES_MAX]) + "\n")

    def _line(self, key: _Key, values: list[Mapping[str, float]]) -> str:
        name, labels = key
        measured = self.events[name]
        dimensions = {**self.dimensions, **dict(zip(measured.by, labels, strict=True))}
        described = {
            "Namespace": NAMESPACE,
            "Dimensions": [list(dimensions)],
            "Metrics": [{"Name": metric.name, "Unit": metric.unit} for metric in measured.metrics],
        }
        line = {
            "_aws": {"Timestamp": int(self.clock.now()), "CloudWatchMetrics": [described]},
            "event": name.value,
            **dimensions,
            **{metric.name: [metric.value_of(each) for each in values] for metric in measured.metrics},
        }
        return json.dumps(line, separators=(",", ":"))
