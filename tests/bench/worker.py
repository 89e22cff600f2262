"""`make bench-worker`: how much one worker process carries, on the SQLite file and on DynamoDB Local with ministack.

Handlers of the SDK, called by the platform's own loop. Executions a second: N no-op runs whose hints are all in the
queue before the worker starts. Heartbeats a second: of so many runs that wait, 64 at once. Memory: what so many async
runs that wait take beyond the same process before them. Prints one JSON line; exit status 1 if a run was lost or
called twice.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.bench.metered import CREDENTIALS
from tests.support.emulators.engines import start_dynamodb_local, start_ministack
from tests.support.emulators.installed import missing_dynamodb_local, missing_ministack
from tests.support.installation import in_environment, install
from tickwright.adapters.targets.python import PythonRunner
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import TenantId, WorkerId, parse_execution_id
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.job_rules import read_spec
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import PLATFORM
from tickwright.domain.schedules import HashIdentity
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.services.kit import Kit
from tickwright.services.report import heartbeat
from tickwright.services.submit import RequestKey, Submitted, submit
from tickwright.wiring.aws import kit_from_env
from tickwright.wiring.embedded import embedded_kit
from tickwright_sdk import Context, Registry
from tickwright_sdk.hands import Hands

_TENANT = TenantId("bench")
_AT_ONCE = {"embedded": 50, "aws": 8}
_LEAD_MS = {"embedded": 3, "aws": 60}  # what submitting one job may take
_PATIENCE_S = 300
_BEATS_AT_ONCE, _BEATING_S = 64, 3.0
_THREADS = 32
_SEEN = 500  # what fewer runs take cannot be told from the rest


@dataclass
class Bench:
    """A worker's handlers, what they did, and the kit that they are called on."""

    kit: Kit
    telemetry: MemoryTelemetry
    name: str
    called: Counter[str] = field(default_factory=Counter)
    waiting: list[str] = field(default_factory=list)

    def handlers(self) -> Registry:
        """Two that do nothing, and one that waits."""
        registry = Registry()

        @registry.job("plain")
        def plain(_payload: object, ctx: Context) -> None:
            self.called[ctx.execution_id] += 1

        @registry.job("async")
        async def awaited(_payload: object, ctx: Context) -> None:
            self.called[ctx.execution_id] += 1

        @registry.job("waits")
        async def waits(_payload: object, ctx: Context) -> None:
            self.waiting.append(ctx.execution_id)
            await ctx.sleep_async(_PATIENCE_S)

        return registry

    async def queue(self, handler: str, count: int) -> None:
        """Submit so many one-offs, and let a scheduler decide them all: their hints are in the queue."""
        before = self.telemetry.counts[EventName.EXECUTION_QUEUED]
        due = Instant(self.kit.clock.now() + 2 * self.kit.durations.lookahead_ms + count * _LEAD_MS[self.name])
        permits = asyncio.Semaphore(_AT_ONCE[self.name])
        body = {"schedule": {"runAt": to_rfc3339(due)}, "target": {"type": "python", "handler": handler}}
        spec = read_spec(body, identity=HashIdentity("bench", "bench"), now=self.kit.clock.now())

        async def one(number: int) -> None:
            async with permits:
                made = await submit(self.kit, _TENANT, spec, RequestKey(key=f"{handler} {number}", body_hash="same"))
                assert isinstance(made, Submitted)

        await asyncio.gather(*map(one, range(count)))
        stop = asyncio.Event()
        deciding = asyncio.create_task(SchedulerLoop(self.kit, owner=self.kit.entropy.token()).run(stop))
        await self._until(lambda: self.telemetry.counts[EventName.EXECUTION_QUEUED] - before == count)
        await self.kit.clock.sleep_until(due)
        stop.set()
        await deciding

    @asynccontextmanager
    async def worker(self, places: int) -> AsyncIterator[WorkerLoop]:
        """A worker process with so many places."""
        hands, stop = Hands(threads=_THREADS, patience_s=_PATIENCE_S), asyncio.Event()
        runner = PythonRunner(self.handlers(), hands=hands)
        loop = WorkerLoop(
            self.kit,
            {"python": runner},
            WorkerId(self.kit.entropy.token()),
            places={Lane.NORMAL: places},
            pools=PLATFORM,
            grace_ms=500,
        )
        working = asyncio.create_task(loop.run(stop))
        try:
            yield loop
        finally:
            stop.set()
            await working
            await hands.close()

    async def executions_a_second(self, handler: str, count: int) -> float:
        """From the start of a worker to the last report."""
        await self.queue(handler, count)
        before = self.telemetry.counts[EventName.EXECUTION_SUCCEEDED]
        async with self.worker(200):
            began_s = time.perf_counter()
            await self._until(lambda: self.telemetry.counts[EventName.EXECUTION_SUCCEEDED] - before == count)
            took_s = time.perf_counter() - began_s
        return round(count / took_s, 1)

    async def waiting_runs(self, count: int) -> dict[str, float]:
        """What so many async runs take of memory, and how many heartbeats a second they may have."""
        await self.queue("waits", count)
        before_kb = _resident_kb()
        async with self.worker(count) as worker:
            await self._until(lambda: len(self.waiting) == count)
            with_them_kb = _resident_kb()
            beats = await self._heartbeats_a_second(await self._executions())
            worker.let_go()  # they end then, and well
            await self._until(lambda: self.telemetry.counts[EventName.EXECUTION_SUCCEEDED] == count)
        figures = {"waiting": count, "heartbeatsPerS": beats}
        if count < _SEEN:
            return figures
        a_run_kb = round((with_them_kb - before_kb) / count, 2)
        return figures | {"residentMb": round(with_them_kb / 1_024, 1), "kbARun": a_run_kb}

    async def _executions(self) -> list[Execution]:
        refs = [parse_execution_id(text) for text in self.waiting]
        found = [None if ref is None else await self.kit.store.execution(ref) for ref in refs]
        return [one for one in found if one is not None]

    async def _heartbeats_a_second(self, executions: list[Execution]) -> float:
        began_s, sent = time.perf_counter(), 0

        async def beat(first: int) -> None:
            nonlocal sent
            number = first
            while time.perf_counter() - began_s < _BEATING_S:
                place = number % len(executions)
                one = executions[place]
                answer = await heartbeat(self.kit, one, one.lease_epoch)
                assert isinstance(answer, Execution)
                executions[place] = answer  # as its holder knows it: the next beat moves the lease that this one wrote
                sent, number = sent + 1, number + _BEATS_AT_ONCE

        await asyncio.gather(*map(beat, range(_BEATS_AT_ONCE)))
        return round(sent / (time.perf_counter() - began_s), 1)

    async def _until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            while not true():
                await self.kit.clock.sleep_ms(10)


def _resident_kb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


async def _measured(kit: Kit, name: str, count: int, waiting: int) -> dict[str, float]:
    telemetry = MemoryTelemetry()
    bench = Bench(replace(kit, telemetry=telemetry), telemetry, name)
    found = await bench.waiting_runs(waiting)
    speeds = {f"{kind}PerS": await bench.executions_a_second(kind, count) for kind in ("async", "plain")}
    twice = sum(1 for times in bench.called.values() if times > 1)
    return found | speeds | {"n": count, "lost": 2 * count - len(bench.called), "twice": twice}


async def _embedded(count: int, waiting: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        async with embedded_kit(Path(folder) / "bench.db", MemoryTelemetry()) as kit:
            return await _measured(kit, "embedded", count, waiting)


@contextmanager
def _engines() -> Iterator[dict[str, str]]:
    store, queue = start_dynamodb_local(), start_ministack()
    try:
        yield {**install(store.endpoint, queue.endpoint, "bench-").environment, **CREDENTIALS}
    finally:
        queue.stop()
        store.stop()


async def _aws(environment: dict[str, str], count: int, waiting: int) -> dict[str, float]:
    return await _measured(kit_from_env(environment), "aws", count, waiting)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="tests.bench.worker")
    parser.add_argument("--jobs", type=int, default=1_000, help="how many no-op runs of each kind")
    parser.add_argument("--waiting", type=int, default=1_000, help="how many runs that wait")
    parser.add_argument("--store", choices=("embedded", "aws", "both"), default="embedded")
    asked = parser.parse_args()
    figures: dict[str, dict[str, float] | str] = {}
    if asked.store != "aws":
        figures["embedded"] = asyncio.run(_embedded(asked.jobs, asked.waiting))
    if asked.store != "embedded":
        lack = missing_dynamodb_local() or missing_ministack()
        if lack is None:
            with _engines() as environment, in_environment(environment):
                # An emulator answers some hundred requests a second: fewer runs say the same.
                figures["aws"] = asyncio.run(_aws(environment, asked.jobs // 5, asked.waiting // 5))
        else:
            figures["aws"] = lack
    print(json.dumps(figures))
    measured = [one for one in figures.values() if isinstance(one, dict)]
    return 1 if any(one["lost"] or one["twice"] for one in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
