"""What must hold of any text that is given to the cron parser or to the decoder of messages.

Each oracle raises AssertionError where a promise is broken; any other exception is one, too. Must not know where the
text comes from. Promises: SEM-SCHED-1, SEM-QUEUE-4.
"""

import json
from collections.abc import Callable, Mapping

from tests.support.builders import TICK, a_hint
from tickwright.adapters.sqs.messages import from_body, to_body
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import LANES
from tickwright.domain.schedules import ScheduleRefused, compact, explain, from_compact, lint, next_tick, parse

_TICKS = 3
_ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe")


def check_cron(text: str) -> None:
    """Refused with a reason; or stored and read back as it was, explained, and firing ever later."""
    zone = _ZONES[len(text) % len(_ZONES)]
    try:
        schedule = parse({"cron": text, "timezone": zone, "allowSeconds": True})
    except ScheduleRefused as refused:
        if not refused.errors:
            raise AssertionError("refused without a reason") from refused
        return
    assert from_compact(compact(schedule)) == schedule
    assert all(explain(schedule))
    lint(schedule)
    after = TICK
    for _ in range(_TICKS):
        tick = next_tick(schedule, after)
        if tick is None:
            return
        assert tick.at > after, f"{tick.at} is not after {after}"
        after = Instant(tick.at)


def check_hint(text: str) -> None:
    """No hint; or one of the lane that was asked for, which says the same when it is sent again."""
    for lane in LANES:
        hint = from_body(text, lane)
        if hint is None:
            continue
        assert hint.lane is lane
        assert from_body(to_body(hint), lane) == hint


def check_member(text: str) -> None:
    """A good message in which one member says something else: the text is its name, a space and its JSON."""
    name, _, said = text.partition(" ")
    envelope = json.loads(to_body(a_hint()))
    members = [f"{json.dumps(key)}:{said if key == name else json.dumps(value)}" for key, value in envelope.items()]
    check_hint("{" + ",".join(members) + "}")


def check_planted(text: str) -> None:
    """No promise of ours: every list in a good cron text breaks it, so that a search can be seen to find."""
    try:
        parse({"cron": text})
    except ScheduleRefused:
        return
    assert "," not in text


ORACLES: Mapping[str, Callable[[str], None]] = {"cron": check_cron, "hint": check_hint, "member": check_member}
PLANTED: Mapping[str, Callable[[str], None]] = {"planted": check_planted}

SEEDS: Mapping[str, tuple[str, ...]] = {
    "cron": (
        "* * * * *",
        "*/5 9-17 * * MON-FRI",
        "H H * * *",
        "0 0 L * ?",
        "0 12 ? * 2#3",
        "30 2 29 2 *",
        "0 0 1,15W * SUN",
        "@daily",
        "0 0 0 1 1 *",
        "H(0-29)/10 * * * *",
    ),
    "hint": (to_body(a_hint()), '{"v":2}', "[]", '{"v":1,"lane":["high"]}', "1e999"),
    "member": ('lane "high"', 'executionId "x.1"', "leaseEpoch true", "dueAt 1e400", "tenantId null", 'v "1"'),
    "planted": ("0 0 1 * *", "0 0 L * *"),
}

_OF_CRON = (
    ",0",
    ",5",
    "-7",
    "*/",
    "/2",
    "L",
    "LW",
    "15W",
    "#2",
    "?",
    "H",
    "H(0-9)",
    "MON",
    "JAN",
    "@yearly",
    " * ",
    "~",
)
_OF_JSON = ('":', ',"', "{}", "[]", "true", "null", "1e9", "-1", "\\ud800", "v", "lane", "dueAt", "leaseEpoch")

TOKENS: Mapping[str, tuple[str, ...]] = {
    "cron": _OF_CRON,
    "planted": _OF_CRON,
    "hint": _OF_JSON,
    "member": (*_OF_JSON, "executionId ", "tenantId ", "lane ", "dueAt ", "jobVersion ", "leaseEpoch ", "v "),
}
