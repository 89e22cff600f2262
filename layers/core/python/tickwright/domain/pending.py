"""What may change a head while nobody asks: an edit whose time has come, and zone rules that were replaced.

Must not know a store. Both are writes of the head by the scheduler that raise its version, so that every older plan is
refused (R2), and both come before the decision on a tick. Promises: SEM-EDIT-2, SEM-TZ-1.
"""

from dataclasses import replace

from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Aimed, Definition, Head, JobStatus, reach_of
from tickwright.domain.lanes import bucket_of
from tickwright.domain.schedules import Schedule, Tick, from_compact, latest_tick, next_tick, tzdata_version

_REAIM_MS_MAX = 2 * 86_400_000  # rules move a local time by hours, never by two days


def schedule_of(head: Head) -> Schedule:
    """The schedule of a head for as long as it counts: up to an edit that waits."""
    schedule = from_compact(head.schedule)
    return schedule if head.effective_from is None else replace(schedule, cut_at=head.effective_from)


def decided_through(head: Head) -> Instant:
    """Up to where everything has been decided: a later tick is open, an earlier one is not."""
    return Instant(max(head.fired_through or 0, head.passed_through or 0, head.settled_through or 0))


def is_switch_due(head: Head) -> bool:
    """Whether the next thing to do on a head is the edit that waits."""
    if head.effective_from is None or head.next_run_at is None:
        return False
    return head.next_run_at >= head.effective_from


def with_plan(head: Head, definition: Definition) -> Head:
    """A head under another definition; where it is due next is not settled yet."""
    spec = definition.spec
    return replace(
        head,
        definition_version=definition.version,
        lane=spec.lane,
        pool=spec.pool,
        schedule=spec.schedule,
        overlap=spec.overlap,
        catch_up=spec.catch_up,
        max_attempts=spec.retry.max_attempts,
        run_deadline_s=spec.run_deadline_s,
        reach_s=max(head.reach_s, reach_of(spec.run_deadline_s, spec.catch_up)),
        listed_as=spec.name or head.job_id,
        pending_version=None,
        effective_from=None,
        aimed_from=None,
    )


def switched(head: Head, definition: Definition, *, buckets: int) -> Head:
    """The head after the edit that waited: due at the first tick of the new schedule from its time on."""
    assert head.effective_from is not None
    new = replace(with_plan(head, definition), settled_through=Instant(head.effective_from - 1))
    if head.status is not JobStatus.ACTIVE:
        # What a pause has held back before it belongs to the old schedule, and is told of beside this write.
        held_from = max(head.paused_at or 0, head.effective_from - 1)
        return replace(new, paused_at=Instant(held_from), held=None)
    return due_at(new, first_from(new, head.effective_from), buckets=buckets)


def first_from(head: Head, since: Instant) -> Instant | None:
    """The first tick of a head's schedule at or after an instant that is neither decided nor too many."""
    schedule = schedule_of(head)
    if schedule.max_runs is not None and head.runs >= schedule.max_runs:
        return None
    tick = next_tick(schedule, Instant(max(since - 1, decided_through(head))))
    return None if tick is None else tick.at


def due_at(head: Head, next_run_at: Instant | None, *, buckets: int) -> Head:
    """The head in its place of the due index; without a tick ahead it has ended, unless an edit waits."""
    at = _change_at(head) if next_run_at is None else next_run_at
    return replace(
        head,
        status=JobStatus.ENDED if at is None else JobStatus.ACTIVE,
        next_run_at=at,
        bucket=None if at is None else bucket_of(head.job_id, buckets),
        tzdata=tzdata_version(),
    )


def _change_at(head: Head) -> Instant | None:
    """When the edit that waits is carried out: at its time, or past a tick that was decided ahead of its own."""
    if head.effective_from is None:
        return None
    return Instant(max(head.effective_from, (head.fired_through or 0) + 1))


def aim_of(head: Head) -> Instant | None:
    """Where a head is due by today's zone rules: where it stands, unless it was found by others.

    Rules move a local time by hours: of the ticks around the old one that are not decided, the nearest is the same. It
    is looked for beyond the end of the schedule, and of its cut: one that the rules have moved out of it comes no more,
    and the one before it, which ran by the old rules, is another.
    """
    at = head.next_run_at
    if at is None or head.tzdata == tzdata_version() or is_switch_due(head):
        return at
    schedule = schedule_of(head)
    later = next_tick(schedule, Instant(at - 1))
    if later is not None and later.at == at:
        return at
    floor = Instant(max(decided_through(head), head.created_at, at - _REAIM_MS_MAX))
    endless = replace(schedule, end_at=None, cut_at=None)
    around = (latest_tick(endless, at, floor), next_tick(endless, Instant(at - 1)))
    near = min((tick for tick in around if tick is not None), key=lambda tick: abs(tick.at - at), default=None)
    same = None if near is None else latest_tick(schedule, near.at, floor)  # beside an end a slot comes earlier
    return same.at if same is not None and near is not None and _stands_for(same) == _stands_for(near) else None


def _stands_for(tick: Tick) -> Instant:
    return tick.at if tick.nominal_at is None else tick.nominal_at


def is_current(head: Head) -> bool:
    """Whether a head may be decided on as it stands. Raises what its schedule raises, if it cannot be evaluated."""
    schedule_of(head)
    return not is_switch_due(head) and aim_of(head) == head.next_run_at


def aimed_anew(head: Head, *, buckets: int) -> Head | None:
    """The head where today's rules want it, or None if it stands there."""
    at = aim_of(head)
    if at == head.next_run_at:
        return None
    assert head.next_run_at is not None
    moved = replace(head, aimed_from=Aimed(was=head.next_run_at, tzdata=head.tzdata))
    return due_at(moved, at, buckets=buckets)
