"""Does a window spread a herd without losing, doubling or swapping a tick?

The slow answer beside which ours is put knows nominal ticks alone, walked forwards one by one.
"""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.schedules.builders import a_cron, short, ticks
from tests.unit.schedules.conftest import CpuClock
from tests.unit.schedules.strategies import expressions, instants, zones
from tests.unit.schedules.test_hashing import JOBS
from tests.unit.schedules.test_walk_properties import accepted, chain, policies
from tickwright.domain.instants import Instant, from_rfc3339, to_rfc3339
from tickwright.domain.schedules import (
    Every,
    FireWindow,
    HashIdentity,
    Schedule,
    compact,
    count_ticks,
    from_compact,
    gap_skips,
    is_hashed,
    latest_tick,
    next_tick,
    next_ticks,
    parse,
    refuse_if_never,
)
from tickwright.domain.schedules.explain import explain
from tickwright.domain.schedules.lint import lint
from tickwright.domain.schedules.preview import preview

HOUR_MS = 3_600_000
DAY_S = 86_400
# The value that chi-square passes once in ten thousand when all is even, for 59 degrees of freedom.
CHI_SQUARE_59 = 108.0
windows = st.one_of(st.integers(1, 120), st.integers(1, DAY_S)).flatmap(
    lambda width: st.integers(0, width - 1).map(lambda shift: FireWindow(width, shift))
)
crons = st.builds(
    lambda texts, zone, dst: accepted(*texts, zone=zone, dst=dst),
    st.lists(expressions, min_size=1, max_size=3),
    zones,
    policies,
)
# Periods that are no whole number of seconds have gaps that are none.
intervals = st.integers(1_000, 3 * DAY_S * 1_000).flatmap(
    lambda period: st.integers(0, period - 1).map(lambda phase: Schedule(Every(period, phase)))
)
# Days with a change of the clock in one zone or another of the strategies.
CHANGES = [
    from_rfc3339(f"{day}T00:00:00Z")
    for day in ("2026-03-08", "2026-03-29", "2026-10-04", "2026-10-25", "2026-11-01", "2027-04-04", "2011-12-30")
]
around_changes = st.builds(
    lambda at, before: Instant(at - before), st.sampled_from(CHANGES), st.integers(-DAY_S * 1_000, DAY_S * 1_000)
)
starts = st.one_of(instants, around_changes)
ends = st.none() | st.integers(0, 20)


def with_window(schedule: Schedule, window: FireWindow | None, end_at: Instant | None = None) -> Schedule:
    """The same schedule with a window, and without if it is None."""
    return Schedule(
        schedule.kind,
        schedule.timezone,
        end_at=end_at,
        dst_gap=schedule.dst_gap,
        dst_overlap=schedule.dst_overlap,
        window=window,
    )


def slow_slots(nominal: list[Instant], window: FireWindow, end_at: Instant | None) -> list[int]:
    """The slot of each nominal tick but the last, by its promise: less than the room, in proportion to it."""
    found = []
    for at, following in pairwise(nominal):
        room = following - at if end_at is None else min(following, end_at + 1) - at
        seconds = min(window.width_s, room // 1_000)
        found.append(at + window.shift_s * seconds // window.width_s * 1_000)
    return found


def case(
    plain: Schedule, window: FireWindow, start: Instant, end_pick: int | None
) -> tuple[Schedule, list[Instant], list[int]]:
    """A windowed schedule with the nominal ticks around `start` and their slots; it ends within them, or does not."""
    first = latest_tick(plain, start, Instant(start - 400 * DAY_S * 1_000))
    nominal = chain(plain, Instant((first.at if first else start) - 1), 24)
    end_at = None
    if end_pick is not None and end_pick < len(nominal) - 1:
        end_at = Instant((nominal[end_pick] + 2 * nominal[end_pick + 1]) // 3)
    slots = slow_slots(nominal, window, end_at)
    slots = slots if end_at is None else slots[: sum(at <= end_at for at in nominal)]
    return with_window(plain, window, end_at), nominal, slots


@pytest.mark.sem("SEM-SCHED-22")
@given(st.one_of(crons, intervals), windows, starts, ends)
def test_slots_keep_the_order_of_their_ticks_and_overtake_none(
    plain: Schedule, window: FireWindow, start: Instant, end_pick: int | None
) -> None:
    """Each slot is at or after its tick, before the next tick, within the window and not after the end."""
    schedule, nominal, slots = case(plain, window, start, end_pick)
    fired = next_ticks(schedule, Instant(slots[0] - 1), len(slots)) if slots else ()

    assert [tick.nominal_at for tick in fired] == nominal[: len(slots)]
    for tick, at, following in zip(fired, nominal, nominal[1:], strict=False):
        assert at <= tick.at < following
        assert tick.at - at < window.width_s * 1_000
        assert schedule.end_at is None or tick.at <= schedule.end_at


@pytest.mark.sem("SEM-SCHED-6", "SEM-SCHED-22")
@given(st.one_of(crons, intervals), windows, starts, ends, st.floats(0, 1))
def test_the_next_slot_is_what_a_walk_over_the_ticks_finds(
    plain: Schedule, window: FireWindow, start: Instant, end_pick: int | None, share: float
) -> None:
    """From before, at and after each tick and each slot, the next slot is the first later one: no question moves it."""
    schedule, nominal, slots = case(plain, window, start, end_pick)
    span = (nominal[0], nominal[-1]) if nominal else (start, start)
    asked = {at + more for at in (*nominal, *slots) for more in (-1, 0, 1)} | {
        int(span[0] + (span[1] - span[0]) * share)
    }

    for after in sorted(at for at in asked if slots and slots[0] <= at < slots[-1]):
        tick = next_tick(schedule, Instant(after))
        assert tick is not None
        assert tick.at == min(at for at in slots if at > after)
    if schedule.end_at is not None and slots:
        assert next_tick(schedule, Instant(slots[-1])) is None


@pytest.mark.sem("SEM-SCHED-7", "SEM-SCHED-11", "SEM-SCHED-22")
@given(st.one_of(crons, intervals), windows, starts, ends, st.data())
def test_looking_back_and_counting_agree_with_a_walk_over_the_ticks(
    plain: Schedule, window: FireWindow, start: Instant, end_pick: int | None, data: st.DataObject
) -> None:
    """Whatever the two ends of a span, the latest slot and the number of slots in it are those of the slow answer."""
    schedule, nominal, slots = case(plain, window, start, end_pick)
    if len(slots) < 2:
        return
    inside = sorted(
        {at + more for at in (*nominal, *slots) for more in (-1, 0, 1) if slots[0] <= at + more < slots[-1]}
    )
    # Narrow spans as often as wide ones: the ends of a span are where it is hard.
    first = data.draw(st.integers(0, len(inside) - 1))
    last = first + data.draw(st.one_of(st.integers(0, 5), st.integers(0, len(inside) - 1)))
    low, high = inside[first], inside[min(last, len(inside) - 1)]

    found = [at for at in slots if low < at <= high]
    latest = latest_tick(schedule, Instant(high), Instant(low))

    assert (latest.at if latest else None) == (found[-1] if found else None)
    assert count_ticks(schedule, Instant(low), Instant(high), 10_000) == (len(found), True)
    assert count_ticks(schedule, Instant(low), Instant(high), len(found)) == (len(found), True)
    if found:
        assert count_ticks(schedule, Instant(low), Instant(high), len(found) - 1) == (len(found) - 1, False)


@pytest.mark.sem("SEM-SCHED-17", "SEM-SCHED-22")
def test_a_window_loses_no_tick_at_start_or_end() -> None:
    """A tick at the end has no room and fires at once; the one before it keeps its order; none is before the start."""
    bounds = {"startAt": "2026-12-01T00:00:00Z", "endAt": "2026-12-01T02:00:00Z"}
    schedule = parse({"cron": "0 * * * *", **bounds})
    schedule = from_compact(compact(schedule).removesuffix("}") + ',"w":[7200,7199]}')

    assert ticks(schedule, "2026-11-01T00:00:00Z", 9) == [
        "2026-12-01T00:59:59Z",
        "2026-12-01T01:59:59Z",
        "2026-12-01T02:00Z",
    ]
    assert ticks(schedule, "2026-12-01T00:00:00Z", 1) == ["2026-12-01T00:59:59Z"]
    assert ticks(schedule, "2026-12-01T00:59:59Z", 1) == ["2026-12-01T01:59:59Z"]


@pytest.mark.sem("SEM-SCHED-22")
def test_a_room_of_less_than_a_second_holds_the_tick_in_place() -> None:
    """An end half a second after the last tick leaves that tick where it is."""
    schedule = Schedule(Every(HOUR_MS), end_at=Instant(10 * HOUR_MS + 500), window=FireWindow(60, 59))

    found = [tick.at for tick in next_ticks(schedule, Instant(9 * HOUR_MS - 1), 5)]

    assert found == [9 * HOUR_MS + 59_000, 10 * HOUR_MS]


@pytest.mark.sem("SEM-SCHED-23")
@pytest.mark.parametrize(("window", "spec"), [(60, {"cron": "0 0 * * *"}), (7_200, {"every": "PT1M"})])
def test_slots_are_even_over_jobs(window: int, spec: dict[str, object]) -> None:
    """Six thousand jobs spread over a window as chance would spread them, also over one that had to shrink."""
    counts = dict.fromkeys(range(60), 0)
    for job in JOBS:
        tick = next_tick(parse({**spec, "window": window}, identity=job), Instant(-1))
        assert tick is not None
        counts[tick.at // 1_000] += 1

    mean = len(JOBS) / 60
    assert sum((count - mean) ** 2 / mean for count in counts.values()) < CHI_SQUARE_59


@pytest.mark.sem("SEM-SCHED-23")
def test_a_shift_is_settled_by_job_and_width_alone() -> None:
    """Another expression, zone or end moves nothing; a job keeps its shift for ever: this one is on record."""
    job = HashIdentity("t1", "j1")
    specs: list[dict[str, object]] = [
        {"cron": "0 0 * * *", "window": 600},
        {"cron": "H 5 * * 1", "window": 600, "timezone": "Asia/Kathmandu"},
        {"every": "P1D", "window": 600, "endAt": "2030-01-01T00:00:00Z"},
    ]

    assert {parse(spec, identity=job).window for spec in specs} == {FireWindow(600, 242)}


@pytest.mark.sem("SEM-SCHED-13", "SEM-SCHED-23")
@given(st.one_of(crons, intervals), windows, st.lists(st.sampled_from(["holidays", "freeze", "a.b-c"]), unique=True))
def test_the_stored_form_keeps_the_shift(plain: Schedule, window: FireWindow, calendars: list[str]) -> None:
    """What is stored has its slot settled, so that it fires the same without knowing whose it is."""
    schedule = Schedule(plain.kind, plain.timezone, window=window, calendars=tuple(calendars))

    assert from_compact(compact(schedule)) == schedule
    assert from_compact(compact(plain)).window is None
    assert "w" not in compact(plain).split('"')


@pytest.mark.sem("SEM-SCHED-23")
def test_a_window_makes_times_depend_on_whose_they_are() -> None:
    """So a preview without a job says that it shows an example."""
    assert is_hashed({"cron": "0 0 * * *", "window": 60})
    assert is_hashed({"every": "PT1H", "window": 60})
    assert not is_hashed({"every": "PT1H", "window": None})


@pytest.mark.sem("SEM-SCHED-22")
def test_b088_the_same_schedule_put_between_a_time_and_its_slot_fires_once() -> None:
    """Every five minutes, 33 seconds late: looked at anew at 12:20:10 the tick of 12:20 is still to come, once."""
    put = from_compact('{"c":["*/5 * * * *"],"w":[60,33]}')
    before = next_tick(put, from_rfc3339("2026-11-30T12:19:00Z"))
    again = from_compact(compact(put))
    after = next_ticks(again, from_rfc3339("2026-11-30T12:20:10Z"), 2)

    assert before is not None
    assert short(before.at) == "2026-11-30T12:20:33Z"
    assert before == after[0]
    assert [short(tick.at) for tick in after] == ["2026-11-30T12:20:33Z", "2026-11-30T12:25:33Z"]
    assert next_ticks(again, before.at, 1) == after[1:]


@pytest.mark.sem("SEM-SCHED-9", "SEM-SCHED-22")
def test_a_tick_from_a_gap_keeps_its_local_time_and_its_slot() -> None:
    """02:30 does not exist: it becomes 03:00, and the window counts from there."""
    schedule = from_compact('{"c":["30 2 * * *"],"z":"America/New_York","w":[600,90]}')

    tick = next_tick(schedule, from_rfc3339("2027-03-14T00:00:00Z"))

    assert tick is not None
    assert (short(tick.at), tick.nominal_local) == ("2027-03-14T07:01:30Z", "2027-03-14T02:30:00")
    assert tick.nominal_at == from_rfc3339("2027-03-14T07:00:00Z")


@pytest.mark.sem("SEM-SCHED-9", "SEM-SCHED-22")
def test_skipped_local_times_are_told_whatever_the_window() -> None:
    """A window moves what fires, and not what the clock jumped over."""
    schedule = from_compact('{"c":["30 2 * * *"],"z":"America/New_York","g":"skip","w":[600,90]}')

    found = gap_skips(schedule, from_rfc3339("2027-01-01T00:00:00Z"), from_rfc3339("2027-12-31T00:00:00Z"))

    assert [(short(tick.at), tick.nominal_local) for tick in found] == [("2027-03-14T07:00Z", "2027-03-14T02:30:00")]


@pytest.mark.sem("SEM-SCHED-22")
def test_a_slot_that_is_still_to_come_is_something_left_to_fire() -> None:
    """After the last tick and before its slot a schedule is not refused as one that never fires."""
    schedule = from_compact(f'{{"p":{HOUR_MS},"e":{from_rfc3339("2026-12-01T12:30:00Z")},"w":[600,300]}}')
    now = from_rfc3339("2026-12-01T12:04:00Z")

    refuse_if_never(schedule, now)
    assert [to_rfc3339(tick.at) for tick in next_ticks(schedule, now, 5)] == ["2026-12-01T12:05:00.000Z"]


@pytest.mark.sem("SEM-SCHED-18", "SEM-SCHED-22")
@pytest.mark.parametrize(
    "stored", ['{"c":["* * * * * *"],"x":1,"w":[86400,86399]}', '{"c":["0 0 29 2 *"],"w":[86400,1]}']
)
def test_a_wide_window_is_answered_in_bounded_time(stored: str, cpu_ms: CpuClock) -> None:
    """However many ticks lie within the width of the window, a question looks at few of them."""
    schedule, now = from_compact(stored), from_rfc3339("2026-11-30T12:00:00.500Z")
    later = Instant(now + 366 * DAY_S * 1_000)

    def all_three() -> None:
        next_tick(schedule, now)
        latest_tick(schedule, now, Instant(now - 366 * DAY_S * 1_000))

    all_three()
    assert min(cpu_ms(all_three) for _ in range(3)) < 10
    assert min(cpu_ms(lambda: count_ticks(schedule, now, later, 10_000)) for _ in range(3)) < 100


@pytest.mark.sem("SEM-SCHED-18", "SEM-SCHED-22")
def test_a_last_tick_without_another_has_its_whole_window() -> None:
    """At the end of the calendar nothing follows that a slot could overtake."""
    schedule = from_compact('{"c":["0 0 * * *"],"w":[600,90]}')
    last = latest_tick(schedule, from_rfc3339("9999-12-31T23:59:59Z"), from_rfc3339("9990-01-01T00:00:00Z"))

    assert last is not None
    assert last.at == (last.nominal_at or 0) + 90_000
    assert next_tick(schedule, last.at) is None


@pytest.mark.sem("SEM-SCHED-14")
def test_window_and_calendars_are_told() -> None:
    """In the explanation, beside each tick, and where the window does not fit."""
    job = HashIdentity("tenant", "job")
    schedule = parse({"cron": "*/5 * * * *", "window": 600, "calendars": ["holidays", "freeze"]}, identity=job)
    one = parse({"every": "PT1H", "window": 1, "calendars": ["holidays"]})
    shown = preview(from_compact('{"c":["30 2 * * *"],"w":[60,7]}'), Instant(0), 1)

    told = " ".join(explain(schedule))
    assert "a window of 600 seconds" in told
    assert "as far as the calendars holidays, freeze leave it open." in told
    assert "as far as the calendar holidays leaves it open." in " ".join(explain(one))
    assert [note.code for note in lint(schedule)] == ["window_shrinks"]
    assert "600 seconds long" in lint(schedule)[0].message
    assert "after 300 seconds" in lint(schedule)[0].message
    assert shown.ticks[0].note == "7 seconds after 1970-01-01T02:30:00+00:00, in its window"


@pytest.mark.sem("SEM-SCHED-14")
def test_a_window_is_an_answer_to_the_herd_at_midnight() -> None:
    """The note on a plain midnight offers it, and a schedule that has one is no herd."""
    assert "window" in lint(a_cron("0 0 * * *"))[0].message
    assert lint(a_cron("0 0 * * *", window=300)) == ()
    assert lint(parse({"every": "PT5M", "window": 300})) == ()


@pytest.mark.sem("SEM-SCHED-14")
def test_clock_changes_ahead_are_noted_whatever_the_window() -> None:
    """A windowed schedule is touched by the same changes as its plain twin, and says so of its ticks."""
    now = from_rfc3339("2026-10-20T22:57:33Z")
    plain = preview(a_cron("30 1 * * *", "30 2 * * *", zone="America/New_York"), now, 1)
    spread = preview(a_cron("30 1 * * *", "30 2 * * *", zone="America/New_York", window=300), now, 1)
    gap = preview(
        from_compact('{"c":["30 2 * * *"],"z":"America/New_York","w":[60,1]}'), from_rfc3339("2027-03-14T00:00:00Z"), 1
    )

    assert [note for note in plain.lint if note.code == "clock_change"] == list(spread.lint)
    assert gap.ticks[0].local == "2027-03-14T03:00:01-04:00"
    assert gap.ticks[0].note is not None
    assert gap.ticks[0].note.endswith("after the gap; 1 second after 2027-03-14T03:00:00-04:00, in its window")
