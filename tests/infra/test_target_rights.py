"""May whoever runs executions call what the stage allows its tenants, and nothing else?"""

from dataclasses import replace
from typing import Any

import pytest

from infra.policy.checks import check
from infra.required import SettingRefused
from infra.settings import STAGES, Settings
from tests.infra.conftest import Synthesise
from tests.infra.test_functions import functions_of
from tickwright.domain.allowed_targets import allowed_from_json
from tickwright.domain.ids import TenantId

OURS = "eu-west-1:123456789012"
ALLOWED = {
    "acme": (f"arn:aws:sqs:{OURS}:acme-*", f"arn:aws:lambda:{OURS}:function:acme-nightly"),
    "*": (f"arn:aws:ecs:{OURS}:task-definition/reports:*", f"arn:aws:ecs:{OURS}:cluster/reports"),
}
ROLE = "arn:aws:iam::123456789012:role/reports"


def with_targets(**shown: Any) -> Settings:  # noqa: ANN401 - as the settings have them
    return replace(STAGES["dev"], **({"targets": ALLOWED, "target_roles": (ROLE,)} | shown))


@pytest.mark.sem("SEM-TARGET-5")
def test_the_worker_may_call_what_the_stage_allows(synthesise: Synthesise) -> None:
    """One statement a service; what may be started is bound to where, and only ECS is handed a role."""
    templates = synthesise(with_targets())

    found = {
        statement["Sid"]: statement
        for _, policy in templates.of_type("AWS::IAM::Policy")
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement.get("Sid", "").startswith("Target")
    }

    assert {sid: (one["Action"], one["Resource"]) for sid, one in found.items()} == {
        "TargetSqs": ("sqs:SendMessage", ALLOWED["acme"][0]),
        "TargetLambda": ("lambda:InvokeFunction", ALLOWED["acme"][1]),
        "TargetEcs": ("ecs:RunTask", ALLOWED["*"][0]),
        "TargetRoles": ("iam:PassRole", ROLE),
    }
    assert found["TargetEcs"]["Condition"] == {"ArnLike": {"ecs:cluster": [ALLOWED["*"][1]]}}
    assert found["TargetRoles"]["Condition"] == {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
    assert check(templates) == []


@pytest.mark.sem("SEM-TARGET-5")
def test_a_list_of_handlers_gives_no_right_and_is_known_to_the_api(synthesise: Synthesise) -> None:
    """A handler is no resource: only whoever takes jobs goes by it."""
    templates = synthesise(with_targets(targets={"acme": ("python:billing.*",)}, target_roles=()))
    text = functions_of(templates)["api"]["Environment"]["Variables"]["TICKWRIGHT_TARGETS"]

    assert allowed_from_json(text).lists_handlers
    assert not [
        statement
        for _, policy in templates.of_type("AWS::IAM::Policy")
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement.get("Sid", "").startswith("Target")
    ]


@pytest.mark.sem("SEM-TARGET-5")
@pytest.mark.parametrize("function", ["api", "worker"])
def test_whoever_takes_jobs_and_whoever_runs_them_go_by_one_list(synthesise: Synthesise, function: str) -> None:
    """What is refused at submission and what is refused later is the same."""
    text = functions_of(synthesise(with_targets()))[function]["Environment"]["Variables"]["TICKWRIGHT_TARGETS"]

    allowed = allowed_from_json(text)

    assert allowed.allows(TenantId("acme"), f"arn:aws:sqs:{OURS}:acme-orders")
    assert not allowed.allows(TenantId("rival"), f"arn:aws:sqs:{OURS}:acme-orders")


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        f"arn:aws:*:{OURS}:acme",
        "arn:aws:sqs:*:123456789012:acme",
        "arn:aws:sqs:eu-west-1:*:acme",
        f"arn:aws:sqs:{OURS}:*",
        "acme-*",
        f"arn:aws:sqs:{OURS}:" + "x" * 2_000,
    ],
)
def test_a_pattern_that_leaves_too_much_open_is_refused(pattern: str) -> None:
    """Found when the settings are read."""
    with pytest.raises(SettingRefused):
        with_targets(targets={"acme": (pattern,)})


def test_the_key_of_signatures_is_in_no_template(synthesise: Synthesise) -> None:
    """Made and kept by AWS, resolved while deploying; the loops do not get it."""
    functions = functions_of(synthesise(with_targets()))

    for name, function in functions.items():
        value = function["Environment"]["Variables"].get("TICKWRIGHT_WEBHOOK_KEY")
        assert (value is not None) == (name in {"api", "worker"})
        assert value is None or value["Fn::Join"][1][0] == "{{resolve:secretsmanager:"
