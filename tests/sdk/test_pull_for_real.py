"""Workers that pull from the product itself, over HTTP: what they run, note, lose and give back."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from tests.sdk.product import SECONDS, Product, a_product
from tickwright_sdk import Context, Worker
from tickwright_sdk.client import Client
from tickwright_sdk.problems import WorkerRefused

Work = Callable[[Any, Context], object]


@pytest_asyncio.fixture
async def product() -> AsyncIterator[Product]:
    """One for each test."""
    async with a_product() as one:
        yield one


@asynccontextmanager
async def working(
    product: Product, work: Work, *, pool: str = "gpu", grace_s: float = 6
) -> AsyncIterator[asyncio.Event]:
    """A worker with the handler `work`, until the end of the block or until what it gives is set."""
    stop = asyncio.Event()
    with Client(product.url, product.key) as client:
        worker = Worker(pool=pool, client=client, concurrency=4, grace_s=grace_s)
        worker.job("work")(work)
        serving = asyncio.create_task(worker.serve(stop))
        try:
            yield stop
        finally:
            stop.set()
            await asyncio.wait_for(serving, SECONDS)


async def test_a_job_of_a_pool_is_run_by_the_worker_that_pulls_from_it(product: Product) -> None:
    """Payload in, result out; the log is kept with the attempt."""

    def work(payload: dict[str, int], ctx: Context) -> object:
        ctx.log.info("on my own machine")
        return {"doubled": 2 * payload["n"]}

    async with working(product, work):
        ended = await product.until(await product.run_now("gpu", {"n": 21}), "SUCCEEDED", "DEAD")
        logs = await product.ask(lambda: list(product.client.logs(ended["executionId"])))

    assert (ended["status"], ended["result"], ended["attempt"]) == ("SUCCEEDED", {"doubled": 42}, 1)
    assert [log["text"].partition("INFO ")[2] for log in logs] == ["on my own machine\n"]


@pytest.mark.sem("SEM-CHECKPOINT-1")
async def test_the_next_attempt_goes_on_from_the_checkpoint(product: Product) -> None:
    """The first notes and fails; what it noted last is there, though it came a moment before."""
    seen: list[Any] = []

    def work(_: object, ctx: Context) -> object:
        seen.append((ctx.attempt, ctx.lease_epoch, ctx.checkpoint))
        if ctx.attempt == 1:
            for row in range(3):
                ctx.heartbeat(progress=row / 3, checkpoint={"row": row})
            raise ConnectionError("gone")
        return ctx.checkpoint

    async with working(product, work):
        ended = await product.until(await product.run_now("gpu"), "SUCCEEDED", "DEAD")

    assert seen == [(1, 1, None), (2, 2, {"row": 2})]
    assert ended["result"] == {"row": 2}


@pytest.mark.slow
@pytest.mark.sem("SEM-SDK-11")
async def test_a_run_outlives_its_lease_many_times_by_heartbeats_alone(product: Product) -> None:
    """The handler says nothing for three leases; nobody else is given its run."""
    gate = threading.Event()

    async with working(product, lambda _, __: gate.wait(SECONDS)):
        execution_id = await product.run_now("gpu")
        await product.until(execution_id, "RUNNING")
        async with working(product, lambda _, __: "stolen"):
            await asyncio.sleep(9)  # three leases, in which the second worker asks for whatever there is
        gate.set()
        ended = await product.until(execution_id, "SUCCEEDED", "DEAD")

    assert (ended["result"], ended["leaseEpoch"]) == (True, 1)


@pytest.mark.sem("SEM-SDK-11")
async def test_a_cancelled_run_is_told_so_and_ends_cancelled(product: Product) -> None:
    """By its next heartbeat."""
    seen: list[str | None] = []

    def work(_: object, ctx: Context) -> None:
        ctx.sleep(SECONDS)
        seen.append(ctx.cancel_reason)

    async with working(product, work):
        execution_id = await product.run_now("gpu")
        await product.until(execution_id, "RUNNING")
        await product.ask(lambda: product.client.cancel_execution(execution_id))
        ended = await product.until(execution_id, "CANCELLED")

    assert seen == ["cancelled"]
    assert ended["attempt"] == 1


async def test_an_attempt_that_hangs_ends_with_its_time_limit(product: Product) -> None:
    """Live heartbeats keep the lease, and not the time: a second for each of two attempts, then it is dead."""
    policy = {"maxAttempts": 2, "backoff": {"initialSec": 0, "maxSec": 0}}
    gate = threading.Event()

    async with working(product, lambda _, __: gate.wait(SECONDS)):
        execution_id = await product.run_now("gpu", timeoutSec=1, retryPolicy=policy)
        ended = await product.until(execution_id, "DEAD")
        gate.set()

    assert ended["attempt"] == 2
    assert ended["error"]["class"] in {"TimedOut", "LeaseExpired"}


@pytest.mark.sem("SEM-SDK-13")
async def test_what_a_stopping_worker_gives_back_counts_no_attempt(product: Product) -> None:
    """Another runs it as the first attempt, at a higher epoch, from the checkpoint."""
    seen: list[str | None] = []

    async def breaks_off(_: object, ctx: Context) -> None:
        ctx.heartbeat(checkpoint="half")
        await ctx.sleep_async(SECONDS)
        seen.append(ctx.cancel_reason)
        raise ConnectionError("broken off")

    async with working(product, breaks_off, grace_s=1.5):
        execution_id = await product.run_now("gpu")
        await product.until(execution_id, "RUNNING")
    async with working(product, lambda _, ctx: [ctx.attempt, ctx.checkpoint]):
        ended = await product.until(execution_id, "SUCCEEDED", "DEAD")

    assert seen == ["draining"]
    assert ended["result"] == [1, "half"]
    assert ended["leaseEpoch"] >= 2  # it may have been offered to the stopping worker again, and given back again


async def test_a_handler_is_submitted_from_where_it_is_written(product: Product) -> None:
    """Now, with the payload that it takes; the pool's worker runs it."""
    with Client(product.url, product.key) as client:
        worker = Worker(pool="gpu", client=client)

        @worker.job("work")
        def work(payload: dict, _: Context) -> object:  # type: ignore[type-arg]
            return payload

        job = await product.ask(lambda: work.submit({"n": 1}))
        for key in ("a1-2026-11", "a1(2026)=11"):
            again = partial(work.submit, {"n": 2}, key=key)
            twice = [await product.ask(again) for _ in range(2)]
            assert twice[0].job_id == twice[1].job_id != job.job_id

    async with working(product, lambda payload, _: payload):
        executions: list[dict[str, Any]] = []
        async with asyncio.timeout(SECONDS):
            while not executions:
                executions = await product.ask(lambda: list(product.client.executions(job.job_id)))
        ended = await product.until(executions[0]["executionId"], "SUCCEEDED", "DEAD")

    assert ended["result"] == {"n": 1}


async def test_a_pool_that_is_not_there_ends_a_worker_at_its_start(product: Product) -> None:
    """Told, not retried for ever."""
    with Client(product.url, product.key) as client:
        worker = Worker(pool="other", client=client)
        worker.job("work")(lambda _, __: None)
        with pytest.raises(WorkerRefused, match="no pool 'other'"):
            await asyncio.wait_for(worker.serve(asyncio.Event()), SECONDS)
