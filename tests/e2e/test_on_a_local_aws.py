"""The main job through the Lambda handlers themselves, on the deployed tables and queues, with ministack for AWS.

What Lambda would do is done here: the rule's call of the scheduler, the poller's calls of the worker, the authorizer
before the API.
"""

import importlib
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs

import pytest

from tests.api.test_gateway import an_event
from tests.support.emulators.clients import aws_client
from tests.support.emulators.server import Emulator
from tests.support.installation import Installation, in_environment, install
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.targets.http import HttpRunner
from tickwright.api.keys import make_key
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.tenants import Scope

_HANDLERS = ("api", "authorizer", "claim", "scheduler", "watch", "worker")
_LANES = ("high", "normal", "low")


class _Target(BaseHTTPRequestHandler):
    """Answers by the path: /ok, /flaky (503 twice, then 200), /no (400). Counts what it was asked, by executionId."""

    asked: ClassVar[Counter[tuple[str, str]]] = Counter()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked[self.path, body["executionId"]] += 1
        failing = self.path == "/flaky" and self.asked[self.path, body["executionId"]] <= 2
        status = 400 if self.path == "/no" else 503 if failing else 200
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@dataclass(frozen=True)
class _Left:
    ms: int

    def get_remaining_time_in_millis(self) -> int:
        return self.ms


@pytest.fixture
def target() -> Iterator[str]:
    """A server to post to; where it is."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Target)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    serving.join()
    server.server_close()


class _Aws:
    """The functions of an installation, and what AWS does around them."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.sqs = aws_client("sqs", installation.queue_endpoint)
        self.handlers = {name: importlib.import_module(f"functions.{name}.handler") for name in _HANDLERS}
        # The target of this test is on the loopback address, which an installation refuses.
        vars(self.handlers["worker"])["_RUNNERS"] = {"http": HttpRunner(allow_private=True)}
        api = self.handlers["api"]
        making = make_key(api._API.kit, TenantId("acme"), scopes=frozenset(Scope), label="e2e")  # noqa: SLF001
        self.secret, _ = api._RUNNER.run(making)  # noqa: SLF001

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Any:  # noqa: ANN401 - JSON
        """A request through authorizer and API."""
        asked = {
            "authorizationToken": f"Bearer {self.secret}",
            "methodArn": "arn:aws:execute-api:us-east-1:1:a/s/GET/x",
        }
        admitted = self.handlers["authorizer"].lambda_handler(asked, None)
        sent = {"Content-Type": ["application/json"]} | {name: [value] for name, value in headers.items()}
        event = an_event(
            httpMethod=method,
            path=path.partition("?")[0],
            body=None if body is None else json.dumps(body),
            multiValueQueryStringParameters=parse_qs(path.partition("?")[2]),
            multiValueHeaders=sent,
            requestContext={"authorizer": admitted["context"]},
        )
        reply = self.handlers["api"].lambda_handler(event, None)
        assert reply["statusCode"] < 300, reply
        return json.loads(reply["body"])

    def tick(self, seconds: int) -> None:
        """What the minute rule does, for so long."""
        self.handlers["scheduler"].lambda_handler({"slot": 0, "slots": 1}, _Left(20_000 + seconds * 1_000))

    def work(self) -> int:
        """What the pollers do, once: hand over what is visible, delete what was not named.

        How many messages there were.
        """
        return sum(self._work(lane) for lane in _LANES)

    def _work(self, lane: str) -> int:
        url = self.installation.queues[lane]
        received = self.sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1, MessageSystemAttributeNames=["All"]
        ).get("Messages", [])
        arn = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        records = [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message["Attributes"],
                "eventSourceARN": arn,
            }
            for message in received
        ]
        if not records:
            return 0
        answer = self.handlers["worker"].lambda_handler({"Records": records}, _Left(60_000))
        again = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        for message in received:
            if message["MessageId"] not in again:
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return len(received)

    def letters(self) -> list[Any]:
        """What is in the queue of the dead executions."""
        url = self.installation.queues["dead"]
        found = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        return [json.loads(message["Body"]) for message in found.get("Messages", [])]


@pytest.fixture
def aws(ministack: Emulator) -> Iterator[_Aws]:
    """An installation of its own on ministack."""
    installation = install(ministack.endpoint, ministack.endpoint, "e2e-")
    with in_environment(installation.environment):
        made = _Aws(installation)
        yield made
    for module in made.handlers.values():
        module._RUNNER.close()  # noqa: SLF001 - the container ends
        sys.modules.pop(module.__name__)


def _job(url: str, run_at: Instant, **more: object) -> Mapping[str, object]:
    quick = {"maxAttempts": 3, "backoff": {"initialSec": 0.2, "maxSec": 0.5}}
    return {
        "schedule": {"runAt": to_rfc3339(run_at)},
        "target": {"type": "http", "url": url},
        "payload": {"n": 1},
        "retryPolicy": quick,
        **more,
    }


@pytest.mark.slow
def test_the_main_job_from_submit_to_history(aws: _Aws, target: str) -> None:
    """One job succeeds, one fails twice and then succeeds, one ends as a dead letter, one is cancelled in time."""
    now = SystemClock().now()
    soon, later = Instant(now + 2_000), Instant(now + 600_000)
    bodies = {
        "ok": _job(f"{target}/ok", soon, priority="high"),
        "flaky": _job(f"{target}/flaky", soon),
        "no": _job(f"{target}/no", soon, priority="low"),
        "cancelled": _job(f"{target}/ok", later),
    }

    jobs = {name: aws.call("POST", "/v1/jobs", body, **{"Idempotency-Key": name}) for name, body in bodies.items()}
    aws.call("DELETE", f"/v1/jobs/{jobs['cancelled']['jobId']}")
    aws.tick(4)
    while aws.work():
        pass

    ledgers = {name: aws.call("GET", f"/v1/jobs/{job['jobId']}/executions")["executions"] for name, job in jobs.items()}
    ends = {name: [(one["status"], one["attempt"]) for one in ledger] for name, ledger in ledgers.items()}
    assert ends == {"ok": [("SUCCEEDED", 1)], "flaky": [("SUCCEEDED", 3)], "no": [("DEAD", 1)], "cancelled": []}
    dead = [one["executionId"] for one in aws.call("GET", "/v1/executions?attention=true")["executions"]]
    assert dead == [letter["executionId"] for letter in aws.letters()] == [ledgers["no"][0]["executionId"]]
    assert sorted(_Target.asked.values()) == [1, 1, 3]
    assert all(one["startedAt"] >= one["scheduledTime"] for ledger in ledgers.values() for one in ledger)
