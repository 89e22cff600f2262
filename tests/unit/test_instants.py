"""Is an instant read from and written to text without loss, and refused clearly when it is none?"""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwright.domain.instants import Instant, from_datetime, from_key, from_rfc3339, to_datetime, to_key, to_rfc3339

FIRST = from_rfc3339("0001-01-01T00:00:00Z")
LAST = from_rfc3339("9999-12-31T23:59:59.999Z")
instants = st.integers(FIRST, LAST).map(Instant)


@pytest.mark.sem("SEM-SCHED-1")
@given(instants)
def test_every_written_form_reads_back(instant: Instant) -> None:
    """RFC 3339, the key form and datetime each give back the same millisecond, over all years."""
    assert from_rfc3339(to_rfc3339(instant)) == instant
    assert from_key(to_key(instant)) == instant
    assert from_datetime(to_datetime(instant)) == instant


@given(instants, instants)
def test_keys_sort_as_the_instants_do(one: Instant, other: Instant) -> None:
    """B102: the key form is of fixed width, so text order is time order and no library's str() enters it."""
    assert (to_key(one) < to_key(other)) == (one < other)
    assert len(to_key(one)) == len("20261129T225733000Z")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-11-29T22:57:33Z", "2026-11-29T22:57:33.000Z"),
        ("2026-11-29t22:57:33z", "2026-11-29T22:57:33.000Z"),
        ("2026-11-29T22:57:33.1Z", "2026-11-29T22:57:33.100Z"),
        ("2026-11-29T22:57:33.123999999Z", "2026-11-29T22:57:33.123Z"),
        ("2026-11-29T22:57:33+02:00", "2026-11-29T20:57:33.000Z"),
        ("2026-11-29T22:57:33-05:30", "2026-11-30T04:27:33.000Z"),
        ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
    ],
)
def test_any_offset_becomes_utc_with_milliseconds(text: str, written: str) -> None:
    """Whatever the offset and the fraction, the written form has Z and three digits."""
    assert to_rfc3339(from_rfc3339(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-11-29",
        "2026-11-29T22:57:33",
        "2026-11-29 22:57:33Z",
        "2026-11-29T22:57Z",
        "2026-11-29T22:57:33,5Z",
        "2026-11-29T22:57:33.Z",
        "2026-11-29T22:57:33+0200",
        "2026-11-29T22:57:33+24:00",
        "2026-11-29T22:57:33+02:60",
        "2026-11-29T22:57:60Z",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "٢٠٢٦-11-29T22:57:33Z",
        " 2026-11-29T22:57:33Z",
        "2026-11-29T22:57:33Z\n",
        "2" * 1_000_000,
    ],
)
def test_what_names_no_instant_is_refused_with_an_example(text: str) -> None:
    """The message is short whatever the input, and shows a text that would be accepted."""
    with pytest.raises(ValueError, match=r"2026-11-29T22:57:33\.000Z") as refusal:
        from_rfc3339(text)

    assert len(str(refusal.value)) < 200


def test_a_datetime_without_a_zone_is_refused() -> None:
    """A naive datetime names no instant, and the machine's zone is never assumed."""
    with pytest.raises(ValueError, match="zone"):
        from_datetime(datetime(2026, 11, 29))  # noqa: DTZ001 -- the naive one is the point


def test_an_instant_is_the_same_from_any_zone() -> None:
    """B071: what is stored is the UTC instant; the zone and the fold of a datetime leave no trace."""
    east = datetime(2026, 11, 29, 12, 0, tzinfo=timezone(timedelta(hours=5)))

    assert from_datetime(east) == from_datetime(east.astimezone(UTC))


@pytest.mark.parametrize("text", ["", "20261129T225733Z", "2026-11-29T22:57:33.000Z", "20261129T225733000Z "])
def test_a_malformed_key_is_refused(text: str) -> None:
    """Only the fixed-width form is a key."""
    with pytest.raises(ValueError, match="20261129T225733000Z"):
        from_key(text)
