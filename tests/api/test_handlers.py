"""Do the Lambda handlers do what they are woken for, and say what comes again, on a kit that is here and not in AWS?"""

import asyncio
import importlib
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import pytest

from tests.api.client import A_JOB
from tests.api.test_gateway import ARN, an_event
from tests.support.builders import an_id
from tickwright.adapters.sqs.intake import submission_to_body
from tickwright.adapters.targets.python import PythonRunner
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.api.keys import make_key
from tickwright.domain.events import EventName
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.lanes import Lane
from tickwright.domain.limits import LANDING_AGAIN_MS
from tickwright.domain.pools import FARGATE
from tickwright.domain.seats import PutSeat, Seat
from tickwright.domain.tenants import Scope
from tickwright.ports.intake import Arrived, Submission
from tickwright.ports.queue import Received
from tickwright.services.kit import Kit
from tickwright.services.pools import put_pool
from tickwright.wiring.embedded import embedded_kit
from tickwright_sdk import Registry


@dataclass(frozen=True, slots=True)
class Left:
    """A Lambda context with so much time left."""

    ms: int

    def get_remaining_time_in_millis(self) -> int:
        """How long it may still take."""
        return self.ms


class Installation:
    """A kit that outlives the event loops of the handlers, as a store outlives them in AWS."""

    def __init__(self) -> None:
        self.telemetry = MemoryTelemetry()
        self.registry = Registry()
        self.received: dict[str, Received] = {}
        self.runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self.kit: Kit = self.runner.run(
            self._stack.enter_async_context(embedded_kit(None, self.telemetry, scale=0.05, buckets=2))
        )

    def handler(self, function: str) -> Any:  # noqa: ANN401 - a module
        """A function's handler module, as a container imports it."""
        return importlib.import_module(f"functions.{function}.handler")

    def close(self) -> None:
        """Let everything go."""
        self.runner.run(self._stack.aclose())
        self.runner.close()


@pytest.fixture
def installation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    made = Installation()
    runner = PythonRunner(made.registry, threads=4)
    wiring = ModuleType("tickwright.wiring.aws")
    for name in ("kit_from_env", "scheduler_kit_from_env", "worker_kit_from_env"):
        monkeypatch.setattr(wiring, name, lambda _environ: made.kit, raising=False)
    monkeypatch.setattr(wiring, "AwsKit", Kit, raising=False)
    link = lambda _environ: lambda execution: f"https://{execution.ref.id}"  # noqa: E731
    monkeypatch.setattr(wiring, "log_link_from_env", link, raising=False)
    received_of = lambda _environ, record: made.received[record["messageId"]]  # noqa: E731
    monkeypatch.setattr(wiring, "received_of", received_of, raising=False)
    monkeypatch.setitem(sys.modules, "tickwright.wiring.aws", wiring)
    targets = ModuleType("tickwright.wiring.targets")
    monkeypatch.setattr(targets, "runners_from_env", lambda *_, **_named: {"python": runner}, raising=False)
    monkeypatch.setitem(sys.modules, "tickwright.wiring.targets", targets)
    monkeypatch.setenv("TICKWRIGHT_PAGE_SECRET", "a secret of the tests")
    monkeypatch.setenv("TICKWRIGHT_TARGETS", "{}")
    monkeypatch.setenv("TICKWRIGHT_CLAIM_SEATS", "1")
    monkeypatch.setenv("TICKWRIGHT_WEBHOOK_KEY", "a key of the tests")
    yield made
    for name in [name for name in sys.modules if name.startswith("functions.") and name.endswith(".handler")]:
        module = sys.modules.pop(name)
        module._RUNNER.close()  # noqa: SLF001 - the container ends
    runner.close()
    made.close()


def submit(installation: Installation, body: Mapping[str, Any], key: str = "k") -> Any:  # noqa: ANN401
    event = an_event(
        body=json.dumps(body),
        multiValueQueryStringParameters=None,
        multiValueHeaders={"Content-Type": ["application/json"], "Idempotency-Key": [key]},
    )
    reply = installation.handler("api").lambda_handler(event, None)
    assert reply["statusCode"] == 201, reply
    return json.loads(reply["body"])


def test_the_api_answers_whom_the_authorizer_admitted(installation: Installation) -> None:
    """One loop serves request after request of a container."""
    first = submit(installation, A_JOB)
    again = submit(installation, A_JOB)
    refused = installation.handler("api").lambda_handler(an_event(requestContext={"authorizer": None}), None)

    assert first == again
    assert (refused["statusCode"], json.loads(refused["body"])["code"]) == (401, "unauthenticated")


@pytest.mark.sem("SEM-LOG-1")
def test_the_api_says_where_the_workers_have_logged(installation: Installation) -> None:
    """The link that the environment makes, for the execution that is asked about."""
    job = submit(installation, A_JOB | {"schedule": {"runAt": to_rfc3339(installation.kit.clock.now())}})
    (execution,) = installation.runner.run(installation.kit.store.executions_of(job["jobId"], limit=1)).items
    path = f"/v1/executions/{execution.ref.id}/logs"
    reply = installation.handler("api").lambda_handler(
        an_event(httpMethod="GET", path=path, body=None, multiValueQueryStringParameters=None), None
    )

    assert json.loads(reply["body"])["cloudWatch"] == f"https://{execution.ref.id}"


class Shore:
    """An intake whose messages a test hands over itself."""

    def __init__(self) -> None:
        self.later: list[str] = []

    async def show_again(self, arrived: Arrived, *, after_ms: int) -> None:
        """Note it."""
        assert after_ms == LANDING_AGAIN_MS
        self.later.append(arrived.receipt)


@pytest.mark.sem("SEM-INTAKE-2")
def test_the_intake_names_only_what_comes_again(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has landed is Lambda's to delete; what cannot be read is not, nor what met our bug, and neither stops it."""
    handler = installation.handler("intake")
    monkeypatch.setattr(handler, "_INTAKE", Shore())
    good = Submission(
        tenant_id=TenantId("acme"),
        job_id=JobId(an_id(7)),
        key="POST /v1/jobs k",
        body_hash="a" * 64,
        asked_at=installation.kit.clock.now(),
        body=json.dumps(A_JOB),
    )
    bodies = [submission_to_body(good), "{}", submission_to_body(replace(good, job_id=JobId(an_id(8)), body="{"))]
    records = [
        {"messageId": f"m-{at}", "receiptHandle": f"r-{at}", "body": body}
        for at, body in enumerate([*bodies, bodies[0]])
    ]

    answer = handler.lambda_handler({"Records": records}, None)

    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-1"}, {"itemIdentifier": "m-2"}]}
    landed = installation.runner.run(installation.kit.store.head(good.job_id))
    assert landed is not None
    assert landed.tenant_id == "acme"


def claim_of(function: str, installation: Installation, **shown: object) -> tuple[Any, Any]:
    """The status and the body of a claim that a function is asked for."""
    event = an_event(
        path="/v1/pools/gpu/claim",
        body=json.dumps({"workerId": "gpu-1", "max": 10} | shown),
        multiValueQueryStringParameters=None,
        multiValueHeaders={"Content-Type": ["application/json"]},
        requestContext={"authorizer": {"tenantId": "acme", "scopes": Scope.EXECUTIONS_RUN.value}},
    )
    reply = installation.handler(function).lambda_handler(event, None)
    return reply["statusCode"], json.loads(reply["body"])


@pytest.mark.sem("SEM-POOL-2")
def test_claims_are_answered_by_a_function_that_serves_nothing_else(installation: Installation) -> None:
    """What is due is granted; every other path is not found there, whoever asks."""
    installation.runner.run(put_pool(installation.kit, TenantId("acme"), "gpu", None))
    now = to_rfc3339(installation.kit.clock.now())
    submit(
        installation, A_JOB | {"schedule": {"runAt": now}, "target": {"type": "pool", "pool": "gpu", "handler": "h"}}
    )
    status, answer = claim_of("claim", installation, waitSec=5)
    others = [
        installation.handler("claim").lambda_handler(an_event(httpMethod=method, path=path), None)["statusCode"]
        for method, path in (("GET", "/v1/jobs"), ("GET", "/v1/pools/gpu"), ("GET", "/v1/health"))
    ]

    assert (status, [claim["handler"] for claim in answer["executions"]]) == (200, ["h"])
    assert others == [404, 404, 404]


@pytest.mark.sem("SEM-POOL-5")
def test_a_claim_that_would_wait_needs_one_of_its_tenants_seats(installation: Installation) -> None:
    """As many as the function is told of; one that is taken is another claim's."""
    tenant, now = TenantId("acme"), installation.kit.clock.now()
    installation.runner.run(put_pool(installation.kit, tenant, "gpu", None))
    taken = Seat(tenant_id=tenant, number=0, token="another", until=Instant(now + 20_000))
    taking = PutSeat(seat=taken, now=now, clock_error_ms=1_000)
    installation.runner.run(installation.kit.store.write(taking))

    status, answer = claim_of("claim", installation, waitSec=1)

    assert (status, answer["code"]) == (429, "too_many_claims")


def test_the_authorizer_knows_a_key_by_its_hash(installation: Installation) -> None:
    """A key it does not know ends in exactly the word that API Gateway makes a 401 of."""
    secret, _ = installation.runner.run(
        make_key(installation.kit, TenantId("acme"), scopes=[Scope.JOBS_READ], label="ci")
    )
    handler = installation.handler("authorizer")
    admitted = handler.lambda_handler({"authorizationToken": f"Bearer {secret}", "methodArn": ARN}, None)

    assert admitted["context"] == {"tenantId": "acme", "scopes": "jobs:read", "label": "ci"}
    for token in (f"Bearer {secret}x", secret, None):
        with pytest.raises(handler.UnauthorizedError, match=r"^Unauthorized$"):
            handler.lambda_handler({"authorizationToken": token, "methodArn": ARN}, None)


def test_the_scheduler_decides_what_comes_due_and_hands_over(installation: Installation) -> None:
    """Within its time; the next invocation takes the buckets without waiting for a lease to end."""
    now = installation.kit.clock.now()
    soon = to_rfc3339(Instant(now + 400))  # past the scaled look-ahead: submit leaves it to the loop
    job = submit(installation, A_JOB | {"schedule": {"runAt": soon}})
    handler = installation.handler("scheduler")
    handler.lambda_handler({"slot": 0, "slots": 1}, Left(handler.HAND_OVER_MS + 900))
    leases = [installation.runner.run(installation.kit.store.lease(bucket)) for bucket in range(2)]

    assert job["nextRunAt"] == soon
    assert installation.telemetry.counts[EventName.EXECUTION_QUEUED] == 1
    assert all(lease is not None and lease.owner is None for lease in leases)


def test_the_watch_looks_until_its_time_is_nearly_up(installation: Installation) -> None:
    """And ends by itself, before Lambda ends it: a run that was just decided is to be looked after."""
    submit(installation, A_JOB | {"schedule": {"runAt": to_rfc3339(installation.kit.clock.now())}}, key="looked-after")
    handler = installation.handler("watch")
    started = installation.kit.clock.monotonic_ms()
    handler.lambda_handler({}, Left(handler.LAST_LOOK_MS + 200))
    took_ms = installation.kit.clock.monotonic_ms() - started

    assert 200 <= took_ms < 5_000


def test_a_watch_with_nothing_to_look_after_ends_at_once(installation: Installation) -> None:
    """The next minute's is there before anything can come due."""
    handler = installation.handler("watch")
    started = installation.kit.clock.monotonic_ms()
    handler.lambda_handler({}, Left(handler.LAST_LOOK_MS + 20_000))

    assert installation.kit.clock.monotonic_ms() - started < 10_000


def hints(installation: Installation, count: int) -> list[dict[str, str]]:
    async def all_of_them() -> list[Received]:
        found: list[Received] = []
        # The jobs here call Python handlers, which wait in the fleet's pool.
        asked = {"limit": 10, "wait_ms": 500, "visibility_ms": 60_000}
        async with asyncio.timeout(20):
            while len(found) < count:
                found += await installation.kit.queue.receive(Lane.NORMAL, pool=FARGATE, **asked)
        return found

    received = installation.runner.run(all_of_them())
    installation.received = {f"m-{at}": one for at, one in enumerate(received)}
    return [{"messageId": message_id} for message_id in installation.received]


def test_the_worker_names_only_what_comes_again(installation: Installation) -> None:
    """What is over is Lambda's to delete, also what failed and will be tried again by a hint of its own."""
    installation.registry.job("nightly")(lambda payload, _ctx: payload)
    now = to_rfc3339(installation.kit.clock.now())
    for n in range(3):
        submit(installation, A_JOB | {"schedule": {"runAt": now}, "payload": n}, key=f"k{n}")
    records = hints(installation, 3)
    handler = installation.handler("worker")
    first = handler.lambda_handler({"Records": records}, Left(handler.GIVE_BACK_MS + 30_000))
    again = handler.lambda_handler({"Records": records}, Left(handler.GIVE_BACK_MS + 30_000))

    assert first == {"batchItemFailures": []}
    assert again == {"batchItemFailures": []}
    assert installation.telemetry.counts[EventName.EXECUTION_SUCCEEDED] == 3


def test_the_worker_gives_back_what_does_not_end_in_time(installation: Installation) -> None:
    """No attempt is counted for Lambda's time limit, and the message is seen again."""

    async def endless(_payload: object, _ctx: object) -> None:
        await asyncio.Event().wait()

    installation.registry.job("nightly")(endless)
    job = submit(installation, A_JOB | {"schedule": {"runAt": to_rfc3339(installation.kit.clock.now())}})
    records = hints(installation, 1)
    handler = installation.handler("worker")
    handler.lambda_handler({"Records": records}, Left(handler.GIVE_BACK_MS + 300))
    listed = installation.runner.run(installation.kit.store.executions_of(job["jobId"], limit=1))

    assert installation.telemetry.counts[EventName.EXECUTION_GIVEN_BACK] == 1
    assert (listed.items[0].attempt, listed.items[0].lease_epoch) == (0, 1)
