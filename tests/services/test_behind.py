"""A scheduler that is behind comes back on time, and no number of rows or faults keeps it, a cancel or the watch."""

import asyncio
from dataclasses import replace

import pytest

from tests.support.builders import TENANT
from tests.support.kits import World
from tests.support.steps import DAY, HOUR, MINUTE, a_minutely_job, a_worker, fired, for_a_while
from tickwright.domain import limits
from tickwright.domain.attempts import Success
from tickwright.domain.changes.executions import Insert
from tickwright.domain.events import EventName
from tickwright.domain.ids import tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.runner import Invocation
from tickwright.services import retract
from tickwright.services.attempt import Worker
from tickwright.services.change_job import cancel_job
from tickwright.services.jobs import JobView, list_jobs


@pytest.mark.sem("SEM-TICK-3")
@pytest.mark.parametrize("overlap", ["skip", "allow"])
async def test_a_job_of_the_shortest_period_is_on_time_again_after_an_outage(world: World, overlap: str) -> None:
    """Its ticks come as fast as a scheduler looks: one decision a look would leave it late for ever."""
    job = await world.submit(schedule={"every": "PT1S"}, overlap={"mode": overlap})
    world.clock.advance(20_000)

    await for_a_while(world, MINUTE, SchedulerLoop(world.kit, "scheduler"), a_worker(world))

    last = world.runner.starts[-1]
    assert last.at - last.scheduled_at <= world.durations.tick_ms
    assert (await world.head(job.job_id)).status.value == "ACTIVE"


@pytest.mark.sem("SEM-CANCEL-1")
async def test_a_job_with_very_many_ended_runs_can_be_cancelled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is unfinished counts against the bound: a repeat would find the ended ones again."""
    monkeypatch.setattr(retract, "_PAGE", 2)
    monkeypatch.setattr(limits, "RETRACTED_MAX", 4)
    job = await a_minutely_job(world)
    world.clock.advance(MINUTE)
    first = await fired(world)
    for second in range(1, 30):
        at = Instant(first.scheduled_at + second * 1_000)
        ended = replace(first, key=tick_key(at), scheduled_at=at, state=State.SUCCEEDED, finished_at=at)
        await world.kit.store.write(Insert(execution=ended))

    answer = await cancel_job(world.kit, TENANT, job.job_id, None)

    assert isinstance(answer, JobView)
    assert (await world.executions())[0].state is State.CANCELLED


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_a_page_that_cannot_be_read_costs_its_bucket_and_not_the_watch(world: World) -> None:
    """The loop goes on to the other buckets, and says what broke."""
    row = "INSERT INTO journal (bucket, check_at, writer, doc) VALUES (0, 0, 'w', 'torn')"
    await world.database.write(lambda connection: connection.execute(row), StoreUnavailable)

    assert await WatchLoop(world.kit).look() == 0

    assert world.telemetry.counts[EventName.LOOP_BROKE] == 1


@pytest.mark.sem("SEM-API-5")
async def test_a_list_keeps_no_payloads(world: World) -> None:
    """A thousand of the largest payloads would be a quarter of a gigabyte, for an answer that shows none."""
    await a_minutely_job(world, payload="x" * 100_000)

    page = await list_jobs(world.kit, TENANT, limit=10)

    assert [view.definition.spec.payload for view in page.items] == ["null"]


@pytest.mark.sem("SEM-RETRY-1", "SEM-TIMEOUT-1")
async def test_a_run_that_outlives_its_workers_uses_its_attempts_up(world: World) -> None:
    """Each worker lives for ten minutes and the job allows an hour: giving it back uncounted would never end."""
    job = await world.submit(timeoutSec=3_600, retryPolicy={"maxAttempts": 3, "backoff": {"initialSec": 0}})

    async def hangs(_invocation: Invocation) -> Success:
        await world.clock.sleep_ms(DAY)
        return Success()

    world.runner.does = hangs
    world.clock.advance(MINUTE)
    await fired(world)
    for life in range(5):
        worker = replace(world.worker(name=f"worker-{life}"), timeout_ms_max=9 * MINUTE)
        asyncio.get_running_loop().call_later(600, _let_go, worker)
        for received in await world.receive():
            await world.work_on(worker, received)
        await world.clock.sleep_ms(HOUR)

    assert (await world.only_execution(job.job_id)).state is State.DEAD
    assert [start.attempt for start in world.runner.starts] == [1, 2, 3]


def _let_go(worker: Worker) -> None:
    worker.draining.set_result(None)
