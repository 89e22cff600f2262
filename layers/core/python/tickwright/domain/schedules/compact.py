"""The stored form of a schedule: short JSON text in the job's head item, evaluated thousands of times a second.

Every H is resolved in it, so that it can be evaluated without knowing whose it is. Must not know the store. What it
writes it reads back for ever; a new member is optional and means "as before" when absent. Promise: SEM-SCHED-13.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, assert_never

from tickwright.domain.instants import Instant
from tickwright.domain.schedules.expression import DayMatch, from_resolved
from tickwright.domain.schedules.values import Cron, Every, FireWindow, OneOff, Schedule
from tickwright.domain.schedules.zones import Gap, Overlap

# Members: r runAt, p period, h phase, c cron texts, d day match, x seconds allowed, z zone, s start, e end, m max runs,
# g gap, o overlap, w window (width and shift), k calendars. A member that has its default is left out.


def compact(schedule: Schedule) -> str:
    """The stored form."""
    members = _of_kind(schedule.kind) | {
        "z": None if schedule.timezone == "UTC" else schedule.timezone,
        "s": schedule.start_at,
        "e": schedule.end_at,
        "m": schedule.max_runs,
        "g": None if schedule.dst_gap is Gap.SHIFT else schedule.dst_gap.value,
        "o": None if schedule.dst_overlap is Overlap.FIRST else schedule.dst_overlap.value,
        "w": None if schedule.window is None else [schedule.window.width_s, schedule.window.shift_s],
        "k": list(schedule.calendars) or None,
    }
    kept = {key: value for key, value in members.items() if value is not None}
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=True)


@lru_cache(maxsize=8192)
def from_compact(text: str) -> Schedule:
    """The schedule that was stored; a text that `compact` never wrote is a bug and raises."""
    members = json.loads(text)
    return Schedule(
        kind=_kind(members),
        timezone=members.get("z", "UTC"),
        start_at=members.get("s"),
        end_at=members.get("e"),
        max_runs=members.get("m"),
        dst_gap=Gap(members.get("g", Gap.SHIFT)),
        dst_overlap=Overlap(members.get("o", Overlap.FIRST)),
        window=FireWindow(*members["w"]) if "w" in members else None,
        calendars=tuple(members.get("k", ())),
    )


def _of_kind(kind: OneOff | Every | Cron) -> dict[str, object]:
    match kind:
        case OneOff(run_at):
            return {"r": run_at}
        case Every(period_ms, phase_ms):
            return {"p": period_ms, "h": phase_ms or None}
        case Cron(expressions, day_match, allow_seconds):
            texts = [expression.text for expression in expressions]
            match_and = None if day_match is DayMatch.OR else day_match.value
            return {"c": texts, "d": match_and, "x": 1 if allow_seconds else None}
        case _:
            assert_never(kind)


def _kind(members: Mapping[str, Any]) -> OneOff | Every | Cron:
    if "r" in members:
        return OneOff(Instant(members["r"]))
    if "p" in members:
        return Every(members["p"], members.get("h", 0))
    day_match = DayMatch(members.get("d", DayMatch.OR))
    expressions = tuple(from_resolved(one, day_match) for one in members["c"])
    return Cron(expressions, day_match, allow_seconds=bool(members.get("x")))
