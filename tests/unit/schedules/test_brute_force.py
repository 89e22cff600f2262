"""Does the walk find what a search of every minute, or every second, finds?

The fast part looks at a few zones; all of twelve zones are slow; sixty zones second by second are nightly.
"""

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.schedules.builders import a_cron, span
from tests.unit.schedules.reference import Reference
from tests.unit.schedules.strategies import ZONES, plain
from tests.unit.schedules.test_walk_properties import accepted
from tickwright.domain.instants import Instant, from_rfc3339, to_datetime
from tickwright.domain.schedules import Schedule
from tickwright.domain.schedules.zones import Change, changes, load_zone

CRONS = ("*/10 * * * *", "30 * * * *", "15,45 0-4 * * *", "30 2 * * *", "0 */2 * * 0")
FEW_ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll")
# Every zone with a change between 2020 and 2040 whose rules differ from those of the others, and some more.
SIXTY = (
    *("Africa/Cairo", "Africa/Casablanca", "Africa/El_Aaiun", "Africa/Juba", "America/Adak", "America/Anchorage"),
    *("America/Asuncion", "America/Boise", "America/Cancun", "America/Chicago", "America/Chihuahua"),
    *("America/Dawson", "America/Denver", "America/Edmonton", "America/Halifax", "America/Havana"),
    *("America/Indiana/Knox", "America/Juneau", "America/Los_Angeles", "America/Mazatlan", "America/Mexico_City"),
    *("America/Miquelon", "America/Monterrey", "America/New_York", "America/Nuuk", "America/Ojinaga"),
    *("America/Port-au-Prince", "America/Punta_Arenas", "America/Santiago", "America/Scoresbysund"),
    *("America/St_Johns", "America/Tijuana", "America/Vancouver", "America/Winnipeg", "Antarctica/Casey"),
    *("Antarctica/Macquarie", "Antarctica/Troll", "Antarctica/Vostok", "Asia/Almaty", "Asia/Amman", "Asia/Beirut"),
    *("Asia/Damascus", "Asia/Famagusta", "Asia/Gaza", "Asia/Hebron", "Asia/Jerusalem", "Asia/Nicosia"),
    *("Asia/Tehran", "Atlantic/Azores", "Atlantic/Bermuda", "Australia/Adelaide", "Australia/Lord_Howe"),
    *("Australia/Sydney", "Europe/Berlin", "Europe/Chisinau", "Europe/Dublin", "Europe/London"),
    *("Europe/Volgograd", "Pacific/Apia", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Easter", "Pacific/Fiji"),
)
Y2020, Y2030, Y2040 = (from_rfc3339(f"{year}-01-01T00:00:00Z") // 1000 for year in (2020, 2030, 2040))


def both(cron: str, schedule: Schedule, change: Change, around: timedelta) -> tuple[list[datetime], list[datetime]]:
    """Our ticks and the slow search's around a clock change."""
    zone = load_zone(schedule.timezone)
    middle = to_datetime(Instant(change.at * 1000))
    low, high = middle - around, middle + around
    fast = [to_datetime(at) for at in span(schedule, low, high)]
    return fast, list(Reference(cron).ticks(zone, low, high))


@pytest.mark.sem("SEM-SCHED-9")
@pytest.mark.parametrize("zone", FEW_ZONES)
@pytest.mark.parametrize("cron", CRONS)
def test_changes_agree_with_asking_every_minute(zone: str, cron: str) -> None:
    """Three hours around each clock change of three years, minute by minute."""
    found = changes(zone, Y2020, Y2020 + 3 * 366 * 86_400)

    assert found
    for change in found:
        fast, slow = both(cron, a_cron(cron, zone=zone), change, timedelta(hours=3))
        assert fast == slow


@pytest.mark.slow
@pytest.mark.sem("SEM-SCHED-9")
@pytest.mark.parametrize("zone", ZONES[1:])
@pytest.mark.parametrize("cron", CRONS)
def test_ten_years_of_changes_agree_with_asking_every_minute(zone: str, cron: str) -> None:
    """Six hours around each clock change of 2020 to 2030, minute by minute."""
    for change in changes(zone, Y2020, Y2030):
        fast, slow = both(cron, a_cron(cron, zone=zone), change, timedelta(hours=6))
        assert fast == slow


@pytest.mark.slow
@pytest.mark.sem("SEM-SCHED-3", "SEM-SCHED-5", "SEM-SCHED-9")
@settings(max_examples=40)
@given(plain, st.sampled_from(ZONES), st.integers(2005, 2044), st.integers(0, 3))
def test_any_expression_agrees_with_asking_every_minute(cron: str, zone: str, year: int, pick: int) -> None:
    """Two days around a clock change, or a new year where there is none, for any plain expression."""
    schedule = accepted(cron, zone=zone)
    start = from_rfc3339(f"{year}-01-01T00:00:00Z") // 1000
    found = changes(zone, start, start + 366 * 86_400) or [Change(start, 0, 0)]

    fast, slow = both(cron, schedule, found[pick % len(found)], timedelta(days=2))

    assert fast == slow


@pytest.mark.nightly
@pytest.mark.sem("SEM-SCHED-9")
@pytest.mark.parametrize("zone", SIXTY)
@pytest.mark.parametrize("cron", ["*/7 * * * * *", "30 15,45 0-3 * * *", "0 0 */2 * * *"])
def test_twenty_years_of_changes_agree_with_asking_every_second(zone: str, cron: str) -> None:
    """Two hours around each clock change of 2020 to 2040 in sixty zones, second by second."""
    for change in changes(zone, Y2020, Y2040):
        around = timedelta(hours=2) if abs(change.forward) < 7_200 else timedelta(hours=5)
        fast, slow = both(cron, a_cron(cron, zone=zone), change, around)
        assert fast == slow
