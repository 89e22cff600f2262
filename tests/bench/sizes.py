"""`make bench-sizes`: how many bytes an item of each kind takes in the tables, names of attributes among them.

A job as people write them (a name, a zone, a web hook's address and headers, a small payload, tags), submitted, decided
and run once well and once into death by the real services; then every item is read and added up by DynamoDB's rules.
Prints one JSON line.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.bench.metered import installation, metered
from tests.support.emulators.clients import aws_client
from tests.support.installation import Installation
from tickwright.domain.attempts import Fatal, Success, UserResult
from tickwright.domain.executions import ErrorSummary
from tickwright.domain.ids import TenantId, WorkerId
from tickwright.domain.job_rules import read_spec
from tickwright.domain.pools import LAMBDA
from tickwright.domain.schedules import HashIdentity
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.runner import Invocation
from tickwright.services.submit import RequestKey, Submitted, submit

_JOB = {
    "schedule": {"cron": "*/2 * * * * *", "allowSeconds": True, "timezone": "Europe/Paris"},
    "target": {
        "type": "http",
        "url": "https://billing.example.com/hooks/nightly-statements",
        "headers": {"Authorization": "Bearer 0123456789abcdef0123456789abcdef", "X-Team": "billing"},
    },
    "payload": {"customer": "c-0123456789", "period": "2026-11", "formats": ["pdf", "csv"], "notify": True},
    "retryPolicy": {"maxAttempts": 5, "backoff": {"initialSec": 30, "maxSec": 600}},
    "timeoutSec": 120,
    "owner": "billing-team",
    "description": "Sends each customer the statement of the month that has ended.",
    "tags": ["billing", "statements", "nightly"],
}
_LOOKS_S = 8
_KEYS = 3  # a map or a list: three bytes, and one for each member


@dataclass
class _Target:
    async def run(self, invocation: Invocation) -> UserResult:
        """One job's runs end well, the other's at once and badly."""
        if invocation.definition.spec.name == "statements-that-fail":
            return Fatal(error=ErrorSummary(error_class="Http404", message="the hook is not there any more"))
        return Success(result='{"sent": 1841, "skipped": 3}')


def size_of(item: Mapping[str, Any]) -> int:
    """By DynamoDB's rules: names and values, without the hundred bytes that every item costs besides."""
    return sum(len(name.encode()) + _value(value) for name, value in item.items())


def _value(value: Mapping[str, Any]) -> int:
    ((kind, held),) = value.items()
    match kind:
        case "S":
            return len(held.encode())
        case "N":
            return 1 + (len(held.strip("-").replace(".", "")) + 1) // 2
        case "M":
            return _KEYS + sum(len(name.encode()) + 1 + _value(each) for name, each in held.items())
        case "L":
            return _KEYS + sum(1 + _value(each) for each in held)
        case "B":
            return len(held)
        case _:
            return 1


async def _run(made: Installation) -> None:
    kit, stop = metered(made).kit, asyncio.Event()
    for name in ("statements", "statements-that-fail"):
        body = _JOB | {"name": name}
        spec = read_spec(body, identity=HashIdentity("bench", name), now=kit.clock.now())
        done = await submit(kit, TenantId("bench"), spec, RequestKey(key=f"POST /v1/jobs {name}", body_hash="0" * 64))
        assert isinstance(done, Submitted)
    loops = [
        SchedulerLoop(kit, owner=f"scheduler-0-{kit.entropy.token()}").run(stop),
        WorkerLoop(kit, {"http": _Target()}, WorkerId(f"lambda-{kit.entropy.token()}"), pools=(LAMBDA,)).run(stop),
    ]
    running = [asyncio.create_task(loop) for loop in loops]
    await kit.clock.sleep_ms(_LOOKS_S * 1_000)
    stop.set()
    await asyncio.gather(*running)


def _kinds(made: Installation) -> Iterator[tuple[str, int]]:
    client = aws_client("dynamodb", made.store_endpoint)
    for role, name in made.tables.items():
        for item in client.scan(TableName=name, ConsistentRead=True)["Items"]:
            if (kind := _kind(role, item)) is not None:
                yield kind, size_of(item)


def _kind(role: str, item: Mapping[str, Any]) -> str | None:
    match role:
        case "jobs":
            return "head" if item["sk"]["S"] == "HEAD" else "definition"
        case "executions":
            return {"SUCCEEDED": "execution", "DEAD": "deadExecution"}.get(item["state"]["S"])
        case "control":
            return {"NAME": "name", "IDEM": "request", "LEAS": "lease"}.get(item["sk"]["S"][:4])
        case _:
            return None


def main() -> int:
    """Measure and print."""
    argparse.ArgumentParser(prog="tests.bench.sizes").parse_args()
    largest: dict[str, int] = {}
    with installation() as made:
        asyncio.run(_run(made))
        for kind, size in _kinds(made):
            largest[kind] = max(size, largest.get(kind, 0))
    assert {"head", "definition", "name", "request", "execution", "deadExecution"} <= set(largest), largest
    print(json.dumps({"bytes": largest}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
