"""Is every client made with its own timeouts and without the SDK's retries?"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tickwright.adapters.aws.clients import (
    CONNECTIONS,
    INTAKE_CONNECTIONS,
    dynamodb_client,
    new_session,
    sqs_client,
)


@pytest.mark.parametrize(
    ("make", "read_timeout_s", "connections"),
    [(dynamodb_client, 3, CONNECTIONS), (sqs_client, 25, CONNECTIONS + INTAKE_CONNECTIONS)],
    ids=["dynamodb", "sqs"],
)
def test_a_client_is_bounded_and_never_repeats_by_itself(
    make: Callable[..., Any], read_timeout_s: float, connections: int
) -> None:
    """A repeat by the SDK would be judged by nobody; a long poll of 20 s must fit; each thread has its connection."""
    config = make(region="eu-west-1").meta.config

    assert config.retries == {"total_max_attempts": 1, "mode": "standard"}
    assert (config.connect_timeout, config.read_timeout) == (1, read_timeout_s)
    assert config.max_pool_connections == connections


def test_a_client_may_be_pointed_at_a_local_engine() -> None:
    """By its address; the region is then any."""
    client = dynamodb_client(endpoint_url="http://127.0.0.1:8000", region="us-east-1")

    assert client.meta.endpoint_url == "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("variables", "region"),
    [
        ({"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "us-west-2"}, "eu-central-1"),
        ({"AWS_REGION": "eu-central-1"}, "eu-central-1"),
        ({"AWS_DEFAULT_REGION": "us-west-2"}, "us-west-2"),
        ({}, "ap-south-1"),
    ],
)
def test_a_region_is_the_one_that_cdk_would_deploy_to(
    variables: dict[str, str], region: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """AWS_REGION, then botocore's own variable, then the profile: a key and a deletion go where the stacks are."""
    profile = tmp_path / "config"
    profile.write_text("[default]\nregion = ap-south-1\n", encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(profile))
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert dynamodb_client(new_session()).meta.region_name == region
