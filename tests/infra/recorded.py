"""The functions on a real engine, and the rights that each of their calls would have needed.

Must not judge, nor know what is done with them.
"""

import itertools
import json
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from infra.policy.grants import GRANTS
from tests.infra.handlers import Containers, containers
from tests.infra.test_grants import Rights
from tests.support.emulators import Emulator
from tests.support.emulators.clients import aws_client
from tests.support.tables import arn_of, create_queues, create_tables
from tickwright.adapters.aws.calls import Answer, Calls
from tickwright.adapters.sqs.intake import submission_to_body
from tickwright.api.claims import CLAIMS
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.lanes import LANES, Lane
from tickwright.domain.tenants import Scope
from tickwright.ports.intake import Submission
from tickwright.services.kit import Kit

TARGET = {"type": "http", "url": "https://example.com/hook"}
# A twentieth: the journal's first look, two minutes in an installation, comes after 6 s.
SCALE = "0.05"
TRANSACTED = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
STATEMENTS = {"INSERT": "PartiQLInsert", "UPDATE": "PartiQLUpdate", "DELETE": "PartiQLDelete"}
LANES_IN_USE = (Lane.HIGH, Lane.NORMAL)


AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class Left:
    """A Lambda context with so much time left."""

    ms: int

    def get_remaining_time_in_millis(self) -> int:
        """How long it may still take."""
        return self.ms


@dataclass(slots=True)
class Installation:
    """The functions on one engine, and the rights that the calls of each would have needed."""

    functions: Containers
    names: Mapping[str, str]
    queues: Mapping[str, str]
    sqs: Any
    pool_queues: str  # how the names of tenants' queues begin
    used: dict[str, Rights] = field(default_factory=lambda: {name: set() for name in GRANTS})
    # What was asked of the control table, by partition key.
    keys: dict[str, Rights] = field(default_factory=lambda: {name: set() for name in GRANTS})
    calling: str = ""

    def note(self, operation: str, request: Mapping[str, Any]) -> None:
        """Remember the rights of one call; what is staged is nobody's."""
        if not self.calling:
            return
        self.used[self.calling] |= set(rights_of(operation, request, self.names))
        self.keys[self.calling] |= set(control_keys_of(operation, request, self.names))

    def invoke(self, function: str, event: Any, context: object = None) -> Any:  # noqa: ANN401 - what Lambda passes
        """Invoke a function, as itself."""
        self.calling = function
        return self.functions.module(function).lambda_handler(event, context)

    def kit(self, function: str) -> Kit:
        """The kit of a function's container."""
        module = self.functions.module(function)
        kit: Kit = module._API.kit if hasattr(module, "_API") else module._KIT  # noqa: SLF001 - the container's own
        return kit

    def run(self, function: str, doing: Coroutine[Any, Any, AnswerT]) -> AnswerT:
        """Something that a function does with its kit, as itself."""
        self.calling = function
        answer: AnswerT = self.functions.module(function)._RUNNER.run(doing)  # noqa: SLF001 - the container's own
        return answer

    def stage(self, function: str, doing: Coroutine[Any, Any, AnswerT]) -> AnswerT:
        """The same as nobody: what was there before."""
        answer: AnswerT = self.functions.module(function)._RUNNER.run(self._unseen(doing))  # noqa: SLF001
        return answer

    async def _unseen(self, doing: Coroutine[Any, Any, AnswerT]) -> AnswerT:
        self.calling = ""
        return await doing

    def now(self) -> Instant:
        """By the clock of the installation."""
        return self.kit("api").clock.now()

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Any:  # noqa: ANN401 - JSON
        """Send a request through the door, as the tenant; the answer's body."""
        shown = {"Content-Type": "application/json", **{name.replace("_", "-"): headers[name] for name in headers}}
        path, _, query = path.partition("?")
        asked = {name: [value] for name, _, value in (part.partition("=") for part in query.split("&") if query)}
        claims = any(route.method == method and route.pattern.fullmatch(path) for route in CLAIMS)
        reply = self.invoke(
            "claim" if claims else "api",
            {
                "httpMethod": method,
                "path": path,
                "multiValueHeaders": {name: [value] for name, value in shown.items()},
                "multiValueQueryStringParameters": asked or None,
                "requestContext": {
                    "identity": {"sourceIp": "203.0.113.7"},
                    "authorizer": {
                        "tenantId": "acme",
                        "scopes": " ".join(scope.value for scope in Scope),
                        "label": "test",
                    },
                },
                "body": None if body is None else json.dumps(body),
                "isBase64Encoded": False,
            },
        )
        assert reply["statusCode"] < 500, reply
        return json.loads(reply["body"])

    def submit(self, key: str, schedule: Mapping[str, object], **body: object) -> Any:  # noqa: ANN401 - JSON
        """Submit a job."""
        asked = {"schedule": schedule, "target": TARGET} | body
        return self.ask("POST", "/v1/jobs", asked, Idempotency_Key=key)

    def land(self, submission: Submission) -> bool:
        """Accept it, and have it land; whether it is done with."""
        assert self.run("api", self.functions.module("api")._INTAKE.put(submission))  # noqa: SLF001
        record = {"messageId": submission.job_id, "receiptHandle": "-", "body": submission_to_body(submission)}
        answer: object = self.invoke("intake", {"Records": [record]})
        return answer == {"batchItemFailures": []}

    def soon(self, ms: int) -> dict[str, str]:
        """A schedule of one tick, so far from now."""
        return {"runAt": to_rfc3339(Instant(self.now() + ms))}

    def hints(self) -> list[dict[str, Any]]:
        """What Lambda's poller would hand over, from the lanes that this day uses."""
        found = []
        for lane in LANES_IN_USE:
            url = self.queues[lane.value]
            answer = self.sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1, AttributeNames=["ApproximateReceiveCount"]
            )
            found += [
                {
                    "messageId": message["MessageId"],
                    "receiptHandle": message["ReceiptHandle"],
                    "body": message["Body"],
                    "attributes": message["Attributes"],
                    "eventSourceARN": f"arn:aws:sqs:us-east-1:000000000000:{url.rpartition('/')[2]}",
                }
                for message in answer.get("Messages", [])
            ]
        return found

    def work_on(self, records: list[dict[str, Any]]) -> None:
        """Invoke the worker; then delete, as Lambda does, what it does not name."""
        answer = self.invoke("worker", {"Records": records}, Left(60_000))
        again = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        for record in records:
            if record["messageId"] not in again:
                url = self.queues[record["eventSourceARN"].rpartition("-")[2]]
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=record["receiptHandle"])


def rights_of(operation: str, request: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What IAM would ask for before it lets a call through: (action, logical id of the resource)."""
    match operation:
        case "transact_write_items":
            for item in request["TransactItems"]:
                ((kind, asked),) = item.items()
                yield f"dynamodb:{TRANSACTED[kind]}", names[asked["TableName"]]
        case "batch_execute_statement":
            for statement in request["Statements"]:
                text = statement["Statement"]
                yield f"dynamodb:{STATEMENTS[text.split()[0]]}", names[text.split('"')[1]]
        case "batch_get_item":
            for table in request["RequestItems"]:
                yield "dynamodb:BatchGetItem", names[table]
        case _ if {"QueueUrl", "QueueName"} & request.keys():
            action = operation.removesuffix("_batch").title().replace("_", "")
            yield f"sqs:{action}", _queue_of(request.get("QueueUrl") or request["QueueName"], names)
        case _:
            index = f"/index/{request['IndexName']}" if "IndexName" in request else ""
            yield f"dynamodb:{operation.title().replace('_', '')}", f"{names[request['TableName']]}{index}"


def control_keys_of(operation: str, request: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The same for the control table alone: (action, partition key)."""
    for action, table, key in _keyed(operation, request):
        if names[table] == "Control":
            yield f"dynamodb:{action}", key["pk"]["S"]


def _keyed(operation: str, request: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """What is asked for by its key: (action, table, key)."""
    match operation:
        case "transact_write_items":
            for item in request["TransactItems"]:
                ((kind, asked),) = item.items()
                yield TRANSACTED[kind], asked["TableName"], asked.get("Key") or asked["Item"]
        case "batch_get_item":
            for table, asked in request["RequestItems"].items():
                yield from (("BatchGetItem", table, key) for key in asked["Keys"])
        case "query" if ":pk" in request["ExpressionAttributeValues"]:
            yield "Query", request["TableName"], {"pk": request["ExpressionAttributeValues"][":pk"]}
        case "get_item" | "put_item" | "update_item" | "delete_item":
            key = request.get("Key") or request["Item"]
            yield operation.title().replace("_", ""), request["TableName"], key
        case _:
            pass  # of no key: an index, a queue


_ONE_MORE = itertools.count()


def _queue_of(url: str, names: Mapping[str, str]) -> str:
    """A queue of the template; or one of a tenant's pool, by how its name begins."""
    return "PoolQueues" if url.rpartition("/")[2].rpartition("-pool-")[1] else names[url]


@contextmanager
def recorded(ministack: Emulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """Tables and queues of the templates, and the handlers as Lambda would start them."""
    sqs = aws_client("sqs", ministack.endpoint)
    prefix = f"calls-{next(_ONE_MORE)}-"  # the emulator lives for the whole session
    tables = create_tables(aws_client("dynamodb", ministack.endpoint), prefix=prefix)
    queues = create_queues(sqs, prefix=prefix)
    environment = {
        "AWS_ENDPOINT_URL": ministack.endpoint,
        "TICKWRIGHT_STAGE": "test",
        "TICKWRIGHT_BUCKETS": "1",
        "TICKWRIGHT_BUCKETS_SERVED": "1",
        "TICKWRIGHT_EPOCH_BASE": "0",
        "TICKWRIGHT_SCALE": SCALE,
        **{f"TICKWRIGHT_{role.upper()}_TABLE": name for role, name in tables.items()},
        **{f"TICKWRIGHT_QUEUE_{lane.name}": queues[lane.value] for lane in LANES},
        **{f"TICKWRIGHT_QUEUE_FARGATE_{lane.name}": queues[f"fargate-{lane.value}"] for lane in LANES},
        "TICKWRIGHT_POOL_QUEUES": f"{prefix}pool",
        "TICKWRIGHT_POOL_DLQ": arn_of(sqs, queues["pools-undelivered"]),
        "TICKWRIGHT_QUEUE_DEAD": queues["dead"],
        "TICKWRIGHT_PAGE_SECRET": "a secret of the tests",
        "TICKWRIGHT_TARGETS": "{}",
        "TICKWRIGHT_LOG_GROUPS": "worker,fleet",
        "TICKWRIGHT_CLAIM_SEATS": "1",
        "AWS_REGION": "us-east-1",
        "TICKWRIGHT_WEBHOOK_KEY": "a key of the tests",
        "TICKWRIGHT_QUEUE_INTAKE": queues["intake"],
        "TICKWRIGHT_QUEUE_INTAKE_UNDELIVERED": queues["intake-undelivered"],
    }
    logical = {name: role.capitalize() for role, name in tables.items()}
    logical |= {queues[lane.value]: f"Queue{lane.value.capitalize()}" for lane in LANES}
    logical |= {queues[f"fargate-{lane.value}"]: f"QueueFargate{lane.value.capitalize()}" for lane in LANES}
    logical[queues["dead"]] = "QueueDeadExecutions"
    logical |= {queues["intake"]: "QueueIntake", queues["intake-undelivered"]: "QueueIntakeUndelivered"}
    with containers(environment) as functions:
        made = Installation(
            functions=functions,
            names=logical,
            queues=queues,
            sqs=sqs,
            pool_queues=environment["TICKWRIGHT_POOL_QUEUES"],
        )
        call = Calls.__call__

        async def noted(self: Calls, operation: str, request: Mapping[str, Any]) -> Answer:
            made.note(operation, request)
            return await call(self, operation, request)

        monkeypatch.setattr(Calls, "__call__", noted)
        yield made
