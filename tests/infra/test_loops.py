"""What wakes the loops: each slot once a minute, never again for the same minute."""

import json
from dataclasses import replace

import pytest

from infra.constructs.minute_rule import TARGETS_PER_RULE
from infra.policy.templates import Address, Templates
from infra.settings import STAGES
from tests.infra.conftest import Synthesise

RULE = "AWS::Events::Rule"


def woken(templates: Templates, function: str) -> list[dict[str, int]]:
    """The events that a function gets each minute."""
    return [
        json.loads(target["Input"])
        for address, rule in templates.of_type(RULE)
        for target in rule["Properties"]["Targets"]
        if handler_of(templates, templates.target(address.stack, target["Arn"])) == function
    ]


def handler_of(templates: Templates, address: Address | None) -> str:
    assert address is not None
    return str(templates.properties(address)["Handler"]).split(".")[1]


def test_every_slot_is_woken_once_a_minute(prod: Templates) -> None:
    """As many events as slots, each naming another."""
    slots = STAGES["prod"].scheduler_slots

    assert woken(prod, "scheduler") == [{"slot": slot, "slots": slots} for slot in range(slots)]


def test_the_watch_is_woken_once_a_minute(prod: Templates) -> None:
    """One watch is enough: it repairs, and its minutes may be missed."""
    assert woken(prod, "watch") == [{"slot": 0, "slots": 1}]


def test_rules_fire_each_minute(prod: Templates) -> None:
    """The finest that EventBridge knows."""
    assert {rule["Properties"]["ScheduleExpression"] for _, rule in prod.of_type(RULE)} == {"rate(1 minute)"}


@pytest.mark.parametrize("slots", [6, 16])
def test_more_slots_than_a_rule_takes_are_spread_over_rules(synthesise: Synthesise, slots: int) -> None:
    """EventBridge takes five targets a rule, and a sixth would fail the deployment."""
    dev = STAGES["dev"]

    templates = synthesise(replace(dev, buckets=slots, scheduler_slots=slots))

    assert sorted(event["slot"] for event in woken(templates, "scheduler")) == list(range(slots))
    assert max(len(rule["Properties"]["Targets"]) for _, rule in templates.of_type(RULE)) <= TARGETS_PER_RULE
