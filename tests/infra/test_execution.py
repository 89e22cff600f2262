"""What docs/deploy.md says that deploying takes: is it what the templates have, and what AWS says each kind takes?"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import cfnlint
import pytest

from infra.app import build_app
from infra.context import ROOT, context_of_cdk_json
from infra.policy.execution import SERVICES, policy
from infra.policy.templates import Templates
from infra.settings import STAGES

PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
POLICY_CHARS_MAX = 6_144  # of a managed policy, without its white space
ALWAYS = {f"AWS::{one.name}::{kind}" for one in SERVICES for kind in one.kinds}
BY_SETTING = {f"AWS::{one.name}::{kind}" for one in SERVICES for kind in one.settings}
# What AWS says that a kind may take in some form of it that no stack here has.
NOT_OURS = (
    *(f"{service}:*" for service in ("amplify", "apprunner", "appsync", "cognito-idp", "elasticloadbalancing")),
    "bedrock-agentcore:*",  # what else a web ACL may stand before, like those above
    *(f"{service}:*" for service in ("kinesis", "firehose", "elasticfilesystem", "s3files", "vpc-lattice", "vpce")),
    "iam:*GroupPolicy",  # policies here are roles'
    "iam:*UserPolicy",
    "iam:DescribeOrganization",  # a web ACL of an organisation
    "payments:GetConnectedAccount",
    "autoscaling:DescribeTags",
    "s3:*BucketPolicy",  # logs go to log groups
    "s3:REST.PUT.OBJECT",
)


def kinds_in(templates: Templates) -> set[str]:
    """Of every resource of a stage."""
    return {resource["Type"] for template in templates.by_stack.values() for resource in template["Resources"].values()}


def test_every_stage_has_the_kinds_of_the_table_and_no_others(stages: Mapping[str, Templates]) -> None:
    """A resource of a new kind needs a row, and a row that nothing needs is a right too many."""
    assert {name: kinds_in(templates) for name, templates in stages.items()} == dict.fromkeys(STAGES, ALWAYS)


def test_what_settings_bring_is_told_as_such(everything: Templates) -> None:
    """With every setting on there is all of the table."""
    assert kinds_in(everything) == ALWAYS | BY_SETTING


def test_every_setting_that_is_named_is_one() -> None:
    """By its name in the table of settings, or in one that this one holds."""
    named = {setting.partition(".")[0] for one in SERVICES for setting in one.settings.values()}

    assert named <= {
        word for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE) for word in re.findall(r"\w+", row)
    }


def said_by_aws() -> Iterator[tuple[str, str]]:
    """Each kind, and each right that its making, change or removal takes by the schema that AWS publishes of it."""
    folder = Path(str(cfnlint.__file__)).parent / "data" / "schemas" / "resources"
    found = {}
    for path in folder.glob("*.json"):
        schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if (kind := schema["typeName"]) in ALWAYS | BY_SETTING:
            found[kind] = schema["handlers"]
    assert found.keys() == ALWAYS | BY_SETTING
    for kind, handlers in found.items():
        for handler in ("create", "read", "update", "delete"):
            yield from ((kind, right) for right in handlers.get(handler, {}).get("permissions", ()))


def test_the_policy_allows_what_aws_says_each_kind_takes() -> None:
    """But for what none of ours does, which is listed; and every entry of that list is still needed."""
    allowed = [action for statement in policy()["Statement"] for action in statement["Action"]]
    lacking = {(kind, right) for kind, right in said_by_aws() if not any(fnmatchcase(right, one) for one in allowed)}

    assert {(kind, right) for kind, right in lacking if not any(fnmatchcase(right, one) for one in NOT_OURS)} == set()
    assert [one for one in NOT_OURS if not any(fnmatchcase(right, one) for _, right in lacking)] == []


def test_roles_are_made_and_passed_by_the_name_of_a_stack(everything: Templates) -> None:
    """The policy allows no others: whoever deploys cannot pass a role that stood there before."""
    narrow = {
        statement["Sid"]: statement["Resource"]
        for statement in policy()["Statement"]
        if any(action.startswith("iam:") for action in statement["Action"])
    }
    named = [address for address, role in everything.of_type("AWS::IAM::Role") if "RoleName" in role["Properties"]]

    assert "*" not in [place for places in narrow.values() for place in places]
    assert {*narrow["Roles"], *narrow["PassedRoles"]} >= {"arn:aws:iam::*:role/Tickwright-*"}
    assert named == []
    assert all(stack.startswith("Tickwright-") for stack in everything.by_stack)


def test_the_policy_is_one_that_iam_takes() -> None:
    """By its length; its text is in a file that a command of the page names."""
    path = "infra/policy/execution.json"

    assert json.loads((ROOT / path).read_text(encoding="utf-8")) == policy()
    assert len(json.dumps(policy(), separators=(",", ":"))) <= POLICY_CHARS_MAX
    assert f"file://{path}" in PAGE


def test_the_page_names_the_roles_that_cdk_asks_for(tmp_path: Path) -> None:
    """As the assembly has them: for the stacks, for files, for the image."""
    build_app(STAGES["prod"], context=context_of_cdk_json(packaging=False), outdir=str(tmp_path)).synth()
    text = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("*.json"))
    asked = set(re.findall(r"cdk-hnb659fds-([a-z-]+)-role-", text))
    section = PAGE[PAGE.index("## Rights") : PAGE.index("## What is tested")]

    assert asked == {"deploy", "file-publishing", "image-publishing", "lookup", "cfn-exec"}
    assert {role for role in asked if f"`{role}-role`" not in section} == set()
    assert "cdk-hnb659fds-" in section


@pytest.mark.slow
def test_cdk_takes_the_options_of_the_bootstrap_that_the_page_names() -> None:
    """Asked for its help."""
    options = set(re.findall(r"cdk bootstrap (--[a-z-]+)", PAGE)) | set(re.findall(r"`(--[a-z-]+)` of `cdk boot", PAGE))
    command = [str(ROOT / "node_modules" / ".bin" / "cdk"), "bootstrap", "--help"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert len(options) == 2
    assert {option for option in options if option not in told} == set()
