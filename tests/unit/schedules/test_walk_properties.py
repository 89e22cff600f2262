"""Does the walk give one answer, whichever way it is asked?"""

from datetime import UTC, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.unit.schedules.builders import a_cron
from tests.unit.schedules.strategies import expressions, instants, plain, zones
from tickwright.domain.instants import Instant, to_datetime
from tickwright.domain.schedules import (
    Schedule,
    ScheduleRefused,
    compact,
    count_ticks,
    from_compact,
    latest_tick,
    next_tick,
)

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
