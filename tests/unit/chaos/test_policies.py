"""The checker knows calendars, windows, edits that wait, bounds and rates by arithmetic of its own."""

from dataclasses import replace

from tests.chaos.expected import expected_of
from tests.chaos.history import Beat, Closing, Expect, Kind, Put, Seen, Slots, Story, Waits, is_open
from tests.unit.chaos.histories import (
    BEGIN,
    LAST_MS,
    PERIOD_MS,
    TICKS,
    a_beat,
    a_change,
    a_final_head,
    a_history,
    a_row,
    a_story,
    an_attempt,
    cancelled,
    submitted,
)
from tests.unit.chaos.test_checker import a_range, names
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.jobs import JobStatus
from tickwright.domain.limits import RUN_DEADLINE_S_DEFAULT
from tickwright.domain.transitions import State

ROWS = [a_row(tick) for tick in TICKS]
ATTEMPTS = [an_attempt(tick) for tick in TICKS]
LATER = a_beat()
CLOSED = Closing(name="freeze", excludes=True, stretches=((TICKS[1], TICKS[1] + 1),))
OPEN = Closing(name="freeze", excludes=True, days=("2001-01-01",))


def put(closing: Closing, version: int = 1, at_ms: int = BEGIN) -> Put:
    """A calendar that was put and acknowledged."""
    return Put(closing=closing, version=version, invoked_ms=at_ms, acked_ms=at_ms + 20)


def blacked_out(tick: int, by: str = "freeze@1") -> Execution:
    """A tick that was passed over because it is closed."""
    row = a_range(tick, tick, 1, late_ms=0, reason=Reason.BLACKOUT)
    assert row.passed is not None
    return replace(row, passed=replace(row.passed, by=by))


def closing_story(*puts: Put) -> Story:
    """A job that names these calendars."""
    return a_story(puts=list(puts))


def broken(story: Story, rows: list[Execution]) -> set[str]:
    """What is wrong with these rows; each but a range has run."""
    attempts = [an_attempt(row.scheduled_at, version=row.job_version) for row in rows if row.state is State.SUCCEEDED]
    return names(a_history(story=story, rows=rows, attempts=attempts))


def test_a_closed_tick_is_passed_over() -> None:
    """Its row names the version that closes it."""
    assert broken(closing_story(put(CLOSED)), [ROWS[0], blacked_out(TICKS[1]), ROWS[2]]) == set()


def test_a_closed_tick_that_ran_is_found() -> None:
    """The calendar was put once, so it was closed all the time."""
    assert broken(closing_story(put(CLOSED)), ROWS) == {"CalendarIsKept"}


def test_an_open_tick_that_was_passed_over_is_found() -> None:
    """Neither was it closed, nor does what the row names close it."""
    rows = [ROWS[0], blacked_out(TICKS[1]), ROWS[2]]

    assert broken(closing_story(put(OPEN)), rows) == {"CalendarIsKept", "CalendarIsNamed"}


def test_a_range_that_names_the_wrong_version_is_found() -> None:
    """Version 2 opens what version 1 has closed."""
    puts = (put(CLOSED), put(OPEN, 2, TICKS[1] - 100))
    rows = [ROWS[0], blacked_out(TICKS[1], by="freeze@2"), ROWS[2]]

    assert broken(closing_story(*puts), rows) == {"CalendarIsNamed"}


def test_a_calendar_that_is_put_while_a_tick_is_decided_may_have_either_say() -> None:
    """Within the look-ahead nobody can know which version was read; long before, the new one counts."""
    just_now = closing_story(put(CLOSED), put(OPEN, 2, TICKS[1] - 220))
    long_ago = closing_story(put(CLOSED), put(OPEN, 2, TICKS[1] - 5_000))
    passed = [ROWS[0], blacked_out(TICKS[1]), ROWS[2]]

    assert (broken(just_now, ROWS), broken(just_now, passed)) == (set(), set())
    assert (broken(long_ago, ROWS), broken(long_ago, passed)) == (set(), {"CalendarIsKept"})


def test_a_tick_that_is_closed_for_a_job_without_calendars_is_found() -> None:
    """Nothing closes it."""
    assert broken(a_story(), [ROWS[0], blacked_out(TICKS[1]), ROWS[2]]) == {"NoFalseSkip"}


def test_a_calendar_closes_by_stretch_or_by_day() -> None:
    """An including one closes the rest; a stretch's end does not belong to it."""
    day = Closing(name="day", excludes=False, days=("2026-12-01",))
    noon = 1_796_126_400_000

    assert [is_open([CLOSED], TICKS[1] + by_ms) for by_ms in (-1, 0, 1)] == [True, False, True]
    assert [is_open([day], noon + by_ms) for by_ms in (0, 12 * 3_600_000)] == [True, False]
    assert [is_open([day, replace(day, days=("2026-12-02",))], noon + by_ms) for by_ms in (0, 12 * 3_600_000)] == [
        True,
        True,
    ]


def test_a_slot_is_in_proportion_to_its_room() -> None:
    """Three of four seconds, then three quarters of the two that are left of the last, in whole seconds."""
    slots = Slots(beat=Beat(period_ms=4_000, phase_ms=0, until_ms=10_000), width_s=4, shift_s=3)

    assert list(slots.after(-1)) == [3_000, 7_000, 9_000]
    assert list(slots.after(3_000)) == [7_000, 9_000]
    assert (slots.nominal(7_000), slots.nominal(7_001)) == (4_000, None)


def test_a_beat_begins_at_its_first_instant() -> None:
    """A tick at it is one."""
    beat = Beat(period_ms=1_000, phase_ms=0, until_ms=4_000, from_ms=2_000)

    assert list(beat.after(0)) == [2_000, 3_000, 4_000]


def test_a_slot_without_its_time_is_found() -> None:
    """A row says which time it stands for, as long as its schedule is what it was."""
    slots = Slots(beat=a_beat(), width_s=1, shift_s=0)
    story = a_story(submitted(rhythm=slots), rhythms={1: slots})
    named = [replace(row, nominal=to_rfc3339(Instant(row.scheduled_at))) for row in ROWS]

    assert (broken(story, named), broken(story, ROWS)) == (set(), {"SlotIsNamed"})


def waiting(at_ms: int) -> Waits:
    """An edit of the same ticks, that counts from an instant on."""
    return Waits(version=2, at_ms=at_ms, rhythm=LATER)


def test_an_edit_that_waits_counts_from_its_time_on() -> None:
    """The tick before it runs with the old version, the next ones with the new one."""
    edit = a_change(Kind.EDIT, BEGIN + 2_000, version=2, next_ms=TICKS[0], waits=waiting(TICKS[1]))
    head = a_final_head(version=3, definition_version=2)
    new = [replace(row, job_version=2) for row in ROWS[1:]]

    def found(rows: list[Execution], at: int = 3) -> set[str]:
        attempts = [an_attempt(row.scheduled_at, version=row.job_version) for row in rows]
        standing = replace(head, version=at)
        return names(a_history(story=a_story(submitted(), edit), rows=rows, attempts=attempts, head=standing))

    assert found([ROWS[0], *new]) == set()
    assert found(ROWS) == {"NoSupersededRun"}
    assert found([ROWS[0], *new], at=2) == {"AcknowledgedIsKept"}


def test_an_answer_may_name_the_edit_as_what_comes_next() -> None:
    """Where no tick is left before it; at any other instant it would be wrong."""
    right = a_change(Kind.EDIT, BEGIN + 2_000, version=2, next_ms=TICKS[0] - 500, waits=waiting(TICKS[0] - 500))
    wrong = replace(right, next_ms=TICKS[0] - 501)
    rows = [replace(row, job_version=2) for row in ROWS]
    attempts = [an_attempt(row.scheduled_at, version=2) for row in rows]
    head = a_final_head(version=3, definition_version=2)

    def found(story: Story) -> set[str]:
        return names(a_history(story=story, rows=rows, attempts=attempts, head=head))

    assert found(a_story(submitted(), right)) == set()
    assert "NextTickIsRight" in found(a_story(submitted(), wrong))


def test_a_version_that_was_put_in_force_ahead_has_no_tick_before_its_time() -> None:
    """An edit that counts from 500 ms after a tick on is in force before that; another one is to wait then."""
    beat = replace(a_beat(), phase_ms=a_beat().phase_ms + 100)
    ahead = Waits(version=2, at_ms=TICKS[0] + 500, rhythm=beat)
    first = a_change(Kind.EDIT, BEGIN + 2_000, version=2, next_ms=TICKS[0], waits=ahead)
    then = Waits(version=3, at_ms=TICKS[2], rhythm=LATER)
    shown = {"version": 4, "definition_version": 2, "decided_ms": TICKS[0], "rhythm": beat, "waits": then}

    def is_right(next_ms: int) -> bool:
        second = a_change(Kind.EDIT, TICKS[0] + 50, next_ms=next_ms, **shown)
        return expected_of(a_story(submitted(), first, second), in_time=lambda _since, _until: True).wrong == []

    assert [is_right(at) for at in (TICKS[0] + 100, TICKS[1] + 99, TICKS[1] + 100)] == [False, False, True]


def test_an_edit_that_was_forgotten_during_a_pause_had_no_ticks() -> None:
    """Edited, paused, edited again before the first edit comes or after it, resumed; an edit is 100 ms later."""
    moved = replace(a_beat(), phase_ms=a_beat().phase_ms + 100)
    forgotten = Waits(version=2, at_ms=TICKS[0] + 5_000, rhythm=moved)
    in_its_place = Waits(version=3, at_ms=TICKS[2], rhythm=moved)
    paused = {"status": JobStatus.PAUSED, "decided_ms": BEGIN}
    first = a_change(Kind.EDIT, BEGIN + 2_000, version=2, next_ms=TICKS[0], waits=forgotten)
    pause = a_change(Kind.PAUSE, BEGIN + 3_000, version=3, waits=forgotten, **paused)
    resume = a_change(Kind.RESUME, TICKS[1] + 5_000, version=5, decided_ms=TICKS[1] + 5_000, next_ms=TICKS[2])

    def held_back(at_ms: int, version: int) -> list[int]:
        shown = {"version": 4, "definition_version": version, "waits": in_its_place, **paused}
        second = a_change(Kind.EDIT, at_ms, **shown)
        story = a_story(submitted(), first, pause, second, resume)
        return expected_of(story, in_time=lambda _since, _until: True).held_back

    assert held_back(TICKS[0] + 4_000, version=1) == [TICKS[0], TICKS[1]]
    assert held_back(TICKS[0] + 6_000, version=2) == [TICKS[0], TICKS[1] + 100]


def test_a_tick_at_the_instant_of_a_forgotten_edit_is_held_back() -> None:
    """The job stood at the edit, which was to count from a tick on; that tick is of the old version then."""
    forgotten = Waits(version=2, at_ms=TICKS[0], rhythm=a_beat())
    in_its_place = Waits(version=3, at_ms=TICKS[2], rhythm=a_beat())
    paused = {"status": JobStatus.PAUSED, "decided_ms": BEGIN}
    changes = [
        a_change(Kind.EDIT, BEGIN + 2_000, version=2, next_ms=TICKS[0], waits=forgotten),
        a_change(Kind.PAUSE, BEGIN + 3_000, version=3, waits=forgotten, **paused),
        a_change(Kind.EDIT, BEGIN + 4_000, version=4, waits=in_its_place, **paused),
        a_change(Kind.RESUME, TICKS[1] + 5_000, version=5, decided_ms=TICKS[1] + 5_000, next_ms=TICKS[2]),
    ]

    held_back = expected_of(a_story(submitted(), *changes), in_time=lambda _since, _until: True).held_back

    assert held_back == [TICKS[0], TICKS[1]]


def test_more_runs_than_the_schedule_has_are_found() -> None:
    """Two of two leave the third tick without a row; with a row it is one too many."""
    assert broken(a_story(runs_max=2), ROWS[:2]) == set()
    assert broken(a_story(runs_max=2), ROWS) == {"MaxRuns"}
    assert broken(a_story(runs_max=2), ROWS[:1]) == {"TickNotLost"}


def decided(row: Execution, at_ms: int) -> Execution:
    """A tick that was decided late: its run has its whole time from then on."""
    return replace(row, created_at=Instant(at_ms), run_deadline_at=Instant(at_ms + RUN_DEADLINE_S_DEFAULT * 1_000))


def test_missed_ticks_that_are_made_up_too_fast_are_found() -> None:
    """At 60 a minute, two late ones are a second apart."""
    story, at_ms = a_story(rate_per_min=60, overlaps=True), LAST_MS + 10_000
    first = decided(ROWS[0], TICKS[0])
    slow = [first, decided(ROWS[1], at_ms), decided(ROWS[2], at_ms + 1_000)]
    fast = [first, decided(ROWS[1], at_ms), decided(ROWS[2], at_ms + 999)]

    assert (broken(story, slow), broken(story, fast)) == (set(), {"RatePerMin"})


def test_a_run_that_had_time_and_is_dead_for_want_of_it_is_found() -> None:
    """Its deadline is further off than any next attempt."""
    ended = TICKS[0] + 1_200
    dead = {"state": State.DEAD, "reason": Reason.EXPIRED, "failed_at": Instant(ended), "result": None}
    attempts = [an_attempt(TICKS[0], outcome="failure", mark=None), *ATTEMPTS[1:]]

    def found(deadline: int) -> set[str]:
        row = a_row(TICKS[0], run_deadline_at=Instant(deadline), **dead)
        story, letters = a_story(expect=Expect.SUCCEED), frozenset({row.ref})
        return names(a_history(story=story, rows=[row, *ROWS[1:]], attempts=attempts, letters=letters))

    assert (found(ended + 900), found(ended + PERIOD_MS)) == (set(), {"EndsAsExpected"})


def test_a_tick_that_waits_for_those_before_it_is_not_lost() -> None:
    """What is made up comes one by one: the second has had no time since the first was decided, or it has."""
    at_ms = TICKS[1] + 8_000
    ran = {TICKS[0]: Seen(state=State.SUCCEEDED, epoch=1, scheduled_ms=TICKS[0])}
    story = a_story(submitted(), cancelled(at_ms, decided_ms=TICKS[0], census=ran))

    def found(created_ms: int) -> set[str]:
        row = a_row(TICKS[0], created_at=Instant(created_ms))
        return names(a_history(story=story, rows=[row], attempts=ATTEMPTS[:1]))

    assert (found(at_ms - 1_000), found(at_ms - 7_000)) == (set(), {"TickNotLost"})
