"""Do calendars close what a look at every local date and every window finds closed, and nothing else?"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import TENANT
from tests.unit.schedules.builders import a_cron, short
from tests.unit.schedules.conftest import CpuClock
from tests.unit.schedules.strategies import ZONES, instants, zones
from tickwright.domain.instants import Instant, from_rfc3339, to_datetime, to_rfc3339
from tickwright.domain.schedules import (
    FOR_EVER,
    Calendar,
    CalendarContent,
    CalendarKind,
    CalendarRefused,
    Window,
    closed_at,
    content_text,
    from_content_text,
    is_calendar_name,
    next_open,
    next_ticks,
    open_ticks,
    parse,
    read_calendar,
)
from tickwright.domain.schedules.calendars import apart
from tickwright.domain.schedules.closures import closed_ticks
from tickwright.domain.schedules.dates import WEEKDAYS
from tickwright.domain.schedules.zones import load_zone

DAY_MS = 86_400_000
BAD = [(0, "bad_value"), (1, "bad_day"), (2, "bad_day")]
YEAR_MS = 366 * DAY_MS


def a_calendar(name: str = "holidays", version: int = 1, **body: Any) -> Calendar:  # noqa: ANN401 - members of a body
    """A calendar of these members; one that excludes, unless said otherwise."""
    content = read_calendar({"type": "exclude", **body})
    return Calendar(tenant_id=TENANT, name=name, version=version, content=content, updated_at=Instant(0))


def stretch(calendars: Sequence[Calendar], zone: str, at: str) -> tuple[str, str, str] | None:
    """Since, until and by whom an instant is closed, as text."""
    found = closed_at(calendars, zone, from_rfc3339(at))
    return None if found is None else (short(found.since), short(found.until), found.by)


def has(content: CalendarContent, zone: str, at: Instant) -> bool:
    """The slow answer: by the local date that the zone's own data give, entry by entry."""
    if any(window.start <= at < window.end for window in content.windows):
        return True
    day = to_datetime(at).astimezone(load_zone(content.timezone or zone)).date()
    return WEEKDAYS[day.weekday()] in content.weekdays or any(_names(text, day) for text in content.days)


def _names(text: str, day: date) -> bool:
    if text.startswith("--"):
        return text == f"--{day:%m-%d}"
    first, _, last = text.partition("/")
    return first <= day.isoformat() <= (last or first)


def is_open(calendars: Sequence[Calendar], zone: str, at: Instant) -> bool:
    """The slow answer for several."""
    held = {
        kind: [has(one.content, zone, at) for one in calendars if one.content.kind is kind] for kind in CalendarKind
    }
    includes = held[CalendarKind.INCLUDE]
    return not any(held[CalendarKind.EXCLUDE]) and (not includes or any(includes))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Calendar], str, Instant]:
    """One to three calendars with entries around an instant, and a zone."""
    at = draw(instants)
    near = to_datetime(at).date()
    day = st.integers(-12, 12).map(lambda far: near + timedelta(days=far))
    entry = st.one_of(
        day.map(date.isoformat),
        st.tuples(day, st.integers(0, 9)).map(lambda it: f"{it[0]}/{it[0] + timedelta(days=it[1])}"),
        day.map(lambda it: f"--{it:%m-%d}"),
    )
    window = st.tuples(st.integers(-3 * DAY_MS, 3 * DAY_MS), st.integers(1, 2 * DAY_MS)).map(
        lambda it: Window(Instant(at + it[0]), Instant(at + it[0] + it[1]))
    )
    content = st.builds(
        lambda kind, zone, days, weekdays, windows: CalendarContent(
            kind=kind,
            timezone=zone,
            days=tuple(sorted(days)),
            weekdays=tuple(sorted(weekdays, key=WEEKDAYS.index)),
            windows=apart(windows),
        ),
        st.sampled_from(CalendarKind),
        st.none() | zones,
        st.sets(entry, max_size=6),
        st.sets(st.sampled_from(WEEKDAYS), max_size=4),
        st.sets(window, max_size=3),
    )
    contents = draw(st.lists(content, min_size=1, max_size=3))
    calendars = [
        Calendar(tenant_id=TENANT, name=f"c{number}", version=1, content=one, updated_at=Instant(0))
        for number, one in enumerate(contents)
    ]
    return calendars, draw(zones), at


@pytest.mark.sem("SEM-CAL-2")
@given(cases(), st.lists(st.floats(0, 1), min_size=20, max_size=20))
def test_what_is_closed_agrees_with_a_look_at_every_entry(
    case: tuple[list[Calendar], str, Instant], parts: list[float]
) -> None:
    """The instant itself, twenty between its stretch's ends, both ends; and behind the end it is open, or was cut."""
    calendars, zone, at = case
    found = closed_at(calendars, zone, at)

    assert (found is None) == is_open(calendars, zone, at)
    if found is None:
        return
    assert found.since <= at < found.until
    last = min(found.until, at + YEAR_MS) - 1
    inside = [found.since, at, last, *(int(found.since + part * (last - found.since)) for part in parts)]
    assert not any(is_open(calendars, zone, Instant(one)) for one in inside)
    assert is_open(calendars, zone, found.until) or found.until == FOR_EVER or found.until - at > YEAR_MS


@pytest.mark.sem("SEM-CAL-2")
@given(cases(), st.sampled_from(["*/20 * * * *", "0 */5 * * *", "30 2 * * *", "0 0 * * *", "59 23 * * 1-5"]))
def test_the_open_ticks_are_those_that_a_look_at_each_leaves(
    case: tuple[list[Calendar], str, Instant], cron: str
) -> None:
    """Of three hundred ticks, in order; and the closed ones are counted."""
    calendars, zone, at = case
    schedule = a_cron(cron, zone=zone)
    ticks = [tick.at for tick in next_ticks(schedule, at, 300)]
    expected = [one for one in ticks if is_open(calendars, zone, one)]
    found = [tick.at for tick in open_ticks(schedule, calendars, at, len(expected))]
    closed = closed_ticks(schedule, calendars, at, ticks[-1])

    assert found == expected
    assert (closed.count, closed.exact) == (len(ticks) - len(expected), True)
    assert closed.first == next((one for one in ticks if one not in expected), None)


@pytest.mark.sem("SEM-CAL-2")
def test_a_day_is_closed_from_its_local_midnight_to_the_next() -> None:
    """In the schedule's zone, or in the calendar's where it has one; days that adjoin are one stretch."""
    christmas = a_calendar(days=["2026-12-25", "--12-26"])
    tokyo = a_calendar(days=["2026-12-25"], timezone="Asia/Tokyo")

    assert stretch([christmas], "Europe/Berlin", "2026-12-25T10:00:00Z") == (
        "2026-12-24T23:00Z",
        "2026-12-26T23:00Z",
        "holidays@1",
    )
    assert stretch([christmas], "Europe/Berlin", "2026-12-24T22:59:59Z") is None
    assert stretch([tokyo], "Europe/Berlin", "2026-12-24T15:00:00Z") == (
        "2026-12-24T15:00Z",
        "2026-12-25T15:00Z",
        "holidays@1",
    )


@pytest.mark.sem("SEM-CAL-2")
@pytest.mark.parametrize(
    ("zone", "day", "at", "since", "until"),
    [
        # 23 and 25 hours.
        ("Europe/Berlin", "2026-03-29", "2026-03-29T12:00:00Z", "2026-03-28T23:00Z", "2026-03-29T22:00Z"),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T23:00:00Z", "2026-10-24T22:00Z", "2026-10-25T23:00Z"),
        # The clock jumps over midnight: the day begins at one.
        ("Asia/Beirut", "2026-03-29", "2026-03-29T12:00:00Z", "2026-03-28T22:00Z", "2026-03-29T21:00Z"),
        # It goes back over midnight: the hour before it comes twice, and both are of the day before.
        ("Asia/Beirut", "2026-10-24", "2026-10-24T20:30:00Z", "2026-10-23T21:00Z", "2026-10-24T22:00Z"),
        # The day after the one that Apia left out.
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", "2011-12-30T10:00Z", "2011-12-31T10:00Z"),
    ],
)
def test_a_day_has_the_hours_that_its_zone_gives_it(zone: str, day: str, at: str, since: str, until: str) -> None:
    """The ends are instants, whatever the clock did in between."""
    found = stretch([a_calendar(days=[day])], zone, at)

    assert found is not None
    assert (found[1], found[2]) == (until, "holidays@1")
    assert from_rfc3339(since.replace("Z", ":00Z")) <= from_rfc3339(found[0].replace("Z", ":00Z"))


@pytest.mark.sem("SEM-CAL-2")
def test_a_day_that_a_zone_left_out_closes_nothing() -> None:
    """Samoa had no 30 December 2011: the 29th ends where the 31st begins."""
    left_out = a_calendar(days=["2011-12-30"])
    schedule = a_cron("0 * * * *", zone="Pacific/Apia")
    start = from_rfc3339("2011-12-28T00:00:00Z")

    assert open_ticks(schedule, [left_out], start, 96) == next_ticks(schedule, start, 96)
    assert stretch([a_calendar(days=["2011-12-29/2011-12-30"])], "Pacific/Apia", "2011-12-30T09:00:00Z") == (
        "2011-12-29T10:00Z",
        "2011-12-30T10:00Z",
        "holidays@1",
    )


@pytest.mark.sem("SEM-CAL-2")
def test_the_29th_of_february_comes_in_leap_years_alone() -> None:
    """Every year's day that a year does not have is not moved."""
    leap = a_calendar(days=["--02-29"], type="include")
    schedule = a_cron("0 0 * * *")

    found = open_ticks(schedule, [leap], from_rfc3339("2026-01-01T00:00:00Z"), 2)

    assert [short(tick.at) for tick in found] == ["2028-02-29T00:00Z", "2032-02-29T00:00Z"]


@pytest.mark.sem("SEM-CAL-2")
def test_an_exclude_calendar_wins_over_an_include_one() -> None:
    """Of the include calendars one is enough; a window's end is open again."""
    workdays = a_calendar("workdays", 2, type="include", weekdays=["mon", "tue", "wed", "thu", "fri"])
    saturday = a_calendar("sale", 5, type="include", days=["2026-12-05"])
    freeze = a_calendar("freeze", 7, windows=[{"start": "2026-12-04T09:30:00Z", "end": "2026-12-04T12:00:00Z"}])
    named = [workdays, saturday, freeze]
    ticks = open_ticks(a_cron("0 10,12 * * *"), named, from_rfc3339("2026-12-04T00:00:00Z"), 5)

    assert [short(tick.at) for tick in ticks] == [
        *("2026-12-04T12:00Z", "2026-12-05T10:00Z", "2026-12-05T12:00Z", "2026-12-07T10:00Z", "2026-12-07T12:00Z"),
    ]
    assert stretch(named, "UTC", "2026-12-06T12:00:00Z") == (
        "2026-12-06T00:00Z",
        "2026-12-07T00:00Z",
        "workdays@2 and sale@5",
    )
    assert stretch(named, "UTC", "2026-12-04T10:00:00Z") == ("2026-12-04T09:30Z", "2026-12-04T12:00Z", "freeze@7")


@pytest.mark.sem("SEM-CAL-2", "SEM-SCHED-18")
@pytest.mark.parametrize(
    "body",
    [
        {"weekdays": list(WEEKDAYS)},
        {"days": ["2026-01-01/9999-12-31"]},
        {"type": "include", "days": ["2020-01-01"]},
        {"type": "include", "windows": [{"start": "2020-01-01T00:00:00Z", "end": "2020-01-02T00:00:00Z"}]},
    ],
)
def test_what_is_closed_for_ever_has_no_open_tick(body: dict[str, Any]) -> None:
    """And is answered at once, for a schedule of any kind."""
    calendar = a_calendar(**body)
    now = from_rfc3339("2026-11-30T00:00:00Z")

    for spec in ({"cron": "* * * * *", "timezone": "Europe/Berlin"}, {"every": "PT1S"}):
        schedule = parse(spec)
        assert next_open(schedule, [calendar], now) is None
        found = closed_at([calendar], schedule.timezone, now)
        assert found is not None
        assert found.until == FOR_EVER


@pytest.mark.sem("SEM-CAL-2", "SEM-SCHED-18")
def test_a_hostile_calendar_is_judged_in_bounded_work(cpu_ms: CpuClock) -> None:
    """Five calendars of a thousand windows each, which close every tick in turn: the search gives up."""
    start = from_rfc3339("2026-12-01T00:00:00Z")
    calendars = [
        a_calendar(
            f"c{number}",
            windows=[
                {
                    "start": to_rfc3339(Instant(start + (5 * at + number) * 60_000)),
                    "end": to_rfc3339(Instant(start + (5 * at + number) * 60_000 + 59_000)),
                }
                for at in range(990)
            ],
        )
        for number in range(5)
    ]
    schedule = a_cron("* * * * *")

    found: list[object] = []
    spent = cpu_ms(lambda: found.append(next_open(schedule, calendars, Instant(start - 1))))

    assert found == [None]
    assert spent < 5_000


@pytest.mark.sem("SEM-CAL-2")
@pytest.mark.parametrize("zone", ZONES)
def test_a_year_of_days_ends_where_the_zone_says(zone: str) -> None:
    """Every single day of a year, read one by one, ends where the next begins."""
    first = date(2011, 7, 1)
    for number in range(0, 366, 7):
        day = first + timedelta(days=number)
        found = closed_at([a_calendar(days=[day.isoformat()])], zone, _some_instant_of(day, zone))
        if found is None:  # the zone left the day out
            continue
        assert _local_day(Instant(found.until - 1), zone) == day
        assert _local_day(found.until, zone) > day


def _some_instant_of(day: date, zone: str) -> Instant:
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=load_zone(zone))
    return Instant(int(noon.timestamp()) * 1_000)


def _local_day(at: Instant, zone: str) -> date:
    return to_datetime(at).astimezone(load_zone(zone)).date()


@pytest.mark.sem("SEM-CAL-1")
@given(cases())
def test_the_stored_form_is_read_back_as_it_was(case: tuple[list[Calendar], str, Instant]) -> None:
    """Whatever a content holds."""
    for calendar in case[0]:
        assert from_content_text(content_text(calendar.content)) == calendar.content


@pytest.mark.sem("SEM-CAL-1")
def test_equal_lists_are_equal_contents() -> None:
    """In whatever order they were written, and however often an entry was."""
    window = {"start": "2026-12-01T00:00:00Z", "end": "2026-12-02T00:00:00+00:00"}
    one = read_calendar({"type": "exclude", "days": ["2026-12-26", "--12-25"], "windows": [window, window]})
    other = read_calendar({"windows": [window], "days": ["--12-25", "2026-12-26", "--12-25"], "type": "exclude"})

    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.sem("SEM-CAL-1")
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=8))
def test_windows_that_overlap_or_touch_are_one(spans: list[tuple[int, int]]) -> None:
    """They hold the same instants as before, in order and with time between them."""
    windows = [Window(Instant(start), Instant(start + length)) for start, length in spans]
    found = apart(windows)

    assert {at for one in found for at in range(one.start, one.end)} == {
        at for one in windows for at in range(one.start, one.end)
    }
    assert all(one.end < other.start for one, other in pairwise(found))


@pytest.mark.sem("SEM-CAL-1", "SEM-SCHED-2")
@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"days": ["2026-12-25"]}, [("/type", "required")]),
        ({"type": "exclude"}, [("", "no_entries")]),
        ({"type": "exclude", "days": "soon"}, [("/days", "bad_day")]),
        ({"type": "exclude", "days": [7, "2026-1-1", "x" * 10_000]}, [(f"/days/{at}", code) for at, code in BAD]),
        ({"type": "exclude", "windows": [7]}, [("/windows/0", "bad_value")]),
        ({"type": "exclude", "windows": {"start": 1}}, [("/windows", "bad_value")]),
        ({"type": "exclude", "windows": [{"start": None, "end": None}]}, [("/windows/0", "required")]),
        ({"type": "exclude", "days": ["--12-25"], "windows": [{}] * 1_001}, [("/windows", "too_many")]),
        ({"type": "exclude", "weekdays": ["monday"]}, [("/weekdays/0", "bad_weekday")]),
        ({"type": "exclude", "days": ["--12-25"], "extra": 1}, [("/extra", "unknown_field")]),
        ({str(number): 1 for number in range(40)}, [("", "too_many")]),
    ],
)
def test_a_content_without_a_meaning_is_refused(body: dict[str, Any], errors: list[tuple[str, str]]) -> None:
    """With every place that must change."""
    with pytest.raises(CalendarRefused) as refused:
        read_calendar(body)

    assert [(one.pointer, one.code) for one in refused.value.errors] == errors


@pytest.mark.parametrize("name", ["a", "0", "Holidays.de-2026_b", "x" * 64])
def test_a_plain_name_is_a_calendars(name: str) -> None:
    """Letters, digits and three signs, none of which comes first."""
    assert is_calendar_name(name)
    assert not is_calendar_name(f"-{name}")
    assert not is_calendar_name(f"{name}#")
    assert not is_calendar_name(f"{name}\n")
