"""An order to redrive many: paced, careful, cancellable, each execution once at most, whoever carries it out."""

from contextlib import suppress

import pytest

from tests.support.builders import TENANT
from tests.support.clocks import ManualClock
from tests.support.dying import (
    BROKEN,
    a_death,
    deaths_of_one_job,
    dies,
    look,
    looked_to_the_end,
    now_of,
    ordered,
)
from tests.support.faulty import Crash, Down, Fate, Interject, Script
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import DAY, HOUR, MINUTE, claimed
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.redrive_orders import Canary, OrderStatus
from tickwright.domain.transitions import State
from tickwright.loops.watch import WatchLoop
from tickwright.ports.runner import Invocation
from tickwright.services.change_job import cancel_job
from tickwright.services.dead_letters import count_dead, discard_each
from tickwright.services.redrive import redrive
from tickwright.services.redrive_orders import Ordered, cancel_order, move_on, order_redrive
from tickwright.services.report import report
from tickwright.services.run_now import run_now


async def generations(world: World) -> list[int]:
    """Of all executions, in the order of their jobs."""
    return [row.generation for row in await world.executions()]


async def opened(world: World) -> list[Execution]:
    """Those that were redriven."""
    return [row for row in await world.executions() if row.redriven_at is not None]


async def fails(_invocation: Invocation) -> UserResult:
    return BROKEN


@pytest.mark.sem("SEM-DLQ-2")
async def test_it_redrives_what_its_filter_finds_and_nothing_else(world: World) -> None:
    """Not what another error killed, not another tenant's, not what died after it was given."""
    meant = [await a_death(world, "DbError") for _ in range(3)]
    other = await a_death(world, "Closed")
    order = await ordered(world, wanted=DeadFilter(error_class="DbError"))
    world.clock.advance(1)
    later = await a_death(world, "DbError")

    done = await looked_to_the_end(world, order)

    assert (done.status, done.redriven, done.put_off, done.refused) == (OrderStatus.DONE, 3, 0, 0)
    assert {row.ref for row in await opened(world)} == {row.ref for row in meant}
    assert (await world.kit.store.execution(other.ref), await world.kit.store.execution(later.ref)) == (other, later)
    await world.drain()
    await check_all(world)


@pytest.mark.sem("SEM-DLQ-2")
async def test_another_tenants_dead_are_not_meant(world: World) -> None:
    """Whatever the filter says."""
    dead = await a_death(world)
    answer = await order_redrive(
        world.kit, TenantId("globex"), Ordered(wanted=DeadFilter(job_id=dead.job_id), rate_per_min=600), world.key()
    )
    assert not isinstance(answer, Refusal)

    await look(world)

    assert await opened(world) == []


@pytest.mark.sem("SEM-DLQ-2")
@pytest.mark.parametrize("rate", [1, 6, 100])
async def test_no_minute_holds_more_than_the_rate(world: World, rate: int) -> None:
    """However irregularly somebody looks; and it gets on."""
    count = 3 * rate
    for _ in range(count):
        await a_death(world)
    order = await ordered(world, rate_per_min=rate)
    pauses = [10_000, 300, 25_000, 1, 9_999, 60_000, 3_000]

    for number in range(1_000):
        await WatchLoop(world.kit).look()
        if (await now_of(world, order)).status is not OrderStatus.RUNNING:
            break
        world.clock.advance(pauses[number % len(pauses)])

    times = sorted(row.redriven_at or 0 for row in await opened(world))
    assert len(times) == count
    assert max(sum(at <= other < at + MINUTE for other in times) for at in times) <= rate
    assert times[-1] - times[0] < 12 * MINUTE


@pytest.mark.sem("SEM-DLQ-2")
async def test_what_dies_again_is_a_new_death_and_stays_on_the_list(world: World) -> None:
    """Nothing loops: B147, a message that kills whoever takes it goes round once for each order that a person gives."""
    dead = [await a_death(world) for _ in range(5)]
    world.runner.does = fails
    order = await ordered(world)

    done = await looked_to_the_end(world, order)
    await world.drain()
    for _ in range(5):
        await look(world)

    assert (done.status, done.redriven) == (OrderStatus.DONE, 5)
    assert await generations(world) == [2] * 5
    assert len(world.runner.starts) == 5
    assert (await count_dead(world.kit, TENANT, DeadFilter())).count == len(dead)


@pytest.mark.sem("SEM-DLQ-2")
async def test_a_watch_whose_clock_is_behind_redrives_none_twice(world: World) -> None:
    """Its redrives are written with a later time than the order's, and so are told from what the order means.

    One more is of a busy job, so the order goes through the list again and again.
    """
    (waits,) = await deaths_of_one_job(world, 1)
    await run_now(world.kit, TENANT, waits.job_id, None)
    for _ in range(3):
        await a_death(world)
    order = await ordered(world)
    behind = world.a_process(clock=ManualClock(Instant(world.clock.now() - 5_000)))

    await move_on(behind, await now_of(world, order))
    for row in await opened(world):
        await report(behind, await claimed(world, row), BROKEN)
    died = [row.failed_at for row in await world.executions() if row.generation > 1]
    for _ in range(10):
        await look(world)

    assert [at is not None and at < order.created_at for at in died] == [True] * 3
    assert sorted(await generations(world)) == [1, 1, 2, 2, 2]
    assert (await now_of(world, order)).redriven == 3


@pytest.mark.sem("SEM-DLQ-2")
@pytest.mark.parametrize(("allowed", "redriven"), [(0, 3), (1, 3), (2, 3)])
async def test_a_canary_that_dies_stops_the_order(world: World, allowed: int, redriven: int) -> None:
    """The others stay on the list, as they were."""
    for _ in range(10):
        await a_death(world)
    world.runner.does = fails
    order = await ordered(world, canary=Canary(first=3, failures_max=allowed))

    done = await looked_to_the_end(world, order)

    assert (done.status, done.redriven) == (OrderStatus.STOPPED, redriven)
    assert done.canary_died > allowed
    assert sorted(await generations(world)) == [1] * 7 + [2] * 3


@pytest.mark.sem("SEM-DLQ-2")
async def test_nothing_else_is_redriven_until_the_canaries_have_ended(world: World) -> None:
    """Well, or as many of them as must; then the order goes on."""
    for _ in range(6):
        await a_death(world)
    order = await ordered(world, canary=Canary(first=2, failures_max=1))
    for _ in range(10):
        await look(world)
    canaries = await opened(world)
    await dies(world, canaries[0])
    for _ in range(3):
        await look(world)
    half = await now_of(world, order)
    await report(world.kit, await claimed(world, canaries[1]), Success())

    done = await looked_to_the_end(world, order)

    assert (len(canaries), half.redriven, half.canary_ended, half.canary_died) == (2, 2, 1, 1)
    assert (done.status, done.redriven, done.canary_over) == (OrderStatus.DONE, 6, True)


@pytest.mark.sem("SEM-DLQ-2")
async def test_an_order_with_fewer_than_its_canaries_waits_for_these(world: World) -> None:
    """It is done when they have ended, and says how."""
    await a_death(world)
    order = await ordered(world, canary=Canary(first=5))
    for _ in range(3):
        await look(world)
    waits = await now_of(world, order)

    done = await looked_to_the_end(world, order)

    assert (waits.status, waits.redriven) == (OrderStatus.RUNNING, 1)
    assert (done.status, done.canary_ended, done.canary_died) == (OrderStatus.DONE, 1, 0)


@pytest.mark.sem("SEM-DLQ-2", "SEM-OVERLAP-1")
async def test_the_dead_of_a_busy_job_are_redriven_as_it_becomes_free(world: World) -> None:
    """Under *skip* no two of them are unfinished at once; none is left behind."""
    dead = await deaths_of_one_job(world, 4)
    order = await ordered(world)
    await look(world)
    first = await now_of(world, order)

    done = await looked_to_the_end(world, order)

    assert first.redriven == 1
    assert (done.status, done.redriven, done.put_off) == (OrderStatus.DONE, 4, 0)
    assert await generations(world) == [2] * len(dead)
    assert {row.state for row in await world.executions()} == {State.SUCCEEDED}
    await world.drain()
    await check_all(world)


@pytest.mark.sem("SEM-DLQ-2")
async def test_a_job_that_stays_busy_is_asked_less_and_less_often(world: World) -> None:
    """And after a week the order gives up; what is left stands on the list."""
    (dead,) = await deaths_of_one_job(world, 1)
    held = await run_now(world.kit, TENANT, dead.job_id, None)
    assert isinstance(held, Execution)
    order = await ordered(world)
    for _ in range(60):
        await look(world)
    busy = await now_of(world, order)
    world.clock.advance(7 * DAY)

    await look(world)

    assert busy.idle_passes == 5  # after 20, 40, 80, 160 and 320 s, where it could have been sixty times
    assert (await now_of(world, order)).status is OrderStatus.EXPIRED
    assert await generations(world) == [1, 1]


@pytest.mark.sem("SEM-DLQ-2")
async def test_the_dead_of_a_cancelled_job_are_refused_and_counted(world: World) -> None:
    """Nothing of it starts again, and the order ends."""
    dead, other = await a_death(world), await a_death(world)
    await cancel_job(world.kit, TENANT, dead.job_id, None)

    done = await looked_to_the_end(world, await ordered(world))

    assert (done.status, done.redriven, done.refused) == (OrderStatus.DONE, 1, 1)
    assert {row.ref for row in await opened(world)} == {other.ref}


@pytest.mark.sem("SEM-DLQ-2")
async def test_once_a_cancel_is_acknowledged_nothing_more_is_redriven(world: World) -> None:
    """A watch that had the next in hand and was about to write is refused whole."""
    for _ in range(3):
        await a_death(world)
    order = await ordered(world)
    rival = Interject("write_together", lambda: cancel_order(world.kit, TENANT, order.order_id), nth=2)

    await move_on(world.a_process(rival), order)
    for _ in range(3):
        await look(world)

    done = await now_of(world, order)
    assert (done.status, done.redriven) == (OrderStatus.CANCELLED, 1)
    assert sorted(await generations(world)) == [1, 1, 2]


@pytest.mark.sem("SEM-DLQ-2")
async def test_an_order_that_has_ended_cannot_be_cancelled(world: World) -> None:
    """A cancel of a cancelled one is the same cancel."""
    order = await ordered(world)
    await look(world)

    refused = await cancel_order(world.kit, TENANT, order.order_id)
    unknown = await cancel_order(world.kit, TenantId("globex"), order.order_id)

    assert isinstance(refused, Refusal)
    assert isinstance(unknown, Refusal)
    assert (refused.code, unknown.code) == (Code.ORDER_OVER, Code.NOT_FOUND)


@pytest.mark.sem("SEM-DLQ-2")
@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_two_watches_do_nothing_twice(world: World, nth: int) -> None:
    """One is frozen before its write and the other carries the order out to the end: the count is exact."""
    for _ in range(4):
        await a_death(world)
    order = await ordered(world)
    rival = Interject("write_together", lambda: WatchLoop(world.kit).look(), nth=nth)

    await move_on(world.a_process(rival), order)
    done = await looked_to_the_end(world, order)

    assert (done.status, done.redriven) == (OrderStatus.DONE, 4)
    assert await generations(world) == [2] * 4
    told = [one for one in world.telemetry.happenings if one.name is EventName.EXECUTION_REDRIVEN]
    assert len(told) == 4


@pytest.mark.sem("SEM-DLQ-2")
@pytest.mark.parametrize("fate", Fate, ids=lambda fate: fate.name)
async def test_a_dead_watch_costs_time_only(world: World, fate: Fate) -> None:
    """At each of its writes, the send among them: the next goes on, and nothing is redriven twice or left out."""
    for at in range(1, 9):
        mine = World()
        for _ in range(3):
            await a_death(mine)
        order = await ordered(mine)
        with suppress(Crash):
            await WatchLoop(mine.a_process(Script(at=at, fate=fate))).look()

        done = await looked_to_the_end(mine, order)
        await mine.drain()

        assert (done.status, done.redriven) == (OrderStatus.DONE, 3), at
        assert await generations(mine) == [2] * 3
        assert {row.state for row in await mine.executions()} == {State.SUCCEEDED}
        await check_all(mine)
        await mine.close()


@pytest.mark.sem("SEM-DLQ-2", "SEM-DLQ-3")
async def test_what_was_discarded_or_redriven_meanwhile_is_passed_by(world: World) -> None:
    """It is not as it was found."""
    gone, taken, left = [await a_death(world) for _ in range(3)]
    order = await ordered(world, rate_per_min=1)
    await look(world)
    first = {row.ref for row in await opened(world)}
    others = [row for row in (gone, taken, left) if row.ref not in first]
    await discard_each(world.kit, TENANT, [others[0].ref.id], "not wanted")
    await redrive(world.kit, TENANT, others[1].ref.id, None)

    done = await looked_to_the_end(world, order)

    assert (done.status, done.redriven) == (OrderStatus.DONE, 1)
    rows = {row.ref: row for row in await world.executions()}
    assert (rows[others[0].ref].generation, rows[others[1].ref].generation) == (1, 2)


@pytest.mark.sem("SEM-DLQ-2", "SEM-IDEM-1")
async def test_the_same_request_gives_one_order(world: World) -> None:
    """Another body under the key is refused; so is a rival that comes in between."""
    key, asked = world.key(), Ordered(wanted=DeadFilter(), rate_per_min=5)
    rival = Interject("write_together", lambda: order_redrive(world.kit, TENANT, asked, key))
    first = await order_redrive(world.a_process(rival), TENANT, asked, key)
    again = await order_redrive(world.kit, TENANT, asked, key)
    other = await order_redrive(world.kit, TENANT, asked, type(key)(key=key.key, body_hash="b" * 64))

    assert first == again
    assert len((await world.kit.store.redrive_orders(TENANT, limit=10)).items) == 1
    assert isinstance(other, Refusal)
    assert other.code is Code.IDEMPOTENCY_KEY_REUSED


async def test_a_filter_that_means_few_of_many_is_searched_within_bounds(world: World) -> None:
    """One look does not read a list of any length; the next goes on where it ended."""
    for number in range(130):
        await a_death(world, "Rare" if number == 0 else "Usual")
    order = await ordered(world, wanted=DeadFilter(error_class="Rare"))

    done = await looked_to_the_end(world, order)

    assert (done.status, done.redriven) == (OrderStatus.DONE, 1)


async def test_a_store_that_is_down_costs_a_look(world: World) -> None:
    """The watch is there for the next, and says what happened."""
    await a_death(world)
    order = await ordered(world)
    down = Down(frozenset({"redrive_orders"}))
    sick = Down(frozenset({"attention_eventually"}))

    await look(world, world.a_process(down))
    await look(world, world.a_process(sick))
    before = await now_of(world, order)
    await look(world)

    assert (before.redriven, (await now_of(world, order)).redriven) == (0, 1)
    assert [one.name for one in world.telemetry.happenings].count(EventName.STORE_FAULT) == 2


async def test_a_late_order_is_forgotten_a_week_after_its_end(world: World) -> None:
    """Until then a person can look at it."""
    order = await ordered(world)
    await look(world)
    ended = await now_of(world, order)
    world.clock.advance(HOUR)

    assert ended.status is OrderStatus.DONE
    assert ended.expires_at == (ended.ended_at or 0) + 7 * DAY
    assert order.expires_at == order.created_at + 14 * DAY
