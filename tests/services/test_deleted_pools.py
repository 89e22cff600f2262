"""What becomes of a pool that is deleted, of its queues, of what waits there, and of what comes for it still."""

from contextlib import suppress

import pytest

from tests.services.test_pools import GPU, MINUTELY, a_pool, code_of
from tests.support.builders import TENANT
from tests.support.faulty import Crash, Down, Fate, Interject, Recorder, Script
from tests.support.kits import World
from tests.support.steps import HOUR, MINUTE, claimed, fired
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Success, an_error
from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.pools import Pool
from tickwright.domain.reasons import why
from tickwright.domain.transitions import State
from tickwright.loops.watch import WatchLoop
from tickwright.ports.faults import QueueUnavailable
from tickwright.services import pool_users
from tickwright.services.change_job import cancel_job, edit_job
from tickwright.services.dead_letters import list_dead
from tickwright.services.fire import fire
from tickwright.services.memory import Memory
from tickwright.services.pools import delete_pool, get_pool, list_pools, pool_refusal, put_pool
from tickwright.services.redrive import redrive
from tickwright.services.report import report

DAY = 24 * HOUR


async def deleted(world: World, name: str = "gpu") -> Pool:
    """Also while runs wait there: what becomes of these is asked here."""
    gone = await delete_pool(world.kit, TENANT, name, force=True)
    assert isinstance(gone, Pool)
    return gone


async def run_out_of(world: World) -> None:
    """A job's first run waits in the pool, and the job goes elsewhere: nothing names the pool any more."""
    job = await world.submit(target=GPU, schedule=MINUTELY)
    world.clock.advance(MINUTE)
    await fired(world)
    await edit_job(world.kit, TENANT, job.job_id, world.spec(schedule={"runAt": world.text(9 * DAY)}), 1)


async def watched(world: World, ms: int) -> None:
    """The watch looks for so long."""
    until = world.clock.now() + ms
    while world.clock.now() < until:
        world.clock.advance(MINUTE)
        await WatchLoop(world.kit).look()


@pytest.mark.sem("SEM-POOL-6")
async def test_a_deleted_pool_is_not_there(world: World) -> None:
    """For jobs, machines and lists alike, and it leaves room for another."""
    for number in range(limits.POOLS_OF_TENANT_MAX):
        await a_pool(world, f"gpu-{number}")
    full = await put_pool(world.kit, TENANT, "one-more", None)
    gone = await deleted(world, "gpu-0")
    found = (await list_pools(world.kit, TENANT, limit=100)).items

    assert code_of(full) is Code.INVALID
    assert gone.deleted_at == world.clock.now()
    assert code_of(await get_pool(world.kit, TENANT, "gpu-0")) is Code.NOT_FOUND
    assert len(found) == limits.POOLS_OF_TENANT_MAX - 1
    assert code_of(await pool_refusal(world.kit, TENANT, world.spec(target=GPU | {"pool": "gpu-0"}))) is Code.INVALID
    assert (await a_pool(world, "one-more")).is_new


@pytest.mark.sem("SEM-POOL-6")
async def test_a_pool_that_an_open_job_names_is_not_deleted(world: World) -> None:
    """Now, or once an edit counts; the refusal names the job, and changes nothing. One that is over keeps none."""
    await a_pool(world)
    now_in_it = await world.submit(target=GPU, schedule=MINUTELY)
    later = await world.submit(schedule=MINUTELY)
    in_it_later = world.spec(target=GPU, schedule=MINUTELY)
    await edit_job(world.kit, TENANT, later.job_id, in_it_later, 1, Instant(world.clock.now() + DAY))
    both = await delete_pool(world.kit, TENANT, "gpu")
    await cancel_job(world.kit, TENANT, now_in_it.job_id, None)
    one = await delete_pool(world.kit, TENANT, "gpu")
    there = await get_pool(world.kit, TENANT, "gpu")
    await cancel_job(world.kit, TENANT, later.job_id, None)

    assert isinstance(both, Refusal)
    assert isinstance(one, Refusal)
    assert both.code is Code.POOL_IN_USE
    assert now_in_it.job_id in both.detail
    assert (now_in_it.job_id in one.detail, later.job_id in one.detail) == (False, True)
    assert isinstance(there, Pool)
    assert there.version == 1
    await deleted(world)


@pytest.mark.sem("SEM-POOL-6")
async def test_a_pool_in_which_the_run_of_a_one_off_waits_is_not_deleted(world: World) -> None:
    """Its job is over as soon as the run exists; the refusal counts and names the run, until it is claimed."""
    await a_pool(world)
    for mode in ("skip", "allow"):
        at = world.text(MINUTE)
        await world.submit(target=GPU, schedule={"runAt": at}, overlap={"mode": mode})
    world.clock.advance(MINUTE)
    await fired(world)
    rows = await world.executions()
    refused = await delete_pool(world.kit, TENANT, "gpu")
    held = await claimed(world, rows[0])
    tried = await claimed(world, rows[1])
    await report(world.kit, tried, Failure(error=an_error("Broken", "once")))
    waits_for_retry = await delete_pool(world.kit, TENANT, "gpu")
    await report(world.kit, await claimed_again(world, tried), Success())
    gone = await delete_pool(world.kit, TENANT, "gpu")

    assert isinstance(refused, Refusal)
    assert refused.code is Code.POOL_IN_USE
    assert refused.detail.startswith("2 unfinished runs wait in it")
    assert all(row.ref.id in refused.detail for row in rows)
    assert isinstance(waits_for_retry, Refusal)
    assert (tried.ref.id in waits_for_retry.detail, held.ref.id in waits_for_retry.detail) == (True, False)
    assert isinstance(gone, Pool)


@pytest.mark.sem("SEM-POOL-6")
async def test_what_waits_beyond_the_jobs_that_are_looked_at_is_counted_by_the_queues(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenant may have more one-offs than one request looks at; `force` ends their runs knowingly."""
    monkeypatch.setattr(limits, "POOL_JOBS_LOOKED_AT_MAX", 0)
    await a_pool(world)
    for _ in range(3):
        await world.submit(target=GPU, schedule={"runAt": world.text(MINUTE)})
    world.clock.advance(MINUTE)
    await fired(world)

    refused = await delete_pool(world.kit, TENANT, "gpu")
    await deleted(world)
    await watched(world, HOUR)

    assert isinstance(refused, Refusal)
    assert refused.detail.startswith("It may be in use: its queues hold 3 hints of runs; not all jobs were looked at")
    assert {row.reason for row in await world.executions()} == {Reason.POOL_DELETED}


@pytest.mark.sem("SEM-POOL-6")
async def test_nobody_is_looked_for_beyond_a_job_that_names_the_pool(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool in use is refused after a page of jobs, not after all that a tenant has."""
    monkeypatch.setattr(pool_users, "_JOBS_A_PAGE", 1)
    await a_pool(world)
    for _ in range(3):
        await world.submit(target=GPU, schedule=MINUTELY)
    recorder = Recorder()

    refused = await delete_pool(world.a_process(recorder), TENANT, "gpu")

    assert code_of(refused) is Code.POOL_IN_USE
    assert [call.name for call in recorder.calls].count("jobs_eventually") == 1


async def claimed_again(world: World, row: Execution) -> Execution:
    """Once its backoff is over."""
    tried = await world.only_execution(row.job_id)
    assert tried.retry_at is not None
    world.clock.advance(tried.retry_at - world.clock.now())
    return await claimed(world, tried)


@pytest.mark.sem("SEM-POOL-6", "SEM-REASON-1")
async def test_what_waits_in_a_deleted_pool_is_dead_and_says_why(world: World) -> None:
    """By the next look of the watch, within the hour; redriven into nothing it dies again, into a new pool it runs."""
    await a_pool(world)
    await run_out_of(world)
    await deleted(world)
    await watched(world, HOUR)
    dead = await world.only_execution()
    letters = await world.dead_letters()
    await redrive(world.kit, TENANT, dead.ref.id, None)
    await watched(world, 5 * MINUTE)
    again = await world.only_execution()
    await a_pool(world)
    await redrive(world.kit, TENANT, dead.ref.id, None)
    held = await claimed(world, await world.only_execution())

    assert (dead.state, dead.reason, [letter.reason for letter in letters]) == (
        State.DEAD,
        Reason.POOL_DELETED,
        ["pool_deleted"],
    )
    assert "The pool that it waited in was deleted" in why(dead)
    assert (again.state, again.reason, again.generation) == (State.DEAD, Reason.POOL_DELETED, 2)
    assert (held.state, held.reason, held.generation) == (State.RUNNING, None, 3)


@pytest.mark.sem("SEM-POOL-6")
async def test_what_a_machine_holds_when_its_pool_is_deleted_goes_on(world: World) -> None:
    """It reports by its id and epoch as ever; one that fails has nobody who could try again, and is dead."""
    await a_pool(world)
    for _ in range(2):
        await run_out_of(world)
    well, badly = [await claimed(world, row) for row in await world.executions()]
    await deleted(world)
    await report(world.kit, well, Success())
    await report(world.kit, badly, Failure(error=an_error("Broken", "once")))
    await watched(world, HOUR)

    assert (await world.only_execution(well.job_id)).state is State.SUCCEEDED
    dead = await world.only_execution(badly.job_id)
    assert (dead.state, dead.reason) == (State.DEAD, Reason.POOL_DELETED)
    assert dead.error is not None
    assert dead.error.error_class == "Broken"


@pytest.mark.sem("SEM-POOL-6")
async def test_what_waited_in_a_deleted_pool_waits_in_no_other_of_its_name(world: World) -> None:
    """Its hints went with the old queues, and none would come for as long again; what is tried again comes anew."""
    await a_pool(world)
    for _ in range(2):
        await run_out_of(world)
    waits, held = await world.executions()
    held = await claimed(world, held)
    await watched(world, MINUTE // 2)
    await deleted(world)
    world.clock.advance(1_000 * limits.POOL_RESTS_S)
    await a_pool(world)
    await report(world.kit, held, Failure(error=an_error("Broken", "once")))
    await watched(world, HOUR)

    dead, tried = await world.only_execution(waits.job_id), await world.only_execution(held.job_id)
    assert (dead.state, dead.reason) == (State.DEAD, Reason.POOL_DELETED)
    assert tried.state is State.RETRY
    assert (await claimed(world, tried)).state is State.RUNNING


@pytest.mark.sem("SEM-POOL-6")
async def test_a_job_that_slipped_past_dies_tick_by_tick_until_it_is_edited(world: World) -> None:
    """Submitted while the pool was being deleted: each run says why within minutes, and stands with the dead."""
    await a_pool(world)

    async def slips_past() -> None:
        await world.submit(target=GPU, schedule=MINUTELY, overlap={"mode": "allow"})

    gone = await delete_pool(world.a_process(Interject("write", slips_past)), TENANT, "gpu")
    for _ in range(10):
        world.clock.advance(MINUTE)
        await fire(world.kit, 0, await world.due(), Memory())
        await WatchLoop(world.kit).look()

    assert isinstance(gone, Pool)
    dead = [row for row in await world.executions() if row.reason is Reason.POOL_DELETED]
    assert len(dead) >= 3
    assert len((await list_dead(world.kit, TENANT, DeadFilter(), limit=50)).items) == len(dead)


@pytest.mark.sem("SEM-POOL-6")
async def test_its_queues_go_with_it_and_come_with_another_of_its_name(world: World) -> None:
    """After a rest, for a queue that was removed cannot be made at once; what waited in the old ones is gone."""
    await a_pool(world)
    await run_out_of(world)
    before = await world.hints()
    gone = await deleted(world)
    after = await world.hints()
    early = await put_pool(world.kit, TENANT, "gpu", None)
    world.clock.advance(1_000 * limits.POOL_RESTS_S)
    anew = await a_pool(world, description="another")

    assert (before, after) == (1, 0)
    assert isinstance(early, Refusal)
    assert (early.code, early.retryable) == (Code.POOL_RESTS, True)
    assert anew.is_new
    assert (anew.pool.version, anew.pool.created_at) == (gone.version + 1, world.clock.now())
    assert anew.pool.deleted_at is None


@pytest.mark.sem("SEM-POOL-6")
async def test_a_deletion_that_was_cut_off_goes_on_when_it_is_repeated(world: World) -> None:
    """The record goes first; a queue that does not answer, or a crash before it, leaves them to the same request."""
    await a_pool(world)
    await run_out_of(world)
    kit, _, _ = world.a_process_with(Down(frozenset({"remove"})))
    with pytest.raises(QueueUnavailable):
        await delete_pool(kit, TENANT, "gpu", force=True)
    left = await world.hints()
    with suppress(Crash):
        await delete_pool(world.a_process(Script(at=2, fate=Fate.CRASH_BEFORE)), TENANT, "gpu", force=True)
    still_left = await world.hints()
    await deleted(world)

    assert (left, still_left, await world.hints()) == (1, 1, 0)
    assert code_of(await get_pool(world.kit, TENANT, "gpu")) is Code.NOT_FOUND


@pytest.mark.sem("SEM-POOL-6")
async def test_of_a_deletion_and_a_put_at_once_both_are_whole(world: World) -> None:
    """A put that was made from the pool as it was is refused, and so is the deletion of an older version."""
    await a_pool(world, description="cards")

    async def is_deleted() -> None:
        await deleted(world)

    late = await put_pool(world.a_process(Interject("write", is_deleted)), TENANT, "gpu", "newer cards")
    stale = await delete_pool(world.kit, TENANT, "gpu", if_match=1)

    assert code_of(late) is Code.POOL_RESTS
    assert code_of(stale) is Code.VERSION_CONFLICT
    assert code_of(await delete_pool(world.kit, TENANT, "cpu")) is Code.NOT_FOUND
