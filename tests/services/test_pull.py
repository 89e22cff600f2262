"""A tenant's machine asks for work: what it is granted, what becomes of the hints, and what a repeated request gets."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Down, Fate, Script
from tests.support.kits import World
from tests.support.steps import MINUTE, lease_over_ms
from tickwright.domain.attempts import Fatal, NotRun, Success, an_error
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import TenantId, WorkerId
from tickwright.domain.lanes import LANES, Lane
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.pools import PoolName, queue_key
from tickwright.domain.tenants import PutIdempotency
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.services.kit import Kit
from tickwright.services.pools import put_pool
from tickwright.services.pull import Grant, Wish, pull
from tickwright.services.report import heartbeat, report
from tickwright.services.rerun import Edited, rerun
from tickwright.services.run_now import run_now

GPU = {"type": "pool", "pool": "gpu", "handler": "billing.nightly"}
KEY = queue_key(PoolName("gpu"), TENANT)


def a_wish(most: int = 10, wait_ms: int = 0, request: str | None = None, worker: str = "gpu-1") -> Wish:
    return Wish(worker_id=WorkerId(worker), most=most, wait_ms=wait_ms, lanes=LANES, request=request)


async def due(world: World, count: int = 1, **body: object) -> None:
    """So many runs that are due now, of jobs of the pool."""
    await put_pool(world.kit, TENANT, "gpu", None)
    for _ in range(count):
        head = await world.submit(target=GPU, schedule={"every": "PT1H"}, **body)
        assert not isinstance(await run_now(world.kit, TENANT, head.job_id, None), Refusal)


async def pulled(world: World, wish: Wish | None = None, kit: Kit | None = None) -> Sequence[Grant]:
    grants = await pull(kit or world.kit, TENANT, "gpu", wish or a_wish())
    assert not isinstance(grants, Refusal)
    return grants


async def depth(world: World) -> int:
    return await world.hints()


@pytest.mark.sem("SEM-POOL-2")
async def test_a_machine_is_granted_what_waits_as_any_worker_claims_it(world: World) -> None:
    """Running, in its name, at a higher epoch, with an attempt counted, and with what it is to run."""
    await due(world, payload={"n": 1})

    (grant,) = await pulled(world)

    row = await world.only_execution()
    assert grant.execution == row
    assert (row.state, row.lease_owner, row.lease_epoch, row.attempt) == (State.RUNNING, "gpu-1", 1, 1)
    assert grant.definition.spec.payload == '{"n":1}'
    assert grant.definition.spec.target.settings["handler"] == "billing.nightly"


async def test_no_more_is_granted_than_there_is_room_for(world: World) -> None:
    """The rest waits for others, and nothing is granted twice."""
    await due(world, 5)

    first, second = await pulled(world, a_wish(3)), await pulled(world, a_wish(3, worker="gpu-2"))

    assert (len(first), len(second)) == (3, 2)
    assert len({grant.execution.ref for grant in (*first, *second)}) == 5


async def test_higher_lanes_are_granted_first_and_only_those_asked_for(world: World) -> None:
    """A machine that is kept for urgent work gets none of the rest."""
    await due(world, 2, priority="low")
    await due(world, 2, priority="high")

    urgent = await pulled(world, replace(a_wish(1), lanes=[Lane.HIGH]))
    mixed = await pulled(world, a_wish(2))
    none = await pulled(world, replace(a_wish(), lanes=[Lane.HIGH, Lane.NORMAL]))

    assert [grant.execution.lane for grant in (*urgent, *mixed)] == [Lane.HIGH, Lane.HIGH, Lane.LOW]
    assert none == []


@pytest.mark.sem("SEM-POOL-1")
async def test_another_tenants_machine_is_granted_nothing(world: World) -> None:
    """The pool does not exist for it; a pool of its own of that name is another one."""
    await due(world)
    rival = TenantId("rival")

    refused = await pull(world.kit, rival, "gpu", a_wish())
    await put_pool(world.kit, rival, "gpu", None)
    empty = await pull(world.kit, rival, "gpu", a_wish())

    assert isinstance(refused, Refusal)
    assert refused.code is Code.NOT_FOUND
    assert empty == []
    assert len(await pulled(world)) == 1


async def test_the_platforms_workers_do_not_take_from_a_tenants_pool(world: World) -> None:
    """They would not know what the handler's name means."""
    await due(world)

    assert await world.receive() == []


async def test_a_machine_waits_for_the_first_to_come(world: World) -> None:
    """A long poll is answered when something is due, long before its time is over."""
    await put_pool(world.kit, TENANT, "gpu", None)
    began_at = world.clock.now()
    waiting = asyncio.create_task(pulled(world, a_wish(wait_ms=20_000)))
    await world.clock.sleep_ms(5_000)

    await due(world)
    grants = await waiting

    assert len(grants) == 1
    assert 5_000 <= world.clock.now() - began_at < 7_000


async def test_an_empty_pool_is_waited_for_no_longer_than_asked(world: World) -> None:
    """And is answered with nothing."""
    await put_pool(world.kit, TENANT, "gpu", None)
    began_at = world.clock.now()

    assert await pulled(world, a_wish(wait_ms=20_000)) == []
    assert world.clock.now() - began_at == 20_000


@pytest.mark.sem("SEM-POOL-2")
async def test_nothing_is_granted_before_its_time(world: World) -> None:
    """A hint comes ahead of its tick; it is waited for only while there is nothing else, and is not lost."""
    await put_pool(world.kit, TENANT, "gpu", None)
    at = world.clock.now() + 60_000
    await world.submit(target=GPU, schedule={"runAt": world.text(60_000)})
    await world.clock.sleep_ms(57_000)
    await SchedulerLoop(world.kit, "s").tick()

    early = await pulled(world)
    (grant,) = await pulled(world, a_wish(wait_ms=20_000))

    assert early == []
    assert grant.execution.started_at is not None
    assert at <= grant.execution.started_at < at + 2_000


@pytest.mark.sem("SEM-POOL-2", "SEM-LEASE-1")
async def test_what_a_dead_machine_held_comes_to_another(world: World) -> None:
    """Its hint is shown again when the lease is over: whoever receives it takes the run over, at a higher epoch."""
    await due(world)
    (lost,) = await pulled(world)

    world.clock.advance(lease_over_ms(world) - 1_000)
    too_early = await pulled(world, a_wish(worker="gpu-2"))
    world.clock.advance(60_000)
    (taken,) = await pulled(world, a_wish(worker="gpu-2", wait_ms=20_000))

    assert too_early == []
    assert taken.execution.ref == lost.execution.ref
    assert (taken.execution.lease_owner, taken.execution.attempt) == ("gpu-2", 2)
    assert isinstance(await report(world.kit, lost.execution, Success()), Refusal)


@pytest.mark.sem("SEM-POOL-2")
async def test_a_run_whose_machine_lives_is_left_alone(world: World) -> None:
    """Its hint comes again, is put off each time, and is taken off once the run has ended."""
    await due(world)
    (grant,) = await pulled(world)

    for _ in range(5):
        world.clock.advance(40_000)
        assert not isinstance(await heartbeat(world.kit, grant.execution, grant.execution.lease_epoch), Refusal)
        assert await pulled(world, a_wish(worker="gpu-2")) == []
    hints = await depth(world)
    ended = await report(world.kit, grant.execution, Success())
    world.clock.advance(2 * MINUTE)
    last = await pulled(world, a_wish(worker="gpu-2"))

    assert (hints, last, await depth(world)) == (1, [], 0)
    assert not isinstance(ended, Refusal)
    assert ended.state is State.SUCCEEDED


async def test_a_run_of_a_pool_that_nobody_pulls_from_is_looked_after_by_the_watch(world: World) -> None:
    """Its machine is gone for good: the page ends the attempts, and in the end the run is dead, not forgotten."""
    await due(world, retryPolicy={"maxAttempts": 1})
    await pulled(world)

    await world.drain_until(type(world.clock.now())(world.clock.now() + 10 * MINUTE))

    row = await world.only_execution()
    assert (row.state, row.reason) == (State.DEAD, Reason.LEASE_EXPIRED)


@pytest.mark.sem("SEM-POOL-2")
async def test_what_cannot_be_run_any_more_is_not_granted(world: World) -> None:
    """Its deadline is over: it ends as it would have with any worker."""
    await due(world, runDeadlineSec=60)
    world.clock.advance(2 * MINUTE)

    assert await pulled(world) == []
    assert (await world.only_execution()).state is State.DEAD
    assert await depth(world) == 0


@pytest.mark.sem("SEM-POOL-2")
async def test_what_is_claimed_beside_one_that_cannot_be_read_is_granted(world: World) -> None:
    """The store fails between the claims and the payload of one: that one's lease runs out, and the others are run."""
    await due(world)
    (grant,) = await pulled(world)
    await report(world.kit, grant.execution, Fatal(error=an_error("Closed", "for ever")))
    edited = Edited(payload='{"n":2}', reason="it was 2")
    again = await rerun(world.kit, TENANT, grant.execution.ref.id, edited, None)
    assert isinstance(again, Execution)
    await due(world, 2)

    grants = await pulled(world, kit=world.a_process(Down(frozenset({"own_payload"}))))

    assert len(grants) == 2
    assert again.ref not in {one.execution.ref for one in grants}
    world.clock.advance(lease_over_ms(world) + 60_000)
    assert again.ref in {one.execution.ref for one in await pulled(world)}


@pytest.mark.sem("SEM-POOL-3")
async def test_a_repeated_request_gets_what_the_first_was_granted(world: World) -> None:
    """Its answer was lost: the same executions at the same epochs, and nothing new although more is waiting."""
    await due(world, 3)

    first = await pulled(world, a_wish(2, request="r-1"))
    again = await pulled(world, a_wish(2, request="r-1"))
    fresh = await pulled(world, a_wish(2, request="r-2"))

    assert len(first) == 2
    assert again == first
    assert len(fresh) == 1
    assert {grant.execution.attempt for grant in (*first, *fresh)} == {1}


@pytest.mark.sem("SEM-POOL-3")
async def test_a_repeated_request_gets_only_what_the_machine_still_holds(world: World) -> None:
    """What has ended or was taken over meanwhile is none of its business any more."""
    await due(world, 3)
    ended, lost, held = await pulled(world, a_wish(3, request="r-1"))
    await report(world.kit, ended.execution, Success())
    await report(world.kit, lost.execution, NotRun())
    await pulled(world, a_wish(worker="gpu-2", wait_ms=1_000))

    again = await pulled(world, a_wish(3, request="r-1"))

    assert [grant.execution.ref for grant in again] == [held.execution.ref]


async def test_a_request_is_one_machines_and_one_hours(world: World) -> None:
    """Two machines may number their requests alike; after an hour a number is free again."""
    await due(world, 3)
    mine = await pulled(world, a_wish(1, request="1"))
    theirs = await pulled(world, a_wish(1, request="1", worker="gpu-2"))
    world.clock.advance(61 * MINUTE)

    later = await pulled(world, a_wish(1, request="1"))

    refs = {grant.execution.ref for grant in (*mine, *theirs)}
    assert len(refs) == 2
    assert len(later) == 1


async def test_a_request_that_was_granted_nothing_may_be_granted_something_later(world: World) -> None:
    """Nothing is noted of an empty answer: repeating it is asking again."""
    await put_pool(world.kit, TENANT, "gpu", None)
    assert await pulled(world, a_wish(request="r-1")) == []

    await due(world)

    assert len(await pulled(world, a_wish(request="r-1"))) == 1


@pytest.mark.sem("SEM-POOL-3", "SEM-RETRY-3")
@pytest.mark.parametrize(("fate", "again"), [(Fate.LOST_BEFORE, 2), (Fate.LOST_AFTER, 0)])
async def test_what_cannot_be_noted_is_given_back_uncounted(world: World, fate: Fate, again: int) -> None:
    """The store fails between claim and note: the machine is told nothing, and no attempt is lost for it."""
    await due(world, 2)
    shaky = world.a_process(Script(at=1, fate=fate, of=PutIdempotency))

    with pytest.raises(StoreUnavailable):
        await pulled(world, a_wish(request="r-1"), shaky)

    rows = await world.executions()
    assert {(row.state, row.attempt, row.reason) for row in rows} == {(State.RETRY, 0, Reason.GIVEN_BACK)}
    # Where the note stands after all, it names what the machine does not hold; a fresh request claims anew.
    assert len(await pulled(world, a_wish(request="r-1"))) == again
    assert len(await pulled(world, a_wish(request="r-2"))) == 2 - again


@pytest.mark.sem("SEM-POOL-3", "SEM-RETRY-3")
async def test_what_a_closed_request_would_be_granted_yet_is_given_back(world: World) -> None:
    """A machine that stops has hung up on a claim that waits: what comes to that one waits for no lease."""
    await put_pool(world.kit, TENANT, "gpu", None)
    waiting = asyncio.create_task(pulled(world, a_wish(wait_ms=20_000, request="r-1")))
    await world.clock.sleep_ms(2_000)

    closed = await pulled(world, replace(a_wish(request="r-1"), closes=True))
    await due(world)
    late = await waiting

    row = await world.only_execution()
    assert (closed, late) == ((), [])
    assert (row.state, row.reason, row.attempt) == (State.RETRY, Reason.GIVEN_BACK, 0)
    assert [grant.execution.attempt for grant in await pulled(world, a_wish(worker="gpu-2", wait_ms=1_000))] == [1]


@pytest.mark.sem("SEM-POOL-3")
async def test_closing_a_request_tells_what_it_was_granted_and_claims_nothing(world: World) -> None:
    """More is waiting: it is for the others."""
    await due(world, 3)
    first = await pulled(world, a_wish(2, request="r-1"))

    assert await pulled(world, replace(a_wish(2, request="r-1"), closes=True)) == first
    assert await pulled(world, replace(a_wish(2, request="r-2"), closes=True)) == ()
    assert await pulled(world, a_wish(2, request="r-2")) == []


@pytest.mark.sem("SEM-POOL-2")
async def test_stale_hints_do_not_stand_before_fresh_ones(world: World) -> None:
    """A wish for one run that does not wait discards what has ended until it finds what has not."""
    await due(world, 8)
    for grant in await pulled(world):
        await report(world.kit, grant.execution, Success())
    world.clock.advance(lease_over_ms(world) + 60_000)
    await due(world)

    grants = await pulled(world, a_wish(1))

    assert [grant.execution.attempt for grant in grants] == [1]


@pytest.mark.sem("SEM-POOL-4")
async def test_a_herd_of_high_does_not_keep_low_waiting_for_ever(world: World) -> None:
    """One claim at a time, with more of high than claims: some are low, most are high."""
    await due(world, 40, priority="high")
    await due(world, 5, priority="low")

    wish = replace(a_wish(1), lanes=[Lane.HIGH, Lane.LOW])
    granted = [grant.execution.lane for _ in range(12) for grant in await pulled(world, wish)]

    assert len(granted) == 12
    assert granted.count(Lane.LOW) >= 1
    assert granted.count(Lane.HIGH) > 6


@pytest.mark.sem("SEM-POOL-3")
async def test_one_request_that_is_made_twice_at_once_is_granted_once(world: World) -> None:
    """Both claim, one notes first: the other gives back what it has and answers with the first one's."""
    await due(world, 4)

    one, other = await asyncio.gather(
        pulled(world, a_wish(2, request="r-1")), pulled(world, a_wish(2, request="r-1"), world.a_process())
    )

    held = {grant.execution.ref for grant in (*one, *other)}
    running = [row for row in await world.executions() if row.state is State.RUNNING]
    assert {row.ref for row in running} == held
    assert len(held) == 2


async def test_a_queue_that_fails_after_the_claims_costs_nothing(world: World) -> None:
    """What is over stays on the queue and is taken off the next time; what was granted is answered."""
    await due(world, 2)
    (ended, _) = await pulled(world)
    await report(world.kit, ended.execution, Success())
    await due(world)
    world.clock.advance(lease_over_ms(world) + 60_000)
    down = world.a_process(Down(frozenset({"delete", "show_again"})))

    grants = await pulled(world, a_wish(worker="gpu-2"), down)

    assert grants
    assert {grant.execution.lease_owner for grant in grants} == {"gpu-2"}


async def test_pulled_runs_are_watched_over_like_all_others(world: World) -> None:
    """With a scheduler and a watch around it, every run of a pool ends once, by whichever machine."""
    await due(world, 4)
    done: list[str] = []

    async def machine(name: str) -> None:
        for _ in range(6):
            for grant in await pulled(world, a_wish(1, wait_ms=5_000, worker=name)):
                await world.clock.sleep_ms(1_000)
                answer = await report(world.kit, grant.execution, Success())
                done.extend([] if isinstance(answer, Refusal) else [answer.ref.id])

    await asyncio.gather(machine("gpu-1"), machine("gpu-2"), WatchLoop(world.kit).look())

    assert len(done) == len(set(done)) == 4
    assert {row.state for row in await world.executions()} == {State.SUCCEEDED}
