"""What a schedule or an edit would do, looked at by two engines, with nothing written.

A disagreement of the second engine is told and counted, and never refuses anything. Promises: SEM-SCHED-14,
SEM-SCHED-15, SEM-SCHED-19.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tickwright.domain.coming import coming, head_at, left_of
from tickwright.domain.events import EventName
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.jobs import Head, JobSpec
from tickwright.domain.limits import STANDARD
from tickwright.domain.outcomes import Refusal
from tickwright.domain.schedules import (
    Calendar,
    Cron,
    LintNote,
    OneOff,
    Preview,
    Schedule,
    Tick,
    disagreement,
    from_compact,
    is_hashed,
    named_by,
    next_ticks,
    preview,
)
from tickwright.ports.faults import Unavailable
from tickwright.ports.second_engine import Opinion, SecondEngine
from tickwright.services.change_job import editable, wait_refusal
from tickwright.services.jobs import JobView
from tickwright.services.kit import Kit
from tickwright.services.named_calendars import calendars_of_edit
from tickwright.services.renew import aimed
from tickwright.services.submit import Submitted, is_over, name_taken

TICKS_SHOWN = 10
# The second engine needs some 50 us a tick but walks day by day: past these a question would cost seconds.
_ASKED_MAX = 10
_ASKED_MS_MAX = 400 * 86_400_000
_NO_ID_YET = LintNote(
    "hashed",
    "H and window are settled by the job's id: a new job gets a slot of its own, and what is shown here is an example",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A schedule as it was written and as it was read, whose it is, and from when on it is looked at."""

    tenant_id: TenantId
    source: Mapping[str, object]
    schedule: Schedule
    start: Instant
    count: int = TICKS_SHOWN
    job_id: JobId | None = None
    calendars: Mapping[str, Calendar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Previewed:
    """A preview; `differs` has the first tick on which the two engines disagree, ours before theirs."""

    preview: Preview
    differs: tuple[Instant | None, Instant | None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """An edit as it was asked for, now or from an instant on."""

    job_id: JobId
    spec: JobSpec
    if_match: int
    effective_from: Instant | None = None
    drops_waiting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedEdit:
    """What an edit would do to a job's next ticks."""

    view: JobView
    previewed: Previewed
    before: tuple[Instant, ...]
    after: tuple[Instant, ...]


def preview_schedule(kit: Kit, second: SecondEngine | None, question: Question) -> Previewed:
    """Everything that is told of a schedule before it counts; without a job, an H is an example."""
    schedule, start = question.schedule, question.start
    # "Now" is not the past for a one-off: it fires at once, as it does when it is created.
    after = Instant(start - STANDARD.missed_after_ms) if isinstance(schedule.kind, OneOff) else start
    shown = left_of(schedule, question.count)
    ours, theirs = _both(second, schedule, after, shown)
    hashed = is_hashed(question.source)
    closing = named_by(schedule, question.calendars)
    told = preview(schedule, after, shown, hashed=hashed, second=theirs, calendars=closing)
    if hashed and question.job_id is None:
        told = replace(told, lint=(*told.lint, _NO_ID_YET))
    differs = None if theirs is None else disagreement(ours, theirs)
    _note(kit, differs, question.tenant_id, question.job_id)
    return Previewed(preview=told, differs=differs)


def cross_check(kit: Kit, second: SecondEngine | None, submitted: Submitted) -> None:
    """Ask the second engine about a new job, and note where it disagrees."""
    schedule = from_compact(submitted.definition.spec.schedule)
    after = submitted.definition.created_at
    ours, theirs = _both(second, schedule, after, left_of(schedule, TICKS_SHOWN))
    differs = None if theirs is None else disagreement(ours, theirs)
    _note(kit, differs, submitted.head.tenant_id, submitted.head.job_id)


async def preview_edit(
    kit: Kit, second: SecondEngine | None, tenant_id: TenantId, edit: Edit
) -> PreviewedEdit | Refusal:
    """What `edit_job` would do, or refuse."""
    job_id, spec = edit.job_id, edit.spec
    view = await editable(kit, tenant_id, job_id, edit.if_match, drops_waiting=edit.drops_waiting)
    if isinstance(view, Refusal):
        return view
    taken = await name_refusal(kit, tenant_id, spec.name, job_id)
    if taken is not None:
        return taken
    now, schedule, at = kit.clock.now(), from_compact(spec.schedule), edit.effective_from
    unable = None if at is None or at <= now else wait_refusal(view, spec, at)
    if unable is not None:
        return unable
    calendars = await calendars_of_edit(kit, tenant_id, job_id, schedule)
    if isinstance(calendars, Refusal):
        return calendars
    question = Question(
        tenant_id=tenant_id,
        source=spec.source,
        schedule=schedule,
        start=now if at is None or at <= now else Instant(at - 1),
        job_id=job_id,
        calendars=calendars,
    )
    previewed = preview_schedule(kit, second, question)
    before, after = await _both_sides(kit, aimed(kit, view.head), edit, now, calendars)
    return PreviewedEdit(view=view, previewed=previewed, before=before, after=after)


async def _both_sides(
    kit: Kit, head: Head, edit: Edit, now: Instant, calendars: Mapping[str, Calendar]
) -> tuple[tuple[Instant, ...], tuple[Instant, ...]]:
    """The ticks without and with an edit; from its time on, where that is further away than those shown."""
    schedule, at = edit.spec.schedule, edit.effective_from
    after = coming(head, schedule, now, TICKS_SHOWN, effective_from=at, calendars=calendars)
    if at is not None and len(after) == TICKS_SHOWN and after[-1] < at:
        head, now = head_at(head, at, now, calendars), Instant(at - 1)
        after = coming(head, schedule, now, TICKS_SHOWN, calendars=calendars)
    try:
        before = await _before(kit, head, now, calendars)
    except Unavailable:
        raise
    except Exception as fault:  # noqa: BLE001 - a schedule whose zone is gone has no ticks to be told, and is edited (B094)
        kit.emit(EventName.TICK_POISONED, jobId=head.job_id, fault=type(fault).__name__)
        before = ()
    return before, after


async def _before(kit: Kit, head: Head, now: Instant, calendars: Mapping[str, Calendar]) -> tuple[Instant, ...]:
    """The ticks ahead without the edit, but with an earlier one that waits."""
    number = head.pending_version
    waiting = None if number is None else await kit.store.definition(head.job_id, number)
    if waiting is None:
        return coming(head, head.schedule, now, TICKS_SHOWN, calendars=calendars)
    plain = replace(head, pending_version=None, effective_from=None)
    schedule, at = waiting.spec.schedule, head.effective_from
    more = await kit.store.calendars(head.tenant_id, from_compact(schedule).calendars)
    return coming(plain, schedule, now, TICKS_SHOWN, effective_from=at, calendars={**calendars, **more})


async def name_refusal(kit: Kit, tenant_id: TenantId, name: str | None, job_id: JobId | None) -> Refusal | None:
    """Why a job cannot have a name: another has it. A new job may take that of one that is over."""
    taken = None if name is None else await kit.store.named(tenant_id, name)
    if taken is None or taken.released or taken.job_id == job_id:
        return None
    return None if job_id is None and await is_over(kit, taken) else name_taken(taken)


def _both(
    second: SecondEngine | None, schedule: Schedule, after: Instant, count: int
) -> tuple[tuple[Tick, ...], tuple[Instant, ...] | None]:
    """Our ticks and the second engine's, both before any window moves them: where in it is our choice alone."""
    plain = schedule if schedule.window is None else replace(schedule, window=None)
    ours = next_ticks(plain, after, count) if isinstance(schedule.kind, Cron) else ()
    return ours, _second_list(second, plain, after, ours)


def _second_list(
    second: SecondEngine | None, schedule: Schedule, after: Instant, ours: tuple[Tick, ...]
) -> tuple[Instant, ...] | None:
    """What the second engine expects, followed by ours where it was not asked; None if it has no opinion."""
    asked = _asked(schedule, after, ours)
    opinion = second.next_ticks(schedule, after, asked) if second is not None and asked else None
    if not isinstance(opinion, Opinion):
        return None
    rest = ours[asked:] if len(opinion.ticks) == asked else ()
    return (*opinion.ticks, *(tick.at for tick in rest))


def _asked(schedule: Schedule, after: Instant, ours: tuple[Tick, ...]) -> int:
    """For how many ticks: fewer where each costs more."""
    if not isinstance(schedule.kind, Cron):
        return 0
    each = [replace(schedule, kind=replace(schedule.kind, expressions=(one,))) for one in schedule.kind.expressions]
    most = min(len(ours), _ASKED_MAX // len(each))
    return min(_near(one, after, most) for one in each)


def _near(schedule: Schedule, after: Instant, most: int) -> int:
    """How many of its next ticks are near enough to be walked to."""
    return sum(tick.at - after <= _ASKED_MS_MAX for tick in next_ticks(schedule, after, most))


def _note(
    kit: Kit, differs: tuple[Instant | None, Instant | None] | None, tenant_id: TenantId, job_id: JobId | None
) -> None:
    if differs is None:
        return
    ours, theirs = ("none" if one is None else to_rfc3339(one) for one in differs)
    kit.emit(EventName.SCHEDULE_DISAGREEMENT, ours=ours, theirs=theirs, tenantId=tenant_id, jobId=job_id or "")
