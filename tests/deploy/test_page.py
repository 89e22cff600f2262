"""Does the handbook of deploying say what is done? Its commands are those that run, its settings those that exist."""

import os
import re
import shlex
import subprocess
from dataclasses import fields

import pytest

from infra.stage_settings import Settings
from tests.deploy import cdk
from tests.deploy.ground import ROOT
from tickwright.operator.__main__ import parser

PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES = [
    line
    for text in (PAGE, README)
    for block in re.findall(r"```\n(.*?)```", text, re.DOTALL)
    for line in block.splitlines()
]
CDK = sorted({line.partition("#")[0].strip() for line in LINES if line.startswith("npx cdk")})
MAKE = sorted({line.partition("#")[0].strip() for line in LINES if re.match(r"make (key|operate)\b", line)})
RUN = (cdk.BOOTSTRAP, cdk.DIFF, cdk.DEPLOY, cdk.DESTROY)


def test_the_page_has_commands() -> None:
    """The other checks stand on something: installing, updating, rolling back, destroying, and keys."""
    assert len(CDK) == len(RUN)
    assert len(MAKE) >= 4


@pytest.mark.parametrize("command", CDK)
def test_every_command_of_cdk_is_one_that_the_deploy_runs(command: str) -> None:
    """`make e2e-deploy` adds where, and that nobody is asked."""
    assert tuple(shlex.split(command)[2:]) in RUN


@pytest.mark.parametrize("command", MAKE)
def test_every_command_of_the_operator_is_understood(command: str) -> None:
    """What make would start is parsed by who would be started."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    told = subprocess.run(
        [*shlex.split(command), "-n"], cwd=ROOT, env=outside, capture_output=True, text=True, check=True
    ).stdout
    arguments = shlex.split(told.splitlines()[-1].partition(" -m tickwright.operator ")[2])

    asked = parser().parse_args(arguments)

    assert asked.command.words == tuple(arguments[:2])
    assert asked.stage == "dev"


def test_every_setting_is_explained() -> None:
    """A row of the table names each; nobody has to read the source to find that a thing can be set."""
    table = PAGE[PAGE.index("## Settings") : PAGE.index("## Keys")]
    named = {
        name
        for row in table.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }

    assert named == {field.name for field in fields(Settings)}
