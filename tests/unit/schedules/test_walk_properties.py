"""Does the walk give one answer, whichever way it is asked?"""

from datetime import UTC, timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.unit.schedules.builders import a_cron
from tests.unit.schedules.reference import Reference
from tests.unit.schedules.strategies import ZONES, expressions, instants, plain, zones
from tickwright.domain.instants import Instant, from_datetime, to_datetime
from tickwright.domain.schedules import (
    Schedule,
    ScheduleRefused,
    compact,
    count_ticks,
    from_compact,
    latest_tick,
    next_tick,
)
from tickwright.domain.schedules.zones import changes, load_zone

DAY_MS = 86_400_000
policies = st.fixed_dictionaries(
    {"gap": st.sampled_from(["shift", "skip"]), "overlap": st.sampled_from(["first", "second", "both"])}
)


def accepted(*cron: str, **members: object) -> Schedule:
    """The schedule, leaving aside the few draws that name no date at all."""
    try:
        return a_cron(*cron, **members)  # type: ignore[arg-type]
    except ScheduleRefused as refused:
        assume({error.code for error in refused.errors} != {"never_fires"})
        raise


def chain(schedule: Schedule, after: Instant, count: int) -> list[Instant]:
    """The next ticks, one from the other."""
    found: list[Instant] = []
    while len(found) < count:
        tick = next_tick(schedule, found[-1] if found else after)
        if tick is None:
            break
        found.append(tick.at)
    return found


@pytest.mark.sem("SEM-SCHED-6")
@given(expressions, zones, instants, policies, st.floats(0, 1))
def test_any_later_start_gives_the_same_ticks(
    cron: str, zone: str, start: Instant, dst: dict[str, str], share: float
) -> None:
    """From anywhere between two ticks the next is the later one: a restart changes nothing."""
    schedule = accepted(cron, zone=zone, dst=dst)
    found = chain(schedule, start, 5)

    for earlier, later in zip([start, *found], found, strict=False):
        between = Instant(earlier + int((later - 1 - earlier) * share))
        tick = next_tick(schedule, between)
        assert tick is not None
        assert tick.at == later


@pytest.mark.sem("SEM-SCHED-7")
@given(expressions, zones, instants, policies)
def test_backwards_finds_what_forwards_found(cron: str, zone: str, start: Instant, dst: dict[str, str]) -> None:
    """The latest tick before the next one is the one before it, and there is none before the first."""
    schedule = accepted(cron, zone=zone, dst=dst)
    found = chain(schedule, start, 5)

    for earlier, later in zip([None, *found], found, strict=False):
        before = latest_tick(schedule, Instant(later - 1), start)
        assert (before.at if before else None) == earlier
        assert latest_tick(schedule, later, start) == next_tick(schedule, Instant(later - 1))


@pytest.mark.sem("SEM-SCHED-11")
@given(st.lists(expressions, min_size=1, max_size=3), zones, instants, policies)
def test_a_count_is_what_a_walk_would_count(crons: list[str], zone: str, start: Instant, dst: dict[str, str]) -> None:
    """Counting by days gives the number of ticks that a walk visits, whatever the policy at clock changes."""
    schedule = accepted(*crons, zone=zone, dst=dst)
    found = chain(schedule, start, 60)
    assume(len(found) == 60)

    assert count_ticks(schedule, start, found[-1], 10_000) == (60, True)
    assert count_ticks(schedule, start, Instant(found[-1] - 1), 10_000) == (59, True)
    assert count_ticks(schedule, start, found[-1], 59) == (59, False)


@pytest.mark.sem("SEM-SCHED-8")
@given(st.lists(expressions, min_size=2, max_size=4), zones, instants)
def test_a_list_is_the_union_of_its_expressions(crons: list[str], zone: str, start: Instant) -> None:
    """The ticks of a list are the sorted ticks of its expressions, each instant once."""
    schedule = accepted(*crons, zone=zone)
    apart = {at for cron in crons for at in chain(accepted(cron, zone=zone), start, 6)}

    assert chain(schedule, start, 6) == sorted(apart)[:6]


@pytest.mark.sem("SEM-SCHED-13")
@given(st.lists(expressions, min_size=1, max_size=3), zones, policies, st.none() | instants)
def test_the_stored_form_reads_back_as_the_same_schedule(
    crons: list[str], zone: str, dst: dict[str, str], start: Instant | None
) -> None:
    """What is stored evaluates exactly as what was created."""
    bounds = {} if start is None else {"startAt": to_datetime(start).isoformat(timespec="milliseconds")}
    schedule = accepted(*crons, zone=zone, dst=dst, **bounds)

    assert from_compact(compact(schedule)) == schedule


@pytest.mark.sem("SEM-SCHED-3", "SEM-SCHED-5", "SEM-SCHED-9")
@settings(max_examples=40)
@given(plain, st.sampled_from(ZONES[1:]), st.integers(2005, 2044), st.integers(0, 3))
def test_the_walk_agrees_with_asking_every_minute(cron: str, zone: str, year: int, pick: int) -> None:
    """Around a clock change the ticks are those that a minute-by-minute search finds."""
    schedule = accepted(cron, zone=zone)
    start = from_datetime(to_datetime(Instant(0)).replace(year=year))
    found = changes(zone, start // 1000, start // 1000 + 366 * 86_400)
    middle = found[pick % len(found)].at * 1000 if found else start
    low, high = Instant(middle - 2 * DAY_MS), Instant(middle + 2 * DAY_MS)

    slow = Reference(cron).ticks(load_zone(zone), to_datetime(low), to_datetime(high))

    assert [to_datetime(at) for at in span(schedule, low, high)] == list(slow)


@pytest.mark.sem("SEM-SCHED-9")
@pytest.mark.parametrize("zone", ZONES[1:])
@pytest.mark.parametrize("cron", ["*/10 * * * *", "30 * * * *", "15,45 0-4 * * *", "30 2 * * *", "0 */2 * * 0"])
def test_every_change_of_ten_years_agrees_with_asking_every_minute(zone: str, cron: str) -> None:
    """Six hours around each clock change of 2020 to 2030, minute by minute."""
    schedule = a_cron(cron, zone=zone)
    reference = Reference(cron)
    low_s, high_s = 1_577_836_800, 1_893_456_000

    for change in changes(zone, low_s, high_s):
        low, high = Instant((change.at - 10_800) * 1000), Instant((change.at + 10_800) * 1000)
        slow = list(reference.ticks(load_zone(zone), to_datetime(low), to_datetime(high)))
        assert [to_datetime(at) for at in span(schedule, low, high)] == slow


@pytest.mark.sem("SEM-SCHED-6")
@given(plain, zones, instants)
def test_the_next_tick_is_later_even_within_a_minute(cron: str, zone: str, start: Instant) -> None:
    """Asked a millisecond before, at, and after a tick, the answer is strictly later than the question."""
    schedule = accepted(cron, zone=zone)
    tick = next_tick(schedule, start)
    assume(tick is not None)
    assert tick is not None

    for after in (tick.at - 1, tick.at, tick.at + 1):
        found = next_tick(schedule, Instant(after))
        assert found is None or found.at > after
    assert to_datetime(tick.at).astimezone(UTC) - to_datetime(start) > timedelta(0)


def span(schedule: Schedule, low: Instant, high: Instant) -> list[Instant]:
    """Every tick in (low, high]."""
    found: list[Instant] = []
    tick = next_tick(schedule, low)
    while tick is not None and tick.at <= high:
        found.append(tick.at)
        tick = next_tick(schedule, tick.at)
    return found
