"""The templates as a whole: recorded, so that a change is seen; the same each time; for any account."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from infra.app import STACKS, build_app
from infra.context import context_of_cdk_json
from infra.parity import compare
from infra.policy.templates import Templates
from infra.settings import STAGES
from tests.infra.conftest import Synthesise


@pytest.fixture
def recorded(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """The committed templates."""
    return snapshot.use_extension(JSONSnapshotExtension)


def masked(template: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a template is untyped JSON
    """The template without the hashes of code, and of versions of functions, which change with every change of code."""
    without = re.sub(r"[0-9a-f]{64}", "<ASSET>", json.dumps(template))
    return json.loads(re.sub(r"(CurrentVersion[0-9A-F]{8})[0-9a-f]{32}", r"\1<VERSION>", without))


@pytest.mark.parametrize("stack", STACKS)
def test_a_template_is_as_recorded(dev: Templates, recorded: SnapshotAssertion, stack: str) -> None:
    """What changes in the infrastructure is seen in a diff; record anew with `pytest tests/infra --snapshot-update`."""
    assert masked(dev.by_stack[f"Tickwright-dev-{stack}"]) == recorded


@pytest.mark.parametrize("stack", STACKS)
def test_a_template_with_every_option_is_as_recorded(
    everything: Templates, recorded: SnapshotAssertion, stack: str
) -> None:
    """What is off by default is seen in a diff as well."""
    assert masked(everything.by_stack[f"Tickwright-everything-{stack}"]) == recorded


def test_a_second_build_makes_the_same_templates(dev: Templates, synthesise: Synthesise) -> None:
    """No clock, no user and no random name gets into a template."""
    again = synthesise(STAGES["dev"])

    assert masked(again.by_stack) == masked(dev.by_stack)


def test_no_template_needs_an_account_to_be_made(tmp_path: Path) -> None:
    """No look-up: CI, a reviewer and a customer build the same from the sources alone."""
    build_app(STAGES["dev"], context=context_of_cdk_json(packaging=False), outdir=str(tmp_path)).synth()

    assert "missing" not in json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))


def test_dependencies_between_stacks_point_one_way(prod: Templates) -> None:
    """Data <- Core <- Workers <- Api <- Observability: storage stands alone, compute can be built again."""
    imports = {
        stack.rpartition("-")[2]: {
            name.rpartition(":")[0].rpartition("-")[2]
            for name in re.findall(r'"Fn::ImportValue": "([^"]+)"', json.dumps(template))
        }
        for stack, template in prod.by_stack.items()
    }

    assert imports == {
        "Data": set(),
        "Core": {"Data"},
        "Workers": {"Data", "Core"},
        # Where the workers' logs are.
        "Api": {"Data", "Core", "Workers"},
        "Observability": {"Data", "Core", "Workers", "Api"},
    }


@pytest.mark.slow
def test_cdk_s_own_tool_makes_the_same_templates() -> None:
    """A person deploys with `cdk deploy` what was tested through `python app.py`."""
    compared = compare("dev")

    if compared.skipped is not None:
        pytest.skip(compared.skipped)
    assert compared.compared == len(STACKS)
    assert compared.different == ()
