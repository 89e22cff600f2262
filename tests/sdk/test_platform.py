"""Handlers of the SDK called by the platform's own worker, on a real store and queue: same code, other transport."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.sdk import computing
from tickwright.adapters.targets.python import PythonRunner
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain import limits
from tickwright.domain.executions import Execution
from tickwright.domain.ids import JobId, TenantId, WorkerId
from tickwright.domain.instants import to_rfc3339
from tickwright.domain.job_rules import read_spec
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import PLATFORM
from tickwright.domain.schedules import HashIdentity
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.services.cancel import cancel_execution
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey, Submitted, submit
from tickwright.wiring.embedded import able_hands, embedded_kit
from tickwright_sdk import Context, Registry
from tickwright_sdk import limits as sdk_limits
from tickwright_sdk.hands import Hands

TENANT, NONE_YET = TenantId("t"), JobId("")
SECONDS = 30
QUICK = {"maxAttempts": 3, "backoff": {"initialSec": 1, "maxSec": 1}}


@dataclass
class Place:
    """An installation at work."""

    kit: Kit
    worker: WorkerLoop
    hands: Hands
    job_id: JobId = NONE_YET

    async def submit(self, handler: str, payload: object = None, **body: object) -> None:
        """A one-off of this handler, at once."""
        asked = {
            "schedule": {"runAt": to_rfc3339(self.kit.clock.now())},
            "target": {"type": "python", "handler": handler},
            "payload": payload,
            "retryPolicy": QUICK,
        }
        spec = read_spec(asked | body, identity=HashIdentity("t", "t"), now=self.kit.clock.now())
        made = await submit(self.kit, TENANT, spec, RequestKey(key=self.kit.entropy.token(), body_hash="x"))
        assert isinstance(made, Submitted)
        self.job_id = made.head.job_id

    async def execution(self) -> Execution:
        """The one there is."""
        found = await self.kit.store.executions_of(self.job_id, limit=1)
        return found.items[0]

    async def until(self, *states: State) -> Execution:
        """Wait for a state."""
        async with asyncio.timeout(SECONDS):
            while True:
                found = await self.kit.store.executions_of(self.job_id, limit=1)
                if found.items and found.items[0].state in states:
                    return found.items[0]
                await self.kit.clock.sleep_ms(20)


@asynccontextmanager
async def at_work(
    registry: Registry, *, threads: int = 4, shares: Mapping[str, int] | None = None
) -> AsyncIterator[Place]:
    """An installation with a worker that has these handlers; its leases are 3 s."""
    async with embedded_kit(None, MemoryTelemetry(), scale=0.05) as kit:
        hands, stop = Hands(threads=threads, children=1, patience_s=0.1, shares=shares), asyncio.Event()
        runners = {"python": PythonRunner(registry, hands=hands)}
        worker = WorkerLoop(
            kit,
            runners,
            WorkerId("w"),
            places={Lane.HIGH: 2, Lane.NORMAL: 2},
            pools=PLATFORM,
            poll_ms=100,
            grace_ms=2_000,
            able=able_hands(hands),
        )
        loops = [asyncio.create_task(one) for one in (SchedulerLoop(kit, owner="s").run(stop), worker.run(stop))]
        try:
            yield Place(kit=kit, worker=worker, hands=hands)
        finally:
            stop.set()
            await asyncio.gather(*loops)
            await hands.close()


@pytest.mark.sem("SEM-SDK-1", "SEM-SDK-3", "SEM-CHECKPOINT-1")
@pytest.mark.parametrize("is_async", [False, True])
async def test_the_next_attempt_goes_on_from_what_a_handler_noted_last(*, is_async: bool) -> None:
    """Also from what it noted a moment before it failed, which no heartbeat had taken along yet."""
    registry = Registry()
    begun_with: list[object] = []

    def work(ctx: Context) -> str:
        begun_with.append(ctx.checkpoint)
        for row in range(3):
            ctx.heartbeat(progress=row / 3, checkpoint={"row": row})
        if ctx.attempt == 1:
            raise ConnectionError("row 3")
        return "done"

    async def awaited(_payload: object, ctx: Context) -> str:
        return work(ctx)

    registry.job("work")(awaited if is_async else lambda _payload, ctx: work(ctx))
    async with at_work(registry) as place:
        await place.submit("work")
        row = await place.until(State.SUCCEEDED)

    assert begun_with == [None, {"row": 2}]
    assert (row.attempt, row.result) == (2, '"done"')


@pytest.mark.sem("SEM-SDK-7")
async def test_a_handler_that_always_kills_its_child_ends_dead_after_its_attempts() -> None:
    """A poison run costs its attempts, whatever it does to its process, and the worker none of the others."""
    async with at_work(computing.registry) as place:
        await place.submit("ends", "killed", retryPolicy=QUICK | {"maxAttempts": 2})
        dead = await place.until(State.DEAD)
        await place.submit("sum", {"up_to": 5})
        after = await place.until(State.SUCCEEDED, State.DEAD)

    assert dead.attempt == 2
    assert dead.error is not None
    assert dead.error.error_class == "ChildKilled"
    assert after.state is State.SUCCEEDED


@pytest.mark.sem("SEM-SDK-1")
async def test_a_cancelled_run_is_told_so() -> None:
    """A plain handler hears it at its next look, and why."""
    registry, heard = Registry(), []

    @registry.job("work")
    def work(_payload: object, ctx: Context) -> None:
        while not ctx.sleep(0.01):
            continue
        heard.append(ctx.cancel_reason)

    async with at_work(registry) as place:
        await place.submit("work")
        running = await place.until(State.RUNNING)
        await cancel_execution(place.kit, TENANT, running.ref.id)
        await place.until(State.CANCELLED)

    assert heard == ["cancelled"]


@pytest.mark.sem("SEM-SDK-1")
async def test_a_run_whose_time_is_over_is_told_so() -> None:
    """The next attempt goes on from what it had noted by then."""
    registry, heard = Registry(), []

    @registry.job("work")
    async def work(_payload: object, ctx: Context) -> None:
        heard.append(ctx.checkpoint)
        if ctx.attempt == 1:
            ctx.heartbeat(checkpoint="as far as this")
            await ctx.sleep_async(60)
            heard.append(ctx.cancel_reason)

    async with at_work(registry) as place:
        await place.submit("work", timeoutSec=1)
        await place.until(State.SUCCEEDED)

    assert heard == [None, "deadline", "as far as this"]


@pytest.mark.sem("SEM-SDK-6")
async def test_what_finds_no_place_comes_again_and_counts_no_attempt() -> None:
    """A worker whose only thread is held by deaf code gives back what it cannot call."""
    registry, free = Registry(), threading.Event()
    registry.job("deaf")(lambda _payload, _ctx: free.wait(20) and None)

    @registry.job("quick")
    def quick(_payload: object, ctx: Context) -> Any:  # noqa: ANN401 - JSON
        return ctx.attempt

    async with at_work(registry, threads=1) as place:
        await place.submit("deaf")
        await place.until(State.RUNNING)
        await place.submit("quick")
        back = await place.until(State.RETRY)
        free.set()
        done = await place.until(State.SUCCEEDED)

    assert back.attempt == 0
    assert done.result == "1"


@pytest.mark.sem("SEM-SDK-6", "SEM-FLEET-1")
async def test_what_only_stuck_code_could_take_is_left_to_other_workers() -> None:
    """Both threads of a lane are lost to deaf code: its hints are not even received, and another lane goes on."""
    registry, free = Registry(), threading.Event()
    registry.job("deaf")(lambda _payload, _ctx: free.wait(20) and None)
    registry.job("quick")(lambda _payload, ctx: ctx.attempt)

    async with at_work(registry, shares={"high": 2, "normal": 2}) as place:
        for _ in range(2):
            await place.submit("deaf", timeoutSec=1, retryPolicy={"maxAttempts": 1})
            await place.until(State.DEAD)
        await place.submit("quick")
        waits = await place.until(State.QUEUED)
        patient, place.job_id = place.job_id, NONE_YET
        await place.submit("quick", priority="high")
        urgent = await place.until(State.SUCCEEDED)
        place.job_id = patient
        await place.kit.clock.sleep_ms(500)
        still = await place.execution()
        free.set()
        done = await place.until(State.SUCCEEDED)

    assert (waits.lease_epoch, still.lease_epoch, still.state) == (0, 0, State.QUEUED)
    assert urgent.result == done.result == "1"


@pytest.mark.sem("SEM-SDK-9")
async def test_a_worker_that_stops_tells_its_handlers_that_it_drains() -> None:
    """What ends then is kept; what does not is given back."""
    registry, heard = Registry(), []

    @registry.job("work")
    def work(_payload: object, ctx: Context) -> str:
        while not ctx.sleep(0.01):
            continue
        heard.append(ctx.cancel_reason)
        return "in time"

    async with at_work(registry) as place:
        await place.submit("work")
        await place.until(State.RUNNING)
        place.worker.let_go()
        done = await place.until(State.SUCCEEDED)

    assert heard == ["draining"]
    assert done.result == '"in time"'


async def test_what_a_handler_logs_is_kept_with_its_run() -> None:
    """From a child too."""
    async with at_work(computing.registry) as place:
        await place.submit("notes", timeoutSec=2)
        row = await place.until(State.RETRY)
        async with asyncio.timeout(SECONDS):
            while not (kept := (await place.kit.store.logs_of(row.ref, limit=1)).items):
                await place.kit.clock.sleep_ms(20)

    assert "WARNING row 1" in kept[0].text


def test_the_bounds_of_the_sdk_are_those_of_the_product() -> None:
    """It says the same where it is not installed beside it."""
    assert sdk_limits.RESULT_BYTES_MAX == limits.RESULT_BYTES_MAX
    assert sdk_limits.CHECKPOINT_BYTES_MAX == limits.CHECKPOINT_BYTES_MAX
    assert sdk_limits.TRACE_CHARS_MAX == limits.ERROR_TRACE_CHARS_MAX
    assert sdk_limits.MESSAGE_CHARS_MAX == limits.ERROR_MESSAGE_CHARS_MAX
    assert sdk_limits.LOG_BYTES_MAX == limits.LOG_BYTES_MAX
    assert sdk_limits.PAYLOAD_BYTES_MAX == limits.PAYLOAD_BYTES_MAX
    assert sdk_limits.RETRY_AFTER_S_MAX == limits.RETRY_AFTER_S_MAX
