"""A store that is really gone: the handlers of API, authorizer and intake, Amazon's own DynamoDB behind a gate.

The gate turns connections away, or takes them and says nothing. What API Gateway and Lambda's poller do is done here.
"""

import asyncio
import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.api.test_gateway import ARN, an_event
from tests.e2e.gate import Gate, Way
from tests.support.emulators.clients import aws_client
from tests.support.emulators.server import Emulator
from tests.support.installation import in_environment, install
from tickwright.adapters.clock_system import SystemClock
from tickwright.api.keys import make_key
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.limits import SILENCE_LASTS_MS
from tickwright.domain.tenants import Scope

_HANDLERS = ("api", "authorizer", "intake")
_STALE_MS_MAX = 2_900  # two seconds, and a busy machine
_GATEWAY_MS = 29_000


@dataclass(slots=True)
class _Aws:
    """The functions, and what AWS does around them."""

    gate: Gate
    sqs: Any
    intake_url: str
    handlers: dict[str, Any] = field(default_factory=dict)
    secret: str = ""
    clock: SystemClock = field(default_factory=SystemClock)

    def start(self) -> None:
        """Import the handlers, as their containers do, and make a key."""
        self.handlers = {name: importlib.import_module(f"functions.{name}.handler") for name in _HANDLERS}
        api = self.handlers["api"]
        making = make_key(api._API.kit, TenantId("acme"), scopes=frozenset(Scope), label="e2e")  # noqa: SLF001
        self.secret, _ = api._RUNNER.run(making)  # noqa: SLF001

    def call(self, method: str, path: str, body: object = None, key: str = "k") -> tuple[int, Any, int]:
        """A request through authorizer and API: the status, what was said, and how long it took."""
        began_ms = self.clock.monotonic_ms()
        asked = {"authorizationToken": f"Bearer {self.secret}", "methodArn": ARN}
        event = an_event(
            httpMethod=method,
            path=path,
            body=None if body is None else json.dumps(body),
            multiValueQueryStringParameters=None,
            multiValueHeaders={"Content-Type": ["application/json"], "Idempotency-Key": [key]},
            requestContext={"authorizer": self.handlers["authorizer"].lambda_handler(asked, None)["context"]},
        )
        reply = self.handlers["api"].lambda_handler(event, None)
        return reply["statusCode"], json.loads(reply["body"]), self.clock.monotonic_ms() - began_ms

    def land(self) -> list[bool]:
        """What the poller does, once: whether each message was done with."""
        found = self.sqs.receive_message(QueueUrl=self.intake_url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        records = [
            {"messageId": one["MessageId"], "receiptHandle": one["ReceiptHandle"], "body": one["Body"]}
            for one in found.get("Messages", [])
        ]
        if not records:
            return []
        failed = self.handlers["intake"].lambda_handler({"Records": records}, None)["batchItemFailures"]
        again = {one["itemIdentifier"] for one in failed}
        for record in records:
            if record["messageId"] not in again:
                self.sqs.delete_message(QueueUrl=self.intake_url, ReceiptHandle=record["receiptHandle"])
        return [record["messageId"] not in again for record in records]


@pytest.fixture
def aws(request: pytest.FixtureRequest, dynamodb_local: Emulator, ministack: Emulator) -> Iterator[_Aws]:
    """An installation of its own, with a gate before its tables."""
    prefix = f"outage-{request.node.callspec.id}-"
    installation = install(dynamodb_local.endpoint, ministack.endpoint, prefix)
    gate = Gate(dynamodb_local.endpoint)
    sqs = aws_client("sqs", ministack.endpoint)
    urls = [sqs.create_queue(QueueName=f"{prefix}{name}")["QueueUrl"] for name in ("intake", "intake-refused")]
    more = {
        "AWS_ENDPOINT_URL_DYNAMODB": gate.endpoint,
        "TICKWRIGHT_QUEUE_INTAKE": urls[0],
        "TICKWRIGHT_QUEUE_INTAKE_UNDELIVERED": urls[1],
    }
    with in_environment(installation.environment | more):
        made = _Aws(gate, sqs, urls[0])
        made.start()
        yield made
    gate.close()
    for module in made.handlers.values():
        module._RUNNER.close()  # noqa: SLF001 - the container ends
        kit = module._KIT if hasattr(module, "_KIT") else module._API.kit  # noqa: SLF001
        kit.store.close()
        sys.modules.pop(module.__name__)


@pytest.mark.slow
@pytest.mark.sem("SEM-STALE-1", "SEM-STALE-4", "SEM-INTAKE-1", "SEM-INTAKE-2")
@pytest.mark.parametrize("way", [Way.SHUT, Way.MUTE], ids=lambda way: str(way.value))
def test_an_outage_of_a_real_store(aws: _Aws, way: Way) -> None:
    """Statuses are shown as copies, submissions accepted; afterwards each is the job that was told, once."""
    later = to_rfc3339(Instant(aws.clock.now() + 3_600_000))
    body = {"schedule": {"runAt": later}, "target": {"type": "http", "url": "https://example.com/hook"}}
    status, job, _ = aws.call("POST", "/v1/jobs", body, key="before")
    assert status == 201
    path = f"/v1/jobs/{job['jobId']}"
    assert aws.call("GET", path)[0] == 200
    aws.gate.set(way)

    status, copy, took_ms = aws.call("GET", path)
    told = [aws.call("POST", "/v1/jobs", body, key=f"during-{number}") for number in range(3)]
    again = aws.call("POST", "/v1/jobs", body, key="during-0")

    assert aws.gate.turned_away > 0
    assert (status, copy["stale"], copy["jobId"]) == (200, True, job["jobId"])
    assert took_ms <= 2 * _STALE_MS_MAX  # of the key, and of the job
    assert {one[0] for one in (*told, again)} == {202}
    assert max(one[2] for one in told) < _GATEWAY_MS
    assert again[1]["jobId"] == told[0][1]["jobId"]
    aws.gate.set(Way.OPEN)
    asyncio.run(aws.clock.sleep_ms(SILENCE_LASTS_MS))
    landed = aws.land()
    while len(landed) < len(told) + 1:  # SQS gives what it likes
        landed += aws.land()
    assert all(landed)
    status, fresh, _ = aws.call("GET", path)
    assert (status, "stale" in fresh) == (200, False)
    made = [aws.call("POST", "/v1/jobs", body, key=f"during-{number}") for number in range(3)]
    assert [(one[0], one[1]["jobId"]) for one in made] == [(201, one[1]["jobId"]) for one in told]
    listed = aws.call("GET", "/v1/jobs")[1]["jobs"]
    assert sorted(one["jobId"] for one in listed) == sorted([job["jobId"], *(one[1]["jobId"] for one in told)])
