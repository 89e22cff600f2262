"""Does an `ecsTask` target start one container, whatever is lost on the way?"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.contract.targets.conftest import Client, run
from tests.contract.targets.fake_ecs import CLUSTER, FAMILY, Ecs, a_fake_ecs
from tickwright.adapters.targets.ecs_task import ECS
from tickwright.domain.attempts import Failure, Fatal, HandedOver, NotRun, Success, UserResult

SETTINGS = {
    "clusterArn": CLUSTER,
    "taskDefinitionArn": FAMILY,
    "containerName": "work",
    "subnets": ["subnet-1"],
    "securityGroups": ["sg-1"],
}


async def start(endpoint: str, **settings: object) -> UserResult:
    return await run(ECS, endpoint, SETTINGS | settings, kind="ecsTask", payload='{"n":7}')


def told(started: Mapping[str, Any]) -> Mapping[str, str]:
    (override,) = started["overrides"]["containerOverrides"]
    assert override["name"] == "work"
    return {one["name"]: one["value"] for one in override["environment"]}


@pytest.mark.sem("SEM-TARGET-11")
async def test_a_container_is_told_of_the_attempt_by_its_environment() -> None:
    """The whole envelope, and by themselves what a completion needs."""
    ecs = Ecs()
    with a_fake_ecs(ecs) as endpoint:
        result = await start(endpoint)

    (started,) = ecs.started
    envelope = json.loads(told(started)["TICKWRIGHT_EXECUTION"])
    assert result == Success(result=json.dumps({"taskArn": started["arn"]}, separators=(",", ":")))
    assert envelope["payload"] == {"n": 7}
    assert told(started)["TICKWRIGHT_EXECUTION_ID"] == envelope["executionId"]
    assert told(started)["TICKWRIGHT_LEASE_EPOCH"] == "1"
    assert (started["count"], started["launchType"]) == (1, "FARGATE")
    assert started["networkConfiguration"]["awsvpcConfiguration"] == {
        "subnets": ["subnet-1"],
        "securityGroups": ["sg-1"],
        "assignPublicIp": "DISABLED",
    }


@pytest.mark.sem("SEM-TARGET-11")
async def test_a_try_whose_answer_was_lost_is_found_again() -> None:
    """The token is that of all tries: one container, though what it is told of the second differs."""
    ecs = Ecs(loses_answers=True)
    with a_fake_ecs(ecs) as endpoint:
        first = await start(endpoint)
        ecs.loses_answers = False
        second = await start(endpoint, capacityProvider="FARGATE_SPOT")

    assert isinstance(first, Failure)
    assert isinstance(second, Success)
    assert [one["arn"] for one in ecs.started] == [json.loads(second.result or "")["taskArn"]]


async def test_what_is_called_back_about_is_handed_over() -> None:
    """The container completes the execution."""
    with a_fake_ecs(Ecs()) as endpoint:
        assert await start(endpoint, completion="callback") == HandedOver()


@pytest.mark.sem("SEM-TARGET-6")
@pytest.mark.parametrize(
    "refuses",
    [
        ("ThrottlingException", "Rate exceeded"),
        ("ClientException", "You've reached the limit on the number of tasks you can run in the PROVISIONING state"),
        ("ClientException", "Capacity is unavailable at this time. Please try again later."),
    ],
)
async def test_where_there_is_no_room_nothing_was_started(refuses: tuple[str, str]) -> None:
    """ECS tells some of this by the text alone."""
    ecs = Ecs(refuses=refuses)
    with a_fake_ecs(ecs) as endpoint:
        assert isinstance(await start(endpoint), NotRun)

    assert ecs.started == []


@pytest.mark.parametrize("reason", ["RESOURCE:MEMORY", "AGENT", "Capacity is unavailable at this time"])
async def test_a_cluster_that_is_short_of_something_is_tried_again(reason: str) -> None:
    """It says so with status 200."""
    with a_fake_ecs(Ecs(short_of=reason)) as endpoint:
        result = await start(endpoint)

    assert isinstance(result, Failure)
    assert reason in result.error.message


@pytest.mark.sem("SEM-TARGET-6")
@pytest.mark.parametrize(
    "settings", [{"clusterArn": f"{CLUSTER}x"}, {"taskDefinitionArn": FAMILY.replace("nightly", "unknown")}]
)
async def test_what_is_missing_is_fatal(settings: dict[str, object]) -> None:
    """No other attempt can mend it."""
    with a_fake_ecs(Ecs()) as endpoint:
        assert isinstance(await start(endpoint, **settings), Fatal)


@pytest.mark.parametrize("reason", ["LOCATION", "ATTRIBUTE"])
async def test_a_container_that_fits_nowhere_is_fatal(reason: str) -> None:
    """The cluster will never have what it asks for."""
    with a_fake_ecs(Ecs(short_of=reason)) as endpoint:
        assert isinstance(await start(endpoint), Fatal)


@pytest.mark.emulator
async def test_the_request_is_one_that_an_engine_takes(endpoint: str, client: Client) -> None:
    """The fake is ours; this one is of others."""
    ecs = client("ecs")
    cluster = ecs.create_cluster(clusterName="target-c")["cluster"]["clusterArn"]
    family = ecs.register_task_definition(
        family="target-nightly", containerDefinitions=[{"name": "work", "image": "x", "memory": 64}]
    )["taskDefinition"]["taskDefinitionArn"]

    result = await start(endpoint, clusterArn=cluster, taskDefinitionArn=family, launchType="EC2")

    assert isinstance(result, Success)
    (started,) = ecs.describe_tasks(cluster=cluster, tasks=[json.loads(result.result or "")["taskArn"]])["tasks"]
    assert told(started)["TICKWRIGHT_EXECUTION_ID"].startswith(started["startedBy"].removeprefix("tickwright/"))
    ecs.stop_task(cluster=cluster, task=started["taskArn"])
