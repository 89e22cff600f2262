"""`make bench-lag N=1000`: N jobs due in the same second on the embedded default; how late did each start?

The product as `make run` starts it (one SQLite file, FULL durability, scheduler, watch and worker in one process) but
for the API. The runs are counted by the target itself, not by the store. Prints one JSON line; exit status 1 if a run
was lost, doubled or early.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.ids import TenantId, WorkerId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.job_rules import read_spec
from tickwright.domain.schedules import HashIdentity
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.clock import Clock
from tickwright.ports.runner import Invocation
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey, Submitted, submit
from tickwright.wiring.embedded import embedded_kit

_TENANT = TenantId("bench")
_SUBMITS_AT_ONCE = 50
_SUBMITS_A_SECOND = 400  # what is allowed for; the due second is set so that submitting ends well before it
_PATIENCE_S = 30


@dataclass
class Evidence:
    """A target that does nothing but note when it was started, by its own clock."""

    clock: Clock
    started: dict[str, Instant] = field(default_factory=dict)
    runs: Counter[str] = field(default_factory=Counter)

    async def run(self, invocation: Invocation) -> UserResult:
        """Note and succeed."""
        name = str(invocation.execution.job_id)
        self.runs[name] += 1
        self.started.setdefault(name, self.clock.now())
        return Success()


async def _submit_all(kit: Kit, due: Instant, count: int) -> list[str]:
    spec = read_spec(
        {"schedule": {"runAt": to_rfc3339(due)}, "target": {"type": "python", "handler": "bench.noop"}},
        identity=HashIdentity("bench", "bench"),
        now=kit.clock.now(),
    )
    permits = asyncio.Semaphore(_SUBMITS_AT_ONCE)

    async def one(number: int) -> str:
        async with permits:
            submitted = await submit(kit, _TENANT, spec, RequestKey(key=f"bench {number}", body_hash="same"))
            assert isinstance(submitted, Submitted)
            return submitted.head.job_id

    return await asyncio.gather(*(one(number) for number in range(count)))


async def measure(path: Path, count: int) -> dict[str, float]:
    """Submit, wait until all have run and a little longer, and compute."""
    async with embedded_kit(path, MemoryTelemetry()) as kit:
        evidence = Evidence(kit.clock)
        stop = asyncio.Event()
        worker = WorkerLoop(kit, {"python": evidence}, WorkerId("bench"))
        loops = [SchedulerLoop(kit, owner=kit.entropy.token()).run(stop), WatchLoop(kit).run(stop), worker.run(stop)]
        running = [asyncio.create_task(loop) for loop in loops]
        lead_ms = 3 * kit.durations.lookahead_ms + count * 1_000 // _SUBMITS_A_SECOND
        due = Instant((kit.clock.now() + lead_ms) // 1_000 * 1_000)
        jobs = await _submit_all(kit, due, count)
        assert kit.clock.now() < due - kit.durations.lookahead_ms, "submitting took too long to measure anything"
        await kit.clock.sleep_until(due)
        cpu_before_ns = time.process_time_ns()
        for _ in range(_PATIENCE_S * 20):
            if len(evidence.runs) == count:
                break
            await kit.clock.sleep_ms(50)
        cpu_ms = (time.process_time_ns() - cpu_before_ns) / 1_000_000
        await kit.clock.sleep_ms(2_000)  # a second run of anything would come now
        stop.set()
        await asyncio.gather(*running)
        return _figures(jobs, evidence, due) | {"cpuMsARun": round(cpu_ms / count, 3)}


def _figures(jobs: list[str], evidence: Evidence, due: Instant) -> dict[str, float]:
    lags = sorted((at - due) / 1_000 for at in evidence.started.values())
    cuts = statistics.quantiles(lags, n=100, method="inclusive") if len(lags) > 1 else lags * 99
    return {
        "n": len(jobs),
        "p50": round(cuts[49], 3),
        "p99": round(cuts[98], 3),
        "max": round(lags[-1], 3),
        "lost": len(set(jobs) - set(evidence.runs)),
        "twice": sum(1 for runs in evidence.runs.values() if runs > 1),
        "early": sum(1 for lag in lags if lag < 0),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="tests.bench.lag")
    parser.add_argument("--jobs", type=int, default=1_000, help="how many (default: %(default)s)")
    count = parser.parse_args().jobs
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measure(Path(folder) / "bench.db", count))
    print(json.dumps(figures))
    return 1 if figures["lost"] or figures["twice"] or figures["early"] else 0


if __name__ == "__main__":
    sys.exit(main())
