"""A tick, from due to queue: journal, advance, insert, send (protocol 4).

The order is the promise. J before A: a decided tick is always on a list. A before I: cancel, pause and edit can never
race a ghost into being. S last: a message without an execution means nothing. Dying after any of them is repaired by
whoever reads the page: resolve.py. Any number of processes may fire the same heads at once. Promises: SEM-TICK-1,
SEM-TICK-2, SEM-JOURNAL-1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tickwright.domain import limits
from tickwright.domain.changes.executions import Insert
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, TenantId, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, Overlap
from tickwright.domain.journal import Entry, Page
from tickwright.domain.pending import is_current
from tickwright.domain.schedules import Calendar, from_compact
from tickwright.domain.ticks import Decided, LookAgain, active_ref, decide, execution_of, range_row
from tickwright.domain.transitions import State
from tickwright.ports.faults import StoreUnavailable, Unavailable
from tickwright.ports.store import Applied, Outcome, Refused, Unknown
from tickwright.services.hints import is_unclaimed, send_hints
from tickwright.services.kit import Kit
from tickwright.services.memory import Memory
from tickwright.services.renew import renewed
from tickwright.services.settle import settle

AnyOutcome = Outcome[Any] | Unknown
CalendarsByName = Mapping[tuple[TenantId, str], Calendar]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    head: Head
    decided: Decided

    @property
    def entry(self) -> Entry:
        """What the journal says of it: the tick that is fired or, where all are passed over, the one that was due."""
        advance = self.decided.advance
        return Entry(job_id=advance.job_id, key=tick_key(advance.fire or advance.tick), version=advance.version)


class Born(NamedTuple):
    """Executions that now exist, and how many steps of I and S were left to the journal."""

    executions: Sequence[Execution]
    left: int


async def fire(kit: Kit, bucket: int, heads: Sequence[Head], memory: Memory) -> int:
    """Decide and dispatch what these heads are due for; how many ticks this process decided.

    The heads may be stale readings of the index. Raises Unavailable when the store is down or when a step's outcome is
    not known: all of it can be done again, and what was begun stands on a page.
    """
    # An index that lags may show a head at its old place and at its new one: the later counts.
    fresh = list({head.job_id: head for head in heads if not memory.is_stale(head)}.values())
    decided = left = 0
    for start in range(0, len(fresh), limits.PAGE_ENTRIES_MAX):
        page = await _fire_page(kit, bucket, fresh[start : start + limits.PAGE_ENTRIES_MAX], memory)
        decided, left = decided + page.decided, left + page.left
    if left:
        raise StoreUnavailable(f"{left} steps were left to the journal")
    return decided


class _Fired(NamedTuple):
    decided: int
    left: int


async def _fire_page(kit: Kit, bucket: int, stored: Sequence[Head], memory: Memory) -> _Fired:
    now = kit.clock.now()  # before anything is read: what was busy before t may be free at t (R10)
    heads = await _renewed(kit, stored)
    seen, ready, left = await _look_back(kit, heads, memory, now)
    calendars = await _calendars(kit, ready)
    plans = [plan for head in ready if (plan := _plan(kit, head, seen, calendars, now)) is not None]
    if not plans:
        return _Fired(0, left)
    # J. Dying right after it: the entries are open, and the index still shows the heads.
    await kit.store.put_page(_page(kit, bucket, plans))
    # A. Dying right after it: whoever resolves the page does I and S.
    outcomes = await _decide_all(kit, plans)
    moved = [(plan, head) for plan, outcome in zip(plans, outcomes, strict=True) if (head := _decided(plan, outcome))]
    for plan, head in moved:
        advance = plan.decided.advance
        memory.note_decided(head.job_id, advance.fire or advance.tick, advance.version)
    born = await insert_and_send(kit, [head for plan, head in moved if plan.decided.advance.fire is not None], memory)
    unknown = sum(isinstance(outcome, Unknown) for outcome in outcomes)
    return _Fired(_announce(kit, plans, outcomes), left + born.left + unknown)


async def _renewed(kit: Kit, stored: Sequence[Head]) -> Sequence[Head]:
    """The heads as they are to be decided on: after an edit whose time has come, and by today's zone rules."""
    heads: list[Head] = []
    for head in stored:
        try:
            new = head if is_current(head) else await _renewed_if_due(kit, head)
        except Unavailable:
            raise
        except Exception as fault:  # noqa: BLE001 - one broken job must not stop the others (B094)
            kit.emit(EventName.TICK_POISONED, jobId=head.job_id, fault=type(fault).__name__)
        else:
            heads += [] if new is None else [new]
    return heads


async def _renewed_if_due(kit: Kit, head: Head) -> Head | None:
    new = await renewed(kit, head)
    soon = kit.clock.now() + kit.durations.lookahead_ms
    return new if new is not None and new.next_run_at is not None and new.next_run_at <= soon else None


async def _decide_all(kit: Kit, plans: Sequence[_Plan]) -> Sequence[AnyOutcome]:
    """A for each plan: those that pass nothing over in batches, the others each with the row of its range."""
    passing = [plan for plan in plans if plan.decided.passed]
    plain = [plan for plan in plans if not plan.decided.passed]
    outcomes = dict(zip(map(id, passing), [await _pass_over(kit, plan) for plan in passing], strict=True))
    if plain:
        written = await kit.store.write_each([plan.decided.advance for plan in plain])
        outcomes |= dict(zip(map(id, plain), written, strict=True))
    return [outcomes[id(plan)] for plan in plans]


async def _pass_over(kit: Kit, plan: _Plan) -> AnyOutcome:
    """A and the rows of what it passes over, in one transaction: no decision without its reason."""
    now = kit.clock.now()
    rows = [range_row(plan.head, passed, now=now, retention_s=kit.retention_s) for passed in plan.decided.passed]
    inserts = [Insert(execution=row) for row in rows]
    try:
        decided, *told = await kit.store.write_together([plan.decided.advance, *inserts])
        # A row of this first tick that stands already tells of it: a clock was set back, and went on.
        missing = [insert for insert, outcome in zip(inserts, told, strict=True) if not _stands(outcome)]
        if len(missing) < len(inserts):
            decided, *_ = await kit.store.write_together([plan.decided.advance, *missing])
    except Unavailable:
        return Unknown()
    return decided


def _stands(outcome: AnyOutcome) -> bool:
    return isinstance(outcome, Refused) and outcome.old is not None


class _Seen(NamedTuple):
    executions: dict[ExecutionRef, Execution]
    ready: Sequence[Head]
    left: int


async def _look_back(kit: Kit, heads: Sequence[Head], memory: Memory, now: Instant) -> _Seen:
    """Read what the decisions depend on: the run that occupies each job, and the execution of each head's last tick.

    Also says on which heads a decision may be taken. An execution that is missing is inserted first, so that at most
    one decided tick of a job lacks its execution, and that is the last (R3): a cancel needs one tombstone only.
    """
    unsure = [head for head in heads if not _last_is_known(kit, head, memory, now)]
    active = [ref for head in heads if head.overlap is not Overlap.ALLOW and (ref := active_ref(head)) is not None]
    refs = {ref for head in unsure if (ref := head.last_ref) is not None} | set(active)
    if not refs:
        return _Seen({}, heads, 0)
    seen = await kit.store.executions(sorted(refs))
    missing = [head for head in unsure if head.last_ref not in seen]
    born = await insert_and_send(kit, missing, memory)
    seen |= {execution.ref: execution for execution in born.executions}
    # An insert whose outcome is not known leaves its head to the next tick: nothing may be decided on it yet.
    open_still = {head.job_id for head in missing if head.last_ref not in seen}
    return _Seen(seen, [head for head in heads if head.job_id not in open_still], born.left)


async def _calendars(kit: Kit, heads: Sequence[Head]) -> CalendarsByName:
    """The calendars that the heads' schedules name, as they stand now."""
    named: dict[TenantId, set[str]] = {}
    for head in heads:
        names = from_compact(head.schedule).calendars
        if names:
            named.setdefault(head.tenant_id, set()).update(names)
    found = {tenant: await kit.store.calendars(tenant, sorted(names)) for tenant, names in named.items()}
    return {(tenant, name): one for tenant, some in found.items() for name, one in some.items()}


def _last_is_known(kit: Kit, head: Head, memory: Memory, now: Instant) -> bool:
    guarded = head.fired_at is not None and now - head.fired_at > kit.durations.insert_guard_ms
    return memory.knows_inserted(head) or guarded


def _plan(
    kit: Kit, head: Head, seen: dict[ExecutionRef, Execution], calendars: CalendarsByName, now: Instant
) -> _Plan | None:
    ref = active_ref(head)
    active = None if ref is None else seen.get(ref)
    occupied = active is not None and not active.is_terminal and active.occupant() == head.active
    try:
        closing = [calendars[head.tenant_id, name] for name in from_compact(head.schedule).calendars]
        decided = decide(
            head, now=now, occupied=occupied, missed_after_ms=kit.durations.missed_after_ms, calendars=closing
        )
    except Exception as fault:  # noqa: BLE001 - one broken job must not stop the others (B094)
        kit.emit(EventName.TICK_POISONED, jobId=head.job_id, fault=type(fault).__name__)
        return None
    return None if isinstance(decided, LookAgain) else _Plan(head=head, decided=decided)


def _page(kit: Kit, bucket: int, plans: Sequence[_Plan]) -> Page:
    return Page(
        bucket=bucket,
        check_at=Instant(kit.clock.now() + kit.durations.first_check_ms),
        writer=kit.entropy.token(),
        entries=tuple(plan.entry for plan in plans),
    )


def _decided(plan: _Plan, outcome: AnyOutcome) -> Head | None:
    """The head on which this tick stands decided, by us or by somebody whom we help with I and S; else None (R1)."""
    match outcome:
        case Applied(new=Head() as new):
            return new
        case Refused(old=Head() as old) if plan.decided.advance.fire in {old.fired_through} - {None}:
            return old
        case _:
            return None


async def insert_and_send(kit: Kit, heads: Sequence[Head], memory: Memory) -> Born:
    """I and S for heads whose last tick is decided. Doing it twice is harmless."""
    if not heads:
        return Born([], 0)
    now = kit.clock.now()
    fired = [await _as_fired(kit, head) for head in heads]
    born = [execution_of(head, now=now, durations=kit.durations, retention_s=kit.retention_s) for head in fired]
    outcomes = await kit.store.write_each([Insert(execution=execution) for execution in born])
    exist: list[Execution] = []
    for head, execution, outcome in zip(heads, born, outcomes, strict=True):
        match outcome:
            case Applied():
                exist.append(execution)
                _announce_birth(kit, execution)
            case Refused(old=Execution() as old):
                exist.append(old)  # somebody else inserted it: the same execution
            case _:
                continue  # not known: the journal keeps it
        memory.note_inserted(head.job_id, execution.scheduled_at)
    untold = [execution for execution in exist if is_unclaimed(execution)]
    sent = await send_hints(kit, untold)
    for execution in exist:
        if execution.owed:
            await settle(kit, execution)
    return Born(exist, len(heads) - len(exist) + len(untold) - sent)


async def _as_fired(kit: Kit, head: Head) -> Head:
    """The head with the pool of the version that fired: an edit since then may have another's workers run the job."""
    if head.fired_version is None or head.fired_version == head.definition_version:
        return head
    definition = await kit.store.definition(head.job_id, head.fired_version)
    return head if definition is None else replace(head, pool=definition.spec.pool)


def _announce_birth(kit: Kit, execution: Execution) -> None:
    names = {State.SKIPPED: EventName.EXECUTION_SKIPPED, State.DEAD: EventName.EXECUTION_DEAD}
    name = names.get(execution.state, EventName.EXECUTION_QUEUED)
    reason = execution.reason.value if execution.reason is not None else ""
    kit.emit(name, executionId=execution.ref.id, jobId=execution.job_id, tenantId=execution.tenant_id, reason=reason)


def _announce(kit: Kit, plans: Sequence[_Plan], outcomes: Sequence[AnyOutcome]) -> int:
    """Count what this process decided; the loser of a race counts as refused, not as decided (B114)."""
    now = kit.clock.now()
    decided = 0
    for plan, outcome in zip(plans, outcomes, strict=True):
        advance = plan.decided.advance
        if not isinstance(outcome, Applied):
            kit.emit(EventName.TICK_REFUSED, jobId=advance.job_id)
            continue
        decided += 1
        for passed in plan.decided.passed:
            about = {"jobId": advance.job_id, "reason": passed.reason.value}
            kit.emit(EventName.TICKS_PASSED_OVER, measured={"count": passed.count}, **about)
        lag = max(0, now - (advance.fire or advance.tick))
        verdict = "PASSED_OVER" if advance.verdict is None else advance.verdict.text()
        kit.emit(EventName.TICK_DECIDED, measured={"dispatchLagMs": lag}, jobId=advance.job_id, firedAs=verdict)
    return decided
