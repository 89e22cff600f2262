"""`make bench-units`: what a plain recurring cron execution costs from due to SUCCEEDED, its journal page included.

N cron jobs due in one second: tables on DynamoDB Local, queues on ministack, both as the synthesised templates have
them. Counted is every unit and every request of the scheduler, the workers and the watch, their polling of empty
places among it, from a few seconds before the tick to the end of the watch's look at the journal. Prints one JSON
line.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from tests.support.emulators.engines import start_dynamodb_local, start_ministack
from tests.support.installation import Installation, in_environment, install
from tickwright.adapters.aws.clients import dynamodb_client, sqs_client
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.dynamodb.engine import Options
from tickwright.adapters.dynamodb.meter import CapacityMeter
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.dynamodb.tables import TableNames
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.adapters.sqs.meter import RequestMeter
from tickwright.adapters.sqs.queue import QueueUrls, SqsQueue
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.ids import JobId, TenantId, WorkerId
from tickwright.domain.instants import Instant, to_datetime
from tickwright.domain.job_rules import read_spec
from tickwright.domain.lanes import LANES
from tickwright.domain.pools import FARGATE
from tickwright.domain.schedules import HashIdentity
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.runner import Invocation
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey, Submitted, submit

_TENANT = TenantId("bench")
_SUBMITS_AT_ONCE = 8
_SUBMITS_A_SECOND = 20
_PATIENCE_S = 120
_POLL_MS = 10_000  # as a worker on SQS polls: an empty answer is a request too


class _Ahead(SystemClock):
    """A clock that is past the journal's first check."""

    def now(self) -> Instant:
        return Instant(super().now() + 180_000)


@dataclass
class _Evidence:
    runs: Counter[str] = field(default_factory=Counter)

    async def run(self, invocation: Invocation) -> UserResult:
        self.runs[invocation.execution.job_id] += 1
        return Success()


@dataclass(frozen=True)
class _Metered:
    kit: Kit
    capacity: CapacityMeter
    requests: RequestMeter


def _metered(installation: Installation) -> _Metered:
    capacity, requests = CapacityMeter(), RequestMeter()
    clock, entropy = SystemClock(), SystemEntropy()
    urls = QueueUrls(
        ready={lane: installation.queues[lane.value] for lane in LANES},
        fleet={lane: installation.queues[f"fargate-{lane.value}"] for lane in LANES},
        dead=installation.queues["dead"],
    )
    kit = Kit(
        store=DynamoDbStore(
            dynamodb_client(),
            TableNames(**installation.tables),
            clock=clock,
            entropy=entropy,
            # A statement of a batch is charged as the single write that it is; the engine reports only the latter.
            options=Options(meter=capacity, partiql=False),
        ),
        queue=SqsQueue(sqs_client(), urls, clock=clock, entropy=entropy, meter=requests),
        clock=clock,
        entropy=entropy,
        telemetry=MemoryTelemetry(),
    )
    return _Metered(kit, capacity, requests)


async def _submit_all(kit: Kit, due: Instant, count: int) -> list[JobId]:
    at = to_datetime(due)
    spec = read_spec(
        {
            "schedule": {"cron": f"{at.second} {at.minute} {at.hour} * * *", "allowSeconds": True},
            "target": {"type": "python", "handler": "bench.noop"},
        },
        identity=HashIdentity("bench", "bench"),
        now=kit.clock.now(),
    )
    permits = asyncio.Semaphore(_SUBMITS_AT_ONCE)

    async def one(number: int) -> JobId:
        async with permits:
            submitted = await submit(kit, _TENANT, spec, RequestKey(key=f"bench {number}", body_hash="same"))
            assert isinstance(submitted, Submitted)
            return submitted.head.job_id

    return await asyncio.gather(*(one(number) for number in range(count)))


async def _measure(installation: Installation, count: int) -> dict[str, float]:
    making = _metered(installation)
    lead_ms = 15_000 + count * 1_000 // _SUBMITS_A_SECOND
    due = Instant((making.kit.clock.now() + lead_ms) // 1_000 * 1_000)
    jobs = await _submit_all(making.kit, due, count)
    start_at = due - 2 * making.kit.durations.lookahead_ms
    assert making.kit.clock.now() < start_at, "submitting took too long to measure anything"
    await making.kit.clock.sleep_until(Instant(start_at))
    metered = _metered(installation)
    await _run(metered.kit, due, count)
    looked_at = await WatchLoop(replace(metered.kit, clock=_Ahead())).look()
    await _check(making.kit, jobs, looked_at)
    for (table, operation), units in sorted(metered.capacity.units.items()):
        print(f"{table:20} {operation:26} {units / count:8.3f}", file=sys.stderr)
    print(dict(metered.requests.requests), file=sys.stderr)
    return {
        "n": count,
        "writeUnits": round(metered.capacity.write_units / count, 3),
        "readUnits": round(metered.capacity.read_units / count, 3),
        "sqsRequests": round(metered.requests.billed / count, 3),
    }


async def _run(kit: Kit, due: Instant, count: int) -> None:
    evidence, stop = _Evidence(), asyncio.Event()
    loops = [
        SchedulerLoop(kit, owner=kit.entropy.token()).run(stop),
        WorkerLoop(kit, {"python": evidence}, WorkerId("bench"), pools=(FARGATE,), poll_ms=_POLL_MS).run(stop),
    ]
    running = [asyncio.create_task(loop) for loop in loops]
    await kit.clock.sleep_until(due)
    for _ in range(_PATIENCE_S * 10):
        if len(evidence.runs) == count:
            break
        await kit.clock.sleep_ms(100)
    told = kit.telemetry.counts if isinstance(kit.telemetry, MemoryTelemetry) else None
    assert evidence.runs.total() == count, f"{evidence.runs.total()} runs of {count} jobs; {told}"
    await kit.clock.sleep_ms(1_000)  # completions and deletes that are on their way
    stop.set()
    await asyncio.gather(*running)


async def _check(kit: Kit, jobs: list[JobId], looked_at: int) -> None:
    """What was measured was whole: each job one SUCCEEDED execution, and nothing left in the journal."""
    for job in jobs:
        ledger = await kit.store.executions_of(job, limit=2)
        assert [execution.state for execution in ledger.items] == [State.SUCCEEDED]
    for bucket in range(kit.buckets):
        assert not await kit.store.pages(bucket, until=_Ahead().now(), limit=1)
    assert looked_at >= 1


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="tests.bench.units")
    parser.add_argument("--jobs", type=int, default=1_000, help="how many (default: %(default)s)")
    count = parser.parse_args().jobs
    with ExitStack() as stack:
        store, queue = start_dynamodb_local(), start_ministack()
        stack.callback(store.stop)
        stack.callback(queue.stop)
        installation = install(store.endpoint, queue.endpoint, "bench-")
        stack.enter_context(in_environment({**installation.environment, **CREDENTIALS}))
        figures = asyncio.run(_measure(installation, count))
    print(json.dumps(figures))
    return 0


CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}

if __name__ == "__main__":
    sys.exit(main())
