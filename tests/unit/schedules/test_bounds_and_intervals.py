"""Do start, end, intervals and one-offs give the instants they name, and no others?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.schedules.builders import a_cron, ticks
from tests.unit.schedules.conftest import CpuClock
from tests.unit.schedules.strategies import instants
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.schedules import Every, OneOff, Schedule, Tick, count_ticks, latest_tick, next_tick, parse
from tickwright.domain.schedules.durations import duration_ms, duration_text

DAY_MS = 86_400_000
NOW = from_rfc3339("2026-11-29T22:57:33.500Z")
NEVER = Instant(from_rfc3339("0002-01-01T00:00:00Z"))


@pytest.mark.sem("SEM-SCHED-17")
def test_start_and_end_are_both_included() -> None:
    """A tick at the start fires, a tick at the end fires, and nothing outside does."""
    bounds: dict[str, object] = {"startAt": "2026-12-01T00:00:00Z", "endAt": "2026-12-03T00:00:00Z"}
    inside = ["2026-12-01T00:00Z", "2026-12-02T00:00Z", "2026-12-03T00:00Z"]

    assert ticks(parse({"cron": "0 0 * * *", **bounds}), "2020-01-01T00:00:00Z", 9) == inside
    assert ticks(parse({"every": "P1D", **bounds}), "2020-01-01T00:00:00Z", 9) == inside


@pytest.mark.sem("SEM-SCHED-17")
def test_start_and_end_within_a_second_cut_the_tick_of_that_second() -> None:
    """A start half a second after midnight leaves midnight out, and an end just before it too."""
    late = a_cron("0 0 * * *", startAt="2026-12-01T00:00:00.500Z")
    early = a_cron("0 0 * * *", endAt="2026-12-01T23:59:59.999Z")

    assert ticks(late, "2020-01-01T00:00:00Z", 1) == ["2026-12-02T00:00Z"]
    assert ticks(early, "2026-12-01T00:00:00Z", 1) == []


@pytest.mark.sem("SEM-SCHED-17")
def test_latest_and_count_respect_the_bounds() -> None:
    """Looking back and counting see nothing outside start and end."""
    schedule = a_cron("0 0 * * *", startAt="2026-12-01T00:00:00Z", endAt="2026-12-03T00:00:00Z")
    far, long_ago = from_rfc3339("2027-06-01T00:00:00Z"), from_rfc3339("2020-01-01T00:00:00Z")

    assert latest_tick(schedule, far, long_ago) == Tick(from_rfc3339("2026-12-03T00:00:00Z"))
    assert latest_tick(schedule, NOW, long_ago) is None
    assert count_ticks(schedule, long_ago, far, 100) == (3, True)
    assert count_ticks(schedule, far, long_ago, 100) == (0, True)


def test_a_one_off_fires_once() -> None:
    """It is the next tick until it has been, and the latest from then on."""
    at = from_rfc3339("2026-12-01T00:00:00.250Z")
    schedule = Schedule(OneOff(at))

    assert next_tick(schedule, Instant(at - 1)) == Tick(at)
    assert next_tick(schedule, at) is None
    assert latest_tick(schedule, at, Instant(at - 1)) == Tick(at)
    assert latest_tick(schedule, Instant(at - 1), NEVER) is None
    assert count_ticks(schedule, Instant(at - 1), at, 5) == (1, True)
    assert count_ticks(schedule, at, Instant(at + DAY_MS), 5) == (0, True)


@pytest.mark.sem("SEM-SCHED-16")
@given(instants, st.integers(1_000, 40 * DAY_MS), st.integers(0, 40 * DAY_MS))
def test_an_interval_is_arithmetic(after: Instant, period: int, phase: int) -> None:
    """Ticks lie on phase plus whole periods, a period apart, and the count is what lies between."""
    schedule = Schedule(Every(period, phase % period))

    tick = next_tick(schedule, after)

    assert tick is not None
    assert after < tick.at <= after + period
    assert (tick.at - schedule.kind.phase_ms) % period == 0  # type: ignore[union-attr]
    assert latest_tick(schedule, tick.at, after) == tick
    assert latest_tick(schedule, Instant(tick.at - 1), after) is None
    assert count_ticks(schedule, after, Instant(after + 10 * period), 100) == (10, True)
    assert count_ticks(schedule, after, Instant(after + 10 * period), 9) == (9, False)


@pytest.mark.sem("SEM-SCHED-16")
def test_an_interval_of_a_day_is_blind_to_clock_changes() -> None:
    """Every 24 hours in a zone that changes its clock stays at one UTC time."""
    schedule = parse({"every": "P1D", "startAt": "2026-10-30T12:00:00Z", "timezone": "America/New_York"})

    assert ticks(schedule, "2026-10-30T00:00:00Z", 3) == [f"2026-{date}T12:00Z" for date in ("10-30", "10-31", "11-01")]


@pytest.mark.sem("SEM-SCHED-11")
def test_ten_years_of_missed_minutes_are_counted_in_bounded_time(cpu_ms: CpuClock) -> None:
    """More than five million minutes, exactly and up to a limit, each under 100 ms of CPU."""
    schedule = a_cron("* * * * *", zone="America/New_York")
    start, end = from_rfc3339("2016-11-29T00:00:00Z"), from_rfc3339("2026-11-29T00:00:00Z")
    minutes = (end - start) // 60_000

    assert count_ticks(schedule, start, end, 10**9) == (minutes, True)
    assert count_ticks(schedule, start, end, 10_000) == (10_000, False)
    assert min(cpu_ms(lambda: count_ticks(schedule, start, end, 10**9)) for _ in range(3)) < 100
    assert min(cpu_ms(lambda: count_ticks(schedule, start, end, 10_000)) for _ in range(3)) < 10


@pytest.mark.sem("SEM-SCHED-18")
@pytest.mark.parametrize(
    "cron",
    ["0 0 29 2 *", "0 0 * 2 5#5", "0 0 29 2 1", "30 2 * 3 0#2", "0 0 31 12 *", "0 0 L-30 * *", "59 59 23 31 12 6#5"],
)
@pytest.mark.parametrize("policy", [{"gap": "skip"}, {"overlap": "second"}])
def test_rare_dates_are_found_or_given_up_in_bounded_time(cron: str, policy: dict[str, str], cpu_ms: CpuClock) -> None:
    """Forwards and backwards, the rarest expressions answer within milliseconds once the zone is known."""
    schedule = a_cron(cron, zone="America/New_York", dst=policy, dayMatch="and")
    century = Instant(NOW + 100 * 366 * DAY_MS)

    def both_ways() -> None:
        next_tick(schedule, NOW)
        latest_tick(schedule, NOW, NEVER)

    both_ways()
    count_ticks(schedule, NOW, century, 10_000)
    assert min(cpu_ms(both_ways) for _ in range(3)) < 10
    assert min(cpu_ms(lambda: count_ticks(schedule, NOW, century, 10_000)) for _ in range(3)) < 100


@pytest.mark.sem("SEM-SCHED-18")
@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9998-12-30T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_ends_of_the_calendar_are_answered_quietly(text: str) -> None:
    """Asked at either end of the years, the answer is a later tick or none, never an error."""
    after = from_rfc3339(text)

    for schedule in (a_cron("0 0 1 1 *", zone="Pacific/Kiritimati"), parse({"every": "PT1H"})):
        tick = next_tick(schedule, after)
        assert tick is None or tick.at > after
        latest = latest_tick(schedule, after, from_rfc3339("0001-01-01T00:00:00Z"))
        assert latest is None or latest.at <= after


@given(st.integers(1, 10**12))
def test_durations_read_back(length: int) -> None:
    """Every length in milliseconds has a text that means the same."""
    assert duration_ms(duration_text(length)) == length


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "P1", "1H", "pt1h", "PT1H1H", "PT-1H", "P1DT", "P1W1D", "PT1.5H", "P1H"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Only fixed lengths in ISO 8601 form are read, and the message shows one."""
    with pytest.raises(ValueError, match="PT15M"):
        duration_ms(text)
