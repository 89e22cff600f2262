"""What becomes of a tick that is due: fire it, skip it, pass over it, or look again at its time.

Must not know a store or a clock: it takes the head, the instant and whether the job is occupied, and returns a plan
that one write carries out. Promises: SEM-TICK-1, SEM-TICK-3, SEM-CATCHUP-1, SEM-OVERLAP-1, SEM-OVERLAP-2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from tickwright.domain.changes.heads import Advance
from tickwright.domain.choice import Choice, choose
from tickwright.domain.executions import Cause, Execution, PassedOver, Reason, key_of_occupant, ttl_of
from tickwright.domain.ids import ExecutionRef, missed_key, tick_key
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.jobs import EXPIRE, RUN, SKIP_OVERLAP, FiredAs, Head, JobStatus, Overlap, Verdict
from tickwright.domain.limits import Durations
from tickwright.domain.pending import decided_through, is_switch_due, schedule_of
from tickwright.domain.schedules import (
    Calendar,
    OneOff,
    Schedule,
    Stretch,
    closed_at,
    from_compact,
    next_tick,
    tzdata_version,
)
from tickwright.domain.transitions import State


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAgain:
    """The job is occupied before its time.

    Judged at its time, so that a run that ends in between costs no skip (R10).
    """

    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A plan: the write that decides, and what it passes over, earliest first."""

    advance: Advance
    passed: Sequence[PassedOver]


def decide(
    head: Head, *, now: Instant, occupied: bool, missed_after_ms: int, calendars: Sequence[Calendar] = ()
) -> Decided | LookAgain:
    """The decision on the tick that a head is due for.

    `occupied`: a strong read has just shown that the run which `active` names is unfinished. `calendars`: those that
    the schedule names, as they stand now.
    """
    assert head.next_run_at is not None
    schedule = schedule_of(head)
    if occupied and head.overlap is Overlap.SKIP and now < head.next_run_at:
        return LookAgain(at=head.next_run_at)
    closed = partial(closed_at, calendars, schedule.timezone) if calendars else _always_open
    choice = choose(head, schedule, now=now, missed_after_ms=missed_after_ms, closed=closed)
    if choice.not_before is not None:
        return LookAgain(at=choice.not_before)
    verdict = _verdict(head, choice, occupied=occupied)
    following = _following(head, schedule, _goes_on_after(head, choice, now), runs=verdict is RUN)
    return Decided(advance=_advance(head, choice, verdict, following, now), passed=_told(choice))


def _told(choice: Choice) -> Sequence[PassedOver]:
    return [passed for passed in (choice.gap, choice.passed) if passed is not None]


def _always_open(at: Instant) -> Stretch | None:  # noqa: ARG001 - the shape of `Closed`
    return None


def _advance(head: Head, choice: Choice, verdict: Verdict | None, following: Instant | None, now: Instant) -> Advance:
    assert head.next_run_at is not None
    told = _told(choice)
    pins = head.overlap is not Overlap.ALLOW
    takes = None if choice.fire is None or not pins or verdict is not RUN else f"{tick_key(choice.fire)}@1"
    return Advance(
        job_id=head.job_id,
        tick=head.next_run_at,
        version=head.version,
        definition_version=head.definition_version,
        seen_fired_through=head.fired_through,
        seen_active=head.active,
        next_run_at=following,
        tzdata=tzdata_version(),
        fire=choice.fire,
        verdict=verdict,
        fired_at=now,
        takes_active=takes,
        pins_active=pins,
        passed_through=told[-1].last if told else None,
        ends=following is None,
    )


def _verdict(head: Head, choice: Choice, *, occupied: bool) -> Verdict | None:
    if choice.fire is None:
        return None
    if choice.expired:
        return EXPIRE
    return SKIP_OVERLAP if occupied and head.overlap is Overlap.SKIP else RUN


def _goes_on_after(head: Head, choice: Choice, now: Instant) -> Instant:
    if choice.fire is not None:
        return choice.fire
    if choice.passed is not None:
        return choice.passed.last
    return now if head.passed_through is None else head.passed_through


def _following(head: Head, schedule: Schedule, after: Instant, *, runs: bool) -> Instant | None:
    """The tick after; where there is none, the edit that waits."""
    if schedule.max_runs is not None and head.runs + int(runs) >= schedule.max_runs:
        return head.effective_from
    tick = next_tick(schedule, after)
    return head.effective_from if tick is None else tick.at


def execution_of(head: Head, *, now: Instant, durations: Durations, retention_s: int) -> Execution:
    """I: the execution of the last tick that was decided, as the head says it was decided (R6, R9).

    A decision older than the guard is never queued: its execution may have ended and been forgotten since (R8).
    """
    assert head.fired_through is not None
    assert head.fired_as is not None
    assert head.fired_at is not None
    assert head.fired_version is not None
    state, reason = _born_as(head.fired_as, late=now - head.fired_at > durations.insert_guard_ms)
    at = head.fired_through
    born = Execution(
        job_id=head.job_id,
        key=tick_key(at),
        tenant_id=head.tenant_id,
        lane=head.lane,
        pool=head.pool,
        state=State.QUEUED,
        scheduled_at=at,
        created_at=now,
        job_version=head.fired_version,
        max_attempts=head.max_attempts,
        run_deadline_at=run_deadline(max(at, head.fired_at), head),
        nominal=_nominal(head, at),
        tzdata=head.tzdata or None,
    )
    return born if state is State.QUEUED else finished_at_birth(born, state, reason, now=now, retention_s=retention_s)


def _nominal(head: Head, at: Instant) -> str | None:
    """Where the schedule names a tick that was moved: a local time that the clock jumped over, or a window's start.

    Read from the head's schedule: one that was edited since the decision may not know the tick.
    """
    tick = next_tick(from_compact(head.schedule), Instant(at - 1))
    if tick is None or tick.at != at:
        return None
    return tick.nominal_local or (None if tick.nominal_at is None else to_rfc3339(tick.nominal_at))


def _born_as(verdict: Verdict, *, late: bool) -> tuple[State, Reason | None]:
    match verdict.fired_as:
        case FiredAs.RUN:
            return (State.SKIPPED, Reason.MISSED) if late else (State.QUEUED, None)
        case FiredAs.SKIP:
            return State.SKIPPED, verdict.reason
        case FiredAs.EXPIRE:
            return State.DEAD, Reason.EXPIRED


def run_deadline(start: Instant, head: Head) -> Instant:
    """When an execution must have ended, all attempts and waiting included."""
    return Instant(start + head.deadline_s * 1_000)


def finished_at_birth(
    born: Execution, state: State, reason: Reason | None, *, now: Instant, retention_s: int
) -> Execution:
    """A row that never runs: skipped, expired, or a tombstone."""
    owed = born.owed_at(state)
    return replace(
        born,
        state=state,
        reason=reason,
        finished_at=now,
        failed_at=now if state is State.DEAD else None,
        owed=owed,
        ttl=None if owed else ttl_of(now, retention_s),
    )


def range_row(head: Head, passed: PassedOver, *, now: Instant, retention_s: int) -> Execution:
    """The one row that stands for a range of ticks passed over."""
    return Execution(
        job_id=head.job_id,
        key=missed_key(passed.first),
        tenant_id=head.tenant_id,
        lane=head.lane,
        pool=head.pool,
        state=State.SKIPPED,
        reason=passed.reason,
        scheduled_at=passed.first,
        created_at=now,
        finished_at=now,
        job_version=head.definition_version,
        max_attempts=head.max_attempts,
        cause=Cause.SCHEDULE,
        passed=passed,
        ttl=ttl_of(now, retention_s),
    )


def first_tick(schedule: Schedule, *, now: Instant, fired_through: Instant | None, runs: int = 0) -> Instant | None:
    """Where a new or edited job begins: after now and after all that was decided, so that next > fired always."""
    if schedule.max_runs is not None and runs >= schedule.max_runs:
        return None
    tick = next_tick(schedule, Instant(max(now, fired_through or now)))
    return None if tick is None else tick.at


def edited_next(head: Head, schedule: Schedule, now: Instant, *, is_new: bool = True) -> Instant | None:
    """Where an edited job goes on.

    A due tick is kept, else the first of the new schedule after now and all that was decided; a one-off may be just
    past, as that of a new job. An edit that was made ahead of its time has settled what lies before that for its own
    schedule, not for one that `is_new`.
    """
    if head.next_run_at is not None and head.next_run_at <= now and not is_switch_due(head):
        return head.next_run_at
    if is_new:
        head = replace(head, settled_through=Instant(min(head.settled_through or 0, now)))
    if isinstance(schedule.kind, OneOff):
        now = Instant(schedule.kind.run_at - 1)
    return first_tick(schedule, now=now, fired_through=decided_through(head), runs=head.runs)


def is_another(head: Head, schedule: Schedule) -> bool:
    """Whether an edit gives a job another schedule than it has, wherever an edit that waits cuts either short."""
    return replace(schedule, cut_at=None) != from_compact(head.schedule)


def settled_status(next_run_at: Instant | None) -> JobStatus:
    """A job without a tick ahead has ended."""
    return JobStatus.ENDED if next_run_at is None else JobStatus.ACTIVE


def active_ref(head: Head) -> ExecutionRef | None:
    """The execution that occupies a job, if any is named."""
    return None if head.active is None else ExecutionRef(head.job_id, key_of_occupant(head.active))
