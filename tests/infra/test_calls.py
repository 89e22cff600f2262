"""Every call that the functions make is one that their roles allow: recorded from the real handlers, on a real engine.

A right that is missing would be found by the first tenant whose request needs it: no local engine checks rights.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from infra.policy.grants import GRANTS, Resource
from tests.api.test_gateway import ARN
from tests.infra.handlers import Containers, containers
from tests.infra.test_grants import Rights, meant, out_of_reach
from tests.infra.worse_days import without_a_reason
from tests.support.builders import an_id
from tests.support.emulators import Emulator
from tests.support.emulators.clients import aws_client
from tests.support.kits import LoggedRunner
from tests.support.steps import HOUR
from tests.support.tables import arn_of, create_queues, create_tables
from tickwright.adapters.aws.calls import Answer, Calls
from tickwright.api.claims import CLAIMS
from tickwright.api.keys import make_key
from tickwright.domain.attempts import Fatal, Success, UserResult, an_error
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.lanes import LANES, Lane
from tickwright.domain.tenants import Scope
from tickwright.ports.intake import Submission
from tickwright.ports.runner import Invocation

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
# More rounds than the hints of a dozen executions take, those that come again among them.
ROUNDS = 5
OPERATOR = "operator"
LANES_IN_USE = (Lane.HIGH, Lane.NORMAL)


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
    used: dict[str, Rights] = field(default_factory=lambda: {name: set() for name in GRANTS})
    # What was asked of the control table, by partition key.
    keys: dict[str, Rights] = field(default_factory=lambda: {name: set() for name in GRANTS})
    calling: str = ""

    def note(self, operation: str, request: Mapping[str, Any]) -> None:
        """Remember the rights of one call; an operator has rights of their own."""
        if self.calling == OPERATOR:
            return
        self.used[self.calling] |= set(rights_of(operation, request, self.names))
        self.keys[self.calling] |= set(control_keys_of(operation, request, self.names))

    def invoke(self, function: str, event: Any, context: object = None) -> Any:  # noqa: ANN401 - what Lambda passes
        """Invoke a function, as itself."""
        self.calling = function
        return self.functions.module(function).lambda_handler(event, context)

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

    def soon(self, ms: int) -> dict[str, str]:
        """A schedule of one tick, so far from now."""
        now = self.functions.module("api")._API.kit.clock.now()  # noqa: SLF001 - the clock of the installation
        return {"runAt": to_rfc3339(Instant(now + ms))}

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


@pytest.fixture
def installation(ministack: Emulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
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
        made = Installation(functions=functions, names=logical, queues=queues, sqs=sqs)
        call = Calls.__call__

        async def noted(self: Calls, operation: str, request: Mapping[str, Any]) -> Answer:
            made.note(operation, request)
            return await call(self, operation, request)

        monkeypatch.setattr(Calls, "__call__", noted)
        yield made


def live_a_day(installation: Installation) -> None:
    """Whatever the functions do in an installation's day, by every function at least once."""
    admit(installation)
    what_tenants_ask_for(installation)
    what_lands(installation)
    what_machines_pull(installation)
    installation.invoke("scheduler", {"slot": 0, "slots": 1}, Left(20_000 + 3_000))
    what_workers_do(installation)
    order = what_is_done_with_the_dead(installation)
    installation.invoke("watch", {}, Left(20_000 + 7_000))
    done = installation.ask("GET", f"/v1/dead-letters/redrives/{order['orderId']}")
    assert (done["status"], done["redriven"] > 0) == ("DONE", True)
    installation.work_on(installation.hints())


def admit(installation: Installation) -> None:
    """A key that an operator has made is looked up."""
    installation.calling = OPERATOR
    api = installation.functions.module("api")
    secret, _ = api._RUNNER.run(  # noqa: SLF001 - keys are made by the installation's own tools
        make_key(api._API.kit, TenantId("acme"), scopes=list(Scope), label="test")  # noqa: SLF001
    )
    admitted = installation.invoke("authorizer", {"authorizationToken": f"Bearer {secret}", "methodArn": ARN})
    assert admitted["context"]["tenantId"] == "acme"


def what_tenants_ask_for(installation: Installation) -> None:
    """Jobs that are due at once and later, refused and repeated ones, and everything that is done with a job."""
    installation.ask("GET", "/v1/health")
    at_once = installation.submit("k1", installation.soon(20), name="at-once")
    installation.submit("k1", {"runAt": "2030-01-01T00:00:00Z"}, name="at-once")
    installation.submit("k2", {"runAt": "2030-01-01T00:00:00Z"}, name="at-once")
    together = installation.soon(2_000)
    installation.ask("PUT", "/v1/calendars/holidays", {"type": "exclude", "days": ["2020-01-01"]})
    ticking = {"every": "PT1S", "endAt": installation.soon(4_000)["runAt"], "calendars": ["holidays"]}
    installation.submit("k0", ticking, priority="high")
    for number in range(6):
        installation.submit(f"k3-{number}", together, priority="high", retryPolicy={"maxAttempts": 1})
    installation.ask("POST", "/v1/jobs/batch", {"jobs": [{"schedule": {"cron": "0 0 1 1 *"}, "target": TARGET}]},
                     Idempotency_Key="k4")  # fmt: skip
    cron = installation.submit("k5", {"cron": "0 0 1 1 *"}, name="yearly", overlap={"mode": "allow"})
    path = f"/v1/jobs/{cron['jobId']}"
    assert installation.ask("GET", "/v1/jobs")["jobs"]
    assert installation.ask("GET", "/v1/herd?scope=all")["bucketsRead"] == 1
    installation.ask("PATCH", path, {"name": "once-a-year"}, If_Match=cron["etag"])
    installation.ask("POST", f"{path}/pause", {})
    installation.ask("POST", f"{path}/resume", {})
    run = installation.ask("POST", f"{path}/run", {}, Idempotency_Key="k6")
    installation.ask("POST", f"{path}/run", {}, Idempotency_Key="k6")
    installation.ask("GET", f"{path}/executions")
    installation.ask("GET", f"/v1/executions/{run['executionId']}/explanation")
    installation.ask("POST", f"/v1/executions/{run['executionId']}/cancel", {})
    installation.ask("DELETE", path)
    installation.ask("GET", f"/v1/jobs/{at_once['jobId']}/executions")


def what_lands(installation: Installation) -> None:
    """What was accepted while the store was away.

    One that is due, one whose name is taken, one without its pool, one that comes after its time.
    """
    installation.calling = "api"
    api = installation.functions.module("api")
    at = api._API.kit.clock.now()  # noqa: SLF001 - the clock of the installation
    bodies: list[dict[str, object]] = [
        {"schedule": installation.soon(20), "target": TARGET},
        {"schedule": {"cron": "0 0 1 1 *", "calendars": ["holidays"]}, "target": TARGET, "name": "landed"},
        {"schedule": {"cron": "0 0 1 1 *", "calendars": ["holidays"]}, "target": TARGET, "name": "landed"},
        {"schedule": installation.soon(20), "target": {"type": "pool", "pool": "none", "handler": "h"}},
        {"schedule": installation.soon(1_000 - HOUR), "target": TARGET, "catchup": {"windowSec": 60}},
    ]
    for number, body in enumerate(bodies):
        submission = Submission(
            tenant_id=TenantId("acme"),
            job_id=JobId(an_id(900 + number)),
            key=f"POST /v1/jobs landing-{number}",
            body_hash="a" * 64,
            asked_at=Instant(at - HOUR) if "catchup" in body else at,
            body=json.dumps(body),
        )
        assert api._RUNNER.run(api._INTAKE.put(submission))  # noqa: SLF001
    landed: list[str] = []
    while len(landed) < len(bodies):
        found = installation.sqs.receive_message(QueueUrl=installation.queues["intake"], WaitTimeSeconds=1)
        for one in found.get("Messages", []):
            record = {"messageId": one["MessageId"], "receiptHandle": one["ReceiptHandle"], "body": one["Body"]}
            assert installation.invoke("intake", {"Records": [record]}) == {"batchItemFailures": []}
            landed.append(one["MessageId"])
    refused: list[str] = []
    while len(refused) < 2:
        said = installation.sqs.receive_message(QueueUrl=installation.queues["intake-undelivered"], WaitTimeSeconds=1)
        refused += [json.loads(one["Body"])["refused"]["code"] for one in said.get("Messages", [])]
    assert sorted(refused) == ["invalid", "name_taken"]


def what_machines_pull(installation: Installation) -> None:
    """A pool is made, and put again, another deleted; what is due is claimed and reported, what is not is put off."""
    installation.ask("PUT", "/v1/pools/gpu", {})
    installation.ask("PUT", "/v1/pools/gpu", {"description": "cards"})
    installation.ask("PUT", "/v1/pools/not-for-long", {})
    assert installation.ask("DELETE", "/v1/pools/not-for-long")["deletedAt"]
    target = {"type": "pool", "pool": "gpu", "handler": "render"}
    together, later = installation.soon(20), installation.soon(230)
    for number, due in enumerate((together, together, together, later)):
        installation.submit(f"p{number}", due, target=target)
    asked = {"workerId": "gpu-1", "max": 1, "waitSec": 2, "requestId": "r-1"}
    (told,) = installation.ask("POST", "/v1/pools/gpu/claim", asked)["executions"]
    assert installation.ask("POST", "/v1/pools/gpu/claim", asked)["executions"][0]["executionId"] == told["executionId"]
    ended = {"leaseEpoch": told["leaseEpoch"], "result": 7}
    assert installation.ask("POST", f"/v1/executions/{told['executionId']}/complete", ended)["status"] == "SUCCEEDED"
    for number in range(4):
        installation.ask("POST", "/v1/pools/gpu/claim", {"workerId": f"gpu-{number}", "max": 10, "waitSec": 2})
    installation.submit("p-left", installation.soon(20), target=target)  # nobody claims it


def what_workers_do(installation: Installation) -> None:
    """Batches of executions that succeed and that die; then what the API says of the dead ones."""
    worker = installation.functions.module("worker")
    ends = iter(range(1_000))

    async def does(invocation: Invocation) -> UserResult:
        broken = Fatal(error=an_error("Broken", "for ever"))
        is_rerun = invocation.definition.spec.payload == "8"
        return Success(result='"ok"') if next(ends) % 2 and not is_rerun else broken

    runner = LoggedRunner(clock=worker._KIT.clock, does=does)  # noqa: SLF001 - the installation's clock
    setattr(worker, "_RUNNERS", {"http": runner})  # noqa: B010 - no target answers here, and a module is opaque
    for _ in range(ROUNDS):
        if records := installation.hints():
            installation.work_on(records)
    dead = installation.ask("GET", "/v1/executions?attention=true")["executions"]
    link = installation.ask("GET", f"/v1/executions/{dead[0]['executionId']}/logs")["cloudWatch"]
    assert all(name in link for name in ("us-east-1", "worker", "fleet"))
    assert {execution["status"] for execution in dead} == {"DEAD"}
    again = f"/v1/executions/{dead[0]['executionId']}/redrive"
    assert installation.ask("POST", again, {}, Idempotency_Key="k7")["status"] == "QUEUED"
    assert installation.ask("POST", again, {}, Idempotency_Key="k7")["generation"] == 2


def what_is_done_with_the_dead(installation: Installation) -> Any:  # noqa: ANN401 - JSON
    """They are found, one is given up, one is run again with another payload, and the others are ordered to run."""
    letters = "/v1/dead-letters"
    gone, edited, *left = [
        letter["execution"]["executionId"]
        for letter in installation.ask("GET", f"{letters}?errorClass=Broken")["deadLetters"]
    ]
    assert left
    assert installation.ask("GET", f"{letters}/groups")["groups"]
    assert installation.ask("GET", f"{letters}/{gone}")["execution"]["status"] == "DEAD"
    given_up = {"executionIds": [gone], "reason": "not wanted"}
    assert installation.ask("POST", f"{letters}/discard", given_up)["discarded"] == 1
    again = installation.ask("POST", f"/v1/executions/{edited}/rerun", {"payload": 8}, Idempotency_Key="k8")
    assert again["rerunOf"] == edited
    while (rerun := installation.ask("GET", f"/v1/executions/{again['executionId']}"))["status"] != "DEAD":
        assert rerun["status"] in {"QUEUED", "RUNNING"}
        installation.work_on(installation.hints())
    order = {"filter": {"errorClass": "Broken"}, "ratePerMin": 600}
    assert installation.ask("POST", f"{letters}/redrives", order | {"dryRun": True})["count"] >= len(left) + 1
    assert installation.ask("GET", f"{letters}/redrives")["orders"] == []
    return installation.ask("POST", f"{letters}/redrives", order, Idempotency_Key="k9")


def beginnings(keys: Rights) -> Rights:
    """What was asked of the control table, by how the partition key begins."""
    return {(action, key.partition("#")[0]) for action, key in keys}


def reach(function: str) -> Rights:
    """What a loop may ask of it, by the same."""
    granted = [grant for grant in GRANTS[function] if grant.resource is Resource.CONTROL]
    return {(action, key.rstrip("#")) for grant in granted for action in grant.actions for key in grant.keys}


def test_no_function_makes_a_call_that_its_role_forbids(installation: Installation) -> None:
    """On a day with everything in it, each call of each function is granted to that function."""
    live_a_day(installation)

    forbidden = {function: used - meant(function) for function, used in installation.used.items()}

    assert forbidden == {function: set() for function in GRANTS}
    # And none is granted that this day does not use, but for those of worse days.
    rights = {function: without_a_reason(function, used) for function, used in installation.used.items()}
    assert {function: left for function, left in rights.items() if function != "fargate"} == {
        function: set() for function in GRANTS if function != "fargate"
    }
    assert {function: out_of_reach(function, keys) for function, keys in installation.keys.items()} == forbidden
    # So much at least has been tried: a day on which nothing happened would forbid nothing.
    assert {("dynamodb:ConditionCheckItem", "Jobs"), ("dynamodb:PutItem", "Control")} <= installation.used["api"]
    pools = {name: {a for a, queue in installation.used[name] if queue == "PoolQueues"} for name in ("api", "claim")}
    assert {"sqs:CreateQueue", "sqs:DeleteQueue", "sqs:SendMessage"} <= pools["api"]
    assert {"sqs:ReceiveMessage", "sqs:DeleteMessage"} <= pools["claim"]
    assert {("dynamodb:BatchGetItem", "Executions"), ("dynamodb:PutItem", "Control")} <= installation.used["claim"]
    assert beginnings(installation.keys["claim"]) >= {("dynamodb:Query", "TENANT"), ("dynamodb:PutItem", "TENANT")}
    assert {("dynamodb:Query", "Jobs/index/due"), ("dynamodb:PartiQLInsert", "Executions")} <= installation.used[
        "scheduler"
    ]
    assert {("dynamodb:Query", "Journal"), ("dynamodb:DeleteItem", "Journal")} <= installation.used["watch"]
    # What dies as it lands is told.
    assert ("sqs:SendMessage", "QueueDeadExecutions") in installation.used["intake"]
    assert {key for _, key in beginnings(installation.keys["authorizer"])} == {"KEY"}
    assert not {(action, key) for action, key in beginnings(installation.keys["api"]) if key == "KEY"}
    # A scheduler looks after what nobody claims where no watch was quicker. A watch fires ticks where no scheduler
    # lives, and reads an order again where another watch was.
    of_worse_days = {
        # What stands in a transaction, and is read after it, is granted together: IAM judges the keys of a request by
        # one statement. A tenant's own machine may have said something.
        "api": {
            *((action, key) for action in ("BatchGetItem", "UpdateItem") for key in ("PAYLOAD", "REDRIVES")),
            ("UpdateItem", "TENANT"),
            ("PutItem", "LOG"),
        },
        "authorizer": set(),
        "intake": {("BatchGetItem", "TENANT")},
        "scheduler": {("GetItem", "TENANT")},
        "watch": {("BatchGetItem", "TENANT"), ("GetItem", "REDRIVES"), ("BatchGetItem", "REDRIVES")},
    }
    for name, worse in of_worse_days.items():
        unused = reach(name) - beginnings(installation.keys[name])
        assert unused <= {(f"dynamodb:{action}", key) for action, key in worse}, name
    assert {("dynamodb:UpdateItem", "Executions"), ("sqs:SendMessage", "QueueDeadExecutions")} <= installation.used[
        "worker"
    ]
    assert {("sqs:SendMessage", "QueueIntake")} <= installation.used["api"]
    assert {("dynamodb:PutItem", "Jobs"), ("sqs:SendMessage", "QueueIntakeUndelivered")} <= installation.used["intake"]
    assert installation.used["authorizer"] == {("dynamodb:GetItem", "Control")}
