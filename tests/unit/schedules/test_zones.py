"""Are the zones those of the pinned data, read in full, on any machine?"""

import struct
from datetime import UTC, datetime
from importlib.resources import files
from itertools import pairwise
from zoneinfo import TZPATH, available_timezones

import pytest

from tests.unit.schedules.builders import a_cron, refusal, ticks
from tickwright.domain.instants import from_rfc3339
from tickwright.domain.schedules import tzdata_version
from tickwright.domain.schedules.zones import changes, load_zone

ALL_ZONES = sorted(available_timezones() - {"localtime"})
# Many names are aliases: one of each data file is enough.
DISTINCT = list(
    {files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes(): name for name in ALL_ZONES}.values()
)
HEADER = struct.Struct(">4s c 15x 6l")


def recorded_changes(name: str) -> list[tuple[int, int, int]]:
    """The changes of offset that the zone's file lists: instant, offset before, offset after."""
    data = files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    _, _, utc_count, std_count, leaps, times, kinds, letters = HEADER.unpack_from(data)
    # The first block has 32-bit times; the second, of the same layout, has all of them in 64 bits.
    start = HEADER.size + times * 5 + kinds * 6 + letters + leaps * 8 + std_count + utc_count
    _, _, _, _, _, times, kinds, _ = HEADER.unpack_from(data, start)
    start += HEADER.size
    instants = struct.unpack_from(f">{times}q", data, start)
    indexes = data[start + 8 * times : start + 9 * times]
    offsets = [struct.unpack_from(">lbb", data, start + 9 * times + 6 * at)[0] for at in range(kinds)]
    after = [offsets[index] for index in indexes]
    before = [offsets[0], *after][: len(after)]
    return [each for each in zip(instants, before, after, strict=True) if each[1] != each[2]]


@pytest.mark.sem("SEM-SCHED-10")
@pytest.mark.parametrize(
    ("first", "last"),
    [pytest.param(1990, 2037, marks=pytest.mark.slow), pytest.param(1900, 1990, marks=pytest.mark.nightly)],
)
def test_every_recorded_change_of_every_zone_is_found(first: int, last: int) -> None:
    """Halving between samples finds each change of the years in each zone, at its second, and no other."""
    low, high = (from_rfc3339(f"{year}-06-01T00:00:00Z") // 1000 for year in (first, last))

    assert len(DISTINCT) > 300
    for name in DISTINCT:
        found = [(change.at, change.before, change.after) for change in changes(name, low, high)]
        # A file that ends early goes on by a rule, which the next test and the replay look at.
        recorded = [each for each in recorded_changes(name) if low < each[0] <= high]
        known_until = recorded[-1][0] if recorded else low
        assert [each for each in found if each[0] <= known_until] == recorded, name


@pytest.mark.slow
@pytest.mark.sem("SEM-SCHED-10")
def test_no_two_changes_are_as_near_as_the_samples() -> None:
    """The distance between samples is safe: six days hold one change of a zone at most."""
    for name in DISTINCT:
        for (earlier, *_), (later, *_) in pairwise(recorded_changes(name)):
            assert later - earlier > 6 * 86_400, name


@pytest.mark.sem("SEM-SCHED-10")
def test_the_offset_is_the_one_of_the_pinned_data_even_if_the_machine_has_another() -> None:
    """B076: 09:00 in Vancouver is 16:00Z by 2026f; older data of an operating system would say 17:00Z."""
    assert ticks(a_cron("0 9 * * *", zone="America/Vancouver"), "2026-11-15T00:00:00Z", 1) == ["2026-11-15T16:00Z"]
    assert TZPATH == ()


@pytest.mark.sem("SEM-SCHED-10")
def test_zones_load_from_the_package_whatever_the_search_path() -> None:
    """No environment variable decides which data is read: the package is opened by name."""
    zone = load_zone("Europe/Berlin")

    assert zone.key == "Europe/Berlin"
    assert str(datetime(2026, 7, 1, tzinfo=UTC).astimezone(zone).utcoffset()) == "2:00:00"


@pytest.mark.sem("SEM-SCHED-10")
def test_the_data_has_a_version_to_be_kept_with_ticks() -> None:
    """The version is that of the package: a year and a letter."""
    assert len(tzdata_version()) == 5
    assert tzdata_version()[:4].isdigit()
    assert tzdata_version()[4].isalpha()


@pytest.mark.sem("SEM-SCHED-2", "SEM-SCHED-10")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "Europe",
        "Europe/Atlantis",
        "europe/berlin",
        "../zoneinfo/UTC",
        "/etc/localtime",
        "Europe/../UTC",
        "zone.tab",
        "tzdata.zi",
        "UTC\x00",
        "Europe/Berlin ",
        "+02:00",
        "CEST",
        "Zürich",
        "x" * 1_000_000,
    ],
)
def test_what_is_no_zone_is_refused_without_touching_the_disk_elsewhere(name: str) -> None:
    """Only IANA names, spelt as they are: no abbreviation, no path, no other case."""
    assert refusal({"cron": "0 0 * * *", "timezone": name}) == {"/timezone": "unknown_zone"}
