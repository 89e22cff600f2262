"""Do we get right what other schedulers got wrong? Each case is named by its row of the failures list."""

from datetime import datetime
from itertools import pairwise

import pytest

from tests.unit.schedules.builders import a_cron, refusal, short, ticks
from tests.unit.schedules.conftest import CpuClock
from tickwright.domain.instants import from_datetime, from_rfc3339, to_rfc3339
from tickwright.domain.schedules import HashIdentity, ScheduleRefused, count_ticks, latest_tick, parse
from tickwright.domain.schedules.zones import load_zone

NEXT = [
    ("B002", "5-5 * * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:05Z 2026-01-01T01:05Z 2026-01-01T02:05Z"),
    ("B002", "0 0 * * 2-2", "UTC", "2026-01-01T00:00:00Z", "2026-01-06T00:00Z 2026-01-13T00:00Z"),
    ("B002", "0 0 1 6-6 *", "UTC", "2026-01-01T00:00:00Z", "2026-06-01T00:00Z 2027-06-01T00:00Z"),
    ("B003", "59/15 * * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:59Z 2026-01-01T01:59Z"),
    ("B003", "0 23/6 * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T23:00Z 2026-01-02T23:00Z"),
    ("B003", "0 0 31/5 * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-31T00:00Z 2026-03-31T00:00Z"),
    ("B010", "0 0 */80 * *", "UTC", "2026-01-02T00:00:00Z", "2026-02-01T00:00Z 2026-03-01T00:00Z"),
    ("B013", "*/10 2-2 * * *", "UTC", "2026-01-01T02:45:00Z", "2026-01-01T02:50Z 2026-01-02T02:00Z"),
    ("B015", "0 0 * * 7", "UTC", "2026-11-01T00:00:00Z", "2026-11-08T00:00Z"),
    ("B015", "0 0 * * 0", "UTC", "2026-11-01T00:00:00Z", "2026-11-08T00:00Z"),
    ("B017", "0 5 LW * *", "UTC", "2023-10-01T00:00:00Z", "2023-10-31T05:00Z 2023-11-30T05:00Z 2023-12-29T05:00Z"),
    (
        "B019",
        "0 0 L * *",
        "UTC",
        "2015-09-30T00:00:00Z",
        "2015-10-31T00:00Z 2015-11-30T00:00Z 2015-12-31T00:00Z 2016-01-31T00:00Z 2016-02-29T00:00Z",
    ),
    ("B021", "* * 1 5 1-4", "UTC", "2024-05-20T09:57:00Z", "2024-05-20T09:58Z"),
    (
        "B022",
        "0 11 1-7 * FRI",
        "UTC",
        "2024-10-10T12:00:00Z",
        "2024-10-11T11:00Z 2024-10-18T11:00Z 2024-10-25T11:00Z",
    ),
    ("B022", "0 11 * * FRI#1", "UTC", "2024-10-10T12:00:00Z", "2024-11-01T11:00Z 2024-12-06T11:00Z"),
    (
        "B024",
        "0 0 * * */2",
        "UTC",
        "2026-01-02T00:00:00Z",
        "2026-01-03T00:00Z 2026-01-04T00:00Z 2026-01-06T00:00Z 2026-01-08T00:00Z",
    ),
    ("B025", "0 0 1 1 1", "UTC", "2020-10-08T00:00:00Z", "2021-01-01T00:00Z 2021-01-04T00:00Z 2021-01-11T00:00Z"),
    ("B030", "0 2 29 2 0", "UTC", "2026-01-01T00:00:00Z", "2026-02-01T02:00Z 2026-02-08T02:00Z 2026-02-15T02:00Z"),
    ("B030", "0 2 29 2 0", "UTC", "2028-02-27T02:00:00Z", "2028-02-29T02:00Z 2029-02-04T02:00Z"),
    ("B031", "0 * * * 1-5", "UTC", "2016-02-29T11:00:00Z", "2016-02-29T12:00Z"),
    ("B032", "0 0 29 2 *", "UTC", "2096-02-29T00:00:00Z", "2104-02-29T00:00Z 2108-02-29T00:00Z"),
    ("B034", "0 0 31 * *", "UTC", "2026-11-15T00:00:00Z", "2026-12-31T00:00Z"),
    ("B034", "0 0 31 7 *", "UTC", "2026-07-31T00:00:00Z", "2027-07-31T00:00Z"),
    (
        "B035",
        "*/7 * * * *",
        "Pacific/Kiritimati",
        "2026-12-31T09:59:59Z",
        "2026-12-31T10:00Z 2026-12-31T10:07Z",
    ),
    ("B036", "30 * 1 * *", "Europe/London", "2023-03-31T22:00:00Z", "2023-03-31T23:30Z"),
    ("B036", "30 * 1 * *", "Europe/London", "2023-04-01T21:30:00Z", "2023-04-01T22:30Z 2023-04-30T23:30Z"),
    ("B046", "30 2 * * *", "Europe/Amsterdam", "2023-03-26T00:30:00Z", "2023-03-26T01:00Z 2023-03-27T00:30Z"),
    ("B047", "0 6 * * *", "America/Santiago", "2018-08-12T06:00:00Z", "2018-08-12T09:00Z"),
    ("B048", "0 2 * * *", "US/Eastern", "2013-03-10T06:30:00Z", "2013-03-10T07:00Z"),
    (
        "B049",
        "0 0 * * 0-4",
        "America/Chicago",
        "2021-03-12T06:00:01Z",
        "2021-03-14T06:00Z 2021-03-15T05:00Z 2021-03-16T05:00Z",
    ),
    ("B050", "0 12 * * 0", "Europe/Berlin", "2022-03-24T11:00:00Z", "2022-03-27T10:00Z 2022-04-03T10:00Z"),
    ("B051", "* * * */3 *", "America/New_York", "2015-02-15T05:00:00Z", "2015-04-01T04:00Z"),
    ("B052", "0 1 4 11 *", "America/Sao_Paulo", "2018-11-04T02:00:00Z", "2018-11-04T03:00Z 2019-11-04T04:00Z"),
    (
        "B053",
        "0 0 * * 0",
        "America/Santiago",
        "2022-08-28T05:00:00Z",
        "2022-09-04T04:00Z 2022-09-11T04:00Z 2022-09-18T03:00Z",
    ),
    (
        "B055",
        "20 */4 * * *",
        "America/Los_Angeles",
        "2023-03-12T08:00:00Z",
        "2023-03-12T08:20Z 2023-03-12T11:20Z 2023-03-12T15:20Z",
    ),
    ("B058", "0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2011-12-29T22:00Z 2011-12-30T22:00Z"),
    ("B059", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-03T15:30Z"),
    ("B059", "30 1 * * *", "Antarctica/Troll", "2026-03-28T12:00:00Z", "2026-03-29T01:00Z"),
    (
        "B062",
        "30 * * * *",
        "Europe/Helsinki",
        "2017-10-29T00:45:00Z",
        "2017-10-29T01:30Z 2017-10-29T02:30Z 2017-10-29T03:30Z",
    ),
    (
        "B062",
        "0 */2 * * *",
        "Europe/London",
        "2024-10-26T23:30:00Z",
        "2024-10-27T02:00Z 2024-10-27T04:00Z 2024-10-27T06:00Z",
    ),
    (
        "B064",
        "15 7,8,13,19 * * *",
        "Europe/Brussels",
        "2023-10-28T18:00:00Z",
        "2023-10-29T06:15Z 2023-10-29T07:15Z 2023-10-29T12:15Z 2023-10-29T18:15Z",
    ),
    (
        "B065",
        "0 20 * * *",
        "Europe/Paris",
        "2022-10-29T22:00:00Z",
        "2022-10-30T19:00Z 2022-10-31T19:00Z 2022-11-01T19:00Z",
    ),
    ("B066", "0 0 * * *", "America/Sao_Paulo", "2018-02-17T02:05:00Z", "2018-02-18T03:00Z 2018-02-19T03:00Z"),
    ("B069", "0 * * * *", "America/Chicago", "2019-11-03T05:30:00Z", "2019-11-03T06:00Z 2019-11-03T07:00Z"),
    ("B074", "0 9 * * *", "America/Mexico_City", "2023-04-02T00:00:00Z", "2023-04-02T15:00Z"),
    ("B076", "0 9 * * *", "America/Vancouver", "2026-11-15T00:00:00Z", "2026-11-15T16:00Z"),
    ("B077", "0 19 * * *", "Europe/Paris", "2026-06-02T09:21:00Z", "2026-06-02T17:00Z"),
    ("B096", "15 2 * * 1-5", "UTC", "2026-11-30T14:00:00Z", "2026-12-01T02:15Z"),
]


@pytest.mark.sem("SEM-SCHED-3", "SEM-SCHED-6", "SEM-SCHED-9")
@pytest.mark.parametrize(
    ("row", "cron", "zone", "start", "expected"), NEXT, ids=[f"{row}-{cron}" for row, cron, *_ in NEXT]
)
def test_the_next_ticks_are_the_right_answer(row: str, cron: str, zone: str, start: str, expected: str) -> None:
    """From the instant of the report, the next ticks are those of crontab(5) and cron(8)."""
    wanted = expected.split()

    assert ticks(a_cron(cron, zone=zone), start, len(wanted)) == wanted, row


REFUSED = [
    ("B004", "5-5/0 * * * *", "bad_step"),
    ("B004", "59-0/0 * * * *", "reversed_range"),
    ("B006", "*/00 * * * *", "bad_step"),
    ("B006", "1/00 0 * * *", "bad_step"),
    ("B007", "*/-2 * * * *", "unreadable"),
    ("B033", "0 0 30 2 *", "never_fires"),
    ("B033", "0 0 31 4,6,9,11 *", "never_fires"),
    ("B041", "* * H/0 * *", "bad_hash"),
    ("B041", "R/0 * * * *", "unreadable"),
    ("B041", "0 0 H(0-0)/0 * *", "bad_hash"),
    ("B042", "H(0-3)/15 * * * *", "bad_hash"),
    ("B042", "H H(12-24) * * *", "bad_hash"),
    ("B042", "H(33-66) * * * *", "bad_hash"),
    ("B042", "H(0-60) * * * *", "bad_hash"),
    ("B044", "0 0 1 0 0", "out_of_range"),
    ("B189", "0\u00a00 * * *", "not_ascii"),
    ("B189", "\ufeff0 0 * * *", "not_ascii"),
    ("B189", "\u0665 * * * *", "not_ascii"),
    ("B189", "\uff15 * * * *", "not_ascii"),
]


@pytest.mark.sem("SEM-SCHED-2", "SEM-SCHED-4")
@pytest.mark.parametrize(("row", "cron", "code"), REFUSED, ids=[f"{row}-{code}" for row, _, code in REFUSED])
def test_what_looped_or_crashed_elsewhere_is_refused(row: str, cron: str, code: str) -> None:
    """The expression is refused with a code of its own, before any search begins."""
    assert refusal({"cron": cron}) == {"/cron": code}, row


@pytest.mark.sem("SEM-SCHED-18")
@pytest.mark.parametrize("case", NEXT, ids=[f"{row}-{cron}" for row, cron, *_ in NEXT])
def test_what_hung_elsewhere_answers_at_once(case: tuple[str, str, str, str, str], cpu_ms: CpuClock) -> None:
    """B034, B046, B047, B052: once the zone is known, its ticks are found within milliseconds, whatever the search."""
    row, cron, zone, start, expected = case
    schedule, count = a_cron(cron, zone=zone), len(expected.split())
    ticks(schedule, start, count)

    assert min(cpu_ms(lambda: ticks(schedule, start, count)) for _ in range(3)) < 5 * count, row


@pytest.mark.sem("SEM-SCHED-18")
@pytest.mark.parametrize(("row", "cron", "code"), REFUSED, ids=[f"{row}-{code}" for row, _, code in REFUSED])
def test_what_is_refused_is_refused_at_once(row: str, cron: str, code: str, cpu_ms: CpuClock) -> None:
    """B006, B033: no expression makes the server search, a date that never comes least of all."""
    assert min(cpu_ms(lambda: refusal({"cron": cron})) for _ in range(3)) < 5, (row, code)


@pytest.mark.sem("SEM-SCHED-2")
@pytest.mark.parametrize(
    ("cron", "bounds"),
    [
        ("H(0-3)/15 * * * *", "1 to 4"),
        ("H H(12-24) * * *", "H(0-23)"),
        ("H(33-66) * * * *", "H(0-59)"),
        ("H(0-60) * * * *", "H(0-59)"),
    ],
)
def test_a_hash_out_of_range_is_told_its_bounds(cron: str, bounds: str) -> None:
    """B042: nothing is clamped in silence; the refusal says what would be accepted."""
    with pytest.raises(ScheduleRefused) as refused:
        parse({"cron": cron})

    assert bounds in refused.value.errors[0].message


@pytest.mark.sem("SEM-SCHED-1")
def test_both_copies_of_a_repeated_local_time_are_kept_as_the_instants_they_were() -> None:
    """B071: 01:00:00.336 on 3 November 2019 in the eastern US is two instants; each is read back as itself."""
    local = datetime(2019, 11, 3, 1, 0, 0, 336_000, tzinfo=load_zone("US/Eastern"))
    kept = [to_rfc3339(from_datetime(local.replace(fold=fold))) for fold in (0, 1)]

    assert kept == ["2019-11-03T05:00:00.336Z", "2019-11-03T06:00:00.336Z"]
    assert [to_rfc3339(from_rfc3339(text)) for text in kept] == kept


@pytest.mark.sem("SEM-SCHED-12")
def test_a_hashed_step_keeps_its_rate_whatever_the_offset() -> None:
    """B037, B039: H/5 fires 12 times an hour for every job, offset 0 to 4, minute 0 included."""
    seen = set()
    for number in range(1_000):
        schedule = a_cron("H/5 * * * *", identity=HashIdentity("tenant", f"job{number}"))
        hour = ticks(schedule, "2026-01-01T00:59:59Z", 12)
        offset = int(hour[0][14:16])
        seen.add(offset)
        assert [int(tick[14:16]) for tick in hour] == list(range(offset, 60, 5))

    assert seen == {0, 1, 2, 3, 4}


@pytest.mark.sem("SEM-SCHED-7")
def test_the_previous_tick_of_a_leap_day_is_found() -> None:
    """B029: looking back from 2021 finds the last minute of 29 February 2020."""
    tick = latest_tick(a_cron("* * 29 2 *"), from_rfc3339("2021-12-07T12:00:00Z"), from_rfc3339("2000-01-01T00:00:00Z"))

    assert tick is not None
    assert short(tick.at) == "2020-02-29T23:59Z"


@pytest.mark.sem("SEM-SCHED-7")
@pytest.mark.parametrize(
    ("cron", "asked", "latest"),
    [
        ("0 0 31 * *", "2026-11-15T00:00:00Z", "2026-10-31T00:00Z"),
        ("0 0 31 7 *", "2026-11-15T00:00:00Z", "2026-07-31T00:00Z"),
        ("0 0 31 7 *", "2026-07-15T00:00:00Z", "2025-07-31T00:00Z"),
    ],
)
def test_the_31st_is_found_backwards(cron: str, asked: str, latest: str, cpu_ms: CpuClock) -> None:
    """B034: asked in November or in July, the last 31st is found backwards too, in milliseconds."""
    schedule, oldest = a_cron(cron), from_rfc3339("2020-01-01T00:00:00Z")
    tick = latest_tick(schedule, from_rfc3339(asked), oldest)

    assert min(cpu_ms(lambda: latest_tick(schedule, from_rfc3339(asked), oldest)) for _ in range(3)) < 5

    assert tick is not None
    assert short(tick.at) == latest


@pytest.mark.sem("SEM-SCHED-8")
def test_two_expressions_share_one_latest_tick() -> None:
    """B084: of two crons paused from Monday to Friday, the latest missed tick is Thursday 11:00, and it is one."""
    schedule = a_cron("0 8 * * 2", "0 11 * * 4")

    tick = latest_tick(schedule, from_rfc3339("2026-11-27T12:00:00Z"), from_rfc3339("2026-11-23T12:00:00Z"))

    assert tick is not None
    assert short(tick.at) == "2026-11-26T11:00Z"


@pytest.mark.sem("SEM-SCHED-11")
def test_eight_hours_of_missed_minutes_are_counted_and_the_next_is_found() -> None:
    """B079: 480 missed minutes are counted, the latest is known, and the schedule goes on."""
    schedule = a_cron("* * * * *")
    down, up = from_rfc3339("2026-11-29T00:00:00Z"), from_rfc3339("2026-11-29T08:00:30Z")

    latest = latest_tick(schedule, up, down)

    assert count_ticks(schedule, down, up, 10_000) == (480, True)
    assert latest is not None
    assert short(latest.at) == "2026-11-29T08:00Z"
    assert ticks(schedule, "2026-11-29T08:00:30Z", 1) == ["2026-11-29T08:01Z"]


@pytest.mark.sem("SEM-SCHED-6")
def test_no_two_ticks_share_an_instant() -> None:
    """B068: over the change the ticks of an hourly job are never less than an hour apart."""
    for zone in ("America/Chicago", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"):
        found = ticks(a_cron("0 * * * *", zone=zone), "2026-03-01T00:00:00Z", 24 * 270)
        instants = [from_rfc3339(tick.replace("Z", ":00Z")) for tick in found]
        gaps = {later - earlier for earlier, later in pairwise(instants)}
        # Lord Howe changes by half an hour, so one hour there lasts 90 minutes and one 30.
        assert min(gaps) >= (1_800_000 if zone == "Australia/Lord_Howe" else 3_600_000)


@pytest.mark.sem("SEM-SCHED-9")
def test_an_hour_ahead_the_ticks_are_the_same_as_on_the_day() -> None:
    """B072: ticks computed days before a clock change are those computed after it: one instant, one key."""
    schedule = a_cron("30 1 * * *", zone="America/New_York")

    ahead = ticks(schedule, "2026-10-29T12:00:00Z", 6)

    assert ahead[3:] == ticks(schedule, "2026-11-01T05:30:00Z", 3)
    assert len(set(ahead)) == 6
