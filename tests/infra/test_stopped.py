"""An installation that is stopped: all of it is there, and nothing of it begins by itself."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from infra.policy.checks import MAPPING, check
from infra.policy.templates import Templates
from infra.settings import STAGES

PROD = STAGES["prod"]
RULE, SERVICE, SCALED = "AWS::Events::Rule", "AWS::ECS::Service", "AWS::ApplicationAutoScaling::ScalableTarget"


def of(templates: Templates, kind: str) -> list[dict[str, Any]]:
    """The properties of all resources of a kind."""
    return [each["Properties"] for _, each in templates.of_type(kind)]


@pytest.mark.sem("SEM-RECOVERY-1")
def test_nothing_begins_by_itself_in_a_stage_that_is_stopped(
    prod: Templates, synthesise: Callable[..., Templates]
) -> None:
    """So a copy can be looked at, and what was taken back since be taken back again, before the first tick."""
    stopped = synthesise(replace(PROD, stopped=True))

    assert {rule["State"] for rule in of(stopped, RULE)} == {"DISABLED"}
    assert {mapping["Enabled"] for mapping in of(stopped, MAPPING)} == {False}
    assert [service["DesiredCount"] for service in of(stopped, SERVICE)] == [0] * len(PROD.fleet.services)
    assert of(stopped, SCALED) == []
    assert {len(of(stopped, kind)) for kind in (RULE, MAPPING)} == {len(of(prod, kind)) for kind in (RULE, MAPPING)}


def test_all_of_it_runs_in_a_stage_that_is_not(prod: Templates) -> None:
    """And the number of machines is nobody's to set back."""
    assert {rule["State"] for rule in of(prod, RULE)} == {"ENABLED"}
    assert {mapping["Enabled"] for mapping in of(prod, MAPPING)} == {True}
    assert not any("DesiredCount" in service for service in of(prod, SERVICE))


def test_a_stage_that_is_stopped_keeps_to_the_rules_of_the_house(synthesise: Callable[..., Templates]) -> None:
    """It is deployed as any."""
    assert list(check(synthesise(replace(PROD, stopped=True)))) == []
