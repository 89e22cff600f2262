"""The invariants of protocol 9, judged on what an installation holds and on what its workers have done.

Each check is a claim about the whole world once it is quiet. Must not know how a world came to be what it is.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from tests.support.kits import Start, World
from tickwright.domain.executions import Cause, Execution, PassedOver, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, Overlap
from tickwright.domain.reasons import REASONS
from tickwright.domain.schedules import OneOff, from_compact, next_tick
from tickwright.domain.transitions import State

TICKS_MAX = 200


async def check_quiet(world: World) -> None:
    """EveryExecutionEnds, OwedSettles, JournalDrains, JobMovesOn, NextMonotone: nothing is left, and no head lies."""
    for execution in await world.executions():
        assert execution.is_terminal, f"unfinished: {execution}"
        assert not execution.owed, f"owes still: {execution}"
        assert execution.ttl is not None, f"is never forgotten: {execution}"
        check_reason(execution)
    assert await world.pages() == []
    assert await world.hints() == 0
    for head in await world.heads():
        check_head(head)
        assert head.next_run_at is None or head.next_run_at > world.clock.now(), f"stands still: {head}"


def check_reason(execution: Execution) -> None:
    """ReasonStands: what did not succeed has a reason, and one that its table allows with its state."""
    if execution.state is State.SUCCEEDED:
        assert execution.reason is None, f"succeeded for a reason: {execution}"
        return
    assert execution.reason is not None, f"has no reason: {execution}"
    assert execution.state in REASONS[execution.reason].statuses, f"has a reason of another state: {execution}"


def check_head(head: Head) -> None:
    """NextMonotone: what is ahead is later than what was decided, whatever was written."""
    assert head.next_run_at is None or head.next_run_at > (head.fired_through or 0)


async def check_starts(world: World) -> None:
    """No attempt before its time, none twice under one epoch, none more than allowed, and none after the end."""
    rows = {execution.ref.id: execution for execution in await world.executions()}
    starts = world.runner.starts
    for start in starts:
        assert start.at >= start.scheduled_at, f"too early: {start}"
        assert start.execution_id in rows, f"ran without a row: {start}"
        assert start.attempt <= rows[start.execution_id].max_attempts
        assert start.epoch <= rows[start.execution_id].lease_epoch
    counts = Counter((start.execution_id, start.epoch) for start in starts)
    assert not [twice for twice, number in counts.items() if number > 1]
    for row in rows.values():
        if row.state is State.SKIPPED or row.lease_epoch == 0:
            assert not starts_of(row, starts), f"was never claimed, and ran: {row}"


def starts_of(execution: Execution, starts: Sequence[Start]) -> list[Start]:
    """The attempts of one execution."""
    return [start for start in starts if start.execution_id == execution.ref.id]


async def check_one_at_a_time(world: World, head: Head) -> None:
    """OverlapPolicy: of a job with *skip* no two are unfinished at once; NoFalseSkip: a skip had its reason."""
    rows = await world.executions(head.job_id)
    lived = [
        row for row in rows if row.state is not State.SKIPPED and (row.lease_epoch or row.created_at != row.finished_at)
    ]
    if head.overlap is Overlap.SKIP:
        for one, other in combinations(lived, 2):
            assert not _overlap(one, other), f"two at once: {one} and {other}"
    for row in rows:
        if row.reason is Reason.OVERLAP:
            busy = [other for other in lived if (other.finished_at or 0) >= row.scheduled_at]
            assert [other for other in busy if other.created_at <= row.created_at], f"skipped for nothing: {row}"


def _overlap(one: Execution, other: Execution) -> bool:
    assert one.finished_at is not None
    assert other.finished_at is not None
    return _begun(one) < other.finished_at and _begun(other) < one.finished_at


def _begun(execution: Execution) -> Instant:
    """Since when its last generation was unfinished."""
    return execution.redriven_at or execution.created_at


async def check_ledger(world: World, head: Head) -> None:
    """NoGhostRun beside TickNotLost: no row has no tick, and ranges count right."""
    await check_covered(world, head, until=world.clock.now())
    expected = ticks_of(head, until=world.clock.now())
    for row in await world.executions(head.job_id):
        if row.passed is not None:
            check_range(row.passed, expected)
        elif row.cause is Cause.SCHEDULE:
            assert row.scheduled_at in expected, f"a ghost: {row}"


async def check_covered(world: World, head: Head, *, until: Instant) -> None:
    """TickNotLost: each tick of the job's schedule up to an instant has exactly one row, its own or a range's."""
    rows = [row for row in await world.executions(head.job_id) if row.cause is Cause.SCHEDULE]
    single = {row.scheduled_at for row in rows if row.passed is None}
    ranges = [row.passed for row in rows if row.passed is not None]
    for tick in ticks_of(head, until=until):
        covered = [passed for passed in ranges if passed.first <= tick <= passed.last]
        assert (tick in single) + len(covered) == 1, f"{tick} has {(tick in single) + len(covered)} rows"


def check_range(passed: PassedOver, ticks: Iterable[Instant]) -> None:
    """A range says how many ticks it stands for."""
    assert passed.count == len([tick for tick in ticks if passed.first <= tick <= passed.last])


def ticks_of(head: Head, *, until: Instant) -> list[Instant]:
    """What a schedule fires from the job's creation on."""
    schedule = from_compact(head.schedule)
    after = head.created_at
    if isinstance(schedule.kind, OneOff):
        after = Instant(schedule.kind.run_at - 1)
    ticks: list[Instant] = []
    while (tick := next_tick(schedule, after)) is not None and tick.at <= until:
        ticks.append(tick.at)
        after = tick.at
        assert len(ticks) <= TICKS_MAX
        if schedule.max_runs is not None and len(ticks) == schedule.max_runs:
            break
    return ticks


async def check_all(world: World) -> None:
    """What holds in every quiet world, whatever was done to its jobs."""
    await check_quiet(world)
    await check_starts(world)
    for head in await world.heads():
        await check_one_at_a_time(world, head)
