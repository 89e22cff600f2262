"""Metrics: lines that CloudWatch reads as metrics, few of them, and without a tenant or a job in them."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.clocks import ManualClock, VirtualLoop
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.adapters.telemetry.metrics import (
    OF_BUCKETS,
    OF_CLAIMS,
    OF_PLACES,
    OF_TROUBLE,
    Measured,
    MetricTelemetry,
)
from tickwright.domain.events import EventName, Happening
from tickwright.domain.instants import Instant

NOW = Instant(1_700_000_000_000)
KINDS = OF_CLAIMS | OF_BUCKETS | OF_PLACES | OF_TROUBLE


CLOCK = ManualClock(NOW)


def telemetry_of(events: Mapping[EventName, Measured]) -> tuple[MetricTelemetry, MemoryTelemetry]:
    inner = MemoryTelemetry()
    return MetricTelemetry(inner=inner, clock=CLOCK, dimensions={"Stage": "prod"}, events=events), inner


async def a_step() -> None:
    """Let the event loop go on once."""
    await CLOCK.sleep_ms(0)


def claimed(lag_ms: int, lane: str = "high") -> Happening:
    about = {"executionId": f"e{lag_ms}", "jobId": "j", "lane": lane, "worker": "w"}
    return Happening(name=EventName.EXECUTION_CLAIMED, measured={"startLagMs": lag_ms, "attempt": 1}, about=about)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


async def test_how_late_runs_start_is_a_metric_of_their_lane(capsys: pytest.CaptureFixture[str]) -> None:
    """The line is the metric itself: in a wrapping of a logger's it would be none."""
    telemetry, _ = telemetry_of(OF_CLAIMS)

    telemetry.emit(claimed(40))
    await a_step()

    assert lines_of(capsys) == [
        {
            "_aws": {
                "Timestamp": NOW,
                "CloudWatchMetrics": [
                    {
                        "Namespace": "Tickwright",
                        "Dimensions": [["Stage", "Lane"]],
                        "Metrics": [{"Name": "DispatchLag", "Unit": "Milliseconds"}],
                    }
                ],
            },
            "event": "execution_claimed",
            "Stage": "prod",
            "Lane": "high",
            "DispatchLag": [40],
        }
    ]


async def test_a_batch_is_one_line_for_each_of_its_lanes(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each claim would cost more than the claims; no value is averaged away."""
    telemetry, inner = telemetry_of(OF_CLAIMS)

    for lag_ms, lane in ((5, "high"), (7, "low"), (9, "high")):
        telemetry.emit(claimed(lag_ms, lane))
    await a_step()

    lags = {line["Lane"]: line["DispatchLag"] for line in lines_of(capsys)}
    assert lags == {"high": [5, 9], "low": [7]}
    assert inner.counts[EventName.EXECUTION_CLAIMED] == 3


async def test_a_line_has_no_more_values_than_cloudwatch_reads(capsys: pytest.CaptureFixture[str]) -> None:
    """A hundred; the others are in lines of their own."""
    telemetry, _ = telemetry_of(OF_CLAIMS)

    for lag_ms in range(250):
        telemetry.emit(claimed(lag_ms))
    await a_step()

    lines = [line["DispatchLag"] for line in lines_of(capsys)]
    assert [len(values) for values in lines] == [100, 100, 50]
    assert [value for values in lines for value in values] == list(range(250))


async def test_what_is_measured_later_is_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is said twice, and nothing is kept for long: a container may be frozen."""
    telemetry, _ = telemetry_of(OF_CLAIMS)

    telemetry.emit(claimed(1))
    await a_step()
    telemetry.emit(claimed(2))
    await a_step()

    assert [line["DispatchLag"] for line in lines_of(capsys)] == [[1], [2]]


def test_what_the_last_step_has_measured_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    """An invocation ends right after it."""
    telemetry, _ = telemetry_of(OF_BUCKETS)

    async def last_step() -> None:
        telemetry.emit(Happening(name=EventName.BUCKETS_COUNTED, measured={"served": 960, "held": 16}))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(last_step())

    (line,) = lines_of(capsys)
    assert (line["BucketsServed"], line["Stage"]) == ([960], "prod")


async def test_bugs_of_ours_and_ports_that_do_not_answer_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the event measures: each counts one."""
    telemetry, _ = telemetry_of(OF_TROUBLE)

    for name in (EventName.LOOP_BROKE, EventName.STORE_FAULT, EventName.LOOP_BROKE):
        telemetry.emit(Happening(name=name, about={"fault": "KeyError"}))
    await a_step()

    bugs, faults = lines_of(capsys)
    assert (bugs["Bugs"], faults["Faults"]) == ([1, 1], [1])


async def test_other_events_are_passed_on_and_measured_by_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    """The log is the inner one's."""
    telemetry, inner = telemetry_of(KINDS)

    telemetry.emit(Happening(name=EventName.BUCKET_TAKEN))
    await a_step()

    assert lines_of(capsys) == []
    assert inner.counts == {EventName.BUCKET_TAKEN: 1}


def test_no_metric_has_a_dimension_that_grows_with_the_tenants() -> None:
    """Each combination is paid for by the month: stages, fleets and lanes are few."""
    dimensions = {dimension for measured in KINDS.values() for dimension in measured.by}

    assert dimensions <= {"Lane"}
