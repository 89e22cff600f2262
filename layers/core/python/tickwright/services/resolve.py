"""Whoever finds a journal entry does the next step: at take-over of a bucket, and in the watch.

A page is deleted only after its kept entries stand on a newer one. Two readers of one page make two newer pages; that
is harmless. Promises: SEM-JOURNAL-1, SEM-JOURNAL-2, SEM-JOURNAL-3.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tickwright.domain.changes.executions import Insert
from tickwright.domain.events import EventName
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.ids import ExecutionRef, JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.journal import Entry, Page, next_check
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import PLATFORM
from tickwright.domain.repairs import (
    DROP,
    KEEP,
    SEND,
    STRANDED,
    Finding,
    Repair,
    is_told_again,
    judge_absent,
    judge_present,
)
from tickwright.domain.ticks import finished_at_birth
from tickwright.domain.transitions import State
from tickwright.ports.faults import QueueUnavailable, Unavailable
from tickwright.ports.store import Applied
from tickwright.services.end import expire, reap
from tickwright.services.fire import insert_and_send
from tickwright.services.hints import hints_not_taken, is_unclaimed
from tickwright.services.kit import Kit
from tickwright.services.memory import Memory
from tickwright.services.pools import without_a_pool
from tickwright.services.settle import settle


class _Reading(NamedTuple):
    """What one look at the store showed of a page's entries, all strongly read."""

    executions: dict[ExecutionRef, Execution]
    heads: dict[JobId, Head]
    stranded: frozenset[ExecutionRef]  # their pools were deleted


class _Look(NamedTuple):
    """What one look found of a page's entries, in their order, and which of them the queue was not told of."""

    findings: Sequence[Finding]
    untold: frozenset[ExecutionRef]


async def resolve(kit: Kit, page: Page) -> int:
    """Look after a page whose time has come; how many entries are kept. The page is replaced by one of the kept.

    Raises Unavailable if none of them could be told of: then the page is looked at again soon, not after twice the
    time. Where a part could not, that part is: else those beside it would be told of again at each such look.
    """
    look = await _look(kit, page)
    found = zip(page.entries, look.findings, strict=True)
    kept = [(entry, finding) for entry, finding in found if finding.keep]
    left = [(entry, finding) for entry, finding in kept if entry.ref in look.untold]
    if left and len(left) == len(kept):
        raise QueueUnavailable(f"{len(left)} executions could not be told of")
    told = [(entry, finding) for entry, finding in kept if entry.ref not in look.untold]
    if told:
        await kit.store.put_page(_newer(kit, page, told))
    if left:
        await kit.store.put_page(_soon(kit, page, [entry for entry, _ in left]))
    await kit.store.delete_page(page)  # Dying before this: both pages stand, and each is resolved.
    return len(kept)


async def look_after(kit: Kit, page: Page) -> Sequence[Finding]:
    """Do the next step for each entry of a page and say which stay: the page itself is left alone.

    Raises Unavailable, after all that could be done, if somebody could not be told.
    """
    look = await _look(kit, page)
    if look.untold:
        raise QueueUnavailable(f"{len(look.untold)} executions could not be told of")
    return look.findings


async def _look(kit: Kit, page: Page) -> _Look:
    reading = await _read(kit, page.entries)
    _tell_who_waits(kit, reading)
    findings = [_judge(kit, entry, reading, page) for entry in page.entries]
    together = {Repair.INSERT: _insert_all, Repair.SEND: _send_all}
    untold: set[ExecutionRef] = set()
    for repair, carry_out in together.items():
        entries = [e for e, f in zip(page.entries, findings, strict=True) if f.repair is repair]
        untold |= await carry_out(kit, entries, reading)
    after = [
        await _carry_out(kit, entry, finding, reading) for entry, finding in zip(page.entries, findings, strict=True)
    ]
    return _Look(findings=after, untold=frozenset(untold))


async def _read(kit: Kit, entries: Sequence[Entry]) -> _Reading:
    executions = await kit.store.executions(sorted({entry.ref for entry in entries}))
    # The head settles only what the execution does not: whether a missing one was decided.
    unclear = {entry.job_id for entry in entries if entry.ref not in executions}
    heads = await kit.store.heads(sorted(unclear)) if unclear else {}
    # Absent counts only after the head was read: else the tick may have been decided, and the next one, in between.
    missing = sorted({entry.ref for entry in entries} - set(executions))
    executions |= await kit.store.executions(missing) if missing else {}
    stranded = await without_a_pool(kit, [one for one in executions.values() if is_unclaimed(one)])
    return _Reading(executions, heads, stranded)


def _tell_who_waits(kit: Kit, reading: _Reading) -> None:
    """Of each lane how long somebody might have taken what nobody has; when tenants' machines come is their affair."""
    now, waited_ms = kit.clock.now(), dict[Lane, list[int]]()
    for one in reading.executions.values():
        if is_unclaimed(one) and one.pool in PLATFORM and one.came_due < now:
            waited_ms.setdefault(one.lane, []).append(now - one.came_due)
    for lane, each in waited_ms.items():
        kit.emit(EventName.RUNS_WAIT, measured={"runs": len(each), "waitedMs": max(each)}, lane=lane.value)


def _judge(kit: Kit, entry: Entry, reading: _Reading, page: Page) -> Finding:
    execution, now = reading.executions.get(entry.ref), kit.clock.now()
    if execution is not None:
        error_ms = kit.durations.clock_error_ms
        ahead_ms = kit.durations.lookahead_ms + 2 * error_ms
        finding = judge_present(execution, now, clock_error_ms=error_ms, lookahead_ms=ahead_ms)
        return _judge_untold(kit, execution, reading, page) if finding.repair is Repair.SEND else finding
    finding = judge_absent(entry, reading.heads.get(entry.job_id))
    # A take-over reads pages before their time: whoever asked for the run may be about to put it (R11).
    return KEEP if finding.repair is Repair.ABANDON and now < page.check_at else finding


def _judge_untold(kit: Kit, execution: Execution, reading: _Reading, page: Page) -> Finding:
    """What nobody has claimed: whether there is anybody to be told, and whether it is time for that."""
    if execution.ref in reading.stranded:
        return STRANDED
    first_ms, gap_ms_max = kit.durations.first_check_ms, kit.durations.hint_again_ms_max
    again = is_told_again(execution, page, kit.clock.now(), first_ms=first_ms, gap_ms_max=gap_ms_max)
    return SEND if again else KEEP


async def _insert_all(kit: Kit, entries: Sequence[Entry], reading: _Reading) -> set[ExecutionRef]:
    """Which of them cannot be told when only some were: all are looked at again soon."""
    born = await insert_and_send(kit, [reading.heads[entry.job_id] for entry in entries], Memory())
    return {entry.ref for entry in entries} if born.left else set()


async def _send_all(kit: Kit, entries: Sequence[Entry], reading: _Reading) -> set[ExecutionRef]:
    untold = await hints_not_taken(kit, [reading.executions[entry.ref] for entry in entries])
    if sent := len(entries) - len(untold):
        kit.emit(EventName.HINT_SENT_AGAIN, measured={"hints": sent})
    return {hint.ref for hint in untold}


async def _carry_out(kit: Kit, entry: Entry, finding: Finding, reading: _Reading) -> Finding:
    """The repairs that go one by one. A store that fails keeps the entry: it is looked at again."""
    try:
        if not await _repair(kit, entry, finding, reading):
            return KEEP
    except Unavailable:
        return KEEP
    if finding is not KEEP and finding is not DROP:
        kit.emit(EventName.ENTRY_RESOLVED, executionId=entry.ref.id, verdict=finding.repair.value)
    return finding


async def _repair(kit: Kit, entry: Entry, finding: Finding, reading: _Reading) -> bool:
    """Whether what was found still stands."""
    match finding.repair:
        case Repair.ABANDON:
            return await _abandon(kit, entry)
        case Repair.REAP:
            await reap(kit, reading.executions[entry.ref])
        case Repair.EXPIRE:
            await expire(kit, reading.executions[entry.ref])
        case Repair.STRANDED:
            await expire(kit, reading.executions[entry.ref], Reason.POOL_DELETED)
        case Repair.SETTLE:
            await settle(kit, reading.executions[entry.ref])
        case Repair.NOTHING | Repair.INSERT | Repair.SEND:
            pass
    return True


async def _abandon(kit: Kit, entry: Entry) -> bool:
    """A tombstone where a request's execution never came: whoever still wants to put it is refused (R11).

    Whether it stands: a refused tombstone is no tombstone, for the execution has come after all (R4).
    """
    head = await kit.store.head(entry.job_id)
    if head is None:
        return True
    now = kit.clock.now()
    born = Execution(
        job_id=entry.job_id,
        key=entry.key,
        tenant_id=head.tenant_id,
        lane=head.lane,
        pool=head.pool,
        state=State.QUEUED,
        scheduled_at=entry.tick,
        created_at=now,
        job_version=head.definition_version,
        max_attempts=head.max_attempts,
        cause=Cause.MANUAL,
    )
    tombstone = finished_at_birth(born, State.CANCELLED, Reason.ABANDONED, now=now, retention_s=kit.retention_s)
    return isinstance(await kit.store.write(Insert(execution=tombstone)), Applied)


def _newer(kit: Kit, page: Page, kept: Sequence[tuple[Entry, Finding]]) -> Page:
    now = kit.clock.now()
    looks = page.looks + 1
    usual = next_check(now, looks, kit.durations.first_check_ms, kit.durations.recheck_ms_max)
    soonest = min((finding.check_by for _, finding in kept if finding.check_by is not None), default=usual)
    return Page(
        bucket=page.bucket,
        check_at=Instant(max(now + 1, min(usual, soonest))),
        writer=kit.entropy.token(),
        entries=tuple(entry for entry, _ in kept),
        looks=looks,
        looked_at=now,
    )


def _soon(kit: Kit, page: Page, entries: Sequence[Entry]) -> Page:
    """A page for the next look, as if this one had not been."""
    soon = Instant(kit.clock.now() + 1)
    return replace(page, check_at=soon, writer=kit.entropy.token(), entries=tuple(entries))
