"""Is every kind of target taken as it was meant, refused where it is wrong, and kept within what a tenant may name?"""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import A_JOB, Client
from tests.api.test_dead_letters import a_dead_one
from tickwright.api.call import Api
from tickwright.domain.allowed_targets import AllowedTargets

OURS = "eu-west-1:123456789012"
TARGETS: dict[str, dict[str, Any]] = {
    "lambda": {"functionArn": f"arn:aws:lambda:{OURS}:function:acme-nightly:live", "invocation": "event"},
    "sqs": {"queueArn": f"arn:aws:sqs:{OURS}:acme-orders.fifo", "messageGroupId": "orders", "completion": "callback"},
    "eventbridge": {"busArn": f"arn:aws:events:{OURS}:event-bus/acme", "source": "billing", "detailType": "Due"},
    "stepFunctions": {"stateMachineArn": f"arn:aws:states:{OURS}:stateMachine:acme-close"},
    "ecsTask": {
        "clusterArn": f"arn:aws:ecs:{OURS}:cluster/acme",
        "taskDefinitionArn": f"arn:aws:ecs:{OURS}:task-definition/acme-report:3",
        "containerName": "work",
        "subnets": ["subnet-0a1b"],
    },
}


@pytest.fixture
def api(api: Api) -> Api:
    """An installation that allows each tenant what begins with its name."""
    names = ("acme", "rival")
    allowed = {tenant: (f"arn:aws:*:{OURS}:*{tenant}*",) for tenant in names}
    return replace(api, targets=AllowedTargets(patterns=allowed))


async def test_a_handler_that_no_worker_has_is_noted_where_they_are_known(api: Api, acme: Client) -> None:
    """In the answer and in a look; where the API does not know its workers it says nothing."""
    knowing = Client(replace(api, handlers=("demo.greet",)), acme.secret)
    bodies = [
        {"schedule": {"every": "PT1H"}, "target": {"type": "python", "handler": h}} for h in ("demo.gret", "demo.greet")
    ]

    wrong, right = [(await knowing.post("/v1/jobs", body)).json["lint"] for body in bodies]
    looked = await knowing.post("/v1/jobs?validateOnly=true", bodies[0])
    unknown = await acme.post("/v1/jobs", bodies[0])

    assert [note["code"] for note in wrong] == ["unknown_handler"]
    assert "demo.gret," in wrong[0]["message"]
    assert "demo.greet" in wrong[0]["message"]
    assert looked.json["preview"]["lint"] == wrong
    assert (right, unknown.json["lint"]) == ([], [])


@pytest.mark.parametrize(
    ("url", "noted"),
    [
        ("https://a.example/x?token=abc", True),
        ("https://a.example/x?page=1&X-Amz-Signature=abc", True),
        ("https://a.example/x?api_key=abc", True),
        ("https://a.example/x?sig=abc", True),
        ("https://a.example/x?monkey=abc&design=2", False),
        ("https://a.example/token?page=1", False),
        ("https://a.example/x?token=", False),
    ],
)
async def test_a_parameter_of_a_url_that_looks_secret_is_noted(acme: Client, url: str, *, noted: bool) -> None:
    """With what to do, and not what it is; named in secrets it is hidden, and nothing is said."""
    body = {"schedule": {"every": "PT1H"}, "target": {"type": "http", "url": url}}

    plain = (await acme.post("/v1/jobs", body)).json["lint"]
    named = (await acme.post("/v1/jobs", body | {"secrets": ["/target/url"]})).json["lint"]

    assert [note["code"] for note in plain] == (["secret_in_url"] if noted else [])
    assert all("/target/url" in note["message"] and "abc" not in note["message"] for note in plain)
    assert named == []


@pytest.mark.sem("SEM-TARGET-5")
@pytest.mark.parametrize("kind", TARGETS)
async def test_a_target_of_ones_own_is_taken_and_shown_as_it_was_sent(acme: Client, kind: str) -> None:
    """Nothing is added to it and nothing lost."""
    target = {"type": kind} | TARGETS[kind]

    job = await acme.job(target=target)

    assert (await acme.get(f"/v1/jobs/{job['jobId']}")).json["target"] == target


@pytest.mark.sem("SEM-TARGET-5")
@pytest.mark.parametrize("kind", TARGETS)
async def test_a_target_that_is_anothers_is_refused(rival: Client, kind: str) -> None:
    """At submission, by validateOnly too, and by an edit."""
    target = {"type": kind} | TARGETS[kind]
    job = await rival.job()

    answers = [
        await rival.post("/v1/jobs", A_JOB | {"target": target}),
        await rival.post("/v1/jobs?validateOnly=true", A_JOB | {"target": target}),
        await rival.send("PUT", f"/v1/jobs/{job['jobId']}", A_JOB | {"target": target}, if_match=job["etag"]),
        await rival.send(
            "PATCH", f"/v1/jobs/{job['jobId']}", {"target": target | {"handler": None}}, if_match=job["etag"]
        ),
    ]

    assert {got.status for got in answers} == {422}
    assert {code for got in answers for _, code in got.errors()} == {"target_not_allowed"}


async def test_an_installation_that_allows_nothing_takes_http_and_python_alone(acme: Client) -> None:
    """As the local program does."""
    nothing = Client(replace(acme.api, targets=AllowedTargets()), acme.secret)

    refused = await nothing.post("/v1/jobs", A_JOB | {"target": {"type": "sqs"} | TARGETS["sqs"]})

    assert refused.errors() == [("/target/queueArn", "target_not_allowed")]
    assert (await nothing.job())["target"]["type"] == "python"


async def test_a_repeat_is_answered_as_the_first_though_less_is_allowed_by_now(acme: Client) -> None:
    """The request was judged when it came."""
    body = A_JOB | {"target": {"type": "sqs"} | TARGETS["sqs"]}
    first = await acme.post("/v1/jobs", body, idempotency_key="once")

    again = await Client(replace(acme.api, targets=AllowedTargets()), acme.secret).post(
        "/v1/jobs", body, idempotency_key="once"
    )

    assert (first.status, again.status) == (201, 201)
    assert again.json["jobId"] == first.json["jobId"]


@pytest.mark.parametrize(
    ("kind", "change", "pointer", "code"),
    [
        ("lambda", {"functionArn": "acme-nightly"}, "/target/functionArn", "invalid_arn"),
        ("lambda", {"functionArn": TARGETS["sqs"]["queueArn"]}, "/target/functionArn", "invalid_arn"),
        ("lambda", {"functionArn": None}, "/target/functionArn", "bad_type"),
        ("lambda", {"invocation": "sync", "completion": "callback"}, "/target/completion", "not_applicable"),
        ("lambda", {"invocation": "later"}, "/target/invocation", "bad_value"),
        ("sqs", {"queueArn": f"arn:aws:sqs:{OURS}:acme*"}, "/target/queueArn", "invalid_arn"),
        ("sqs", {"queueArn": f"arn:aws:sqs:{OURS}:acme\n"}, "/target/queueArn", "invalid_arn"),
        ("sqs", {"queueArn": f"arn:aws:sqs:{OURS}:acme/../other"}, "/target/queueArn", "invalid_arn"),
        ("sqs", {"messageGroupId": "two words"}, "/target/messageGroupId", "bad_value"),
        ("eventbridge", {"source": "aws.ec2"}, "/target/source", "bad_value"),
        ("stepFunctions", {"completion": "waits"}, "/target/completion", "bad_value"),
        ("ecsTask", {"launchType": "EC2", "capacityProvider": "F"}, "/target/capacityProvider", "not_applicable"),
        ("ecsTask", {"subnets": ["10.0.0.0/8"]}, "/target/subnets/0", "bad_value"),
        ("ecsTask", {"command": ["rm"]}, "/target/command", "unknown_field"),
    ],
)
async def test_what_is_wrong_with_a_target_is_said_at_its_member(
    acme: Client, kind: str, change: dict[str, Any], pointer: str, code: str
) -> None:
    """A wildcard is a character that no ARN has, so none slips through the list of what is allowed."""
    got = await acme.post("/v1/jobs", A_JOB | {"target": {"type": kind} | TARGETS[kind] | change})

    assert got.status == 422
    assert (pointer, code) in got.errors()


async def test_a_container_takes_no_more_than_its_environment_holds(acme: Client) -> None:
    """Refused when it is submitted, not at every attempt."""
    target = {"type": "ecsTask"} | TARGETS["ecsTask"]

    got = await acme.post("/v1/jobs", A_JOB | {"target": target, "payload": "x" * 4_000})

    assert got.errors() == [("/payload", "too_large")]


async def test_an_address_may_be_called_back_from(acme: Client) -> None:
    """With `completion: callback` a 202 is a hand-over."""
    target = {"type": "http", "url": "https://example.com/hook", "completion": "callback"}

    assert (await acme.job(target=target))["target"] == target


@pytest.mark.sem("SEM-DLQ-3")
async def test_a_rerun_is_given_no_more_than_its_target_can_be_told(acme: Client) -> None:
    """The target of the job as it is now, which may take less than the one before."""
    dead = await a_dead_one(acme)
    job_id = (await acme.get(f"/v1/dead-letters/{dead}")).json["execution"]["jobId"]
    target = {"type": "ecsTask", "handler": None} | TARGETS["ecsTask"]
    edited = await acme.send("PATCH", f"/v1/jobs/{job_id}", {"target": target}, if_match="*")
    path = f"/v1/executions/{dead}/rerun"
    refused, taken = [await acme.post(path, {"payload": "x" * size}) for size in (5_000, 500)]

    assert edited.status == 200, edited.json
    assert (refused.status, refused.errors()) == (422, [("/payload", "too_large")])
    assert taken.status == 201


@pytest.mark.sem("SEM-TARGET-5")
async def test_a_handler_that_is_anothers_is_refused(acme: Client, rival: Client) -> None:
    """Where the installation says whose each is."""
    target = {"type": "python", "handler": "billing.nightly"}
    listed = AllowedTargets(patterns={"acme": ("python:billing.*",)})

    refused = await Client(replace(rival.api, targets=listed), rival.secret).post(
        "/v1/jobs", A_JOB | {"target": target}
    )

    assert refused.errors() == [("/target/handler", "target_not_allowed")]
    assert (await Client(replace(acme.api, targets=listed), acme.secret).job(target=target))["target"] == target
