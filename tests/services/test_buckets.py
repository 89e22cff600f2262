"""Buckets: the count is raised and lowered while loops of the old and of the new count run beside each other."""

from dataclasses import replace

import pytest

from tests.support.faulty import Down
from tests.support.kits import Does, World
from tests.support.ledger import check_all
from tests.support.steps import HOUR, MINUTE
from tickwright.domain.attempts import RetryLater, Success, UserResult
from tickwright.domain.ids import JobId
from tickwright.domain.jobs import Head
from tickwright.domain.lanes import bucket_of
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.ports.runner import Invocation
from tickwright.services.buckets import serving_all
from tickwright.services.change_job import pause_job, resume_job
from tickwright.services.kit import Kit

OLD, NEW = 4, 16


def counting(world: World, *, written: int, read: int = 0) -> Kit:
    """A process of another count than the world's."""
    return replace(world.kit, buckets=written, served=read)


async def submitted(world: World, kit: Kit, how_many: int) -> list[Head]:
    """Jobs of every minute, twice, by a process of this count."""
    usual, world.kit = world.kit, kit
    schedule = {"every": "PT1M", "endAt": world.text(2 * MINUTE)}
    heads = [await world.submit(schedule=schedule) for _ in range(how_many)]
    world.kit = usual
    return heads


async def played(world: World, schedulers: list[SchedulerLoop], watches: list[WatchLoop], *, seconds: int) -> None:
    """These loops beside each other for so long, and a worker."""
    for _ in range(seconds):
        for scheduler in schedulers:
            await scheduler.tick()
        while await world.work():
            pass
        for watch in watches:
            await watch.look()
        world.clock.advance(1_000)


@pytest.mark.sem("SEM-BUCKET-3")
async def test_every_tick_runs_while_loops_of_both_counts_serve(world: World) -> None:
    """The count for writing is raised once loops look at so many; those of the old count go on beside them."""
    old, new = counting(world, written=OLD), counting(world, written=OLD, read=NEW)
    heads = await submitted(world, old, 4)
    schedulers = [SchedulerLoop(old, "old"), SchedulerLoop(new, "new")]
    watches = [WatchLoop(old), WatchLoop(new)]

    await played(world, schedulers, watches, seconds=70)
    heads += await submitted(world, counting(world, written=NEW), 16)
    await played(world, schedulers, watches, seconds=125)

    rows = await world.executions()
    assert {head.bucket for head in heads} > set(range(OLD))
    assert [row.state for row in rows] == [State.SUCCEEDED] * (2 * len(heads))
    assert max(start.at - start.scheduled_at for start in world.runner.starts) <= 1_000
    world.kit = new
    await world.drain()
    await check_all(world)


@pytest.mark.sem("SEM-BUCKET-3")
async def test_a_job_that_is_written_anew_moves_and_is_found_where_it_then_lies(world: World) -> None:
    """Paused by a process of the old count, resumed by one of the new: it lies in one bucket, and fires once a tick."""
    (head,) = [one for one in await submitted(world, counting(world, written=OLD), 8) if moves(one.job_id)][:1]
    new = counting(world, written=NEW)

    await pause_job(counting(world, written=OLD), head.tenant_id, head.job_id, None)
    await resume_job(new, head.tenant_id, head.job_id, None)

    resumed = await world.head(head.job_id)
    assert (head.bucket, resumed.bucket) == (bucket_of(head.job_id, OLD), bucket_of(head.job_id, NEW))
    await played(world, [SchedulerLoop(new, "new")], [], seconds=125)
    assert len(await world.executions(head.job_id)) == 2


def moves(job_id: JobId) -> bool:
    return bucket_of(job_id, OLD) != bucket_of(job_id, NEW)


@pytest.mark.sem("SEM-BUCKET-3")
async def test_after_a_lower_count_the_buckets_beyond_it_are_served_all_the_same(world: World) -> None:
    """A loop that begins finds the leases of buckets that loops before it have had: what lies there drains."""
    new = counting(world, written=NEW)
    await SchedulerLoop(new, "new").tick()
    heads = await submitted(world, new, 16)

    old = await serving_all(counting(world, written=OLD))
    await played(world, [SchedulerLoop(old, "old")], [WatchLoop(old)], seconds=140)

    assert (old.buckets, old.buckets_read) == (OLD, NEW)
    assert len(await world.executions()) == 2 * len(heads)


@pytest.mark.sem("SEM-BUCKET-3")
async def test_a_retry_that_waits_beyond_the_count_is_let_go(world: World) -> None:
    """It waits under a bucket that the worker's count has and the loop's own has not."""
    new = counting(world, written=NEW)
    await SchedulerLoop(new, "new").tick()
    world.runner.does = asks_to_wait_once()
    heads = await submitted(world, new, 16)
    world.kit = new
    await played(world, [SchedulerLoop(new, "new")], [], seconds=62)
    assert any(int(row.wait_key or 0) >= OLD for row in await world.executions())

    world.kit = await serving_all(counting(world, written=OLD))
    world.clock.advance(HOUR)
    await world.drain()

    rows = await world.executions()
    assert {row.state for row in rows if row.retry_afters} == {State.SUCCEEDED}
    assert len({row.job_id for row in rows if row.retry_afters}) == len(heads)


def asks_to_wait_once() -> Does:
    """Each job's first run asks to be tried again in an hour."""
    asked: set[JobId] = set()

    async def does(invocation: Invocation) -> UserResult:
        if (job_id := invocation.execution.job_id) in asked:
            return Success()
        asked.add(job_id)
        return RetryLater(after_s=3_600)

    return does


async def test_a_loop_that_cannot_read_begins_with_its_own_count(world: World) -> None:
    """A store that is down costs the buckets beyond until the next beginning, and the loop nothing else."""
    await SchedulerLoop(counting(world, written=NEW), "new").tick()

    begun = await serving_all(replace(world.a_process(Down(frozenset({"lease"}))), buckets=OLD))

    assert begun.buckets_read == OLD


async def test_where_the_count_was_never_higher_nothing_is_added(world: World) -> None:
    """Sixteen reads say so."""
    kit = counting(world, written=NEW)
    await SchedulerLoop(kit, "new").tick()

    assert (await serving_all(kit)).buckets_read == NEW
