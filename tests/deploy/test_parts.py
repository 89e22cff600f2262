"""Would a deploy find what it changes and starts? The cheap part of that, at every test run."""

import ast
import json
from pathlib import Path

import pytest

from infra.app import build_app
from infra.context import context_of_cdk_json
from tests.deploy import app, next_version
from tests.deploy.ground import ROOT
from tests.deploy.image import DOCKERFILE, HANDLERS, described, instructions
from tests.deploy.next_version import Edit, edited


@pytest.mark.parametrize("edit", next_version.EDITS, ids=lambda edit: edit.file)
def test_the_next_version_changes_a_line_that_is_there(edit: Edit) -> None:
    """And what it makes of it is Python."""
    text = (ROOT / edit.file).read_text(encoding="utf-8")

    changed = edited(text, edit)

    assert changed != text
    assert ast.parse(changed).body


def test_an_edit_that_fits_nowhere_is_told() -> None:
    """Nothing would be updated, and the deploy would show nothing."""
    with pytest.raises(AssertionError, match=r"x\.py"):
        edited("one = 1\n", Edit(file="x.py", old="two", new="three"))


def test_the_image_begins_as_its_dockerfile_says() -> None:
    """Every instruction is one that is done or known to be a container's; paths lead into the folder."""
    image = described(ROOT, ROOT / "somewhere")

    assert image.entrypoint == ("python", "-m", "functions.fargate_worker.main")
    assert image.workdir == ROOT / "somewhere" / "app"
    assert image.environment["PYTHONPATH"].split(":")[0] == str(ROOT / "somewhere" / "app" / "library")
    assert image.environment["TICKWRIGHT_HANDLERS"] == f"{HANDLERS.stem}:worker"
    assert (ROOT / HANDLERS).is_file()


def test_lines_that_go_on_are_one_instruction() -> None:
    """Comments are none."""
    found = list(instructions('# FROM nothing\nENV A=1 \\\n    B=2\n\nRUN ["x"]\n'))

    assert found == [("ENV", "A=1      B=2"), ("RUN", '["x"]')]
    assert next(instructions((ROOT / DOCKERFILE).read_text(encoding="utf-8")))[0] == "ARG"


@pytest.mark.slow
def test_the_stage_of_the_local_aws_has_nothing_that_it_lacks(tmp_path: Path) -> None:
    """No alarm on an expression, no scaling, no flow log; the alarms on what is measured as it is are there."""
    context = context_of_cdk_json(packaging=False)
    build_app(app.settings(), context=context, outdir=str(tmp_path)).synth()
    resources = [
        resource
        for path in tmp_path.glob("*.template.json")
        for resource in json.loads(path.read_text(encoding="utf-8"))["Resources"].values()
    ]
    alarms = [one["Properties"] for one in resources if one["Type"] == "AWS::CloudWatch::Alarm"]

    assert len(alarms) > 5
    assert [alarm for alarm in alarms if "Metrics" in alarm] == []
    assert {one["Type"] for one in resources} & {
        "AWS::EC2::FlowLog",
        "AWS::ApplicationAutoScaling::ScalingPolicy",
    } == set()
