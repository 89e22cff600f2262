"""The nominal ticks of a schedule, before its window moves them: next, latest, and how many between two instants.

Every answer is strictly on the asked side of its instant, and every search is bounded. Must not know the time (`after`
comes from the caller), nor windows. Promise: SEM-SCHED-6, SEM-SCHED-7, SEM-SCHED-16 to 18.
"""

from datetime import UTC, datetime, timedelta
from typing import assert_never

from tickwright.domain.instants import Instant
from tickwright.domain.schedules.count import count_cron
from tickwright.domain.schedules.values import Cron, Every, OneOff, Schedule, Tick
from tickwright.domain.schedules.zoned import UTC_MAX, ZonedTick, next_zoned, previous_zoned

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def next_nominal(schedule: Schedule, after: Instant) -> Tick | None:
    """The first tick strictly later than `after`, or None if there is none ever again."""
    earliest = after if schedule.start_at is None else max(after, schedule.start_at - 1)
    tick = _next(schedule, earliest)
    if tick is None or (schedule.end_at is not None and tick.at > schedule.end_at):
        return None
    assert tick.at > after
    return tick


def latest_nominal(schedule: Schedule, at_most: Instant, not_before: Instant) -> Tick | None:
    """The last tick at or before `at_most` and strictly later than `not_before`."""
    low, high = _within(schedule, not_before, at_most)
    tick = _previous(schedule, high, low) if low < high else None
    assert tick is None or not_before < tick.at <= at_most
    return tick


def count_nominal(schedule: Schedule, after: Instant, until: Instant, limit: int) -> tuple[int, bool]:
    """How many ticks are later than `after` and not later than `until`; (limit, False) means at least the limit."""
    low, high = _within(schedule, after, until)
    if low >= high:
        return 0, True
    match schedule.kind:
        case OneOff(run_at):
            return int(low < run_at <= high), True
        case Every(period_ms, phase_ms):
            count = (high - phase_ms) // period_ms - (low - phase_ms) // period_ms
        case Cron():
            count, whole = count_cron(schedule.kind.expressions, schedule.zone, (low // 1000 + 1, high // 1000), limit)
            if not whole:
                return limit, False
        case _:
            assert_never(schedule.kind)
    return (count, True) if count <= limit else (limit, False)


def _within(schedule: Schedule, after: int, until: int) -> tuple[int, int]:
    """The span (after, until] cut to start and end."""
    low = after if schedule.start_at is None else max(after, schedule.start_at - 1)
    high = until if schedule.end_at is None else min(until, schedule.end_at)
    return low, high


def _next(schedule: Schedule, after: int) -> Tick | None:
    match schedule.kind:
        case Cron(expressions):
            from_s = after // 1000 + 1
            if len(expressions) == 1:
                # The innermost loop of the product; the general form costs half as much again.
                return _as_tick(next_zoned(expressions[0], schedule.zone, from_s))
            found = [next_zoned(expression, schedule.zone, from_s) for expression in expressions]
            return _as_tick(min(filter(None, found), key=_plain_first, default=None))
        case Every(period_ms, phase_ms):
            at = phase_ms + ((after - phase_ms) // period_ms + 1) * period_ms
            return Tick(Instant(at)) if at <= UTC_MAX * 1000 else None
        case OneOff(run_at):
            return Tick(run_at) if run_at > after else None
        case _:
            assert_never(schedule.kind)


def _previous(schedule: Schedule, at_most: int, after: int) -> Tick | None:
    match schedule.kind:
        case OneOff(run_at):
            return Tick(run_at) if after < run_at <= at_most else None
        case Every(period_ms, phase_ms):
            at = phase_ms + (at_most - phase_ms) // period_ms * period_ms
            return Tick(Instant(at)) if at > after else None
        case Cron(expressions):
            span = (at_most // 1000, after // 1000 + 1)
            found = [previous_zoned(expression, schedule.zone, *span) for expression in expressions]
            return _as_tick(max(filter(None, found), key=_plain_last, default=None))
        case _:
            assert_never(schedule.kind)


def _plain_first(tick: ZonedTick) -> tuple[int, bool]:
    return tick.at, tick.nominal is not None


def _plain_last(tick: ZonedTick) -> tuple[int, bool]:
    return tick.at, tick.nominal is None


def _as_tick(tick: ZonedTick | None) -> Tick | None:
    """Of several expressions' ticks at one instant, one that is not shifted speaks for all."""
    if tick is None:
        return None
    nominal = None if tick.nominal is None else local_text(tick.nominal)
    return Tick(Instant(tick.at * 1000), nominal)


def local_text(local_s: int) -> str:
    """A local second as 2026-03-29T02:30:00, without an offset: it may not exist."""
    return (_EPOCH + timedelta(seconds=local_s)).replace(tzinfo=None).isoformat()
