"""When how many ticks fall together: a tenant's ticks a minute, counted from the stored schedules.

Equal schedules are evaluated once, and the work is bounded: what is left out is told. Must not know the store, nor
what ticks a job has missed. Promise: SEM-SCHED-20.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.schedules import (
    NO_CALENDARS,
    Calendar,
    Cron,
    Every,
    Schedule,
    closing_at,
    count_ticks,
    from_compact,
    named_by,
    next_tick,
    open_ticks,
)

MINUTE_MS = 60_000
SPAN_MS_MAX = 86_400_000  # a day: 1,440 numbers, under 100 KB of an answer
STEPS_MAX = 30_000  # a step takes some 10 microseconds: a third of a second for the whole map
_TICKS_A_MINUTE_MAX = 60  # no schedule fires more often than each second


@dataclass(frozen=True, slots=True, kw_only=True)
class Herd:
    """Ticks by the minute in which they fall, without the empty ones; of how many jobs; whether any were left out."""

    minutes: Mapping[Instant, int]
    jobs: int
    truncated: bool


def herd_of(
    heads: Iterable[Head],
    since: Instant,
    until: Instant,
    *,
    steps_max: int = STEPS_MAX,
    calendars: Mapping[str, Calendar] = NO_CALENDARS,
) -> Herd:
    """Count the ticks of all jobs that are due, from `since` until just before `until`.

    `calendars`: those of the tenant whose jobs they are; a tick that one of them closes is none.
    """
    assert since % MINUTE_MS == until % MINUTE_MS == 0
    assert 0 < until - since <= SPAN_MS_MAX
    alike = Counter((head.schedule, head.runs if _ends(head) else 0) for head in heads if head.next_run_at is not None)
    totals: Counter[Instant] = Counter()
    steps, jobs = 0, 0
    # The most frequent schedules first: what a full budget leaves out are jobs that share theirs with few.
    for (text, runs), times in alike.most_common():
        if steps >= steps_max:
            return Herd(minutes=totals, jobs=jobs, truncated=True)
        schedule = from_compact(text)
        closing = named_by(schedule, calendars)
        found, looks = _looked_at(schedule, closing, (since, until), runs)
        totals.update({minute: count * times for minute, count in found.items()})
        steps += (looks + 1) * (_weight(schedule) + len(closing))
        jobs += times
    return Herd(minutes=totals, jobs=jobs, truncated=False)


def scaled(herd: Herd, buckets_read: int, buckets: int) -> Herd:
    """What is in all buckets, judged by those that were read: each holds about as much. Nothing rounds to none."""
    assert 0 < buckets_read <= buckets

    def whole(count: int) -> int:
        return (count * buckets + buckets_read // 2) // buckets_read

    return replace(herd, minutes={at: whole(count) for at, count in herd.minutes.items()}, jobs=whole(herd.jobs))


def minutes_of(
    schedule: Schedule, since: Instant, until: Instant, runs: int = 0, *, calendars: Sequence[Calendar] = ()
) -> dict[Instant, int]:
    """The open ticks of one schedule in [since, until) by minute."""
    return _looked_at(schedule, calendars, (since, until), runs)[0]


def _looked_at(
    schedule: Schedule, calendars: Sequence[Calendar], span: tuple[Instant, Instant], runs: int
) -> tuple[dict[Instant, int], int]:
    """The ticks by minute, in one step a minute that has any and one a closed stretch; and how many steps those are."""
    several = _fires_within_a_minute(schedule)
    left = None if schedule.max_runs is None else schedule.max_runs - runs
    found: dict[Instant, int] = {}
    before, steps = Instant(span[0] - 1), 0
    while left is None or left > 0:
        tick = next_tick(schedule, before)
        if tick is None or tick.at >= span[1]:
            break
        steps += 1
        closing = closing_at(calendars, schedule.timezone, tick.at)
        if closing is not None:
            before = Instant(closing.until - 1)
            continue
        minute = Instant(tick.at - tick.at % MINUTE_MS)
        last = Instant(minute + MINUTE_MS - 1)
        count = _count(schedule, calendars, before, last) if several else 1
        found[minute] = count if left is None else min(count, left)
        left = None if left is None else left - count
        before = last
    return found, steps


def _count(schedule: Schedule, calendars: Sequence[Calendar], before: Instant, last: Instant) -> int:
    """The open ticks of a minute, or of what is left of it."""
    if not calendars:
        return count_ticks(schedule, before, last, _TICKS_A_MINUTE_MAX)[0]
    return sum(tick.at <= last for tick in open_ticks(schedule, calendars, before, _TICKS_A_MINUTE_MAX))


def _ends(head: Head) -> bool:
    """Whether the runs so far matter to what is still to come."""
    return from_compact(head.schedule).max_runs is not None


def _weight(schedule: Schedule) -> int:
    each = 1 if schedule.window is None else 4  # a slot asks for the ticks around it
    return each * (len(schedule.kind.expressions) if isinstance(schedule.kind, Cron) else 1)


def _fires_within_a_minute(schedule: Schedule) -> bool:
    """Whether two ticks may fall into one minute."""
    if isinstance(schedule.kind, Every):
        # The last slot before the end shrinks, so that it may share its minute with the one before.
        return schedule.kind.period_ms < MINUTE_MS or schedule.window is not None
    return isinstance(schedule.kind, Cron) and any(one.second_bits != 1 for one in schedule.kind.expressions)
