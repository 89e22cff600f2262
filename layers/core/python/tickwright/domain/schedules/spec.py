"""Reads the schedule object of the API and refuses it with everything that must change.

Must not know the time: whether anything is still to come is asked of `refuse_if_never`. Whatever the size of the input,
lengths are looked at before contents. Promise: SEM-SCHED-2, SEM-SCHED-3.
"""

from collections.abc import Mapping

from tickwright.domain.instants import Instant
from tickwright.domain.schedules.calendars import CALENDAR_NAME_CHARS_MAX, is_calendar_name
from tickwright.domain.schedules.durations import duration_ms
from tickwright.domain.schedules.expression import DayMatch, Expression, from_resolved
from tickwright.domain.schedules.hashing import NOBODY, HashIdentity, slot
from tickwright.domain.schedules.members import Members, Place
from tickwright.domain.schedules.refusals import CronRefused, FieldError, ScheduleRefused, shown
from tickwright.domain.schedules.resolve import resolve, split, uses_hash
from tickwright.domain.schedules.ticks import next_tick
from tickwright.domain.schedules.values import Cron, Every, FireWindow, OneOff, Schedule
from tickwright.domain.schedules.zones import Gap, Overlap, load_zone

EXPRESSIONS_MAX = 20  # more would make one evaluation slower than a loop step allows
EXPRESSIONS_BYTES_MAX = 512  # with the calendars' names: the head item must stay under a kilobyte, one write unit
PERIOD_MS_MIN = 1_000  # the scheduler loop's own step
PERIOD_MS_MAX = 3_660 * 86_400_000  # ten years: longer is a mistake in the unit
RUNS_MAX = 1_000_000_000
WINDOW_S_MAX = 86_400  # a day: longer is another schedule
CALENDARS_MAX = 5  # each is looked at for every tick

_FIELDS_WITHOUT_SECONDS = 5
_MEMBERS_MAX = 32  # more than there are; a hostile object is refused before it is looked through

_REPEATED = {"timezone", "startAt", "endAt", "maxRuns", "window", "calendars"}
_ALLOWED = {
    "runAt": {"runAt", "timezone"},
    "every": {"every", "phase", *_REPEATED},
    "cron": {"cron", "dst", "dayMatch", "allowSeconds", *_REPEATED},
}
_KNOWN = set().union(*_ALLOWED.values())
_LATER = {
    "after": "leave it out; submit a job of its own with cron, every or runAt",
}


def parse(spec: Mapping[str, object], *, identity: HashIdentity | None = None) -> Schedule:
    """The schedule that the object describes, or ScheduleRefused with every error found."""
    if len(spec) > _MEMBERS_MAX:
        raise ScheduleRefused((FieldError("", "too_many", f"a schedule has no more than {_MEMBERS_MAX} members"),))
    members = Members({key: value for key, value in spec.items() if value is not None})
    kind_name = _kind_name(members)
    _check_names(members, kind_name)
    timezone = _timezone(members)
    start_at, end_at = members.instant("startAt"), members.instant("endAt")
    if start_at is not None and end_at is not None and end_at < start_at:
        members.refuse("endAt", "ends_before_start", "endAt is before startAt; write a later endAt or drop one of them")
    kind = _kind(members, kind_name, start_at, identity or NOBODY)
    gap, overlap = _clock_changes(members)
    max_runs = members.whole("maxRuns", 1, RUNS_MAX)
    window = _window(members, identity or NOBODY)
    calendars = _calendars(members, kind)
    members.raise_if_refused()
    assert kind is not None
    return Schedule(kind, timezone, start_at, end_at, max_runs, gap, overlap, window, calendars)


def refuse_if_never(schedule: Schedule, now: Instant) -> None:
    """Raise ScheduleRefused when nothing is left to fire after `now`."""
    if next_tick(schedule, now) is not None:
        return
    if isinstance(schedule.kind, OneOff):
        error = FieldError(
            "/runAt", "in_the_past", "runAt is not in the future; write a later instant, or run the job now"
        )
    else:
        error = FieldError(
            "", "never_fires", "no tick is left; check startAt and endAt, the days asked for, and dst.gap"
        )
    raise ScheduleRefused((error,))


def is_hashed(spec: Mapping[str, object]) -> bool:
    """Whether an accepted schedule has an H or a window, so that its times depend on whose it is."""
    if spec.get("window") is not None:
        return True
    cron = spec.get("cron")
    texts = [cron] if isinstance(cron, str) else cron
    return isinstance(texts, list) and any(uses_hash(split(text)) for text in texts)


def _kind_name(members: Members) -> str | None:
    given = [name for name in _ALLOWED if members.has(name)]
    if len(given) == 1:
        return given[0]
    found = f"has {' and '.join(given)}" if given else "has none of runAt, cron, every"
    hint = f'; a patch takes one away with null, such as "{given[-1]}": null' if given else ""
    members.refuse("", "one_kind", f"the schedule {found}; write exactly one of runAt, cron, every{hint}")
    return None


def _check_names(members: Members, kind_name: str | None) -> None:
    for name in members.names():
        if name in _LATER:
            members.refuse(name, "not_supported_yet", f"{name} is not supported yet; {_LATER[name]}")
        elif name not in _KNOWN:
            wanted = ", ".join(sorted(_KNOWN))
            members.refuse(
                name, "unknown_field", f"{shown(name)} is not a member of a schedule; the members are {wanted}"
            )
        elif kind_name is not None and name not in _ALLOWED[kind_name]:
            members.refuse(name, "not_applicable", f"{name} means nothing beside {kind_name}; leave it out")


def _timezone(members: Members) -> str:
    name = members.text("timezone", "an IANA name such as Europe/Berlin")
    if name is None:
        return "UTC"
    try:
        load_zone(name)
    except ValueError as problem:
        remedy = "write an IANA name such as Europe/Berlin, America/New_York or UTC"
        members.refuse("timezone", "unknown_zone", f"timezone {shown(name)} {problem}; {remedy}")
        return "UTC"
    return name


def _kind(
    members: Members, kind_name: str | None, start_at: Instant | None, identity: HashIdentity
) -> OneOff | Every | Cron | None:
    if kind_name == "runAt":
        run_at = members.instant("runAt")
        return None if run_at is None else OneOff(run_at)
    if kind_name == "every":
        return _every(members, start_at)
    return _cron(members, identity) if kind_name == "cron" else None


def _every(members: Members, start_at: Instant | None) -> Every | None:
    period = _duration(members, "every", PERIOD_MS_MIN, PERIOD_MS_MAX)
    if period is None:
        return None
    phase = _duration(members, "phase", 0, period - 1)
    if phase is None:
        # Without a phase the first tick is the start itself, which is what "every hour from 09:20" means.
        phase = 0 if start_at is None else start_at % period
    return Every(period, phase)


def _duration(members: Members, name: str, low: int, high: int) -> int | None:
    text = members.text(name, "an ISO 8601 duration such as PT15M")
    if text is None:
        return None
    try:
        length = duration_ms(text)
    except ValueError as problem:
        members.refuse(name, "bad_duration", f"{name} {shown(text)} {problem}")
        return None
    if not low <= length <= high:
        wanted = "from PT1S to P3660D" if name == "every" else "shorter than the period"
        members.refuse(name, "out_of_range", f"{name} {shown(text)} is out of range; write a duration {wanted}")
        return None
    return length


def _clock_changes(members: Members) -> tuple[Gap, Overlap]:
    inner = members.inner("dst", {"gap", "overlap"})
    return inner.choice("gap", Gap.SHIFT), inner.choice("overlap", Overlap.FIRST)


def _window(members: Members, identity: HashIdentity) -> FireWindow | None:
    width_s = members.whole("window", 1, WINDOW_S_MAX)
    return None if width_s is None else FireWindow(width_s, slot(identity, "window", width_s))


def _calendars(members: Members, kind: OneOff | Every | Cron | None) -> tuple[str, ...]:
    texts = members.texts("calendars", CALENDARS_MAX, "the name of a calendar") if members.has("calendars") else []
    names: list[str] = []
    for place, name in texts:
        if not is_calendar_name(name):
            rest = f"use up to {CALENDAR_NAME_CHARS_MAX} letters, digits and . _ -, letter or digit first"
            members.refuse(place, "bad_value", f"{shown(name)} is no name of a calendar; {rest}")
        elif name in names:
            members.refuse(place, "repeated", f"{shown(name)} is named twice; name each calendar once")
        else:
            names.append(name)
    texts_stored = [one.text for one in kind.expressions] if isinstance(kind, Cron) else []
    if names and sum(map(len, [*names, *texts_stored])) > EXPRESSIONS_BYTES_MAX:
        rest = f"exceed {EXPRESSIONS_BYTES_MAX} characters; use shorter names or fewer"
        members.refuse("calendars", "too_long", f"the names and the expressions together {rest}")
    return tuple(names)


def _cron(members: Members, identity: HashIdentity) -> Cron | None:
    day_match = members.choice("dayMatch", DayMatch.OR)
    allow_seconds = members.flag("allowSeconds")
    texts = members.texts("cron", EXPRESSIONS_MAX, "a cron expression such as 0 6 * * 1-5")
    if sum(len(text) for _, text in texts) > EXPRESSIONS_BYTES_MAX:
        members.refuse(
            "cron", "too_long", f"the expressions together exceed {EXPRESSIONS_BYTES_MAX} characters; use fewer"
        )
        return None
    found: dict[str, Expression] = {}
    for place, text in texts:
        expression = _expression(members, place, text, (identity, day_match, allow_seconds))
        if expression is not None:
            found.setdefault(expression.text, expression)
    # Resolving an H may lengthen a text, and what is stored is the resolved one.
    if sum(map(len, found)) > EXPRESSIONS_BYTES_MAX:
        members.refuse(
            "cron", "too_long", f"the resolved expressions exceed {EXPRESSIONS_BYTES_MAX} characters; use fewer"
        )
    return Cron(tuple(found.values()), day_match, allow_seconds) if found else None


def _expression(
    members: Members, place: Place, text: str, how: tuple[HashIdentity, DayMatch, bool]
) -> Expression | None:
    identity, day_match, allow_seconds = how
    try:
        fields = split(text)
        if len(fields) > _FIELDS_WITHOUT_SECONDS and not allow_seconds:
            rest = "has six fields, seconds first; set allowSeconds to true, or drop the first"
            members.refuse(place, "seconds_not_allowed", f"{shown(text)} {rest}")
            return None
        return from_resolved(" ".join(resolve(fields, identity)), day_match)
    except CronRefused as refusal:
        members.refuse(place, refusal.code, refusal.message)
        return None
