"""The jobs of a simulation: those of the chaos run, and beside them what only here is asked for.

Several tenants, priorities, windows, calendars, bounds, catch-up policies and edits that wait; and what owners
ask for besides. Drawn like the others, each job from a stream of its own. Must not know faults.
"""

import hashlib
import random
from collections.abc import Callable
from dataclasses import replace

from tests.chaos.history import Beat, Closing, Expect, Once, Rhythm, Slots
from tests.chaos.jobs import (
    KINDS,
    QUESTIONS,
    Body,
    Errand,
    Maker,
    Plan,
    Span,
    Wish,
    beat_of,
    body_of,
    errands_of,
    every,
    paused,
    quick_body,
)
from tickwright.domain.instants import Instant, to_rfc3339

TENANTS = ("north", "east", "south")
_PRIORITIES = ("high", "normal", "low")
_DAY = "2026-12-01"  # of NOON, on which every simulation plays
_OTHER_DAY = "2026-12-02"
_QUESTIONS = sorted(QUESTIONS, key=lambda wish: wish.value)
_ENDS_MS = 1_500  # so long before the last tick the last errand is begun


# --- bodies --------------------------------------------------------------------------------------------------------
def _window(draw: random.Random, span: Span) -> Plan:
    """Each tick in the job's slot of a window, which may be wider than there is room; settled once it has its name."""
    made = beat_of(draw, span, quick_body(draw), period_s=(2, 4))
    body = {**made.body, "schedule": {**made.body["schedule"], "window": draw.choice((1, 2, 3, 4, 60))}}
    return replace(made, body=body)


def _closed(draw: random.Random, span: Span) -> Plan:
    """Closed by one or two calendars for a while, or for the day."""
    made = beat_of(draw, span, quick_body(draw), period_s=(1, 2))
    closings = tuple(_closing(draw, span, f"calendar-{number}") for number in range(draw.randint(1, 2)))
    named = {"calendars": [closing.name for closing in closings]}
    return replace(made, body={**made.body, "schedule": {**made.body["schedule"], **named}}, closings=closings)


def _closing(draw: random.Random, span: Span, name: str) -> Closing:
    """Mostly a stretch or two; now and then the whole day, or another one."""
    if draw.random() < 0.2:
        return Closing(name=name, excludes=draw.random() < 0.5, days=(draw.choice((_DAY, _OTHER_DAY)),))
    cuts = sorted(span.start_ms + draw.randint(0, span.last_tick_ms) for _ in range(4))
    stretches = ((cuts[0], cuts[1] + 1), (cuts[2] + 2, cuts[3] + 3))
    return Closing(name=name, excludes=draw.random() < 0.7, stretches=stretches[: draw.randint(1, 2)])


def _bounded(draw: random.Random, span: Span) -> Plan:
    """So many runs, or not before an instant, from which the beat counts if it has no phase of its own.

    Some runs outlast their beat: what is skipped for them is no run.
    """
    made = beat_of(draw, span, body_of("wait", {"ms": draw.randint(40, 2_500)}), period_s=(1, 3))
    schedule, rhythm = dict(made.body["schedule"]), made.rhythm
    assert isinstance(rhythm, Beat)
    most = draw.randint(1, 5) if draw.random() < 0.6 else None
    if most is not None:
        schedule["maxRuns"] = most
    if most is None or draw.random() < 0.5:
        from_ms = span.start_ms + draw.randint(1, span.last_tick_ms - 5_000)
        schedule["startAt"] = to_rfc3339(Instant(from_ms))
        rhythm = replace(rhythm, from_ms=from_ms)
        if draw.random() < 0.5:
            del schedule["phase"]
            rhythm = replace(rhythm, phase_ms=from_ms % rhythm.period_ms)
    return replace(made, body={**made.body, "schedule": schedule}, rhythm=rhythm, runs_max=most)


def _paced(draw: random.Random, span: Span) -> Plan:
    """Of what was missed the newest few, or at a rate."""
    rate = draw.choice((30, 60, 120, 240)) if draw.random() < 0.7 else None
    catch_up: Body = {"mode": "all"} if rate is None else {"mode": "all", "ratePerMin": rate}
    if rate is None or draw.random() < 0.5:
        catch_up["maxRuns"] = draw.randint(1, 4)
    overlap = {"mode": draw.choice(("allow", "skip"))}
    body = {**quick_body(draw), "catchup": catch_up, "overlap": overlap}
    made = beat_of(draw, span, body, period_s=(1, 2))
    return replace(made, overlaps=overlap["mode"] == "allow", rate_per_min=rate)


def _turning(draw: random.Random, span: Span) -> Plan:
    """One whose edits wait."""
    return beat_of(draw, span, quick_body(draw), period_s=(1, 3))


def _patient(draw: random.Random, span: Span) -> Plan:
    """Ticks of a pause are made up for, those from before an edit that waits first."""
    body = {**quick_body(draw), "catchup": {"mode": "all", "onResume": "catchup"}}
    return replace(beat_of(draw, span, body, period_s=(1, 3)), catches_up_paused=True)


def _hasty(draw: random.Random, span: Span) -> Plan:
    """One whose runs have little time for all their attempts."""
    does = {"ms": draw.randint(40, 700), "failsUntil": draw.randint(1, 5)}
    body = body_of("wait", does, runDeadlineSec=draw.randint(1, 4))
    return beat_of(draw, span, body, period_s=(2, 4))


EXTRA: tuple[tuple[str, int, Maker], ...] = (
    ("window", 8, _window),
    ("closed", 12, _closed),
    ("bounded", 8, _bounded),
    ("paced", 7, _paced),
    ("turning", 14, _turning),
    ("hasty", 5, _hasty),
    ("patient", 4, _patient),
)
KINDS_HERE = tuple((kind, weight, maker) for kind, weight, maker in KINDS if kind != "hog") + EXTRA  # a pause is a hog

_DYING = tuple(one for one in KINDS_HERE if one[0] in {"fatal", "hopeless", "hasty"})


def _has_dead(seed: int) -> bool:
    """Each tenth seed is about dead letters."""
    return seed % 10 == 7


def job_of(seed: int, number: int, span: Span) -> Plan:
    """The job of this number: its tenant, its name, its priority, and all that is done with it."""
    draw = random.Random(f"{seed}/job/{number}")
    kinds = _DYING if _has_dead(seed) and number % 2 == 0 else KINDS_HERE
    kind, _, maker = draw.choices(kinds, [weight for _, weight, _ in kinds])[0]
    made = _elsewhere(seed, number, maker(draw, span))
    # Now and then a name that each tenant has a job of.
    name = f"job-{number // len(TENANTS)}" if draw.random() < 0.3 else f"{kind}-{number}"
    body = {"priority": draw.choice(_PRIORITIES), **made.body}
    made = _its_own(replace(made, name=name, tenant=TENANTS[number % len(TENANTS)], body=body), number)
    made = replace(made, rhythm=_in_window(made, made.body["schedule"], made.rhythm))
    errands = _ERRANDS.get(kind, _of_chaos(kind))(made, draw, span)
    asked = [*_asked(made, draw, span), *_of_the_dead(seed, number, made, span)]
    return replace(made, errands=tuple(sorted((*errands, *asked), key=lambda errand: errand.at_ms)))


def _elsewhere(seed: int, number: int, plan: Plan) -> Plan:
    """Each tenth seed: half of the jobs that are short hand their runs over, some to somebody who is silent at first.

    From a stream of its own, so that no other draw moves.
    """
    does, draw = plan.body["payload"], random.Random(f"{seed}/elsewhere/{number}")
    if seed % 10 != 4 or plan.body["target"]["handler"] != "wait" or does["ms"] > 3_000 or draw.random() < 0.5:
        return plan
    over = {"overMs": draw.choice((0, 5, 300)), "silentUntil": draw.choice((0, 0, 1))}
    return replace(plan, body={**plan.body, "payload": {**does, **over}, "timeoutSec": 5})


def _of_the_dead(seed: int, number: int, plan: Plan, span: Span) -> list[Errand]:
    """What a job has dead is redriven by orders, some of which are taken back, or is discarded."""
    draw = random.Random(f"{seed}/dead/{number}")
    if not _has_dead(seed) or (plan.expect is not Expect.DIE and "runDeadlineSec" not in plan.body):
        return []
    from_ms = plan.rhythm.at_ms - span.start_ms if isinstance(plan.rhythm, Once) else plan.submit_at_ms
    until_ms = span.last_tick_ms - _ENDS_MS
    wishes = [wish for wish in (Wish.ORDER, Wish.ORDER, Wish.CANCEL_ORDER, Wish.DISCARD) if draw.random() < 0.6]
    return [Errand(at_ms=draw.randint(min(from_ms + 300, until_ms), until_ms), wish=wish) for wish in wishes]


def _its_own(plan: Plan, number: int) -> Plan:
    """With calendars of its own: what one owner puts is nothing to another, and a plan without a job has the rest."""
    if not plan.closings:
        return plan
    closings = tuple(replace(one, name=f"{one.name}-of-{number}") for one in plan.closings)
    schedule = {**plan.body["schedule"], "calendars": [one.name for one in closings]}
    return replace(plan, closings=closings, body={**plan.body, "schedule": schedule})


def _in_window(plan: Plan, schedule: Body, rhythm: Rhythm) -> Rhythm:
    """The beat in its slots. The shift is that of tenant, job and the word window, as docs/cron.md says."""
    width_s = schedule.get("window")
    if width_s is None or not isinstance(rhythm, Beat):
        return rhythm
    parts = [part.encode() for part in (plan.tenant, plan.name, "window", "")]
    told = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    shift_s = int.from_bytes(hashlib.sha256(told).digest()[:8], "big") % width_s
    return Slots(beat=rhythm, width_s=width_s, shift_s=shift_s)


# --- errands -------------------------------------------------------------------------------------------------------
Story = Callable[[Plan, random.Random, Span], tuple[Errand, ...]]


def _of_chaos(kind: str) -> Story:
    return lambda plan, draw, span: errands_of(kind, plan, draw, span)


def _time(plan: Plan, draw: random.Random, span: Span) -> int:
    low_ms, high_ms = plan.submit_at_ms + 200, span.last_tick_ms - _ENDS_MS
    return draw.randint(min(low_ms, high_ms), high_ms)


def _usual(plan: Plan, draw: random.Random, span: Span) -> tuple[Errand, ...]:
    """What may happen to any job that fires often; what its schedule says stays."""
    at_ms, story = _time(plan, draw, span), draw.random()
    if story < 0.25:
        return (Errand(at_ms=at_ms, wish=Wish.CANCEL),)
    if story < 0.55:
        return paused(at_ms, draw)
    if story < 0.75:
        return tuple(
            Errand(at_ms=at_ms + n * draw.randint(200, 1_500), wish=Wish.RUN_NOW, twice=n == 1) for n in range(2)
        )
    return ()


def _edits_here(plan: Plan, draw: random.Random, span: Span) -> tuple[Errand, ...]:
    """Edits, each with what the schedule names besides, now or from an instant on."""
    found = []
    at_ms = _time(plan, draw, span)
    for _ in range(draw.randint(1, 3)):
        schedule, beat = every(draw.randint(1, 4), draw.choice((0, 300, 600)), span)
        schedule = {**plan.body["schedule"], **schedule}
        waits_ms = min(at_ms + draw.randint(100, 5_000), span.last_tick_ms - 4_500)
        found.append(
            Errand(
                at_ms=at_ms,
                wish=Wish.EDIT,
                body={**plan.body, "schedule": schedule},
                rhythm=_in_window(plan, schedule, beat),
                counts_at_ms=waits_ms if draw.random() < 0.7 and waits_ms > at_ms else None,
                drops_waiting=draw.random() < 0.5,
            )
        )
        at_ms += draw.randint(100, 3_000)
    return tuple(found)


def _turns(plan: Plan, draw: random.Random, span: Span) -> tuple[Errand, ...]:
    """Edits that wait, and what else happens meanwhile."""
    return (*_edits_here(plan, draw, span), *_usual(plan, draw, span))


def _windows(plan: Plan, draw: random.Random, span: Span) -> tuple[Errand, ...]:
    return _edits_here(plan, draw, span) if draw.random() < 0.4 else _usual(plan, draw, span)


def _puts(plan: Plan, draw: random.Random, span: Span) -> tuple[Errand, ...]:
    """Calendars that are put again or retired while the job goes by them."""
    found = []
    for _ in range(draw.randint(0, 3)):
        name = draw.choice(plan.closings).name
        at_ms = _time(plan, draw, span)
        found.append(Errand(at_ms=at_ms, wish=Wish.PUT_CALENDAR, closing=_closing(draw, span, name)))
    if draw.random() < 0.3:
        found.append(Errand(at_ms=_time(plan, draw, span), wish=Wish.RETIRE))
    more = _edits_here if draw.random() < 0.3 else _usual
    return (*found, *more(plan, draw, span))


def _edited_before_pause(plan: Plan, draw: random.Random, span: Span) -> tuple[Errand, ...]:
    edit = _edits_here(plan, draw, span)[0]
    return (edit, *paused(edit.at_ms + draw.randint(1, 2_500), draw))


def _redriven(plan: Plan, draw: random.Random, span: Span) -> tuple[Errand, ...]:
    again = tuple(Errand(at_ms=_time(plan, draw, span), wish=Wish.REDRIVE) for _ in range(2))
    return again if draw.random() < 0.5 else _usual(plan, draw, span)


_ERRANDS: dict[str, Story] = {
    "window": _windows,
    "closed": _puts,
    "bounded": _usual,
    "paced": _windows,
    "turning": _turns,
    "hasty": _redriven,
    "patient": _edited_before_pause,
}


def _asked(plan: Plan, draw: random.Random, span: Span) -> list[Errand]:
    """What an owner wants to know, and what must be refused."""
    wishes = [wish for wish in _QUESTIONS if draw.random() < 0.12]
    wishes += [Wish.NAME_TWICE] if isinstance(plan.rhythm, Beat) and not plan.closings and draw.random() < 0.1 else []
    return [Errand(at_ms=_time(plan, draw, span), wish=wish) for wish in wishes]
