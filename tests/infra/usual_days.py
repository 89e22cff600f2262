"""What the functions do on a day on which all goes well, by every function at least once.

Must not judge.
"""

import json
from typing import Any

from tests.api.test_gateway import ARN
from tests.infra.recorded import TARGET, Installation, Left
from tests.support.builders import an_id
from tests.support.kits import LoggedRunner
from tickwright.api.keys import make_key
from tickwright.domain.attempts import Fatal, Success, UserResult, an_error
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.tenants import Scope
from tickwright.ports.intake import Submission
from tickwright.ports.runner import Invocation

# More rounds than the hints of a dozen executions take, those that come again among them.
ROUNDS = 5


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
    making = make_key(installation.kit("api"), TenantId("acme"), scopes=list(Scope), label="test")
    secret, _ = installation.stage("api", making)
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
    """What was accepted while the store was away: one that is due, one whose name is taken, one without its pool."""
    installation.calling = "api"
    api = installation.functions.module("api")
    at = api._API.kit.clock.now()  # noqa: SLF001 - the clock of the installation
    bodies = [
        {"schedule": installation.soon(20), "target": TARGET},
        {"schedule": {"cron": "0 0 1 1 *", "calendars": ["holidays"]}, "target": TARGET, "name": "landed"},
        {"schedule": {"cron": "0 0 1 1 *", "calendars": ["holidays"]}, "target": TARGET, "name": "landed"},
        {"schedule": installation.soon(20), "target": {"type": "pool", "pool": "none", "handler": "h"}},
    ]
    for number, body in enumerate(bodies):
        submission = Submission(
            tenant_id=TenantId("acme"),
            job_id=JobId(an_id(900 + number)),
            key=f"POST /v1/jobs landing-{number}",
            body_hash="a" * 64,
            asked_at=at,
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
