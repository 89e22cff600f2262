"""What many at once cost in reads: lists of failed runs, a journal page of many pools, the users of a pool."""

from collections.abc import Awaitable, Callable

import pytest

from tests.support.builders import TENANT, TICK, an_execution
from tests.support.faulty import AnswerT, Call, Interject, Recorder
from tests.support.kits import World
from tickwright.domain.attempts import an_error
from tickwright.domain.changes.pools import PutPool
from tickwright.domain.executions import Execution
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.pools import Pool, PoolName
from tickwright.domain.transitions import State
from tickwright.services.pools import delete_pool, put_pool, without_a_pool
from tickwright.services.shown import as_listed


def failed(head: Head, number: int) -> Execution:
    """A run of a job that has died."""
    at = Instant(TICK + number * 60_000)
    return an_execution(
        job_id=head.job_id, scheduled_at=at, state=State.DEAD, error=an_error("Boom", f"of the card 4111, try {number}")
    )


@pytest.mark.sem("SEM-SECRET-2")
async def test_a_list_of_failed_runs_reads_each_version_once(world: World) -> None:
    """However many of its runs are in the list, and wherever in it they stand."""
    heads = [await world.submit(payload={"card": "4111"}, secrets=["/payload/card"]) for _ in range(3)]
    letters = [failed(head, number) for number in range(40) for head in heads]
    recorder = Recorder()

    shown = await as_listed(world.a_process(recorder), letters)

    read = [call for call in recorder.calls if call.name == "definition"]
    assert [one.ref for one in shown] == [letter.ref for letter in letters]
    assert len(read) == len(heads)
    assert all(one.error and "4111" not in one.error.message for one in shown)


class _Together:
    """Counts how many reads of a pool are under way at once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._now = self.most = 0

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        if call.name != "pool":
            return await do()
        self._now += 1
        self.most = max(self.most, self._now)
        await self._world.clock.sleep_ms(10)
        answer = await do()
        self._now -= 1
        return answer


@pytest.mark.sem("SEM-POOL-6")
async def test_the_pools_of_a_page_are_read_side_by_side(world: World) -> None:
    """One after the other, a page of a hundred runs of as many pools would hold the watch up for seconds."""
    names = [PoolName(f"gpu-{number}") for number in range(8)]
    for name in names[:4]:
        await put_pool(world.kit, TENANT, name, None)
    due_at = world.clock.now() + 60_000
    runs = [an_execution(pool=name, scheduled_at=Instant(due_at + at)) for at, name in enumerate(names)]
    together = _Together(world)

    gone = await without_a_pool(world.a_process(together), runs)

    assert gone == {run.ref for run in runs[4:]}
    assert together.most == len(names)


@pytest.mark.sem("SEM-POOL-6")
async def test_who_needs_a_pool_is_looked_for_once(world: World) -> None:
    """Somebody describes it anew while it is deleted: that costs another write, not another look at all jobs."""
    await put_pool(world.kit, TENANT, "gpu", None)
    recorder = Recorder()
    describing = Interject("jobs_eventually", lambda: put_pool(world.kit, TENANT, "gpu", "another"))

    gone = await delete_pool(world.a_process(_Both(describing, recorder)), TENANT, "gpu")

    assert isinstance(gone, Pool)
    assert len(recorder.written(PutPool)) == 2
    assert [call.name for call in recorder.calls].count("jobs_eventually") == 1


class _Both:
    """One tap before the other."""

    def __init__(self, first: Interject, second: Recorder) -> None:
        self._first, self._second = first, second

    async def through(self, call: Call, do: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        return await self._first.through(call, lambda: self._second.through(call, do))
