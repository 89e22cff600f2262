"""Is a person told what will happen, before it does?"""

import pytest
from hypothesis import given

from tests.unit.schedules.builders import a_cron
from tests.unit.schedules.strategies import expressions, instants, zones
from tests.unit.schedules.test_walk_properties import accepted
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.schedules import Cron, HashIdentity, Schedule, parse, tzdata_version
from tickwright.domain.schedules.explain import explain, explain_expression
from tickwright.domain.schedules.expression import parse_expression
from tickwright.domain.schedules.lint import lint
from tickwright.domain.schedules.preview import disagreement, next_ticks, preview
from tickwright.domain.schedules.ticks import next_tick

NOW = from_rfc3339("2026-10-20T22:57:33Z")
HOUR_MS = 3_600_000

PHRASES = [
    ("* * * * *", "every minute"),
    ("*/5 * * * *", "every 5 minutes"),
    ("*/7 * * * *", "every 7th minute from 0"),
    ("3-59/15 * * * *", "every 15th minute from 3"),
    ("0 * * * *", "at minute 0 of every hour"),
    ("1-9 * * * *", "at minutes 1 to 9 of every hour"),
    ("30 */6 * * *", "at minute 30 of every 6th hour from 0"),
    ("0 9 * * 1-5", "at 09:00 on Monday to Friday"),
    ("30 8,17 * * *", "at 08:30 and 17:30 every day"),
    ("*/20 9-17 * 1-3,6 *", "every 20 minutes of hours 9 to 17 in January to March and June"),
    ("0 0 1 JAN *", "at 00:00 on day 1 of the month in January"),
    ("0 0 */2 * *", "at 00:00 on every 2nd day from 1 of the month"),
    ("0 0 L * *", "at 00:00 on the last day of the month"),
    ("0 0 L-3 * *", "at 00:00 on the day 3 before the last of the month"),
    ("0 0 LW * *", "at 00:00 on the last Monday-to-Friday day of the month"),
    ("0 0 15W * *", "at 00:00 on the Monday-to-Friday day nearest to day 15"),
    ("0 0 * * 5L", "at 00:00 on the last Friday of the month"),
    ("0 0 * * MON#1,FRI#3", "at 00:00 on the 1st Monday of the month or the 3rd Friday of the month"),
    ("0 0 13 * FRI", "at 00:00 on day 13 of the month or Friday"),
    ("0 0 */2 * MON", "at 00:00 on every 2nd day from 1 of the month that is also Monday"),
    ("* * * * * *", "every second"),
    ("30 * * * * *", "at second 30 of every minute"),
    ("*/10 */5 3 * * *", "every 10 seconds of every 5th minute from 0 of hour 3"),
]


@pytest.mark.sem("SEM-SCHED-14")
@pytest.mark.parametrize(("cron", "phrase"), PHRASES)
def test_an_expression_is_told_in_plain_words(cron: str, phrase: str) -> None:
    """The words come from the sets that are evaluated."""
    assert explain_expression(parse_expression(cron)) == phrase


@pytest.mark.sem("SEM-SCHED-14")
def test_the_day_rule_and_the_clock_rule_are_told() -> None:
    """Either day is enough, and what happens at clock changes, stand in the explanation."""
    told = " ".join(explain(a_cron("0 2 13 * FRI", zone="Europe/Berlin", dst={"gap": "skip", "overlap": "both"})))

    assert "either is enough" in told
    assert "jumps over is left out" in told
    assert "repeats fires at both copies" in told
    assert "Europe/Berlin" in told


@pytest.mark.sem("SEM-SCHED-14")
@pytest.mark.parametrize(
    ("spec", "phrase"),
    [
        ({"runAt": "2026-12-01T00:00:00Z"}, "Fires once, at 2026-12-01T00:00:00.000Z."),
        ({"every": "PT90M"}, "Fires every PT1H30M of elapsed time"),
        ({"cron": "0 9 * * *", "startAt": "2026-12-01T00:00:00Z"}, "Nothing before 2026-12-01T00:00:00.000Z."),
        ({"cron": "0 9 * * *", "endAt": "2026-12-01T00:00:00Z"}, "Nothing after 2026-12-01T00:00:00.000Z."),
        ({"cron": "0 9 * * *", "maxRuns": 3}, "Ends after 3 runs."),
        ({"cron": ["0 9 * * *", "0 9 * * 1"]}, "Times that several expressions share fire once."),
    ],
)
def test_every_kind_and_bound_is_told(spec: dict[str, object], phrase: str) -> None:
    """One sentence each."""
    assert phrase in " ".join(explain(parse(spec)))


LINTS = [
    ("*/7 * * * *", {"uneven_step"}),
    ("0 */5 * * *", {"uneven_step"}),
    ("15 3 */2 * *", {"uneven_step"}),
    ("*/15 * * * *", set()),
    ("*/80 * * * *", {"step_beyond_field"}),
    ("22/50 * * * *", {"step_beyond_field"}),
    ("5 22/9 * * *", {"step_beyond_field"}),
    ("10-20/30,45 * * * *", {"step_beyond_field"}),
    ("9/50 * * * *", set()),
    ("0 0 * * *", {"herd"}),
    ("0 * * * *", {"herd"}),
    ("17 4 * * *", set()),
    ("15 3 31 * *", {"never_in_months"}),
    ("15 3 30 * *", {"never_in_months"}),
    ("15 3 29 * *", {"leap_years_only"}),
    ("15 3 29 2 *", {"leap_years_only"}),
    ("15 3 L * *", set()),
    ("15 3 13 * FRI", {"either_day"}),
    ("15 3 */10 * FRI", {"both_days", "uneven_step"}),
    ("30 0-23 * * *", {"range_is_not_star"}),
]


@pytest.mark.sem("SEM-SCHED-14")
@pytest.mark.parametrize(("cron", "codes"), LINTS)
def test_surprises_are_noted(cron: str, codes: set[str]) -> None:
    """Each trap has its note, and a plain schedule has none."""
    assert {note.code for note in lint(a_cron(cron))} == codes


@pytest.mark.sem("SEM-SCHED-14")
def test_a_note_says_what_to_write_instead() -> None:
    """Midnight offers the hashed form; day 31 names the months it misses."""
    herd = lint(a_cron("0 0 * * *"))[0]
    never = lint(a_cron("15 3 31 * *"))[0]
    beyond = lint(a_cron("22/50 * * * *"))[0]

    assert "H H * * *" in herd.message
    assert "minute 22/50 steps beyond the end, so only 22 matches; write 22" in beyond.message
    assert "February, April, June, September and November" in never.message


@pytest.mark.sem("SEM-SCHED-14")
def test_a_hashed_midnight_is_no_herd() -> None:
    """Chance may put a hashed job at 00:00; its author is not asked to hash it."""
    schedule = a_cron("0 0 * * *")

    assert [note.code for note in preview(schedule, NOW, 1, hashed=True).lint] == []
    assert lint(a_cron("30-59/31 * * * *"), hashed=True) == ()


@pytest.mark.sem("SEM-SCHED-14")
def test_clock_changes_ahead_are_noted() -> None:
    """The coming year's gap and repeated hour are named with their dates, where they touch the schedule."""
    touched = preview(a_cron("30 1 * * *", "30 2 * * *", zone="America/New_York"), NOW, 1)
    untouched = preview(a_cron("30 9 * * *", zone="America/New_York"), NOW, 1)

    notes = [note.message for note in touched.lint if note.code == "clock_change"]
    assert notes == [
        "2026-11-01T01:30 comes twice in America/New_York; fires at its first copy",
        "2027-03-14T02:30:00 does not exist in America/New_York; fires at 2027-03-14T07:00:00.000Z instead",
    ]
    assert untouched.lint == ()


@pytest.mark.sem("SEM-SCHED-14", "SEM-SCHED-9")
def test_a_local_time_that_falls_out_is_noted() -> None:
    """With `dst.gap: skip` the coming year's skipped time is named, as it is with `shift`; a time outside is not."""
    skipping = preview(a_cron("30 2 * * *", zone="Europe/Berlin", dst={"gap": "skip"}), NOW, 1)
    outside = preview(a_cron("30 3 * * *", zone="Europe/Berlin", dst={"gap": "skip"}), NOW, 1)

    notes = [note.message for note in skipping.lint if note.code == "clock_change"]
    assert [note.split(";")[0] for note in notes] == [
        "2026-10-25T02:30 comes twice in Europe/Berlin",
        "2027-03-28T02:30:00 does not exist in Europe/Berlin",
    ]
    assert "left out" in notes[1]
    assert outside.lint == ()


@pytest.mark.sem("SEM-SCHED-14")
def test_special_ticks_carry_a_note() -> None:
    """In the list of ticks the shifted one and both copies of a repeated time say so."""
    before = from_rfc3339("2026-11-01T05:00:00Z")
    twice = preview(a_cron("30 1 * * *", zone="America/New_York", dst={"overlap": "both"}), before, 3)
    gap = preview(a_cron("30 2 * * *", zone="America/New_York"), from_rfc3339("2027-03-14T00:00:00Z"), 1)

    assert [(tick.local[-6:], tick.note and tick.note.split(": ")[-1]) for tick in twice.ticks] == [
        ("-04:00", "this is the first"),
        ("-05:00", "this is the second"),
        ("-05:00", None),
    ]
    assert gap.ticks[0].local == "2027-03-14T03:00:00-04:00"
    assert gap.ticks[0].note is not None
    assert gap.ticks[0].note.startswith("2027-03-14T02:30:00 does not exist")


@pytest.mark.sem("SEM-SCHED-14")
def test_a_rare_schedule_says_when_it_is_next() -> None:
    """More than a year away is worth a note."""
    assert "rare" in {note.code for note in preview(a_cron("15 3 29 2 *"), NOW, 1).lint}


@pytest.mark.sem("SEM-SCHED-12", "SEM-SCHED-14")
def test_the_resolved_expressions_are_shown() -> None:
    """What is shown is what is evaluated: numbers in place of H and aliases."""
    shown = preview(a_cron("@daily~", "H/15 * * * *", identity=HashIdentity("t1", "j1")), NOW, 1)

    assert shown.resolved_cron[0] == "5 6 * * *"
    assert shown.resolved_cron[1].endswith("-59/15 * * * *")
    assert shown.tzdata == tzdata_version()


@pytest.mark.sem("SEM-SCHED-14", "SEM-SCHED-15")
def test_a_disagreement_of_the_second_engine_is_noted() -> None:
    """The first instant at which the two engines part is named; agreement and silence leave no note."""
    schedule = a_cron("15 3 * * *")
    ours = tuple(tick.at for tick in next_ticks(schedule, NOW, 3))
    theirs = (ours[0], Instant(ours[1] + HOUR_MS), ours[2])

    differing = preview(schedule, NOW, 3, second=theirs)

    assert [note.code for note in differing.lint] == ["second_engine"]
    assert "2026-10-22T04:15:00.000Z" in differing.lint[0].message
    assert preview(schedule, NOW, 3, second=ours).lint == ()
    assert preview(schedule, NOW, 3).lint == ()
    assert disagreement(next_ticks(schedule, NOW, 3), ours[:2]) == (ours[2], None)


@pytest.mark.sem("SEM-SCHED-14", "SEM-SCHED-18")
def test_a_preview_is_bounded() -> None:
    """However many ticks are asked for, a hundred are shown."""
    assert len(preview(a_cron("* * * * *"), NOW, 10**9).ticks) == 100


@pytest.mark.sem("SEM-SCHED-14")
@given(expressions, zones, instants)
def test_every_schedule_can_be_told(cron: str, zone: str, now: Instant) -> None:
    """No accepted expression, zone or instant leaves the preview without words, and its ticks are the schedule's."""
    schedule: Schedule = accepted(cron, zone=zone)

    shown = preview(schedule, now, 3)

    assert isinstance(schedule.kind, Cron)
    assert shown.resolved_cron == (schedule.kind.expressions[0].text,)
    assert shown.explanation[0].startswith("Fires ")
    assert [tick.at for tick in shown.ticks][:1] == [tick.at for tick in [next_tick(schedule, now)] if tick]
