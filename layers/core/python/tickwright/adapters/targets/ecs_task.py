"""The target kind `ecsTask`: starts a container on ECS, which is told of the attempt by its environment.

Must not know leases. The token is the same for every try, so that one whose answer was lost starts nothing twice while
ECS knows it. Promise: SEM-TARGET-11.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from botocore.exceptions import ClientError

from tickwright.adapters.aws.faults import code_of
from tickwright.adapters.targets.aws_faults import Faults, not_run
from tickwright.adapters.targets.aws_service import Call, Service, once_key, taken
from tickwright.adapters.targets.envelope import body_of
from tickwright.domain.attempts import Failure, Fatal, UserResult, an_error
from tickwright.ports.runner import Invocation

# All that the container is told, as one JSON text; the two that a fence and a completion need stand alone as well.
ENVELOPE_VARIABLE: Final = "TICKWRIGHT_EXECUTION"
ID_VARIABLE: Final = "TICKWRIGHT_EXECUTION_ID"
EPOCH_VARIABLE: Final = "TICKWRIGHT_LEASE_EPOCH"
_FAULTS: Final = Faults(passing=frozenset({"ServerException"}))
# ECS tells these from a wrong request by the text alone.
_FULL: Final = ("capacity is unavailable", "capacity is not available", "provisioning")
_OF_THE_REQUEST: Final = frozenset({"LOCATION", "ATTRIBUTE", "MISSING", "INACTIVE"})


def _send(call: Call, invocation: Invocation) -> UserResult:
    try:
        answer = call("run_task", _request(invocation))
    except ClientError as error:
        if code_of(error) == "ConflictException" and (arns := _started_before(error)):
            return taken(invocation, {"taskArn": arns[0]})
        if code_of(error) == "ClientException" and _is_full(str(error)):
            return not_run(invocation)
        raise
    if answer["tasks"]:
        return taken(invocation, {"taskArn": str(answer["tasks"][0]["taskArn"])})
    return _refused(answer["failures"])


def _request(invocation: Invocation) -> dict[str, Any]:
    settings = invocation.definition.spec.target.settings
    variables = {
        ENVELOPE_VARIABLE: body_of(invocation, with_checkpoint=False).decode(),
        ID_VARIABLE: invocation.execution.ref.id,
        EPOCH_VARIABLE: str(invocation.epoch),
    }
    told = [{"name": name, "value": value} for name, value in variables.items()]
    return {
        "cluster": str(settings["clusterArn"]),
        "taskDefinition": str(settings["taskDefinitionArn"]),
        "count": 1,
        "clientToken": hashlib.sha256(once_key(invocation).encode()).hexdigest(),
        "startedBy": f"tickwright/{invocation.execution.job_id}",
        "overrides": {"containerOverrides": [{"name": str(settings["containerName"]), "environment": told}]},
        **_place(settings),
    }


def _place(settings: Mapping[str, object]) -> dict[str, Any]:
    """Where it runs, and in which network."""
    place: dict[str, Any] = {}
    if (provider := settings.get("capacityProvider")) is not None:
        place["capacityProviderStrategy"] = [{"capacityProvider": str(provider), "weight": 1}]
    else:
        place["launchType"] = str(settings.get("launchType", "FARGATE"))
    subnets, groups = settings.get("subnets"), settings.get("securityGroups")
    if isinstance(subnets, Sequence) and subnets:
        network: dict[str, Any] = {
            "subnets": list(subnets),
            "assignPublicIp": "ENABLED" if settings.get("assignPublicIp") else "DISABLED",
        }
        if isinstance(groups, Sequence) and groups:
            network["securityGroups"] = list(groups)
        place["networkConfiguration"] = {"awsvpcConfiguration": network}
    return place


def _started_before(error: ClientError) -> list[str]:
    """The containers that an earlier try under this token has started."""
    answer: Mapping[str, Any] = error.response
    return [str(arn) for arn in answer.get("resourceIds", [])]


def _is_full(message: str) -> bool:
    return any(words in message.lower() for words in _FULL)


def _refused(failures: Sequence[Mapping[str, Any]]) -> Failure | Fatal:
    """Nothing was started: for now, where a resource is short, or for good."""
    first = failures[0] if failures else {}
    reason = str(first.get("reason", "no reason given"))
    error = an_error("EcsNotStarted", f"{reason} {first.get('detail', '')}".strip())
    return Fatal(error=error) if reason.upper() in _OF_THE_REQUEST else Failure(error=error)


ECS: Final = Service(name="ecs", faults=_FAULTS, send=_send)
