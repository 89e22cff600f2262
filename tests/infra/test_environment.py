"""The environment of each function fits what Lambda takes, whatever the settings allow: 4 KB, as JSON."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from infra.policy.checks import FUNCTION
from infra.policy.templates import Templates
from infra.required import SettingRefused
from infra.settings import STAGES, Settings
from infra.stage_settings import ENVIRONMENT_ROOM, LOG_GROUP_CHARS, STATUS_CACHE_CHARS_MAX

PROD = STAGES["prod"]
LAMBDA_TAKES = 4_096
PATTERN = "arn:aws:sqs:ap-southeast-2:123456789012:billing-queue-x"
ACCOUNT = {
    "AWS::Region": "ap-southeast-2",
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
}
QUEUE_URL = "https://sqs.ap-southeast-2.amazonaws.com/123456789012/"
QUEUE_ARN = "arn:aws:sqs:ap-southeast-2:123456789012:"
NAME_CHARS_MAX = 80  # of a queue; a table or a log group is called by stack, logical id and a dozen characters too


def with_tenants(number: int, **more: Any) -> Settings:  # noqa: ANN401 - settings are of many kinds
    """Each with a queue of its own."""
    return replace(PROD, targets={f"tenant-{each:02d}": (PATTERN,) for each in range(number)}, **more)


def most_tenants() -> int:
    """As many as the settings take."""
    number = 0
    while True:
        try:
            with_tenants(number + 1)
        except SettingRefused:
            return number
        number += 1


def value_of(templates: Templates, stack: str, value: Any) -> str:  # noqa: ANN401 - a template is untyped JSON
    """What CloudFormation makes of it, in a Region and under names that are long."""
    match value:
        case str():
            return value
        case {"Fn::Join": [str(between), parts]}:
            text = between.join(value_of(templates, stack, part) for part in parts)
            return "s" * 64 if "resolve:secretsmanager" in text else text
        case {"Ref": str(name)} if name in ACCOUNT:
            return ACCOUNT[name]
    address = templates.target(stack, value)
    assert address is not None, value
    name = f"{address.stack}-{address.logical_id}-{'X' * 12}"
    if templates.by_stack[address.stack]["Resources"][address.logical_id]["Type"] != "AWS::SQS::Queue":
        return name
    return (QUEUE_ARN if "Arn" in json.dumps(value) else QUEUE_URL) + name[:NAME_CHARS_MAX]


def sizes(templates: Templates) -> dict[str, int]:
    """The characters of each function's environment, by its name."""
    return {
        function["Properties"]["Handler"].split(".")[1]: len(
            json.dumps(
                {
                    name: value_of(templates, address.stack, value)
                    for name, value in function["Properties"]["Environment"]["Variables"].items()
                },
                separators=(",", ":"),
            )
        )
        for address, function in templates.of_type(FUNCTION)
    }


def test_every_environment_fits_at_the_limit_of_the_settings(synthesise: Callable[..., Templates]) -> None:
    """Found in a deployment else, of one function of seven, an hour later."""
    cache = f"rediss://{'c' * (STATUS_CACHE_CHARS_MAX - 9)}"
    fullest = with_tenants(most_tenants(), stage="p" * 16, intake=True, status_cache=cache)

    found = sizes(synthesise(fullest))

    assert max(found.values()) <= LAMBDA_TAKES
    # And the limit is that of Lambda: another tenant or two, and it would be met.
    assert found["api"] > LAMBDA_TAKES - 2 * (len(PATTERN) + 30)


def test_what_is_counted_is_the_text_that_functions_are_told() -> None:
    """Names of tenants and quotation marks among it: many short patterns are as long as few long ones."""
    room = ENVIRONMENT_ROOM - LOG_GROUP_CHARS * len(PROD.fleet.services)
    by_patterns = room // len(PATTERN)

    assert 0 < most_tenants() < by_patterns
    with pytest.raises(SettingRefused, match="environment"):
        with_tenants(by_patterns)
    with pytest.raises(SettingRefused):
        replace(PROD, status_cache=f"rediss://{'c' * STATUS_CACHE_CHARS_MAX}")
