"""Does the second engine agree with us wherever it has an opinion, and is it silent only where it must be?"""

import json
from collections import Counter

import pytest
from hypothesis import given

from tests.cron_vectors import DATA
from tests.unit.schedules.builders import a_cron, short
from tests.unit.schedules.strategies import expressions, instants, zones
from tests.unit.schedules.test_walk_properties import accepted
from tickwright.adapters.croniter_engine import CroniterEngine, Fault, faulty_ticks
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.schedules import parse
from tickwright.domain.schedules.preview import disagreement, next_ticks
from tickwright.ports.second_engine import NoOpinion, Opinion, SecondEngine

ENGINE: SecondEngine = CroniterEngine()


@pytest.mark.slow
@pytest.mark.sem("SEM-SCHED-15")
def test_no_recorded_case_is_answered_differently() -> None:
    """On the 2,004 recorded cases it agrees wherever it has an opinion, and it has one on most."""
    answers: Counter[str] = Counter()
    for line in (DATA / "vectors.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        wanted = tuple(from_rfc3339(text) for text in case["expected_utc"])
        schedule = a_cron(case["expr"], zone=case["tz"])
        said = ENGINE.next_ticks(schedule, from_rfc3339(case["start"]), len(wanted))
        answers[said.reason if isinstance(said, NoOpinion) else "agrees" if said.ticks == wanted else "differs"] += 1

    assert answers["differs"] == 0
    assert answers["agrees"] > 1_400


@pytest.mark.sem("SEM-SCHED-15")
@given(expressions, zones, instants)
def test_no_expression_is_answered_differently(cron: str, zone: str, after: Instant) -> None:
    """On any expression, zone and instant it gives our ticks or a known reason for having no opinion."""
    schedule = accepted(cron, zone=zone)

    said = ENGINE.next_ticks(schedule, after, 4)

    if isinstance(said, Opinion):
        assert disagreement(next_ticks(schedule, after, 4), said.ticks) is None
    else:
        assert said.reason in set(Fault)


FAULTS = [
    (Fault.SINGLE_VALUE_RANGE, "5-5 * * * *", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.SINGLE_VALUE_RANGE, "0 3 * * SAT-6", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.SINGLE_VALUE_RANGE, "0 3 * * SUN-0", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.SINGLE_VALUE_RANGE, "0 0 1 JAN-1 *", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.SINGLE_VALUE_RANGE, "0 0 1 jan-jan *", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.SINGLE_VALUE_RANGE, "5-05 * * * *", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.NOT_READ, "0 0 LW * *", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.NOT_READ, "0 0 L-3 * *", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.NOT_READ, "0 0 * * 1,5L", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.NEAR_MONTH_END, "0 9 31W * *", "UTC", "2026-04-01T00:00:00Z"),
    (Fault.NOT_READ, "0 0 1W,L * *", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.EITHER_DAY, "0 0 L * 5L", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.EITHER_DAY, "0 0 1,15 * MON#1", "UTC", "2026-01-09T00:00:00Z"),
    (Fault.EITHER_DAY, "0 0 15W * MON", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.FROM_SUNDAY, "0 0 * * 7/2", "UTC", "2026-01-01T00:00:00Z"),
    (Fault.REPEATED_HOUR, "30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z"),
    (Fault.REPEATED_HOUR, "30 0,3,23 * * *", "Antarctica/Casey", "2020-03-07T12:40:00Z"),
    (Fault.SKIPPED_HOUR, "*/7 2 * * *", "America/Chicago", "2024-03-10T07:20:00Z"),
    (Fault.SKIPPED_HOUR, "30 0-23 * * *", "Africa/Cairo", "2026-04-23T21:20:00Z"),
    (Fault.SKIPPED_HOUR, "0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z"),
]


@pytest.mark.sem("SEM-SCHED-15")
@pytest.mark.parametrize(("fault", "cron", "zone", "after"), FAULTS, ids=[f"{row[0]}-{row[1]}" for row in FAULTS])
def test_each_known_fault_is_still_there(fault: Fault, cron: str, zone: str, after: str) -> None:
    """Asked all the same, it is wrong or cannot answer: once a release mends that, the fault leaves the list."""
    schedule = a_cron(cron, zone=zone)
    start = from_rfc3339(after)

    said = ENGINE.next_ticks(schedule, start, 4)
    raw = faulty_ticks(schedule, start, 4)

    assert said == NoOpinion(fault)
    assert raw is None or disagreement(next_ticks(schedule, start, 4), raw) is not None


@pytest.mark.sem("SEM-SCHED-15")
def test_what_is_not_cron_is_not_its_business() -> None:
    """One-offs and intervals are arithmetic; there is nothing to disagree on."""
    said = ENGINE.next_ticks(parse({"every": "PT1H"}), from_rfc3339("2026-01-01T00:00:00Z"), 3)

    assert said == NoOpinion(Fault.NOT_CRON)


@pytest.mark.sem("SEM-SCHED-15")
def test_a_window_is_not_its_business() -> None:
    """It has none: its nominal ticks beside our slots would be a disagreement each time."""
    said = ENGINE.next_ticks(parse({"cron": "0 6 * * *", "window": 600}), from_rfc3339("2026-01-01T00:00:00Z"), 3)

    assert said == NoOpinion(Fault.WINDOW)


@pytest.mark.sem("SEM-SCHED-15")
def test_bounds_unions_and_policies_reach_the_second_engine() -> None:
    """Start, end, lists and `dayMatch` are its business too."""
    schedule = parse(
        {
            "cron": ["0 9 13 * FRI", "30 9 * * 5L"],
            "dayMatch": "and",
            "startAt": "2026-02-13T09:00:00Z",
            "endAt": "2026-03-13T09:00:00Z",
        }
    )

    said = ENGINE.next_ticks(schedule, from_rfc3339("2026-01-01T00:00:00Z"), 10)

    assert isinstance(said, Opinion)
    assert [short(at) for at in said.ticks] == ["2026-02-13T09:00Z", "2026-02-27T09:30Z", "2026-03-13T09:00Z"]
