"""`make bench-units`: what a recurring cron execution costs from due to SUCCEEDED, its journal page included.

N cron jobs due in one second. Counted is every unit and every request of the scheduler, the workers and the watch,
their polling of empty places among it, from a few seconds before the tick to the end of the watch's look at the
journal. Plain ones end at once; with --retries each fails so often first, with --run-s each attempt takes so long and
heartbeats. Prints one JSON line.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass, field, replace

from tests.bench.metered import Metered, installation, metered
from tests.support.installation import Installation
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.attempts import Failure, Success, UserResult
from tickwright.domain.executions import ErrorSummary
from tickwright.domain.ids import JobId, TenantId, WorkerId
from tickwright.domain.instants import Instant, to_datetime
from tickwright.domain.job_rules import read_spec
from tickwright.domain.pools import FARGATE
from tickwright.domain.schedules import HashIdentity
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.clock import Clock
from tickwright.ports.runner import Invocation
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey, Submitted, submit

_TENANT = TenantId("bench")
_SUBMITS_AT_ONCE = 8
_SUBMITS_A_SECOND = 20
_PATIENCE_S = 120
_POLL_MS = 10_000  # as a worker on SQS polls: an empty answer is a request too


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is measured: how many executions, how often each fails before it succeeds, how long an attempt takes."""

    count: int
    retries: int = 0
    run_s: int = 0


class _Ahead(SystemClock):
    """A clock that is past the journal's first check."""

    def now(self) -> Instant:
        return Instant(super().now() + 180_000)


@dataclass
class _Evidence:
    kind: Kind
    clock: Clock
    done: Counter[str] = field(default_factory=Counter)

    async def run(self, invocation: Invocation) -> UserResult:
        await self.clock.sleep_ms(self.kind.run_s * 1_000)
        if invocation.execution.attempt <= self.kind.retries:
            return Failure(error=ErrorSummary(error_class="Bench", message="as it is meant to"))
        self.done[invocation.execution.job_id] += 1
        return Success()


async def _submit_all(kit: Kit, due: Instant, kind: Kind) -> list[JobId]:
    at = to_datetime(due)
    spec = read_spec(
        {
            "schedule": {"cron": f"{at.second} {at.minute} {at.hour} * * *", "allowSeconds": True},
            "target": {"type": "python", "handler": "bench.noop"},
            "retryPolicy": {"maxAttempts": kind.retries + 1, "backoff": {"initialSec": 1, "jitter": "none"}},
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

    return await asyncio.gather(*(one(number) for number in range(kind.count)))


async def _measure(made: Installation, kind: Kind) -> dict[str, object]:
    making = metered(made)
    lead_ms = 15_000 + kind.count * 1_000 // _SUBMITS_A_SECOND
    due = Instant((making.kit.clock.now() + lead_ms) // 1_000 * 1_000)
    jobs = await _submit_all(making.kit, due, kind)
    start_at = due - 2 * making.kit.durations.lookahead_ms
    assert making.kit.clock.now() < start_at, "submitting took too long to measure anything"
    await making.kit.clock.sleep_until(Instant(start_at))
    counted = metered(made)
    await _run(counted.kit, due, kind)
    looked_at = await WatchLoop(replace(counted.kit, clock=_Ahead())).look()
    await _check(making.kit, jobs, looked_at)
    return _figures(counted, kind)


def _figures(counted: Metered, kind: Kind) -> dict[str, object]:
    tables = {
        table: {operation: round(units / kind.count, 3) for operation, units in operations.items()}
        for table, operations in counted.by_table().items()
    }
    for table, operations in tables.items():
        for operation, units in operations.items():
            print(f"{table:12} {operation:20} {units:8.3f}", file=sys.stderr)
    print(dict(counted.requests.requests), file=sys.stderr)
    return {
        "n": kind.count,
        "retries": kind.retries,
        "runS": kind.run_s,
        "writeUnits": round(counted.capacity.write_units / kind.count, 3),
        "readUnits": round(counted.capacity.read_units / kind.count, 3),
        "sqsRequests": round(counted.requests.billed / kind.count, 3),
        "tables": tables,
    }


async def _run(kit: Kit, due: Instant, kind: Kind) -> None:
    evidence, stop = _Evidence(kind, kit.clock), asyncio.Event()
    loops = [
        SchedulerLoop(kit, owner=kit.entropy.token()).run(stop),
        WorkerLoop(kit, {"python": evidence}, WorkerId("bench"), pools=(FARGATE,), poll_ms=_POLL_MS).run(stop),
    ]
    running = [asyncio.create_task(loop) for loop in loops]
    await kit.clock.sleep_until(due)
    for _ in range(_PATIENCE_S * 10):
        if len(evidence.done) == kind.count:
            break
        await kit.clock.sleep_ms(100)
    told = kit.telemetry.counts if isinstance(kit.telemetry, MemoryTelemetry) else None
    assert evidence.done.total() == kind.count, f"{evidence.done.total()} runs of {kind.count} jobs; {told}"
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
    parser.add_argument("--retries", type=int, default=0, help="how often each fails first (default: %(default)s)")
    parser.add_argument("--run-s", type=int, default=0, help="seconds of each attempt (default: %(default)s)")
    asked = parser.parse_args()
    with installation() as made:
        figures = asyncio.run(_measure(made, Kind(count=asked.jobs, retries=asked.retries, run_s=asked.run_s)))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
