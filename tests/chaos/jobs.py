"""The hundred jobs of a run and what their owners do with them.

Drawn from the seed, each job from a stream of its own. A job's body is what the API would be sent; its payload tells
the code that runs it what to do. Its rhythm is stated beside it, so that its ticks are known without the product.
Must not know who is killed when.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from tests.chaos.history import Beat, Closing, Expect, Once, Rhythm
from tickwright.domain.instants import Instant, to_rfc3339

RETRY_MS_MAX = 1_000  # the longest backoff of all jobs
MANY_ATTEMPTS = 12  # a worker is killed under an attempt far less often than this
Body = dict[str, Any]


class Wish(Enum):
    """What an owner asks for while the job lives."""

    PAUSE = "pause"
    RESUME = "resume"
    EDIT = "edit"
    CANCEL = "cancel"
    RUN_NOW = "run_now"
    STOP_ONE = "stop_one"  # cancel the newest execution that is unfinished
    REDRIVE = "redrive"  # the newest execution that is dead, again
    ORDER = "order"  # all that are dead, again, one after the other
    CANCEL_ORDER = "cancel_order"  # the last one that was given
    DISCARD = "discard"  # the newest execution that is dead, off the list
    REPEAT = "repeat"  # the submit again, with the same key and body
    PUT_CALENDAR = "put_calendar"  # one that the job names, with other contents
    RETIRE = "retire"  # one that the job names
    NAME_TWICE = "name_twice"  # another job of the same name
    KEY_TWICE = "key_twice"  # another body under the key of the submit
    STALE = "stale"  # changes of what was read before the last change
    FOREIGN = "foreign"  # everything that there is to ask, by another tenant
    LIST_JOBS = "list_jobs"
    LEDGER = "ledger"  # the job's executions, page by page, and what they wait for
    VERSIONS = "versions"  # of the job, and of its calendars
    PREVIEW = "preview"  # of an edit, with nothing written
    ATTENTION = "attention"  # what of the tenant's is dead


QUESTIONS = frozenset(  # after which everything stands as it stood
    {
        Wish.KEY_TWICE,
        Wish.STALE,
        Wish.FOREIGN,
        Wish.LIST_JOBS,
        Wish.LEDGER,
        Wish.VERSIONS,
        Wish.PREVIEW,
        Wish.ATTENTION,
    }
)
_OF_MANY = frozenset({Wish.ORDER, Wish.CANCEL_ORDER, Wish.DISCARD})
ONLY_SIMULATED = QUESTIONS | _OF_MANY | {Wish.PUT_CALENDAR, Wish.RETIRE, Wish.NAME_TWICE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """A wish at a time; an edit brings the new body and its rhythm, and perhaps from when it counts."""

    at_ms: int
    wish: Wish
    body: Body | None = None
    rhythm: Rhythm | None = None
    counts_at_ms: int | None = None
    drops_waiting: bool = False
    closing: Closing | None = None
    twice: bool = False  # the request is sent again, as it was


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One job. Times of errands are milliseconds after the start of the run; rhythms are instants."""

    name: str
    submit_at_ms: int
    body: Body
    rhythm: Rhythm
    expect: Expect = Expect.SUCCEED
    overlaps: bool = False
    catches_up_paused: bool = False
    tenant: str = "chaos"
    runs_max: int | None = None
    rate_per_min: int | None = None
    closings: tuple[Closing, ...] = ()  # the calendars that its schedule names, as they are put before its submit
    errands: tuple[Errand, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """When the run begins, and how long jobs have ticks."""

    start_ms: int
    last_tick_ms: int  # after the start

    @property
    def until_ms(self) -> int:
        """The last instant at which a job may tick."""
        return self.start_ms + self.last_tick_ms


Maker = Callable[[random.Random, Span], Plan]


def plans(seed: int, span: Span) -> list[Plan]:
    """All jobs with their errands."""
    made = []
    for number, (kind, maker) in enumerate([(kind, maker) for kind, count, maker in KINDS for _ in range(count)]):
        draw = random.Random(f"{seed}/job/{number}")
        plan = replace(maker(draw, span), name=f"{kind}-{number}")
        made.append(replace(plan, errands=errands_of(kind, plan, draw, span)))
    return made


# --- bodies --------------------------------------------------------------------------------------------------------
def body_of(handler: str, does: Mapping[str, object], *, attempts: int = MANY_ATTEMPTS, **more: object) -> Body:
    """All but the schedule."""
    return {
        "target": {"type": "python", "handler": handler},
        "payload": dict(does),
        "retryPolicy": {
            "maxAttempts": attempts,
            "backoff": {"initialSec": 0.2, "factor": 1.5, "maxSec": RETRY_MS_MAX // 1_000},
        },
        "timeoutSec": 60,
        **more,
    }


def sent(plan: Plan, body: Body, version: int) -> Body:
    """The body as it is sent: its payload says of which version it is, and how long an attempt may take."""
    told = {"version": version, "timeoutMs": body["timeoutSec"] * 1_000}
    return {**body, "name": plan.name, "payload": {**body["payload"], **told}}


def _once(draw: random.Random, span: Span, body: Body, *, soon: bool = False) -> Plan:
    submit_at_ms = draw.randint(0, span.last_tick_ms // 2)
    low_ms, high_ms = (20, 400) if soon else (500, span.last_tick_ms - submit_at_ms)
    at = Instant(span.start_ms + submit_at_ms + draw.randint(low_ms, high_ms))
    schedule = {"runAt": to_rfc3339(at)}
    return Plan(name="", submit_at_ms=submit_at_ms, body={**body, "schedule": schedule}, rhythm=Once(at_ms=at))


def beat_of(draw: random.Random, span: Span, body: Body, *, period_s: tuple[int, int]) -> Plan:
    """A job with a tick each period."""
    seconds = draw.randint(*period_s)
    phase_ms = draw.choice((0, 0, 250, 500, 700))
    schedule, rhythm = every(seconds, phase_ms, span)
    return Plan(name="", submit_at_ms=draw.randint(0, 9_000), body={**body, "schedule": schedule}, rhythm=rhythm)


def every(seconds: int, phase_ms: int, span: Span) -> tuple[Body, Beat]:
    """A schedule by period, and the same in plain numbers."""
    schedule = {"every": f"PT{seconds}S", "phase": f"PT0.{phase_ms:03d}S", "endAt": to_rfc3339(Instant(span.until_ms))}
    return schedule, Beat(period_ms=seconds * 1_000, phase_ms=phase_ms, until_ms=span.until_ms)


def quick_body(draw: random.Random) -> Body:
    """One whose attempts are short."""
    return body_of("wait", {"ms": draw.randint(40, 700)})


def _make_once(draw: random.Random, span: Span) -> Plan:
    return _once(draw, span, quick_body(draw))


def _make_soon(draw: random.Random, span: Span) -> Plan:
    return _once(draw, span, quick_body(draw), soon=True)


def _make_beat(draw: random.Random, span: Span) -> Plan:
    return beat_of(draw, span, quick_body(draw), period_s=(1, 3))


def _make_wide(draw: random.Random, span: Span) -> Plan:
    """Runs of the same job side by side, and every missed tick made up for."""
    does = {"ms": draw.randint(900, 3_500)}
    body = body_of("wait", does, overlap={"mode": "allow"}, catchup={"mode": "all"})
    return replace(beat_of(draw, span, body, period_s=(2, 3)), overlaps=True)


def _make_cron(draw: random.Random, span: Span) -> Plan:
    step = draw.choice((2, 3, 5))
    schedule = {"cron": f"*/{step} * * * * *", "allowSeconds": True, "endAt": to_rfc3339(Instant(span.until_ms))}
    rhythm = Beat(period_ms=step * 1_000, phase_ms=0, until_ms=span.until_ms)
    body = {**quick_body(draw), "schedule": schedule, "priority": draw.choice(("high", "normal", "low"))}
    return Plan(name="", submit_at_ms=draw.randint(0, 9_000), body=body, rhythm=rhythm)


def _make_flaky(draw: random.Random, span: Span) -> Plan:
    body = body_of("wait", {"ms": draw.randint(40, 400), "failsUntil": 3})
    return beat_of(draw, span, body, period_s=(4, 7)) if draw.random() < 0.6 else _once(draw, span, body)


def _make_fatal(draw: random.Random, span: Span) -> Plan:
    body = body_of("wait", {"ms": 50, "ends": "fatal"})
    return replace(_once(draw, span, body), expect=Expect.DIE)


def _make_hopeless(draw: random.Random, span: Span) -> Plan:
    body = body_of("wait", {"ms": 50, "failsUntil": 1_000}, attempts=2)
    return replace(_once(draw, span, body), expect=Expect.DIE)


def _make_slow(draw: random.Random, span: Span) -> Plan:
    """Longer than the lease: lives by its heartbeats."""
    return _once(draw, span, body_of("wait", {"ms": draw.randint(4_000, 8_000)}))


def _make_slow_beat(draw: random.Random, span: Span) -> Plan:
    body = body_of("wait", {"ms": draw.randint(2_200, 5_000)})
    return beat_of(draw, span, body, period_s=(2, 3))


def _make_deaf(draw: random.Random, span: Span) -> Plan:
    """Code in a thread, which cannot be stopped."""
    body = body_of("deaf", {"ms": draw.randint(1_000, 3_000)}, overlap={"mode": "allow"})
    return replace(beat_of(draw, span, body, period_s=(3, 4)), overlaps=True)


def _make_later(draw: random.Random, span: Span) -> Plan:
    return _once(draw, span, body_of("wait", {"ms": 100, "laterUntil": 3}))


def _make_overtime(draw: random.Random, span: Span) -> Plan:
    """Its first attempt is longer than its time limit."""
    return _once(draw, span, {**body_of("wait", {"ms": 100, "firstMs": 4_000}), "timeoutSec": 1})


def _make_hog(draw: random.Random, span: Span) -> Plan:
    """Its first attempt holds up its whole process for longer than a lease."""
    return _once(draw, span, body_of("hog", {"ms": 100, "firstMs": 3_600}))


def _make_careless(draw: random.Random, span: Span) -> Plan:
    """Missed ticks are not made up for."""
    return beat_of(draw, span, {**quick_body(draw), "catchup": {"mode": "none"}}, period_s=(1, 2))


def _make_thorough(draw: random.Random, span: Span) -> Plan:
    """Ticks of a pause are made up for."""
    body = {**quick_body(draw), "catchup": {"mode": "all", "onResume": "catchup"}}
    return replace(beat_of(draw, span, body, period_s=(2, 3)), catches_up_paused=True)


KINDS: tuple[tuple[str, int, Maker], ...] = (
    ("once", 20, _make_once),
    ("soon", 5, _make_soon),
    ("beat", 14, _make_beat),
    ("wide", 7, _make_wide),
    ("cron", 7, _make_cron),
    ("flaky", 8, _make_flaky),
    ("fatal", 4, _make_fatal),
    ("hopeless", 3, _make_hopeless),
    ("slow", 7, _make_slow),
    ("slowbeat", 6, _make_slow_beat),
    ("deaf", 5, _make_deaf),
    ("later", 3, _make_later),
    ("overtime", 3, _make_overtime),
    ("hog", 2, _make_hog),
    ("careless", 3, _make_careless),
    ("thorough", 3, _make_thorough),
)


# --- errands -------------------------------------------------------------------------------------------------------
_OFTEN = {"beat", "wide", "cron", "slowbeat", "deaf", "careless", "flaky"}


def errands_of(kind: str, plan: Plan, draw: random.Random, span: Span) -> tuple[Errand, ...]:
    """What happens to a job: at most one story each, at any time of the run."""
    low_ms, high_ms = plan.submit_at_ms + 1_500, span.last_tick_ms - 1_500
    at_ms = draw.randint(min(low_ms, high_ms), high_ms)
    if kind == "thorough":
        return paused(at_ms, draw)
    story = draw.random()
    if kind in _OFTEN:
        return _often(story, plan, at_ms, draw, span)
    if kind == "slow" and story < 0.4:
        return (Errand(at_ms=_near(plan, span, draw, 500, 4_000), wish=Wish.STOP_ONE),)
    if plan.expect is Expect.DIE and story < 0.6:
        return tuple(Errand(at_ms=_near(plan, span, draw, 1_000, 6_000), wish=Wish.REDRIVE) for _ in range(2))
    if story < 0.15:
        return (Errand(at_ms=_near(plan, span, draw, -400, 1_500), wish=Wish.CANCEL),)
    if story < 0.25:
        return (Errand(at_ms=plan.submit_at_ms + draw.randint(1, 3_000), wish=Wish.REPEAT),)
    return ()


def _often(story: float, plan: Plan, at_ms: int, draw: random.Random, span: Span) -> tuple[Errand, ...]:
    if story < 0.18:
        return (Errand(at_ms=at_ms, wish=Wish.CANCEL),)
    if story < 0.40:
        return paused(at_ms, draw)
    if story < 0.62:
        return _edits(plan, at_ms, draw, span)
    if story < 0.85:
        return tuple(Errand(at_ms=at_ms + n * draw.randint(300, 2_000), wish=Wish.RUN_NOW) for n in range(3))
    return (Errand(at_ms=plan.submit_at_ms + draw.randint(1, 3_000), wish=Wish.REPEAT),)


def paused(at_ms: int, draw: random.Random) -> tuple[Errand, ...]:
    """Paused, perhaps run by hand meanwhile, then resumed, cancelled or left alone."""
    found = [Errand(at_ms=at_ms, wish=Wish.PAUSE)]
    if draw.random() < 0.3:
        found.append(Errand(at_ms=at_ms + 200, wish=Wish.RUN_NOW))
    then = draw.random()
    if then < 0.85:
        wish = Wish.RESUME if then < 0.7 else Wish.CANCEL
        found.append(Errand(at_ms=at_ms + draw.randint(100, 5_000), wish=wish))
    return tuple(found)


def _edits(plan: Plan, at_ms: int, draw: random.Random, span: Span) -> tuple[Errand, ...]:
    """New periods, once or twice; what runs and how it overlaps stays."""
    found = []
    for number in range(draw.randint(1, 2)):
        schedule, rhythm = every(draw.randint(1, 4), draw.choice((0, 300, 600)), span)
        body = {**plan.body, "schedule": schedule}
        when_ms = at_ms + number * draw.randint(200, 3_000)
        found.append(Errand(at_ms=when_ms, wish=Wish.EDIT, body=body, rhythm=rhythm))
    return tuple(found)


def _near(plan: Plan, span: Span, draw: random.Random, low_ms: int, high_ms: int) -> int:
    """A moment around the tick of a one-off."""
    assert isinstance(plan.rhythm, Once)
    return max(plan.submit_at_ms + 1, plan.rhythm.at_ms - span.start_ms + draw.randint(low_ms, high_ms))
