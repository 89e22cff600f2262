"""DynamoDB Local and ministack behind a proxy that strikes calls: the ground of a run with STORE=aws.

The engines keep all in memory and are never struck themselves: what is put to the test is what happens between them
and the processes. Must not draw a fault: tests/chaos/faults.py does.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.chaos.aws_kit import ENVIRONMENT, aws_kit
from tests.chaos.faults import purge_at_ms, windows
from tests.chaos.grounds import PACES, Ground, Kind
from tests.chaos.history import EVERYBODY, Stall
from tests.chaos.timetable import Timetable
from tests.support.emulators import missing_dynamodb_local, missing_ministack, start_dynamodb_local, start_ministack
from tests.support.emulators.clients import aws_client
from tests.support.tables import create_queues, create_tables
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.ids import ExecutionRef, parse_execution_id
from tickwright.domain.lanes import LANES
from tickwright.services.kit import Kit

OWNERS = "owners"
FAULTS = "proxy.faults.jsonl"
_ROOT = Path(__file__).parents[2]
_PREFIX = "chaos-"
_BATCH = 10
_HIDDEN_S = 600


def missing() -> str | None:
    """What this machine lacks for it, or nothing."""
    return missing_dynamodb_local() or missing_ministack()


@asynccontextmanager
async def aws_ground(timetable: Timetable, folder: Path) -> AsyncIterator[Ground]:
    """Engines, tables, queues and proxies; all are gone in the end."""
    os.environ |= ENVIRONMENT
    with ExitStack() as stack:
        direct = stack.enter_context(_engines())
        start_ms = time.time_ns() // 1_000_000
        async with _proxies(direct, timetable, folder, start_ms) as struck:
            telemetry = MemoryTelemetry()
            owners = _paced(stack.enter_context(aws_kit(struck, telemetry, member=OWNERS)))
            judges = _paced(stack.enter_context(aws_kit(direct, telemetry, member="judges")))
            yield Ground(
                kind=Kind.AWS,
                place=struck,
                owners=owners,
                judges=judges,
                watch=Weather(direct=direct, timetable=timetable, start_ms=start_ms),
                letters=lambda: asyncio.to_thread(_letters, direct),
            )


def _paced(kit: Kit) -> Kit:
    pace = PACES[Kind.AWS]
    return replace(kit, durations=pace.durations, buckets=pace.buckets)


@contextmanager
def _engines() -> Iterator[Mapping[str, Any]]:
    """Both, with tables and queues as they are deployed: what a kit needs to reach them without a proxy."""
    dynamodb, sqs = start_dynamodb_local(), None
    try:
        sqs = start_ministack()
        yield {
            "kind": Kind.AWS.value,
            "dynamodb": dynamodb.endpoint,
            "sqs": sqs.endpoint,
            "tables": create_tables(aws_client("dynamodb", dynamodb.endpoint), prefix=_PREFIX),
            "queues": create_queues(aws_client("sqs", sqs.endpoint), prefix=_PREFIX),
        }
    finally:
        dynamodb.stop()
        if sqs is not None:
            sqs.stop()


@asynccontextmanager
async def _proxies(
    direct: Mapping[str, Any], timetable: Timetable, folder: Path, start_ms: int
) -> AsyncIterator[Mapping[str, Any]]:
    """One before each service, both in a process of their own: what a kit needs to reach them through it."""
    orders = {
        "seed": timetable.seed,
        "startMs": start_ms,
        "beginMs": timetable.begin_ms,
        "quietMs": timetable.quiet_ms,
        "log": str(folder / FAULTS),
        "services": {name: direct[name] for name in ("dynamodb", "sqs")},
    }
    with (folder / "proxy.stderr").open("wb") as errors:
        proxy = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.chaos.proxy",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
        )
    assert proxy.stdin is not None
    assert proxy.stdout is not None
    try:
        proxy.stdin.write(json.dumps(orders).encode() + b"\n")
        yield {**direct, **json.loads(await proxy.stdout.readline())}
    finally:
        proxy.stdin.close()
        await proxy.wait()


@dataclass(slots=True, kw_only=True)
class Weather:
    """When the services were unwell for everybody, and the one purge of the ready queues."""

    direct: Mapping[str, Any]
    timetable: Timetable
    start_ms: int
    stalls: list[Stall] = field(default_factory=list)
    busy_ms: int = 0
    purges: int = 0

    async def watch(self) -> None:
        """Wait for the moment of the purge."""
        begin_ms, quiet_ms = self.timetable.begin_ms, self.timetable.quiet_ms
        for one in windows(self.timetable.seed, begin_ms=begin_ms, quiet_ms=quiet_ms):
            from_ms, until_ms = self.start_ms + one.from_ms, self.start_ms + one.until_ms
            self.stalls.append(Stall(member=EVERYBODY, from_ms=from_ms, until_ms=until_ms))
        at_ms = self.start_ms + purge_at_ms(self.timetable.seed, begin_ms=begin_ms, quiet_ms=quiet_ms)
        await asyncio.sleep(max(0, at_ms / 1_000 - time.time()))
        await asyncio.to_thread(_purge, self.direct)
        self.purges += 1


def _purge(direct: Mapping[str, Any]) -> None:
    client = aws_client("sqs", direct["sqs"])
    for lane in LANES:
        client.purge_queue(QueueUrl=direct["queues"][f"fargate-{lane.value}"])


def _letters(direct: Mapping[str, Any]) -> frozenset[ExecutionRef]:
    """All that lie in the queue of dead executions."""
    client, found = aws_client("sqs", direct["sqs"]), set[ExecutionRef]()
    url = direct["queues"]["dead"]
    while messages := client.receive_message(
        QueueUrl=url, MaxNumberOfMessages=_BATCH, VisibilityTimeout=_HIDDEN_S, WaitTimeSeconds=0
    ).get("Messages", []):
        for message in messages:
            ref = parse_execution_id(json.loads(message["Body"])["executionId"])
            assert ref is not None
            found.add(ref)
    return frozenset(found)
