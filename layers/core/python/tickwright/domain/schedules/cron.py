"""The two questions that tests, benchmarks and the replay of recorded answers ask of one expression.

Must not know schedules: no start, end or policy beside the defaults. H hashes empty ids here. Promise: SEM-SCHED-3.
"""

from datetime import UTC, datetime, timedelta

from tickwright.domain.instants import from_datetime
from tickwright.domain.schedules.expression import parse_expression
from tickwright.domain.schedules.refusals import CronRefused
from tickwright.domain.schedules.zoned import next_zoned
from tickwright.domain.schedules.zones import load_zone, zone_under

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def next_times(expr: str, tz: str, start: datetime, n: int) -> list[datetime]:
    """The next n ticks as aware UTC datetimes, each strictly later than `start`; fewer if the calendar ends."""
    expression = parse_expression(expr)
    load_zone(tz)
    zone = zone_under(tz)
    found: list[datetime] = []
    from_s = from_datetime(start) // 1000 + 1
    while len(found) < n:
        tick = next_zoned(expression, zone, from_s)
        if tick is None:
            break
        assert tick.at >= from_s
        found.append(_EPOCH + timedelta(seconds=tick.at))
        from_s = tick.at + 1
    return found


def validate(expr: str) -> bool:
    """Whether the expression would be accepted, with six fields allowed."""
    try:
        parse_expression(expr)
    except CronRefused:
        return False
    return True
