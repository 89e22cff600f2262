"""Generators of schedules, zones and instants; every expression fires at least once in a while."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from tickwright.domain.instants import Instant, from_datetime

ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Casablanca"),
    *("Asia/Kathmandu", "Pacific/Apia", "Antarctica/Troll", "Antarctica/Casey", "America/Havana", "Africa/Cairo"),
)
zones = st.sampled_from(ZONES)
instants = st.integers(
    from_datetime(datetime(2005, 1, 1, tzinfo=UTC)), from_datetime(datetime(2045, 1, 1, tzinfo=UTC))
).map(Instant)


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    span = st.tuples(value, value).map(lambda ends: f"{min(ends)}-{max(ends)}")
    step = st.integers(1, high)
    item = st.one_of(
        value.map(str),
        span,
        st.tuples(span, step).map(lambda parts: f"{parts[0]}/{parts[1]}"),
        st.tuples(value, step).map(lambda parts: f"{parts[0]}/{parts[1]}"),
        step.map(lambda size: f"*/{size}"),
    )
    return st.one_of(st.just("*"), item, st.lists(item, min_size=2, max_size=3).map(",".join))


# Days 29 to 31 alone may name dates that no calendar has, so they come with a weekday or every month.
_dates = st.one_of(
    st.tuples(_field(1, 28), _field(1, 12)),
    st.tuples(_field(1, 31), st.sampled_from(["*", "1,3", "*/2", "5-9"])),
)
plain = st.tuples(_field(0, 59), _field(0, 23), _dates, st.one_of(st.just("*"), _field(0, 7))).map(
    lambda parts: f"{parts[0]} {parts[1]} {parts[2][0]} {parts[2][1]} {parts[3]}"
)
_days = st.sampled_from(["L", "LW", "L-3", "15W", "1W,L", "1,15", "*/10", "?", "*", "28-31"])
_weekdays = st.sampled_from(["*", "?", "5L", "MON#1", "1#2,5#4", "FRI", "1-5", "*/2", "SUN,3L"])
extended = st.tuples(_field(0, 59), _field(0, 23), _days, st.sampled_from(["*", "1-11/2"]), _weekdays).map(" ".join)
with_seconds = st.tuples(_field(0, 59), plain).map(" ".join)
expressions = st.one_of(plain, extended, with_seconds)
