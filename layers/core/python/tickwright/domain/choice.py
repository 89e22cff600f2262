"""Which tick is fired of those that are due, and which are passed over, and why.

Must not know a store, nor whether the job is occupied. A tick that a calendar closes is passed over, in time or late; a
tick found late is missed, and the catch-up policy says what becomes of it. Every answer is found in bounded steps.
Promises: SEM-CATCHUP-1 to SEM-CATCHUP-4, SEM-CAL-3, SEM-SCHED-9.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tickwright.domain import limits
from tickwright.domain.executions import PassedOver, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import CatchUpMode, Head
from tickwright.domain.pending import decided_through
from tickwright.domain.schedules import Gap, OneOff, Schedule, Stretch, count_ticks, gap_skips, latest_tick, next_tick

Closed = Callable[[Instant], Stretch | None]
_STRETCHES_MAX = 400  # a year of closed days, each on its own
_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which tick is fired of those that are due, if any, and which are passed over.

    `gap`: local times before them that the clock jumped over. `not_before`: at the catch-up's rate the tick is too
    early, and nothing is decided until then.
    """

    fire: Instant | None
    passed: PassedOver | None
    gap: PassedOver | None = None
    expired: bool = False
    not_before: Instant | None = None


_STEPS_PAST = Choice(fire=None, passed=None)


def choose(head: Head, schedule: Schedule, *, now: Instant, missed_after_ms: int, closed: Closed) -> Choice:
    """What becomes of the tick that a head is due for, and of those behind it that are late as well."""
    due = head.next_run_at
    assert due is not None
    if head.passed_through is not None and due <= head.passed_through:
        return _STEPS_PAST  # told of already: an edit on an older reading has brought it back
    choice = _chosen(head, schedule, now=now, missed_after_ms=missed_after_ms, closed=closed)
    return replace(choice, gap=gap_before(head, schedule, due))


def _chosen(head: Head, schedule: Schedule, *, now: Instant, missed_after_ms: int, closed: Closed) -> Choice:
    due = head.next_run_at
    assert due is not None
    stretch = closed(due)
    if stretch is not None:
        return Choice(fire=None, passed=_closed_range(schedule, due, stretch, now))
    if now - due <= missed_after_ms:
        return Choice(fire=due, passed=None)
    match head.catch_up.mode:
        case CatchUpMode.ALL:
            return _choose_all(head, schedule, now=now, closed=closed)
        case CatchUpMode.LATEST:
            return _choose_latest(head, schedule, now=now, closed=closed)
        case CatchUpMode.NONE:
            return Choice(fire=None, passed=_range(schedule, due, until=now))


def _choose_latest(head: Head, schedule: Schedule, *, now: Instant, closed: Closed) -> Choice:
    due = head.next_run_at
    assert due is not None
    fire = _latest_open(schedule, due, (Instant(now - head.catch_up.window_s * 1_000), now), closed)
    return Choice(fire=fire, passed=_range(schedule, due, until=now if fire is None else Instant(fire - 1)))


def _latest_open(schedule: Schedule, due: Instant, span: tuple[Instant, Instant], closed: Closed) -> Instant | None:
    """The last tick of a span that no calendar closes; None if a bounded search finds none, not an older one."""
    since, until = span
    latest = _latest(schedule, due, until)
    for _ in range(_STRETCHES_MAX):
        if latest < since:
            return None
        stretch = closed(latest)
        if stretch is None:
            return latest
        latest = _latest(schedule, due, Instant(stretch.since - 1))
    return None


def _choose_all(head: Head, schedule: Schedule, *, now: Instant, closed: Closed) -> Choice:
    due = head.next_run_at
    assert due is not None
    horizon = _horizon(head, schedule, due, now)
    if due >= horizon:
        too_early = _too_early(head, now)
        return Choice(fire=None if too_early else due, passed=None, not_before=too_early)
    if isinstance(schedule.kind, OneOff):
        return Choice(fire=due, passed=None, expired=True)  # never silently dropped: it ends DEAD (semantics 3)
    first = next_tick(schedule, Instant(horizon - 1))
    fire = None if first is None or first.at > now else first.at
    passed = _range(schedule, due, until=now if fire is None else Instant(fire - 1))
    # One that is closed, or too early for the rate, is looked at when it is the due one.
    waits = fire is not None and (closed(fire) is not None or _too_early(head, now) is not None)
    return Choice(fire=None if waits else fire, passed=passed)


def _horizon(head: Head, schedule: Schedule, due: Instant, now: Instant) -> Instant:
    """The oldest instant whose ticks are made up: by the window, and by how many are made up at most."""
    horizon = Instant(now - head.catch_up.window_s * 1_000)
    if head.catch_up.max_runs is None or isinstance(schedule.kind, OneOff):
        return horizon
    most = min(head.catch_up.max_runs, limits.CATCHUP_RUNS_MAX)  # whoever wrote the head: the walk is one by one
    since = Instant(max(due, horizon) - 1)
    if count_ticks(schedule, since, now, most + 1)[0] <= most:
        return horizon
    newest = now
    for _ in range(most - 1):
        newest = Instant(_latest(schedule, due, newest) - 1)
    return max(horizon, _latest(schedule, due, newest))


def _too_early(head: Head, now: Instant) -> Instant | None:
    """When the next missed tick may be fired at the rate of the policy, if that is still to come."""
    rate = head.catch_up.rate_per_min
    if rate is None or head.fired_at is None:
        return None
    at = Instant(head.fired_at + -(-_MINUTE_MS // rate))  # rounded up: never one too many a minute
    return at if at > now else None


def _closed_range(schedule: Schedule, due: Instant, stretch: Stretch, now: Instant) -> PassedOver:
    """The ticks of a closed stretch: the late ones, and those of the coming minute.

    No more, so that a stretch that is lifted is over within a minute.
    """
    until = Instant(min(stretch.until - 1, max(now, due + limits.CLOSED_AHEAD_MS)))
    return _counted(schedule, due, until, Reason.BLACKOUT, by=stretch.by)


def gap_before(head: Head, schedule: Schedule, due: Instant) -> PassedOver | None:
    """The ticks before the due one that fell into a gap and are left out by the schedule's own wish."""
    if schedule.dst_gap is not Gap.SKIP:
        return None
    since = Instant(max(decided_through(head), head.created_at))
    before = latest_tick(schedule, Instant(due - 1), since)
    skipped = gap_skips(schedule, since if before is None else before.at, Instant(due - 1))
    if not skipped:
        return None
    return PassedOver(first=skipped[0].at, last=skipped[-1].at, count=len(skipped), reason=Reason.DST_GAP)


def _range(schedule: Schedule, due: Instant, *, until: Instant) -> PassedOver | None:
    """The missed ticks from the due one on."""
    return None if until < due else _counted(schedule, due, until, Reason.MISSED)


def _counted(schedule: Schedule, due: Instant, until: Instant, reason: Reason, *, by: str | None = None) -> PassedOver:
    last = _latest(schedule, due, until)
    more, exact = count_ticks(schedule, due, last, limits.PASSED_OVER_COUNT_MAX - 1)
    return PassedOver(first=due, last=last, count=1 + more, exact=exact, reason=reason, by=by)


def _latest(schedule: Schedule, due: Instant, until: Instant) -> Instant:
    """The last tick from the due one on, which is one in any case: an edit may have kept it from an older schedule."""
    later = latest_tick(schedule, until, due)
    return due if later is None else later.at
