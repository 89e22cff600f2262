"""What a run notes while it runs: kept with its lease, shown, handed to the next attempt, gone with a success."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import AnswerT, Call, Interject, Recorder
from tests.support.kits import World
from tests.support.steps import MINUTE, a_worker, claimed, for_a_while, lease_over_ms, running
from tickwright.domain.attempts import Failure, Fatal, RetryLater, Success, UserResult, a_note, an_error
from tickwright.domain.changes.executions import Heartbeat
from tickwright.domain.executions import Execution, Noted
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.ports.runner import Invocation
from tickwright.services.cancel import cancel_execution
from tickwright.services.redrive import redrive
from tickwright.services.report import heartbeat, report, report_heartbeat

NOTED = Noted(progress=0.5, checkpoint='{"row":7}')
FLAKY = Failure(error=an_error("Flaky", "row 8"))


async def a_run_of(world: World, does: Callable[[Invocation], Awaitable[UserResult]], **body: object) -> None:
    """A one-off whose target does this, worked on for a while by a worker's loop."""
    world.runner.does = does
    await world.submit(schedule={"runAt": world.text(1_000)}, **body)


def beats_of(recorder: Recorder) -> list[Noted]:
    """What was noted, in the order in which it was written."""
    return [beat.noted for beat in recorder.written(Heartbeat) if beat.noted is not None]


@pytest.mark.sem("SEM-CHECKPOINT-1")
@pytest.mark.parametrize("failed", [FLAKY, RetryLater(after_s=1)], ids=["it fails", "it asks to be tried later"])
async def test_the_next_attempt_is_handed_the_checkpoint(world: World, failed: UserResult) -> None:
    """The first notes row 7 and ends badly; the second begins with it, and a success leaves nothing behind."""
    begun_with: list[Noted | None] = []

    async def resumes(invocation: Invocation) -> UserResult:
        begun_with.append(invocation.execution.noted)
        if invocation.epoch == 1:
            assert await invocation.beat(NOTED)
            return failed
        return Success()

    await a_run_of(world, resumes)
    await for_a_while(world, MINUTE, a_worker(world))

    row = await world.only_execution()
    assert begun_with == [None, NOTED]
    assert (row.state, row.noted) == (State.SUCCEEDED, None)


@pytest.mark.sem("SEM-CHECKPOINT-1", "SEM-FENCE-1")
async def test_the_successor_of_a_dead_worker_goes_on_from_its_checkpoint(world: World) -> None:
    """The lease ran out; what its zombie notes afterwards is refused and changes nothing."""
    held = await running(world)
    await heartbeat(world.kit, held, held.lease_epoch, noted=NOTED)
    world.clock.advance(lease_over_ms(world))
    successor = await claimed(world, held, "worker-2")

    late = await heartbeat(world.kit, held, held.lease_epoch, noted=Noted(checkpoint="0"))

    assert isinstance(late, Refusal)
    assert late.code is Code.LEASE_LOST
    assert successor.noted == NOTED
    assert (await world.executions())[0] == successor


@pytest.mark.sem("SEM-CHECKPOINT-1")
async def test_a_redrive_goes_on_from_the_checkpoint(world: World) -> None:
    """What it died of was mended: the new generation need not begin anew."""
    held = await running(world)
    await heartbeat(world.kit, held, held.lease_epoch, noted=NOTED)
    dead = await report(world.kit, held, Fatal(error=FLAKY.error))
    assert isinstance(dead, Execution)

    opened = await redrive(world.kit, TENANT, held.ref.id, None)

    assert isinstance(opened, Execution)
    assert (dead.noted, opened.noted) == (NOTED, NOTED)
    assert (await claimed(world, opened)).noted == NOTED


@pytest.mark.sem("SEM-CHECKPOINT-1")
async def test_a_tenants_own_worker_notes_what_it_says_and_leaves_the_rest(world: World) -> None:
    """Progress alone keeps the checkpoint; a heartbeat without either keeps both."""
    held = await running(world)
    for noted in (NOTED, Noted(progress=0.75), None):
        await report_heartbeat(world.kit, TENANT, held.ref.id, epoch=1, worker="w", noted=noted)

    assert (await world.executions())[0].noted == Noted(progress=0.75, checkpoint='{"row":7}')


@pytest.mark.sem("SEM-CHECKPOINT-1")
@pytest.mark.parametrize("before_ms", [0, 5_000, 299_000], ids=["at once", "soon", "where no lease can move"])
@pytest.mark.parametrize("old", [None, NOTED], ids=["the first note", "another note"])
async def test_of_two_heartbeats_at_once_neither_loses_what_the_other_notes(
    world: World, before_ms: int, old: Noted | None
) -> None:
    """One has read, the other is written, then the first: it brings no older checkpoint back over the newer."""
    held = await running(world)
    beat = partial(report_heartbeat, world.kit, TENANT, held.ref.id, epoch=1, worker="w")
    for _ in range(6):  # kept up to its deadline, five minutes from its claim
        world.clock.advance(before_ms // 6)
        await beat(noted=old)
    other = Interject("write", lambda: beat(noted=Noted(checkpoint='{"row":8}')))

    await report_heartbeat(world.a_process(other), TENANT, held.ref.id, epoch=1, worker="w", noted=Noted(progress=0.75))

    assert (await world.executions())[0].noted == Noted(progress=0.75, checkpoint='{"row":8}')


@pytest.mark.sem("SEM-CHECKPOINT-1", "SEM-LEASE-3")
async def test_code_that_notes_all_the_time_writes_once_a_second(world: World) -> None:
    """A hundred notes a second for ten seconds: ten writes, each with the last; a beat moves the lease as any does."""
    recorder = Recorder()

    async def busy(invocation: Invocation) -> UserResult:
        for row in range(1_000):
            await invocation.beat(a_note(row / 1_000, str(row)))
            await world.clock.sleep_ms(10)
        return FLAKY

    await a_run_of(world, busy, retryPolicy={"maxAttempts": 1})
    await for_a_while(world, MINUTE, a_worker(world, world.a_process(recorder)))

    noted = beats_of(recorder)
    assert 10 <= len(noted) <= 11
    assert [one.checkpoint for one in noted[:2]] == ["0", "100"]
    assert (await world.only_execution()).noted == Noted(progress=0.999, checkpoint="999")


@pytest.mark.sem("SEM-CHECKPOINT-1")
async def test_a_note_that_was_kept_goes_out_before_the_failure(world: World) -> None:
    """Two notes within a second, then the end: the next attempt has the second one."""

    async def quick(invocation: Invocation) -> UserResult:
        await invocation.beat(Noted(checkpoint="1"))
        await invocation.beat(Noted(progress=0.2, checkpoint="2"))
        return FLAKY

    await a_run_of(world, quick, retryPolicy={"maxAttempts": 1})
    await for_a_while(world, 10_000, a_worker(world))

    row = await world.only_execution()
    assert (row.state, row.noted) == (State.DEAD, Noted(progress=0.2, checkpoint="2"))


@pytest.mark.sem("SEM-CHECKPOINT-1")
async def test_a_note_that_did_not_get_through_goes_with_the_next_heartbeat(world: World) -> None:
    """The store fails the first; the beat of a quarter of a minute later carries it, though the code says no more."""
    fails = _FailsFirstBeat()

    async def says_once(invocation: Invocation) -> UserResult:
        assert await invocation.beat(NOTED)
        await world.clock.sleep_ms(20_000)
        seen.append(await world.only_execution())
        return Success()

    seen: list[Execution] = []
    await a_run_of(world, says_once)
    await for_a_while(world, MINUTE, a_worker(world, world.a_process(fails)))

    assert [row.noted for row in seen] == [NOTED]
    assert (await world.only_execution()).state is State.SUCCEEDED


class _FailsFirstBeat:
    """The store fails the first heartbeat."""

    def __init__(self) -> None:
        self._beats = 0

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        self._beats += isinstance(call.what, Heartbeat)
        if isinstance(call.what, Heartbeat) and self._beats == 1:
            raise call.fault("one connection error")
        return await do()


@pytest.mark.sem("SEM-CHECKPOINT-1")
async def test_a_heartbeat_whose_answer_was_lost_does_not_land_over_a_later_note(world: World) -> None:
    """The first hangs in the network until the second has noted more: the next attempt goes on from the second's."""
    late = _LandsLate()
    seen: list[Noted | None] = []

    async def says_twice(invocation: Invocation) -> UserResult:
        await invocation.beat(Noted(checkpoint="1"))
        await world.clock.sleep_ms(2_000)
        await invocation.beat(Noted(checkpoint="2"))
        await late.land()
        seen.append((await world.only_execution()).noted)
        return FLAKY

    await a_run_of(world, says_twice, retryPolicy={"maxAttempts": 1})
    await for_a_while(world, 10_000, a_worker(world, world.a_process(late)))

    assert late.landed
    assert seen == [Noted(checkpoint="2")]


class _LandsLate:
    """The first heartbeat is without an answer, and arrives when the test says so."""

    def __init__(self) -> None:
        self._held: Callable[[], Awaitable[object]] | None = None
        self.landed = False

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        if isinstance(call.what, Heartbeat) and self._held is None:
            self._held = do
            raise call.fault("no answer")
        return await do()

    async def land(self) -> None:
        """Let it arrive."""
        assert self._held is not None
        await self._held()
        self.landed = True


@pytest.mark.sem("SEM-CHECKPOINT-1", "SEM-CANCEL-4")
async def test_a_beat_of_user_code_says_when_to_stop(world: World) -> None:
    """The run was cancelled: the next beat says no, at once and for good, and the run ends CANCELLED."""
    answers: list[bool] = []

    async def is_cancelled(invocation: Invocation) -> UserResult:
        answers.append(await invocation.beat(None))
        await cancel_execution(world.kit, TENANT, invocation.execution.ref.id)
        await world.clock.sleep_ms(1_000)
        answers.append(await invocation.beat(NOTED))
        answers.append(await invocation.beat(NOTED))
        return Success()

    await a_run_of(world, is_cancelled)
    before = world.clock.now()
    await for_a_while(world, 10_000, a_worker(world))

    row = await world.only_execution()
    assert answers == [True, False, False]
    assert (row.state, row.noted) == (State.CANCELLED, None)
    assert (row.finished_at or 0) - before < 5_000


@pytest.mark.parametrize(
    ("said", "kept"), [(0, 0.0), (1, 1.0), (-3, 0.0), (7.5, 1.0), (1 / 3, 0.3333), (0.99999, 1.0), (None, None)]
)
def test_progress_is_held_within_bounds(said: float | None, kept: float | None) -> None:
    """A count that runs over its total breaks nothing."""
    assert a_note(said) == Noted(progress=kept)
