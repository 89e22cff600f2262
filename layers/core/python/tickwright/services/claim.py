"""Claim: give an execution to one worker, or say why not and what to do with the hint.

Promises: SEM-LEASE-1, SEM-LEASE-2, SEM-EPOCH-3.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tickwright.domain.changes.executions import Claim
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import Epoch, ExecutionRef, WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State
from tickwright.ports.faults import Unavailable
from tickwright.ports.store import Applied, Outcome, Refused, Unknown
from tickwright.services.end import expire, reap
from tickwright.services.eras import in_force
from tickwright.services.kit import Kit
from tickwright.services.settle import settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """It is ours for one attempt.

    `sent_ms` is the monotonic time before the claim was sent: the lease counts from there.
    """

    execution: Execution
    sent_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """There is nothing to do for this hint any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNow:
    """It may be claimed after so long: show the hint again then."""

    after_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An execution that a worker wants, and how long an attempt of it may take.

    `due_at`: when its hint says that it could start, which of a retry is the end of its backoff. `epoch`: what its hint
    says that it was at, by which it is judged whether it is of an era before.
    """

    ref: ExecutionRef
    timeout_ms: int
    due_at: Instant | None = None
    epoch: Epoch = Epoch(0)  # noqa: RUF009 - a NewType over int is an immutable default


async def claim(kit: Kit, wanted: Sequence[Wanted], worker: WorkerId) -> Sequence[Claimed | Over | NotNow]:
    """Try to claim each; a refused claim says why, and repairs what it finds broken."""
    kit = await in_force(kit)
    sent_ms = kit.clock.monotonic_ms()
    changes = [_claim_of(kit, one, worker) for one in wanted]
    outcomes = await kit.store.write_each(changes) if len(changes) > 1 else [await kit.store.write(changes[0])]
    return [
        await _judge(kit, one, change, outcome, sent_ms)
        for one, change, outcome in zip(wanted, changes, outcomes, strict=True)
    ]


def _claim_of(kit: Kit, wanted: Wanted, worker: WorkerId) -> Claim:
    return Claim(
        ref=wanted.ref,
        worker=worker,
        token=kit.entropy.token(),
        now=kit.clock.now(),
        lease_ms=kit.durations.lease_ms,
        timeout_ms=wanted.timeout_ms,
        clock_error_ms=kit.durations.clock_error_ms,
        era=kit.era,
        is_below=kit.era.is_below(wanted.epoch),
    )


async def _judge(
    kit: Kit, wanted: Wanted, change: Claim, outcome: Outcome[Execution] | Unknown, sent_ms: int
) -> Claimed | Over | NotNow:
    match outcome:
        case Applied(new=execution):
            could_start = max(execution.redriven_at or execution.scheduled_at, wanted.due_at or 0)
            kit.emit(
                EventName.EXECUTION_CLAIMED,
                measured={"startLagMs": max(0, change.now - could_start), "attempt": execution.attempt},
                executionId=execution.ref.id,
                jobId=execution.job_id,
                lane=execution.lane.value,
                worker=change.worker,
            )
            return Claimed(execution=execution, sent_ms=sent_ms)
        case Refused(old=old) if (other := _of_the_other_era(change)).decide(old) is not None:
            return await _claimed_after_all(kit, wanted, other, sent_ms)
        case Refused(old=old):
            return await _repaired(kit, old, change.now)
        case Unknown():
            return NotNow(after_ms=kit.durations.heartbeat_ms)  # if it was ours, it is found held, and reaped in time


def _of_the_other_era(change: Claim) -> Claim:
    return replace(change, is_below=not change.is_below)


async def _claimed_after_all(kit: Kit, wanted: Wanted, change: Claim, sent_ms: int) -> Claimed | Over | NotNow:
    """Its hint was of another era than the item. An epoch only rises, so this comes twice at most.

    The claims beside it stand, and their workers begin, whatever becomes of this one.
    """
    try:
        return await _judge(kit, wanted, change, await kit.store.write(change), sent_ms)
    except Unavailable as fault:
        kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, detail=str(fault)[:200])
        return NotNow(after_ms=kit.durations.heartbeat_ms)


async def _repaired(kit: Kit, old: Execution | None, now: Instant) -> Over | NotNow:
    """A repair that fails is tried again with its own hint: the claims beside it stand, and their workers begin."""
    try:
        return await _refused(kit, old, now)
    except Unavailable as fault:
        kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, detail=str(fault)[:200])
        return NotNow(after_ms=kit.durations.heartbeat_ms)


async def _refused(kit: Kit, old: Execution | None, now: Instant) -> Over | NotNow:
    """Finished: settle if owed. Held: when that lease ends.

    Lease over and no attempt left, or asked to stop: reap at once (R17).
    """
    if old is None:
        return Over()  # a hint is sent after the insert: the row has been forgotten since
    kit.emit(EventName.CLAIM_REFUSED, executionId=old.ref.id, jobId=old.job_id, reason=old.state.value)
    if old.is_terminal:
        await settle(kit, old)
        return Over()
    if old.wait_key is not None:
        return Over()  # whoever takes it off the waiting index puts a page before, and sends a hint
    if old.run_deadline_at is not None and old.run_deadline_at <= now and old.lease_until is None:
        await expire(kit, old)
        return Over()
    if kit.era.is_used_up(old.lease_epoch) and old.lease_until is None:
        return Over()  # it starts no more in this installation, and ends at its run deadline
    match old.state:
        case State.RUNNING | State.CANCELLING:
            return await _held(kit, old, now)
        case State.RETRY:
            assert old.retry_at is not None
            return NotNow(after_ms=max(0, old.retry_at - now))
        case _:
            return Over()  # WAITING: whoever lets it go sends a hint


async def _held(kit: Kit, old: Execution, now: Instant) -> Over | NotNow:
    assert old.lease_until is not None
    clock_error_ms = kit.durations.clock_error_ms
    if old.lease_is_over(now, clock_error_ms):
        reaped = await reap(kit, old)  # a retry gets a hint of its own
        # Refused: its holder lives after all, and may need this hint if it dies later.
        return Over() if isinstance(reaped, Applied) else NotNow(after_ms=kit.durations.lease_ms)
    return while_held(kit, old)


def while_held(kit: Kit, execution: Execution) -> Over | NotNow:
    """What becomes of the hint of a run that somebody holds: it comes again when that lease is over.

    No worker's own lease lasts until the first look at a page: such a run was handed over, for hours maybe, and its
    page watches it. A queue lets only so many hints be in flight, of all tenants together.
    """
    assert execution.lease_until is not None
    durations = kit.durations
    after_ms = execution.lease_until + 2 * durations.clock_error_ms + 1 - kit.clock.now()
    return Over() if after_ms > durations.first_check_ms else NotNow(after_ms=after_ms)
