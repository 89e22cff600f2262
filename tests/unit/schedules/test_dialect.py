"""Does each form of the dialect mean what docs/cron.md says?"""

import pytest

from tests.unit.schedules.builders import a_cron, refusal, short, ticks
from tickwright.domain.instants import from_rfc3339
from tickwright.domain.schedules import count_ticks, gap_skips, latest_tick

START = "2026-01-01T00:00:00Z"

DAYS = [
    ("L", "*", "01-31 02-28 03-31"),
    ("L-3", "*", "01-28 02-25 03-28"),
    ("L-30", "*", "01-01 03-01 05-01"),
    ("LW", "*", "01-30 02-27 03-31"),
    ("15W", "*", "01-15 02-16 03-16"),
    ("1W", "*", "01-01 02-02 03-02"),
    ("31W", "*", "01-30 03-31 05-29"),
    ("L,15", "*", "01-15 01-31 02-15"),
    ("l", "*", "01-31 02-28 03-31"),
    ("lw", "*", "01-30 02-27 03-31"),
    ("*", "5L", "01-30 02-27 03-27"),
    ("*", "FRIL", "01-30 02-27 03-27"),
    ("*", "7L", "01-25 02-22 03-29"),
    ("*", "5#3", "01-16 02-20 03-20"),
    ("*", "fri#5", "01-30 05-29 07-31"),
    ("*", "7#1", "01-04 02-01 03-01"),
    ("*", "MON#1,MON#3", "01-05 01-19 02-02"),
    ("*", "1,5L", "01-05 01-12 01-19"),
    ("?", "MON", "01-05 01-12 01-19"),
    ("1", "?", "01-01 02-01 03-01"),
    ("?", "?", "01-01 01-02 01-03"),
    ("*", "1/2", "01-02 01-05 01-07"),
    ("*", "5-7", "01-02 01-03 01-04"),
    ("*", "MON-WED", "01-05 01-06 01-07"),
    ("*/10", "*", "01-01 01-11 01-21"),
    # Both restricted: either is enough. A field that begins with a star is not restricted: both must match.
    ("13", "FRI", "01-02 01-09 01-13"),
    ("1-7", "5", "01-01 01-02 01-03"),
    ("*/2", "MON", "01-05 01-19 02-09"),
    ("1-31/2", "MON", "01-01 01-03 01-05"),
    ("L", "5L", "01-30 01-31 02-27"),
    ("*,1", "MON", "01-05 01-12 01-19"),
]


@pytest.mark.sem("SEM-SCHED-3", "SEM-SCHED-5")
@pytest.mark.parametrize(("day", "weekday", "expected"), DAYS, ids=[f"{day} {weekday}" for day, weekday, _ in DAYS])
def test_day_fields_name_the_days_they_should(day: str, weekday: str, expected: str) -> None:
    """The next three days from the start of 2026, by both day fields."""
    wanted = [f"2026-{date}T00:00Z" for date in expected.split()]

    assert ticks(a_cron(f"0 0 {day} * {weekday}"), "2025-12-31T23:59:59Z", 3) == wanted


@pytest.mark.sem("SEM-SCHED-5")
def test_day_match_and_needs_both_days() -> None:
    """With `dayMatch: and` the 13th must also be a Friday."""
    assert ticks(a_cron("0 0 13 * FRI", dayMatch="and"), START, 2) == ["2026-02-13T00:00Z", "2026-03-13T00:00Z"]


@pytest.mark.sem("SEM-SCHED-4")
def test_days_that_never_meet_are_refused_only_if_both_are_needed() -> None:
    """The 31st of April never comes; with a weekday beside it the weekday is enough, unless both are needed."""
    assert refusal({"cron": "0 0 31 4 *"}) == {"/cron": "never_fires"}
    assert refusal({"cron": "0 0 31 4 1"}) == {}
    assert refusal({"cron": "0 0 31 4 1", "dayMatch": "and"}) == {"/cron": "never_fires"}
    assert refusal({"cron": "0 0 1-7 * 5#3", "dayMatch": "and"}) == {"/cron": "never_fires"}


ALIASES = [
    ("@hourly", "01T01:00Z"),
    ("@daily", "02T00:00Z"),
    ("@midnight", "02T00:00Z"),
    ("@weekly", "04T00:00Z"),
    ("@MONTHLY", "02-01T00:00Z"),
    ("@yearly", "2027-01-01T00:00Z"),
    ("@Annually", "2027-01-01T00:00Z"),
]


@pytest.mark.sem("SEM-SCHED-3")
@pytest.mark.parametrize(("alias", "expected"), ALIASES)
def test_aliases_are_literal(alias: str, expected: str) -> None:
    """Without a tilde an alias fires at the full hour or midnight, whatever its case."""
    assert ticks(a_cron(alias), START, 1)[0].endswith(expected)


@pytest.mark.sem("SEM-SCHED-3")
def test_six_fields_put_seconds_first() -> None:
    """The first of six fields is the second."""
    schedule = a_cron("*/20 30 12 * * *")

    assert ticks(schedule, START, 4) == [
        *("2026-01-01T12:30Z", "2026-01-01T12:30:20Z", "2026-01-01T12:30:40Z", "2026-01-02T12:30Z")
    ]


REFUSED = [
    ("0 0 * * L", "unreadable"),
    ("0 0 * * FRI-MON", "reversed_range"),
    ("0 0 * * 1#0", "bad_extension"),
    ("0 0 * * 1#6", "bad_extension"),
    ("0 0 L-31 * *", "bad_extension"),
    ("0 0 32W * *", "out_of_range"),
    ("0 0 1-5W * *", "unreadable"),
    ("? * * * *", "bad_extension"),
    ("0 0 ?/2 * *", "unreadable"),
    ("0 0 1 JANUARY *", "unreadable"),
    ("0 0 MON * *", "unreadable"),
    ("1,,2 * * * *", "empty_item"),
    ("*/5/5 * * * *", "unreadable"),
    ("1-2-3 * * * *", "unreadable"),
    ("60 * * * *", "out_of_range"),
    ("99999999999999999999 * * * *", "out_of_range"),
    ("* * * *", "field_count"),
    ("@reboot", "unknown_alias"),
    ("@daily 0 0 * * *", "unknown_alias"),
    ("0 0 * *\n*", "line_break"),
    ("0 0 * * *\n", "line_break"),
    ("0 0 * * *\r\n", "line_break"),
    ("0 0 * * *\x00", "not_ascii"),
    ("H(5) * * * *", "unreadable"),
    ("H(10-5) * * * *", "bad_hash"),
    ("H/61 * * * *", "bad_hash"),
    ("0 0 H/29 * *", "bad_hash"),
]


@pytest.mark.sem("SEM-SCHED-4")
@pytest.mark.parametrize(("cron", "code"), REFUSED)
def test_what_has_no_clear_meaning_is_refused(cron: str, code: str) -> None:
    """Each kind of mistake has a code of its own."""
    assert refusal({"cron": cron}) == {"/cron": code}


POLICIES = [
    ("shift", "first", "30 2 * * *", "2026-03-08T07:00Z 2026-03-09T06:30Z", "2026-03-08T02:30:00"),
    ("skip", "first", "30 2 * * *", "2026-03-09T06:30Z 2026-03-10T06:30Z", None),
    ("shift", "first", "0,30 2 * * *", "2026-03-08T07:00Z 2026-03-09T06:00Z", "2026-03-08T02:00:00"),
    ("shift", "first", "0 3 * * *", "2026-03-08T07:00Z 2026-03-09T07:00Z", None),
    ("shift", "first", "30 2,3 * * *", "2026-03-08T07:00Z 2026-03-08T07:30Z", "2026-03-08T02:30:00"),
]


@pytest.mark.sem("SEM-SCHED-9")
@pytest.mark.parametrize(("gap", "overlap", "cron", "expected", "nominal"), POLICIES)
def test_a_skipped_time_follows_the_gap_policy(
    gap: str, overlap: str, cron: str, expected: str, nominal: str | None
) -> None:
    """New York jumps from 02:00 to 03:00 on 8 March 2026: shifted ticks say which local time they stand for."""
    schedule = a_cron(cron, zone="America/New_York", dst={"gap": gap, "overlap": overlap})
    wanted = expected.split()

    first = latest_tick(schedule, from_rfc3339(wanted[0].replace("Z", ":00Z")), from_rfc3339("2026-03-07T12:00:00Z"))

    assert ticks(schedule, "2026-03-07T12:00:00Z", 2) == wanted
    assert first is not None
    assert (short(first.at), first.nominal_local) == (wanted[0], nominal)


OVERLAPS = [
    ("first", "30 1 * * *", "2026-11-01T05:30Z 2026-11-02T06:30Z"),
    ("second", "30 1 * * *", "2026-11-01T06:30Z 2026-11-02T06:30Z"),
    ("both", "30 1 * * *", "2026-11-01T05:30Z 2026-11-01T06:30Z"),
    ("second", "30 * * * *", "2026-11-01T04:30Z 2026-11-01T05:30Z"),
    ("first", "59 0 * * *", "2026-11-01T04:59Z 2026-11-02T05:59Z"),
    ("second", "0 2 * * *", "2026-11-01T07:00Z 2026-11-02T07:00Z"),
]


@pytest.mark.sem("SEM-SCHED-9")
@pytest.mark.parametrize(("overlap", "cron", "expected"), OVERLAPS)
def test_a_repeated_time_follows_the_overlap_policy(overlap: str, cron: str, expected: str) -> None:
    """New York repeats 01:00 to 02:00 on 1 November 2026."""
    schedule = a_cron(cron, zone="America/New_York", dst={"overlap": overlap})

    assert ticks(schedule, "2026-11-01T04:00:00Z", 2) == expected.split()


@pytest.mark.sem("SEM-SCHED-9")
def test_a_tick_that_is_due_anyway_is_not_called_shifted() -> None:
    """02:30 is owed at 03:00, but 03:00 is asked for itself: one tick, without a nominal time."""
    schedule = a_cron("30 2 * * *", "0 3 * * *", zone="America/New_York")

    tick = latest_tick(schedule, from_rfc3339("2026-03-08T07:00:00Z"), from_rfc3339("2026-03-08T00:00:00Z"))

    assert tick is not None
    assert (short(tick.at), tick.nominal_local) == ("2026-03-08T07:00Z", None)


@pytest.mark.sem("SEM-SCHED-9")
@pytest.mark.parametrize(
    ("cron", "fires"), [("*/15 3 * * *", 8), ("0-59/15 3 * * *", 4), ("0,15,30,45 3 * * *", 4), ("*/20 0 3 * * *", 6)]
)
def test_only_a_star_makes_a_schedule_follow_real_time(cron: str, fires: int) -> None:
    """Helsinki repeats 03:00 to 04:00: a star in second, minute or hour fires in both copies, a whole range in one."""
    schedule = a_cron(cron, zone="Europe/Helsinki")
    before, after = from_rfc3339("2026-10-24T23:59:59Z"), from_rfc3339("2026-10-25T02:00:00Z")

    assert count_ticks(schedule, before, after, 100) == (fires, True)


@pytest.mark.sem("SEM-SCHED-9")
def test_what_a_gap_swallows_can_be_told() -> None:
    """With `skip` each swallowed time is named once, at the gap; times that exist beside it are no loss."""
    schedule = a_cron("30 2 * * *", zone="America/New_York", dst={"gap": "skip"})
    shifting = a_cron("30 2 * * *", zone="America/New_York")
    both = a_cron("30 2 * * *", "0 3 * * *", zone="America/New_York", dst={"gap": "skip"})
    low, high = from_rfc3339("2026-01-01T00:00:00Z"), from_rfc3339("2028-01-01T00:00:00Z")

    found = [(short(tick.at), tick.nominal_local) for tick in gap_skips(schedule, low, high)]

    assert found == [("2026-03-08T07:00Z", "2026-03-08T02:30:00"), ("2027-03-14T07:00Z", "2027-03-14T02:30:00")]
    assert gap_skips(shifting, low, high) == ()
    assert gap_skips(both, low, high) == ()
    assert gap_skips(schedule, from_rfc3339("2026-03-08T07:00:00Z"), from_rfc3339("2026-12-31T00:00:00Z")) == ()
