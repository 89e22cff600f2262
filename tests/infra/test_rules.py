"""The house's own checks: every stage passes them, and each of them finds what it is there to find."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from infra.policy.checks import CHECKS, check
from infra.policy.templates import Templates
from infra.settings import STAGES

Resources = dict[str, Any]
Break = Callable[[Resources], None]


def resource(resources: Resources, resource_type: str, pattern: str = "") -> dict[str, Any]:
    """The properties of the first resource of a type whose logical id matches."""
    return next(
        each["Properties"]
        for logical_id, each in resources.items()
        if each["Type"] == resource_type and re.search(pattern, logical_id)
    )


def function(resources: Resources) -> dict[str, Any]:
    return resource(resources, "AWS::Lambda::Function", "Scheduler|Worker")


def variables(resources: Resources) -> dict[str, Any]:
    found: dict[str, Any] = function(resources)["Environment"]["Variables"]
    return found


def invocations(resources: Resources) -> dict[str, Any]:
    return resource(resources, "AWS::Lambda::EventInvokeConfig")


def without(name: str, *, of: Callable[[Resources], dict[str, Any]]) -> Break:
    def take_away(resources: Resources) -> None:
        of(resources).pop(name)

    return take_away


def queue(resources: Resources) -> dict[str, Any]:
    return resource(resources, "AWS::SQS::Queue", "^QueueHigh$")


def mapping(resources: Resources) -> dict[str, Any]:
    return resource(resources, "AWS::Lambda::EventSourceMapping")


def replica(resources: Resources) -> dict[str, Any]:
    found: dict[str, Any] = resource(resources, "AWS::DynamoDB::GlobalTable")["Replicas"][0]
    return found


def statements(resources: Resources) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = resource(resources, "AWS::IAM::Policy")["PolicyDocument"]["Statement"]
    return found


def share_a_role(resources: Resources) -> None:
    scheduler = resource(resources, "AWS::Lambda::Function", "Scheduler")
    scheduler["Role"] = resource(resources, "AWS::Lambda::Function", "Watch")["Role"]


def unguard(resources: Resources) -> None:
    resource(resources, "AWS::SQS::QueuePolicy", "HighLaneReady")["PolicyDocument"] = {}


# rule -> the stack it is broken in, and how
BROKEN: dict[str, tuple[str, Break]] = {
    "queue-dead-letters": ("Core", without("RedrivePolicy", of=queue)),
    "queue-encrypted": ("Core", without("SqsManagedSseEnabled", of=queue)),
    "queue-tls": ("Core", unguard),
    "queue-visibility": ("Core", lambda core: queue(core).update(VisibilityTimeout=900)),
    "mapping-partial": ("Workers", without("FunctionResponseTypes", of=mapping)),
    "mapping-concurrency": ("Workers", without("ScalingConfig", of=mapping)),
    "function-reservation": ("Workers", lambda workers: function(workers).update(ReservedConcurrentExecutions=5)),
    "function-explicit": ("Core", without("Timeout", of=function)),
    "function-tracing": ("Core", without("TracingConfig", of=function)),
    "function-logs": ("Core", without("LoggingConfig", of=function)),
    "logs-retention": (
        "Api",
        lambda api: resource(api, "AWS::Logs::LogGroup", "AccessLog").pop("RetentionInDays"),
    ),
    "function-role": ("Core", share_a_role),
    "function-assertions": ("Core", lambda core: variables(core).update(PYTHONOPTIMIZE="1")),
    "function-environment": (
        "Core",
        without("PYTHONTZPATH", of=variables),
    ),
    "minute-retries": (
        "Core",
        lambda core: invocations(core).update(MaximumRetryAttempts=2),
    ),
    "rights-actions": ("Core", lambda core: statements(core)[0].update(Action="sqs:*")),
    "rights-resources": ("Core", lambda core: statements(core)[0].update(Resource="*")),
    "rights-targets": (
        "Core",
        lambda core: statements(core)[0].update(Sid="TargetSqs", Resource="arn:aws:sqs:*:123456789012:q"),
    ),
    "rights-inline": ("Core", lambda core: resource(core, "AWS::IAM::Role").update(Policies=[{}])),
    "table-recovery": ("Data", without("PointInTimeRecoverySpecification", of=replica)),
    "table-protection": ("Data", lambda data: replica(data).update(DeletionProtectionEnabled=False)),
}


def broken(templates: Templates, *, stack: str, how: Break) -> Templates:
    """The templates with one resource of one stack changed."""
    copy = json.loads(json.dumps(templates.by_stack))
    how(copy[f"Tickwright-prod-{stack}"]["Resources"])
    return Templates(copy)


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_keeps_to_the_rules_of_the_house(stages: Mapping[str, Templates], stage: str) -> None:
    """Queues, functions, mappings, rights and tables, as they would be deployed."""
    assert check(stages[stage]) == []


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_finds_what_breaks_it(prod: Templates, rule: str) -> None:
    """A check that cannot fail guards nothing."""
    stack, how = BROKEN[rule]

    findings = check(broken(prod, stack=stack, how=how))

    assert rule in {finding.rule for finding in findings}


def test_no_check_is_without_a_proof() -> None:
    """Every rule name in the checks is broken once above."""
    names = {constant for each in CHECKS for constant in each.__code__.co_consts if isinstance(constant, str)}

    rules = {name for name in names if re.fullmatch(r"(queue|mapping|function|logs|minute|rights|table)-[a-z-]+", name)}

    assert rules == set(BROKEN)
