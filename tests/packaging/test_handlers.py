"""Does every function work out of its archive and its layers, at one installation on a local AWS?

A job goes through all of them, with events as AWS sends them; nothing of this repository can be imported there.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.api.test_gateway import ARN, an_event
from tests.packaging.conftest import Closing
from tests.packaging.layout import Unpacked
from tests.packaging.started import Started
from tests.support.emulators import Emulator
from tests.support.emulators.clients import aws_client
from tests.support.installation import Installation, in_environment, install
from tests.support.tables import arn_of
from tickwright.adapters.clock_system import SystemClock
from tickwright.api.keys import make_key
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.tenants import Scope
from tickwright.wiring.aws import kit_from_env

# What a loop keeps of its time for the step that is under way, and the three seconds that it may tick.
LOOP_MS = 23_000
TENANT = "acme"
SCOPES = " ".join(scope.value for scope in Scope)
# A function that is not in this list has not been started by any test of this module.
TRIED = {"api", "authorizer", "claim", "intake", "scheduler", "watch", "worker"}


@dataclass(slots=True)
class Account:
    """The installation, its functions, each started by the first event for it, and a key of a tenant."""

    unpacked: Mapping[str, Unpacked]
    installation: Installation
    environment: Mapping[str, str]
    secret: str
    sqs: Any
    target: str  # the queue that the jobs' target is
    running: dict[str, Started] = field(default_factory=dict)

    def invoke(self, name: str, event: object, *, left_ms: int = 60_000) -> Any:  # noqa: ANN401 - JSON
        """What a function answers to an event."""
        if name not in self.running:
            self.running[name] = Started(self.unpacked[name], self.environment)
        answer = self.running[name].invoke(event, left_ms=left_ms)
        assert answer.kind == "response", (answer, self.running[name].said())
        return answer.body

    def ask(self, function: str, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """A request as API Gateway hands it over: status and JSON."""
        shown = {"Content-Type": ["application/json"]} | {name.replace("_", "-"): [headers[name]] for name in headers}
        event = an_event(
            httpMethod=method,
            path=path,
            multiValueQueryStringParameters=None,
            multiValueHeaders=shown,
            requestContext={"authorizer": {"tenantId": TENANT, "scopes": SCOPES, "label": "packed"}},
            body=None if body is None else json.dumps(body),
        )
        reply = self.invoke(function, event)
        return reply["statusCode"], json.loads(reply["body"])

    def submit(self, key: str, target: Mapping[str, object]) -> str:
        """Submit a job that is due in a moment; its id."""
        soon = to_rfc3339(Instant(SystemClock().now() + 500))
        body = {"schedule": {"runAt": soon}, "target": target, "payload": {"n": 1}}
        status, job = self.ask("api", "POST", "/v1/jobs", body, Idempotency_Key=key)
        assert status == 201, job
        return str(job["jobId"])

    def records(self, lane: str) -> list[dict[str, Any]]:
        """What a poller hands over of a lane."""
        url = self.installation.queues[lane]
        received = self.sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=5, MessageSystemAttributeNames=["All"]
        )
        return [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message["Attributes"],
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": arn_of(self.sqs, url),
                "awsRegion": "us-east-1",
            }
            for message in received.get("Messages", [])
        ]


@pytest.fixture(scope="module")
def account(unpacked: Mapping[str, Unpacked], ministack: Emulator, at_the_end: Closing) -> Iterator[Account]:
    """An installation of this module's own, with a queue that a job's target may be."""
    installation = install(ministack.endpoint, ministack.endpoint, "packed-")
    sqs = aws_client("sqs", ministack.endpoint)
    target = sqs.create_queue(QueueName="packed-target")["QueueUrl"]
    environment = {
        **installation.environment,
        "TICKWRIGHT_TARGETS": json.dumps({TENANT: [arn_of(sqs, target)]}),
        "TICKWRIGHT_LOG_GROUPS": "/packed/worker",
        "POWERTOOLS_SERVICE_NAME": "tickwright",
        "PYTHONTZPATH": "",
    }
    with in_environment(environment):
        kit: Any = kit_from_env(environment)  # it is closed here, which no port knows of
        secret, _ = asyncio.run(make_key(kit, TenantId(TENANT), scopes=list(Scope), label="packed"))
        kit.store.close()
        kit.queue.close()
    made = Account(
        unpacked=unpacked, installation=installation, environment=environment, secret=secret, sqs=sqs, target=target
    )
    yield made
    for started in made.running.values():
        started.close()


@pytest.mark.slow
def test_every_function_is_tried_here(account: Account) -> None:
    """A function that is added is added to this module as well."""
    assert set(account.unpacked) <= TRIED


@pytest.mark.slow
def test_the_intake_names_what_it_cannot_read(account: Account) -> None:
    """What is no submission comes again, and does not stop the function."""
    records = [{"messageId": "m-1", "receiptHandle": "r-1", "body": "{}"}]

    assert account.invoke("intake", {"Records": records}) == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}


@pytest.mark.slow
def test_the_api_says_that_it_is_well(account: Account) -> None:
    """The open path, without a caller."""
    event = an_event(
        httpMethod="GET", path="/v1/health", body=None, multiValueQueryStringParameters=None, requestContext={}
    )

    reply = account.invoke("api", event)

    assert reply["statusCode"] == 200, reply
    assert json.loads(reply["body"])["status"] == "ok"


@pytest.mark.slow
def test_the_authorizer_admits_a_key_and_refuses_what_is_none(account: Account) -> None:
    """A refusal is an error of exactly this message: API Gateway makes a 401 of it, and a 500 of any other."""
    known = {"type": "TOKEN", "authorizationToken": f"Bearer {account.secret}", "methodArn": ARN}

    admitted = account.invoke("authorizer", known)
    refused = account.running["authorizer"].invoke(known | {"authorizationToken": "Bearer tw_guessed"})

    assert admitted["context"]["tenantId"] == TENANT
    assert (refused.kind, refused.body["errorMessage"]) == ("error", "Unauthorized")


@pytest.mark.slow
def test_a_job_is_submitted_fired_and_run_by_the_packed_functions(account: Account) -> None:
    """POST through the API, a minute of the scheduler, the worker's batch, and the target has what it is sent."""
    job_id = account.submit("k1", {"type": "sqs", "queueArn": arn_of(account.sqs, account.target)})

    account.invoke("scheduler", {"slot": 0, "slots": 1}, left_ms=LOOP_MS)
    answer = account.invoke("worker", {"Records": account.records("normal")})
    sent = account.sqs.receive_message(QueueUrl=account.target, WaitTimeSeconds=5).get("Messages", [])
    _, ran = account.ask("api", "GET", f"/v1/jobs/{job_id}/executions")

    assert answer == {"batchItemFailures": []}
    assert [one["status"] for one in ran["executions"]] == ["SUCCEEDED"]
    assert [json.loads(message["Body"])["jobId"] for message in sent] == [job_id]


@pytest.mark.slow
def test_a_machine_claims_through_the_packed_function(account: Account) -> None:
    """The function of claims serves them, and no other path."""
    assert account.ask("api", "PUT", "/v1/pools/gpu", {})[0] == 201
    account.submit("k2", {"type": "pool", "pool": "gpu", "handler": "render"})
    account.invoke("scheduler", {"slot": 0, "slots": 1}, left_ms=LOOP_MS)

    status, claimed = account.ask("claim", "POST", "/v1/pools/gpu/claim", {"workerId": "gpu-1", "waitSec": 5})
    elsewhere, _ = account.ask("claim", "GET", "/v1/jobs")

    assert (status, [one["handler"] for one in claimed["executions"]]) == (200, ["render"])
    assert elsewhere == 404


@pytest.mark.slow
def test_the_watch_looks_and_ends(account: Account) -> None:
    """A minute rule's event is not read; what it returns nobody reads."""
    assert account.invoke("watch", {"source": "aws.events"}, left_ms=LOOP_MS) is None
