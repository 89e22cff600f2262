"""An installation goes on from a copy of its tables of an earlier instant, with a raised base, beside zombies."""

import pytest

from tests.recovery.places import Installations, Place, embedded
from tests.recovery.test_deletion import OTHER, deleted
from tests.support.builders import TENANT
from tests.support.steps import MINUTE
from tickwright.api.keys import make_key
from tickwright.domain.attempts import Success
from tickwright.domain.changes.executions import Insert
from tickwright.domain.epochs import FIRST_ERA
from tickwright.domain.executions import Execution
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.tenants import Scope
from tickwright.domain.transitions import State
from tickwright.ports.faults import StoreUnavailable
from tickwright.services.pools import put_pool
from tickwright.services.relist import deleted_since, relist
from tickwright.services.report import heartbeat, report, report_success


async def grown(place: Place) -> None:
    """Jobs of every kind of state: ended, held by a worker, to be tried again, waiting, and due later."""
    world = place.world
    await put_pool(world.kit, TENANT, "gpu", None)
    for minutes in (1, 2, 3):
        await world.submit(schedule={"every": "PT1M", "endAt": world.text(minutes * MINUTE)}, overlap={"mode": "allow"})
    await world.submit(schedule={"runAt": world.text(10 * MINUTE)})
    await place.play(100)
    world.clock.advance(20_000)
    await place.look_ahead()
    await place.hold((await place.waiting())[0])


async def gone_on(place: Place) -> None:
    """What the copy does not know: another take-over, claims, ends, ticks, and a job."""
    world = place.world
    world.clock.advance(world.durations.lease_ms + 3_000)
    for row in await place.waiting():
        await place.hold(row)
    (old,) = [row for row in await place.rows() if row.ref == place.held[0].ref]
    await place.hold(old)
    await report(world.kit, place.held[1], Success(result="1"))
    await world.submit(schedule={"runAt": world.text(MINUTE)})
    await place.play(100)


@pytest.mark.sem("SEM-EPOCH-1", "SEM-RECOVERY-1")
async def test_a_copy_with_a_raised_base_refuses_zombies_and_ends_everything(installations: Installations) -> None:
    """What was acknowledged before the copy is done; no worker of after it is believed; new epochs beat theirs."""
    first, second = installations.first, installations.second
    await grown(first)
    point, known, before = first.world.clock.now(), await first.rows(), len(first.held)
    await installations.copied()
    await gone_on(first)
    handed_out = {start.execution_id: start.epoch for start in first.world.runner.starts}
    handed_out |= {row.ref.id: row.lease_epoch for row in first.held}

    second.begin_above()
    kit = second.world.kit
    told = [await report_success(kit, TENANT, row.ref.id, epoch=row.lease_epoch, result=None) for row in first.held]
    done = await relist(kit, second.whole, point)
    await second.play(900)

    refusals = [one for one in told[before:] if isinstance(one, Refusal)]
    assert [one.code for one in refusals] == [Code.LEASE_LOST] * (len(first.held) - before)
    assert len(refusals) >= 2
    rows = {row.ref: row for row in await second.rows()}
    assert {row.ref for row in known} <= rows.keys()
    assert {row.state for row in rows.values()} == {State.SUCCEEDED}
    assert done.pools == 1
    assert done.highest_epoch < kit.era.base == FIRST_ERA.highest
    again = [start for start in second.world.runner.starts if start.execution_id in handed_out]
    assert again
    assert all(start.epoch > max(kit.era.base, handed_out[start.execution_id]) for start in again)


@pytest.mark.sem("SEM-EPOCH-1")
async def test_whoever_holds_a_run_since_before_the_copy_may_end_it(installations: Installations) -> None:
    """Its epoch stands in the row: nobody took it over before that instant, so its work is not done twice."""
    first, second = installations.first, installations.second
    await grown(first)
    await installations.copied()
    second.begin_above()
    kit, (held,) = second.world.kit, first.held

    kept = await heartbeat(kit, held, held.lease_epoch)
    ended = await report_success(kit, TENANT, held.ref.id, epoch=held.lease_epoch, result="1")

    assert not isinstance(kept, Refusal)
    assert isinstance(ended, Execution)
    assert (ended.state, ended.lease_epoch) == (State.SUCCEEDED, held.lease_epoch)


@pytest.mark.sem("SEM-EPOCH-1")
async def test_without_a_raised_base_a_zombie_would_be_believed(installations: Installations) -> None:
    """The control: the zombie's own epoch is handed out again, and its result is taken for the new holder's."""
    first, second = installations.first, installations.second
    await grown(first)
    await installations.copied()
    await gone_on(first)
    zombie = first.held[1]
    await second.hold(next(row for row in await second.rows() if row.ref == zombie.ref))

    believed = await report_success(second.world.kit, TENANT, zombie.ref.id, epoch=zombie.lease_epoch, result=None)

    assert isinstance(believed, Execution)


@pytest.mark.sem("SEM-EPOCH-1")
async def test_a_link_that_was_not_cut_would_hand_out_an_epoch_of_the_base_twice() -> None:
    """The control of the procedure's first step: a row of the old Region comes over a claim of the new one."""
    async with embedded() as made:
        first, second = made.first, made.second
        await grown(first)
        await made.copied()
        second.begin_above()
        (row,) = [row for row in await second.rows() if row.ref == first.held[0].ref]
        first.world.clock.advance(first.world.durations.lease_ms + 3_000)
        await second.hold(row)
        await first.hold(row)

        await second.world.forget(second.held[0])
        await second.world.kit.store.write(Insert(execution=first.held[-1]))
        second.world.clock.advance(second.world.durations.lease_ms + 3_000)
        await second.hold(first.held[-1])

        assert second.held[0].lease_epoch == second.held[1].lease_epoch == second.world.kit.era.base + 1


@pytest.mark.sem("SEM-RECOVERY-1")
async def test_what_a_torn_copy_lacks_is_found_by_relisting() -> None:
    """A decided tick without its execution and its page, and an unfinished execution without a page, go on."""
    async with embedded() as made:
        world = made.first.world
        heads = [await world.submit(schedule={"runAt": world.text(MINUTE)}) for _ in range(2)]
        world.clock.advance(MINUTE)
        await made.first.look_ahead()
        lost, _ = await world.executions()
        await world.forget(lost)
        await world.lose_hints()
        for page in await world.pages():
            await world.kit.store.delete_page(page)

        done = await relist(world.kit, made.first.whole, world.clock.now())
        await world.drain()

        assert (done.unfinished, done.decided, done.heads) == (1, 1, len(heads))
        assert [row.state for row in await world.executions()] == [State.SUCCEEDED] * 2


@pytest.mark.sem("SEM-RECOVERY-1")
async def test_relisting_finds_tenants_without_a_job() -> None:
    """Their pools get their queues, and their keys can be looked through."""
    async with embedded() as made:
        await put_pool(made.first.world.kit, TENANT, "gpu", None)

        done = await relist(made.first.world.kit, made.first.whole, Instant(0))

        assert (done.tenants, done.pools) == ({TENANT}, 1)


@pytest.mark.sem("SEM-RECOVERY-1")
@pytest.mark.parametrize("table", ["heads", "executions"])
async def test_a_row_that_cannot_be_read_keeps_no_other_from_being_relisted(table: str) -> None:
    """It is passed over, and told."""
    async with embedded() as made:
        await grown(made.first)
        world = made.first.world
        rows = await made.first.rows()
        one = {"heads": "job_id = ?1", "executions": "job_id = ?1 AND key = ?2"}[table]
        spoil = f"UPDATE {table} SET doc = '{{}}' WHERE {one}"  # noqa: S608 - names of ours
        values = rows[-1].ref[: one.count("?")]
        await world.database.write(lambda connection: connection.execute(spoil, values), StoreUnavailable)

        done = await relist(world.kit, made.first.whole, Instant(0))

        assert len(done.unreadable) == 1
        assert done.executions + done.heads == len(rows) + 4 - 1


@pytest.mark.sem("SEM-RECOVERY-1")
async def test_relisting_twice_beside_the_loops_changes_nothing() -> None:
    """Pages too many are looked at and dropped: each run starts once."""
    async with embedded() as made:
        await grown(made.first)
        world = made.first.world

        for _ in range(2):
            await relist(world.kit, made.first.whole, Instant(0))
        await world.drain()

        rows = await world.executions()
        starts = [(start.execution_id, start.epoch) for start in world.runner.starts]
        assert {row.state for row in rows} == {State.SUCCEEDED}
        assert len(set(starts)) == len(starts) == len(rows)


@pytest.mark.sem("SEM-RECOVERY-1")
async def test_tenants_that_were_deleted_since_the_copy_are_named(installations: Installations) -> None:
    """They stand again in it, with keys that work; one that was gone before and has come again is not meant."""
    first, second = installations.first, installations.second
    for tenant_id in (TENANT, OTHER):
        await make_key(first.world.kit, tenant_id, scopes=[Scope.JOBS_READ], label="")
    await deleted(first, OTHER)
    await make_key(first.world.kit, OTHER, scopes=[Scope.JOBS_READ], label="")
    await installations.copied()
    before = await deleted_since(second.whole, first.whole)

    await deleted(first, TENANT)

    assert (before, await deleted_since(second.whole, first.whole)) == ([], [TENANT])
