"""Is a schedule object read as it was meant, and refused with everything that must change?"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.schedules.builders import a_cron, refusal
from tests.unit.schedules.conftest import CpuClock
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.schedules import (
    Cron,
    DayMatch,
    Every,
    FireWindow,
    Gap,
    HashIdentity,
    OneOff,
    Overlap,
    Schedule,
    ScheduleRefused,
    compact,
    from_compact,
    next_tick,
    parse,
    refuse_if_never,
)

HOUR_MS = 3_600_000
NOW = from_rfc3339("2026-11-29T22:57:33Z")


def test_an_instant_makes_a_one_off() -> None:
    """`runAt` with any offset is one instant."""
    assert parse({"runAt": "2026-12-01T10:00:00+01:00"}).kind == OneOff(from_rfc3339("2026-12-01T09:00:00Z"))


@pytest.mark.sem("SEM-SCHED-16")
def test_an_interval_without_phase_starts_at_its_start() -> None:
    """`every` with `startAt` counts from the start; with `phase`, from the epoch plus the phase."""
    start = "2026-12-01T09:20:00Z"

    assert parse({"every": "PT1H", "startAt": start}).kind == Every(HOUR_MS, 20 * 60_000)
    assert parse({"every": "PT1H", "startAt": start, "phase": "PT5M"}).kind == Every(HOUR_MS, 5 * 60_000)
    assert parse({"every": "PT1H"}).kind == Every(HOUR_MS, 0)


def test_a_cron_takes_all_its_options() -> None:
    """Each member of the object arrives in its place."""
    schedule = parse(
        {
            "cron": ["0 9 * * 1-5", "30 17 1 * 5"],
            "timezone": "Europe/Berlin",
            "startAt": "2026-12-01T00:00:00Z",
            "endAt": "2027-12-01T00:00:00Z",
            "maxRuns": 10,
            "dst": {"gap": "skip", "overlap": "both"},
            "dayMatch": "and",
            "window": 600,
            "calendars": ["holidays", "freeze"],
        }
    )

    assert isinstance(schedule.kind, Cron)
    assert [one.text for one in schedule.kind.expressions] == ["0 9 * * 1-5", "30 17 1 * 5"]
    assert schedule.kind.day_match is DayMatch.AND
    assert (schedule.timezone, schedule.max_runs) == ("Europe/Berlin", 10)
    assert (schedule.dst_gap, schedule.dst_overlap) == (Gap.SKIP, Overlap.BOTH)
    assert schedule.window is not None
    assert (schedule.window.width_s, schedule.calendars) == (600, ("holidays", "freeze"))
    assert schedule.start_at == from_rfc3339("2026-12-01T00:00:00Z")
    assert schedule.end_at == from_rfc3339("2027-12-01T00:00:00Z")


def test_null_means_absent() -> None:
    """A member that is null has its default, so that a client may send all of them."""
    assert parse({"cron": "0 0 * * *", "every": None, "timezone": None, "dst": None}) == parse({"cron": "0 0 * * *"})


def test_the_same_expression_twice_is_kept_once() -> None:
    """Different spellings of one schedule, an alias among them, leave one expression."""
    schedule = a_cron("@daily", "0 0 * * *", "0\t0  * * *")

    assert isinstance(schedule.kind, Cron)
    assert [one.text for one in schedule.kind.expressions] == ["0 0 * * *"]


REFUSALS: list[tuple[dict[str, object], dict[str, str]]] = [
    ({}, {"": "one_kind"}),
    ({"cron": "* * * * *", "every": "PT1M"}, {"": "one_kind"}),
    ({"cron": []}, {"/cron": "bad_value"}),
    ({"cron": 5}, {"/cron": "bad_value"}),
    ({"cron": ["* * * * *", 7]}, {"/cron/1": "bad_value"}),
    ({"cron": ["* * * * *", "61 * * * *", "* 24 * * *"]}, {"/cron/1": "out_of_range", "/cron/2": "out_of_range"}),
    ({"cron": ["* * * * *"] * 21}, {"/cron": "too_many"}),
    ({"cron": ["0 0 * * *" + " " * 230] * 3}, {"/cron": "too_long"}),
    ({"cron": "0 0 * * *" + " " * 250}, {"/cron": "too_long"}),
    ({"cron": "* * * * * *"}, {"/cron": "seconds_not_allowed"}),
    ({"cron": "* * * * * * *", "allowSeconds": True}, {"/cron": "field_count"}),
    ({"cron": "* * * * *", "timezone": 3}, {"/timezone": "bad_value"}),
    ({"cron": "* * * * *", "dayMatch": "xor"}, {"/dayMatch": "bad_value"}),
    ({"cron": "* * * * *", "allowSeconds": "yes"}, {"/allowSeconds": "bad_value"}),
    ({"cron": "* * * * *", "dst": "skip"}, {"/dst": "bad_value"}),
    (
        {"cron": "* * * * *", "dst": {"gap": 1, "fold": "first"}},
        {"/dst/gap": "bad_value", "/dst/fold": "unknown_field"},
    ),
    ({"cron": "* * * * *", "maxRuns": 0}, {"/maxRuns": "bad_value"}),
    ({"cron": "* * * * *", "maxRuns": True}, {"/maxRuns": "bad_value"}),
    ({"cron": "* * * * *", "startAt": "tomorrow"}, {"/startAt": "bad_instant"}),
    (
        {"cron": "* * * * *", "startAt": "2026-12-02T00:00:00Z", "endAt": "2026-12-01T00:00:00Z"},
        {"/endAt": "ends_before_start"},
    ),
    ({"cron": "* * * * *", "phase": "PT1M"}, {"/phase": "not_applicable"}),
    ({"every": "PT1M", "dst": {}}, {"/dst": "not_applicable"}),
    ({"runAt": "2026-12-01T00:00:00Z", "maxRuns": 1}, {"/maxRuns": "not_applicable"}),
    ({"runAt": "2026-12-01T00:00:00"}, {"/runAt": "bad_instant"}),
    ({"every": "P1M"}, {"/every": "bad_duration"}),
    ({"every": "PT0.5S"}, {"/every": "out_of_range"}),
    ({"every": "P3661D"}, {"/every": "out_of_range"}),
    ({"every": "PT1M", "phase": "PT1M"}, {"/phase": "out_of_range"}),
    ({"after": "another"}, {"": "one_kind", "/after": "not_supported_yet"}),
    ({"cron": "* * * * *", "window": 0}, {"/window": "bad_value"}),
    ({"cron": "* * * * *", "window": 86_401}, {"/window": "bad_value"}),
    ({"every": "PT1M", "window": True}, {"/window": "bad_value"}),
    ({"every": "PT1M", "window": "PT1M"}, {"/window": "bad_value"}),
    ({"runAt": "2026-12-01T00:00:00Z", "window": 60}, {"/window": "not_applicable"}),
    ({"runAt": "2026-12-01T00:00:00Z", "calendars": ["a"]}, {"/calendars": "not_applicable"}),
    ({"cron": "* * * * *", "calendars": []}, {"/calendars": "bad_value"}),
    ({"cron": "* * * * *", "calendars": {"a": 1}}, {"/calendars": "bad_value"}),
    (
        {"cron": "* * * * *", "calendars": ["a", 7, ".b", "c/d", ""]},
        {
            "/calendars/1": "bad_value",
            "/calendars/2": "bad_value",
            "/calendars/3": "bad_value",
            "/calendars/4": "bad_value",
        },
    ),
    ({"cron": "* * * * *", "calendars": ["a", "b", "a"]}, {"/calendars/2": "repeated"}),
    ({"cron": "* * * * *", "calendars": list("abcdef")}, {"/calendars": "too_many"}),
    ({"cron": "* * * * *", "calendars": ["a" * 65]}, {"/calendars/0": "bad_value"}),
    (
        {
            "cron": ["0 " + ",".join(map(str, range(24))) + f" {day} * *" for day in (1, 2, 3)],
            "calendars": [letter * 64 for letter in "abcde"],
        },
        {"/calendars": "too_long"},
    ),
    ({"cron": "* * * * *", "tz": "UTC"}, {"/tz": "unknown_field"}),
    ({"cron": "* * * * *", "a/b~c": 1}, {"/a~1b~0c": "unknown_field"}),
    ({f"member{number}": 1 for number in range(1_000)}, {"": "too_many"}),
]


@pytest.mark.sem("SEM-SCHED-2")
@pytest.mark.parametrize(("spec", "codes"), REFUSALS, ids=[str(sorted(codes.items())) for _, codes in REFUSALS])
def test_a_refusal_names_every_member_that_must_change(spec: dict[str, object], codes: dict[str, str]) -> None:
    """All errors come in one answer, each with its pointer and code."""
    assert refusal(spec) == codes


MEGABYTE = 1_000_000
HUGE: list[dict[str, object]] = [
    {"cron": "*" * MEGABYTE},
    {"cron": ["* " * (MEGABYTE // 2)]},
    {"cron": ["*"] * MEGABYTE},
    {"cron": {str(number): number for number in range(100_000)}},
    {"every": "P" + "1" * MEGABYTE + "D"},
    {"every": "PT" + "9" * MEGABYTE},
    {"runAt": "2" * MEGABYTE},
    {"cron": "* * * * *", "timezone": "A/" * (MEGABYTE // 2)},
    {"cron": "* * * * *", "x" * MEGABYTE: 1},
    {"cron": "* * * * *", "maxRuns": 10**4_000},
    {"cron": "* * * * *", "dst": {str(number): number for number in range(100_000)}},
    {str(number): number for number in range(100_000)},
    {"cron": "0-59,0-59,0-59,0-59,0-59,0-59,0-59,0-59,0-59,0-59,0-59,0-59,0-59,0-59,0-59,0-59,61 * * * *"},
    {"cron": "H(" + "0" * 200 + "-" + "1" * 30 + ") * * * *"},
]


@pytest.mark.sem("SEM-SCHED-2", "SEM-SCHED-18")
@pytest.mark.parametrize("spec", HUGE, ids=range(len(HUGE)))
def test_a_megabyte_is_refused_in_milliseconds_with_a_short_answer(spec: dict[str, object], cpu_ms: CpuClock) -> None:
    """Length is looked at before content, and an answer never gives the input back."""
    best = min(cpu_ms(lambda: refusal(spec)) for _ in range(3))

    with pytest.raises(ScheduleRefused) as refused:
        parse(spec)
    assert best < 5
    assert len(str(refused.value)) < 5_000


@pytest.mark.sem("SEM-SCHED-2")
@given(
    st.dictionaries(
        st.sampled_from(
            [
                "cron",
                "every",
                "runAt",
                "timezone",
                "startAt",
                "endAt",
                "maxRuns",
                "dst",
                "phase",
                "x",
                "window",
                "calendars",
            ],
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=5,
        ),
        max_size=5,
    )
)
def test_any_json_is_a_schedule_or_a_refusal(spec: dict[str, object]) -> None:
    """Whatever JSON comes, the answer is a schedule or errors with pointer and code, never another exception."""
    for pointer, code in refusal(spec).items():
        assert pointer == "" or pointer.startswith("/")
        assert code


@pytest.mark.sem("SEM-SCHED-4")
@given(st.text(alphabet="0123456789*/,-LW#H?()@~ \tMONJAdaily", max_size=40))
def test_any_text_is_an_expression_or_a_refusal(text: str) -> None:
    """Whatever is typed from the letters of the dialect is accepted or refused; nothing else happens."""
    errors = refusal({"cron": text})

    assert errors == {} or set(errors) == {"/cron"}


@pytest.mark.parametrize(
    ("spec", "pointer", "code"),
    [
        ({"runAt": "2026-11-29T22:57:33Z"}, "/runAt", "in_the_past"),
        ({"cron": "* * * * *", "endAt": "2026-11-29T22:57:33Z"}, "", "never_fires"),
        # The second Sunday of March is the day of the change there, so 02:30 is always in the gap.
        (
            {"cron": "30 2 * 3 0#2", "timezone": "America/New_York", "dst": {"gap": "skip"}},
            "",
            "never_fires",
        ),
    ],
)
def test_what_has_nothing_left_to_fire_is_refused(spec: dict[str, object], pointer: str, code: str) -> None:
    """B033: a schedule whose next tick does not exist is refused at creation, in bounded time."""
    with pytest.raises(ScheduleRefused) as refused:
        refuse_if_never(parse(spec), NOW)

    assert [(error.pointer, error.code) for error in refused.value.errors] == [(pointer, code)]


def test_what_has_something_left_to_fire_is_not_refused() -> None:
    """The same shift-policy schedule has ticks, and so has one that ends after its next tick."""
    shifted = parse({"cron": "30 2 * 3 0#2", "timezone": "America/New_York"})
    ending = parse({"cron": "* * * * *", "endAt": "2026-11-29T22:58:00Z"})

    for schedule in (shifted, ending):
        refuse_if_never(schedule, NOW)
        assert next_tick(schedule, NOW) is not None


@pytest.mark.sem("SEM-SCHED-13")
def test_the_stored_form_stays_readable() -> None:
    """These texts are in stores already: they read back as what they meant when they were written."""
    stored = {
        '{"c":["0 9 * * 1-5"],"d":"and","x":1,"z":"Europe/Berlin","s":1,"e":2,"m":3,"g":"skip","o":"both"}': Schedule(
            kind=a_cron("0 9 * * 1-5", dayMatch="and").kind,
            timezone="Europe/Berlin",
            start_at=Instant(1),
            end_at=Instant(2),
            max_runs=3,
            dst_gap=Gap.SKIP,
            dst_overlap=Overlap.BOTH,
        ),
        '{"p":60000,"h":5000}': Schedule(Every(60_000, 5_000)),
        '{"p":60000,"w":[30,7],"k":["holidays","freeze"]}': Schedule(
            Every(60_000), window=FireWindow(30, 7), calendars=("holidays", "freeze")
        ),
        '{"r":1795993053000}': Schedule(OneOff(NOW)),
    }

    for text, schedule in stored.items():
        assert from_compact(text) == schedule
        assert compact(schedule) == text


@pytest.mark.sem("SEM-SCHED-13")
def test_the_largest_stored_form_fits_the_head_item() -> None:
    """Twenty expressions of the longest kind, every option set: under 900 bytes of ASCII."""
    expressions = [f"{number} " + "1,2,3,4,5,6,7,8" + " * * *" for number in range(20)]
    schedule = parse(
        {
            "cron": expressions,
            "timezone": "America/Argentina/ComodRivadavia",
            "startAt": "2026-12-01T00:00:00Z",
            "endAt": "9990-12-01T00:00:00Z",
            "maxRuns": 1_000_000_000,
            "dst": {"gap": "skip", "overlap": "second"},
            "dayMatch": "and",
            "allowSeconds": True,
            "window": 86_400,
        },
        identity=HashIdentity("t", "j"),
    )

    text = compact(schedule)
    assert json.loads(text)
    assert len(text.encode()) < 900
    assert text.isascii()
