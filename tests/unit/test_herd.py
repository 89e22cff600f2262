"""Does the herd map count what the schedules will do, in bounded work?"""

from collections import Counter
from typing import Any

import pytest

from tests.support.builders import a_calendar, a_head, a_job_id
from tickwright.domain.herd import MINUTE_MS, SPAN_MS_MAX, Herd, herd_of, minutes_of, scaled
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.schedules import CalendarContent, CalendarKind, Window, compact, next_ticks, open_ticks, parse

SINCE = from_rfc3339("2026-11-30T00:00:00Z")
UNTIL = Instant(SINCE + SPAN_MS_MAX)


def due(number: int, spec: dict[str, Any], **shown: Any) -> Head:  # noqa: ANN401 - any field of a head
    """A job that is due some time later."""
    schedule = compact(parse(spec))
    return a_head(**{"job_id": a_job_id(number), "schedule": schedule, "bucket": 0, "next_run_at": UNTIL} | shown)


@pytest.mark.sem("SEM-SCHED-20")
@pytest.mark.parametrize(
    "spec",
    [
        {"cron": "*/7 3,4 * * *", "timezone": "Europe/Berlin"},
        {"cron": ["0 0 * * *", "30 */6 * * *", "0 6 * * *"]},
        {"cron": "*/25 59 23 * * *", "allowSeconds": True},
        {"cron": "30 2 29 2 *"},
        {"every": "PT23S"},
        {"every": "PT17M", "phase": "PT1M30S"},
        {"every": "PT1M", "startAt": "2026-11-30T20:00:00Z", "endAt": "2026-11-30T21:00:00Z"},
        {"runAt": "2026-11-30T12:00:30.500Z"},
        {"runAt": "2026-12-01T00:00:00Z"},
    ],
)
def test_the_counts_are_those_of_the_ticks_one_by_one(spec: dict[str, Any]) -> None:
    """Minute by minute, over a whole day; its first instant counts and the next day's does not."""
    schedule = parse(spec)
    ticks = next_ticks(schedule, Instant(SINCE - 1), 4_000)
    expected = Counter(Instant(tick.at // MINUTE_MS * MINUTE_MS) for tick in ticks if tick.at < UNTIL)

    assert minutes_of(schedule, SINCE, UNTIL) == expected


def test_no_more_ticks_are_counted_than_max_runs_leaves() -> None:
    """Of ten runs seven are over."""
    schedule = parse({"every": "PT20S", "maxRuns": 10})

    assert list(minutes_of(schedule, SINCE, UNTIL, 7).values()) == [3]
    assert minutes_of(schedule, SINCE, UNTIL, 10) == {}


def test_jobs_that_fire_together_add_up() -> None:
    """Whether their schedules are equal or only meet; a paused job does not fire."""
    heads = [
        due(1, {"cron": "0 6 * * *"}),
        due(2, {"cron": "0 6 * * *"}),
        due(3, {"every": "PT6H"}),
        due(4, {"cron": "0 6 * * *"}, status=JobStatus.PAUSED, bucket=None, next_run_at=None),
    ]
    herd = herd_of(heads, SINCE, UNTIL)

    assert herd.minutes[from_rfc3339("2026-11-30T06:00:00Z")] == 3
    assert herd.minutes[from_rfc3339("2026-11-30T12:00:00Z")] == 1
    assert (herd.jobs, herd.truncated, sum(herd.minutes.values())) == (3, False, 6)


@pytest.mark.sem("SEM-SCHED-20")
def test_a_full_budget_leaves_out_the_schedules_that_fewest_share() -> None:
    """And says so; without the bound the same jobs are all counted."""
    shared = [due(number, {"cron": "* * * * *"}) for number in range(5)]
    alone = [due(10, {"cron": "0 6 * * *"})]

    cut = herd_of([*alone, *shared], SINCE, UNTIL, steps_max=1_000)
    whole = herd_of([*alone, *shared], SINCE, UNTIL)

    assert (cut.jobs, cut.truncated, set(cut.minutes.values())) == (5, True, {5})
    assert (whole.jobs, whole.truncated, set(whole.minutes.values())) == (6, False, {5, 6})


@pytest.mark.sem("SEM-SCHED-21")
@pytest.mark.parametrize(("read", "counts"), [(16, [1, 7]), (3, [5, 37]), (1, [16, 112])])
def test_what_some_buckets_hold_is_scaled_to_all(read: int, counts: list[int]) -> None:
    """Rounded to the nearest; of sixteen buckets."""
    herd = Herd(minutes={SINCE: 1, UNTIL: 7}, jobs=7, truncated=False)

    assert list(scaled(herd, read, 16).minutes.values()) == counts
    assert scaled(herd, read, 16).jobs == counts[1]


@pytest.mark.sem("SEM-CAL-6", "SEM-SCHED-20")
@pytest.mark.parametrize(
    "spec", [{"cron": "*/7 * * * *", "timezone": "Europe/Berlin"}, {"every": "PT23S"}, {"every": "PT25M", "maxRuns": 9}]
)
def test_closed_ticks_are_not_counted(spec: dict[str, Any]) -> None:
    """The counts are those of the open ticks one by one: of days, and of windows that begin within a minute."""
    windows = tuple(
        Window(Instant(SINCE + start * 1_000), Instant(SINCE + end * 1_000))
        for start, end in ((0, 1), (3_630, 3_700), (40_000, 80_001))
    )
    content = CalendarContent(kind=CalendarKind.EXCLUDE, days=("2026-12-01",), windows=windows)
    calendars = [a_calendar(content=content)]
    schedule = parse(spec)
    most = schedule.max_runs or 4_000
    ticks = [tick.at for tick in open_ticks(schedule, calendars, Instant(SINCE - 1), most) if tick.at < UNTIL]
    expected = Counter(Instant(at // MINUTE_MS * MINUTE_MS) for at in ticks)

    assert ticks
    assert minutes_of(schedule, SINCE, UNTIL, calendars=calendars) == expected


@pytest.mark.sem("SEM-SCHED-20")
def test_closed_stretches_use_up_the_budget_too() -> None:
    """A schedule that a thousand windows close a thousand times is as much work as one that fires as often."""
    windows = tuple(Window(Instant(SINCE + at * 60_000), Instant(SINCE + at * 60_000 + 1)) for at in range(1_000))
    closing = a_calendar(content=CalendarContent(kind=CalendarKind.EXCLUDE, windows=windows))
    shared = [due(number, {"cron": "* * * * *", "calendars": ["holidays"]}) for number in range(2)]
    alone = [due(10, {"cron": "0 6 * * *"})]

    cut = herd_of([*alone, *shared], SINCE, UNTIL, steps_max=1_000, calendars={"holidays": closing})

    assert (cut.jobs, cut.truncated, len(cut.minutes)) == (2, True, 440)
