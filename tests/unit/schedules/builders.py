"""Builders that show only what matters to a test of schedules."""

from datetime import datetime

from tickwright.domain.instants import Instant, from_datetime, from_rfc3339, to_rfc3339
from tickwright.domain.schedules import HashIdentity, Schedule, ScheduleRefused, next_tick, parse


def a_cron(*expressions: str, zone: str = "UTC", identity: HashIdentity | None = None, **members: object) -> Schedule:
    """A cron schedule in a zone; six fields are allowed."""
    spec = {"cron": list(expressions), "timezone": zone, "allowSeconds": True, **members}
    return parse(spec, identity=identity)


def ticks(schedule: Schedule, start: str, count: int) -> list[str]:
    """The next ticks after an instant, as text without the milliseconds that cron never has."""
    found: list[str] = []
    after = from_rfc3339(start)
    while len(found) < count:
        tick = next_tick(schedule, after)
        if tick is None:
            break
        found.append(short(tick.at))
        after = tick.at
    return found


def span(schedule: Schedule, low: datetime, high: datetime) -> list[Instant]:
    """Every tick in (low, high]."""
    found: list[Instant] = []
    tick = next_tick(schedule, from_datetime(low))
    while tick is not None and tick.at <= from_datetime(high):
        found.append(tick.at)
        tick = next_tick(schedule, tick.at)
    return found


def short(at: Instant) -> str:
    """The instant as 2026-01-01T00:05Z, with seconds only where it has some."""
    text = to_rfc3339(at).removesuffix(".000Z")
    return f"{text.removesuffix(':00')}Z"


def refusal(spec: dict[str, object]) -> dict[str, str]:
    """The code of each refused pointer; empty if the schedule is accepted."""
    try:
        parse(spec)
    except ScheduleRefused as refused:
        return {error.pointer: error.code for error in refused.errors}
    return {}
