"""A machine of the fleet: its lanes beside each other, its end with all places taken, and the guard of its runs."""

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from tests.support.builders import TENANT
from tests.support.kits import World
from tests.support.steps import HOUR, MINUTE
from tickwright.domain.attempts import Failure, Success, UserResult, an_error
from tickwright.domain.events import EventName
from tickwright.domain.executions import Reason
from tickwright.domain.ids import WorkerId
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import FARGATE
from tickwright.domain.scale_in import BREAK_MS, IDLE_MS, PROTECTED_MIN, TURN_MS
from tickwright.domain.transitions import State
from tickwright.loops.census import CensusLoop
from tickwright.loops.guard import GuardLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.runner import GoesOn, Invocation
from tickwright.services.cancel import cancel_execution


def takes(world: World, duration_ms: int) -> None:
    """Every run takes so long."""

    async def does(_invocation: Invocation) -> UserResult:
        await world.clock.sleep_ms(duration_ms)
        return Success()

    world.runner.does = does


def a_machine(world: World, places: dict[Lane, int], grace_ms: int = 25_000) -> WorkerLoop:
    return WorkerLoop(
        world.kit, {"python": world.runner}, WorkerId("m"), places=places, pools=(FARGATE,), grace_ms=grace_ms
    )


@pytest.mark.sem("SEM-DRAIN-1", "SEM-FLEET-2")
async def test_a_machine_whose_places_are_all_taken_gives_back_in_time(world: World) -> None:
    """Each place of the lane has a run of an hour: the stop does not wait for a place, and no attempt is counted."""
    takes(world, HOUR)
    for _ in range(3):
        await world.submit(schedule={"runAt": world.text(1_000)})
    stop = asyncio.Event()
    going = asyncio.create_task(a_machine(world, {Lane.NORMAL: 2}).run(stop))
    await world.clock.sleep_ms(5_000)
    assert len(world.runner.starts) == 2
    stopped_at = world.clock.now()

    stop.set()
    await going

    assert world.clock.now() - stopped_at <= 26_000
    begun = [row for row in await world.executions() if row.reason is Reason.GIVEN_BACK]
    assert [(row.state, row.attempt) for row in begun] == [(State.RETRY, 0)] * 2


@dataclass(slots=True)
class Deaf:
    """Runs an hour whatever it is told; cancelled, it says that its code goes on, or does not even end."""

    world: World
    ends: bool

    async def run(self, _invocation: Invocation) -> UserResult | GoesOn:
        """One attempt."""
        try:
            await self.world.clock.sleep_ms(HOUR)
        except asyncio.CancelledError:
            if not self.ends:
                await self.world.clock.sleep_ms(HOUR)
            return GoesOn()
        return Success()


@pytest.mark.sem("SEM-DRAIN-1", "SEM-FLEET-2")
@pytest.mark.parametrize("ends", [True, False])
async def test_code_that_nobody_can_end_is_left_to_its_lease_and_told_of(world: World, *, ends: bool) -> None:
    """Given back, its successor would begin beside it: another machine has it when its lease is over, as an attempt."""
    await world.submit(schedule={"runAt": world.text(1_000)})
    stop = asyncio.Event()
    machine = a_machine(world, {Lane.NORMAL: 2})
    machine.runners = {"python": Deaf(world, ends)}
    going = asyncio.create_task(machine.run(stop))
    await world.clock.sleep_ms(5_000)

    stop.set()
    await going
    left = await world.only_execution()
    told = world.telemetry.counts[EventName.EXECUTION_LEFT]
    await world.clock.sleep_ms(2 * MINUTE)
    await world.drain()

    assert (left.state, left.attempt, told) == (State.RUNNING, 1, 1)
    done = await world.only_execution()
    assert (done.state, done.attempt, done.lease_epoch) == (State.SUCCEEDED, 2, 2)


@pytest.mark.sem("SEM-CANCEL-4")
@pytest.mark.parametrize("ends", [True, False])
async def test_a_cancelled_run_whose_code_goes_on_is_not_said_to_have_stopped(world: World, *, ends: bool) -> None:
    """Whoever is to take its place would begin beside it: it is CANCELLED once its lease is over."""
    await world.submit(schedule={"runAt": world.text(1_000)})
    stop = asyncio.Event()
    machine = a_machine(world, {Lane.NORMAL: 2})
    machine.runners = {"python": Deaf(world, ends)}
    going = asyncio.create_task(machine.run(stop))
    await world.clock.sleep_ms(5_000)
    row = await world.only_execution()
    await cancel_execution(world.kit, TENANT, row.ref.id)
    cancelled_at = world.clock.now()

    await world.clock.sleep_ms(30_000)
    left = await world.only_execution()
    await world.clock.sleep_ms(MINUTE)
    stop.set()
    await going
    await world.drain()

    over = await world.only_execution()
    assert left.lease_until is not None
    assert (left.state, world.telemetry.counts[EventName.EXECUTION_LEFT]) == (State.CANCELLING, 1)
    assert (over.state, over.lease_epoch) == (State.CANCELLED, 1)
    assert left.lease_until <= (over.finished_at or 0) <= cancelled_at + 2 * MINUTE


@pytest.mark.sem("SEM-DRAIN-1", "SEM-TARGET-6")
async def test_what_a_call_says_while_its_machine_stops_counts(world: World) -> None:
    """The server was asked and has failed: it may have done half of it, and that was an attempt."""
    await world.submit(schedule={"runAt": world.text(1_000)})
    stop = asyncio.Event()
    going = asyncio.create_task(a_machine(world, {Lane.NORMAL: 1}).run(stop))

    async def fails(invocation: Invocation) -> UserResult:
        await invocation.wait_cancelled()
        await world.clock.sleep_ms(3_000)
        return Failure(error=an_error("Http502", "the server's fault"))

    world.runner.does = fails
    await world.clock.sleep_ms(5_000)
    stop.set()
    await going

    row = await world.only_execution()
    assert (row.state, row.reason, row.attempt) == (State.RETRY, Reason.FAILED, 1)


@pytest.mark.sem("SEM-FLEET-1", "SEM-LANE-1")
async def test_low_goes_on_under_a_herd_of_high(world: World) -> None:
    """A hundred high runs wait for four places; the low ones go through their own two meanwhile."""
    takes(world, MINUTE)
    for _ in range(100):
        await world.submit(schedule={"runAt": world.text(1_000)}, priority="high")
    low = [await world.submit(schedule={"runAt": world.text(1_000)}, priority="low") for _ in range(4)]
    stop = asyncio.Event()
    going = asyncio.create_task(a_machine(world, {Lane.HIGH: 4, Lane.LOW: 2}).run(stop))

    await world.clock.sleep_ms(3 * MINUTE)

    ended = {row.job_id for row in await world.executions() if row.state is State.SUCCEEDED}
    assert {head.job_id for head in low} <= ended
    assert len(ended) < 4 + 4 * 4
    stop.set()
    await going


@pytest.mark.sem("SEM-FLEET-1", "SEM-SDK-6")
@pytest.mark.parametrize("able", [0, 1])
async def test_a_machine_takes_no_hint_that_it_cannot_start(world: World, able: int) -> None:
    """Threads of low are stuck: its hints are left to other machines, untouched, and high goes on."""
    takes(world, MINUTE)
    low = [await world.submit(schedule={"runAt": world.text(1_000)}, priority="low") for _ in range(4)]
    high = await world.submit(schedule={"runAt": world.text(1_000)}, priority="high")
    left = {Lane.LOW: able, Lane.HIGH: 2}
    machine = a_machine(world, {Lane.HIGH: 2, Lane.LOW: 2})
    machine.able = lambda _, lane, most: min(left[lane], most)
    stop = asyncio.Event()
    going = asyncio.create_task(machine.run(stop))

    await world.clock.sleep_ms(3 * MINUTE - 10_000)
    rows = {row.job_id: row for row in await world.executions()}
    waiting = [rows[head.job_id] for head in low if rows[head.job_id].state is State.QUEUED]
    left[Lane.LOW] = 2
    await world.clock.sleep_ms(3 * MINUTE)

    assert rows[high.job_id].state is State.SUCCEEDED
    assert len(waiting) == 4 - 3 * able
    assert {row.lease_epoch for row in waiting} == {0}
    assert {row.state for row in await world.executions()} == {State.SUCCEEDED}
    stop.set()
    await going


async def test_a_machine_serves_no_lane_that_it_has_no_places_for(world: World) -> None:
    """What others are there for stays with them."""
    await world.submit(schedule={"runAt": world.text(1_000)}, priority="high")
    stop = asyncio.Event()
    going = asyncio.create_task(a_machine(world, {Lane.LOW: 2}).run(stop))

    await world.clock.sleep_ms(MINUTE)

    assert world.runner.starts == []
    stop.set()
    await going


@dataclass(slots=True)
class Asked:
    """A platform that notes what it is asked for, and refuses for as long as `refuses` says why."""

    world: World
    refuses: str | None = None
    requests: list[tuple[int, int]] = field(default_factory=list)  # when, and for how many minutes; 0 lets go

    async def protect(self, minutes: int) -> str | None:
        """Note it."""
        self.requests.append((self.world.clock.monotonic_ms(), minutes))
        return self.refuses

    async def let_go(self) -> str | None:
        """Note it."""
        return await self.protect(0)


@dataclass(slots=True)
class Busy:
    """Whether the machine has runs, as the test says."""

    now: bool = True

    def __call__(self) -> bool:
        """Say it."""
        return self.now


async def guarded(world: World, protection: Asked, busy: Busy, *spells: tuple[int, bool]) -> None:
    """Let a guard look on while the machine is busy or idle for so long each."""
    stop = asyncio.Event()
    going = asyncio.create_task(GuardLoop(world.kit, protection, busy).run(stop))
    for duration_ms, is_busy in spells:
        busy.now = is_busy
        await world.clock.sleep_ms(duration_ms)
    stop.set()
    await going


@pytest.mark.sem("SEM-FLEET-3")
async def test_a_machine_is_protected_while_it_has_runs_and_not_after(world: World) -> None:
    """Asked at once, renewed before it ends, let go half a minute after the last run; an idle machine asks nothing."""
    protection = Asked(world)

    await guarded(world, protection, Busy(), (MINUTE, False), (20 * MINUTE, True), (5 * MINUTE, False))

    asked = [minutes for _, minutes in protection.requests]
    at = [ms - protection.requests[0][0] for ms, _ in protection.requests]
    assert asked == [PROTECTED_MIN, PROTECTED_MIN, PROTECTED_MIN, 0]
    assert all(later - sooner < PROTECTED_MIN * MINUTE for sooner, later in pairwise(at))
    assert IDLE_MS - 2_000 <= at[-1] - 20 * MINUTE <= IDLE_MS + 2_000


@pytest.mark.sem("SEM-FLEET-3")
async def test_short_runs_one_after_the_other_are_one_request(world: World) -> None:
    """The number of requests is limited: a machine that is idle for seconds stays protected."""
    protection = Asked(world)

    await guarded(world, protection, Busy(), *[(2_000, True), (2_000, False)] * 50)

    assert [minutes for _, minutes in protection.requests] == [PROTECTED_MIN]


@pytest.mark.sem("SEM-FLEET-3")
async def test_a_machine_that_is_never_idle_takes_a_break(world: World) -> None:
    """A deployment that waits for it would otherwise wait for ever: CloudFormation gives up after three hours."""
    protection = Asked(world)

    await guarded(world, protection, Busy(), (TURN_MS + BREAK_MS + MINUTE, True))

    let_go_at = [ms for ms, minutes in protection.requests if minutes == 0]
    after = [ms for ms, minutes in protection.requests if minutes and ms > let_go_at[0]]
    assert len(let_go_at) == 1
    assert let_go_at[0] - protection.requests[0][0] <= TURN_MS + 2_000
    assert len(after) == 1
    assert after[0] - let_go_at[0] >= BREAK_MS


@pytest.mark.sem("SEM-FLEET-3")
async def test_a_refusal_is_said_and_asked_again_each_minute(world: World) -> None:
    """A deployment under way refuses protection; the runs go on, and whoever reads the logs knows."""
    protection = Asked(world, refuses="DEPLOYMENT_BLOCKED")

    await guarded(world, protection, Busy(), (5 * MINUTE, True))

    assert 4 <= len(protection.requests) <= 6
    assert world.telemetry.counts[EventName.PROTECTION_REFUSED] == len(protection.requests)
    said = next(one for one in world.telemetry.happenings if one.name is EventName.PROTECTION_REFUSED)
    assert said.about == {"step": "protect", "reason": "DEPLOYMENT_BLOCKED"}


@pytest.mark.parametrize("begins_ms", [0, 29_999, 30_000, 45_000, 59_999])
async def test_the_places_taken_are_counted_once_in_each_minute_of_the_clock(world: World, begins_ms: int) -> None:
    """Whoever decides how many machines there are counts the samples; one that stops is none."""
    world.clock.advance(-world.clock.now() % MINUTE + begins_ms)
    before, stop, counted_at = world.clock.now() // MINUTE, asyncio.Event(), list[int]()

    def at_work() -> int:
        counted_at.append(world.clock.now())
        return 3

    going = asyncio.create_task(CensusLoop(world.kit, at_work, places=4).run(stop))
    await world.clock.sleep_ms(5 * MINUTE - begins_ms)
    stop.set()
    await going

    counted = [one.measured for one in world.telemetry.happenings if one.name is EventName.PLACES_COUNTED]
    first = before + (begins_ms > 0)  # it may have been about to be counted in the one in which it began
    assert counted == [{"atWork": 3, "placesTakenPercent": 75.0}] * len(counted_at)
    assert [at // MINUTE for at in counted_at] == list(range(first, before + 5))
    assert all(at % MINUTE == MINUTE // 2 for at in counted_at)
