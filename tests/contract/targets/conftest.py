"""A runner of each kind on an engine, with clients as the product makes them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.builders import TENANT
from tests.support.emulators.clients import aws_client
from tests.unit.targets.invocations import an_invocation
from tickwright.adapters.aws.timed import TimedClient
from tickwright.adapters.targets.aws_service import AwsRunner, Service
from tickwright.domain.allowed_targets import AllowedTargets
from tickwright.domain.attempts import UserResult
from tickwright.domain.jobs import Target
from tickwright.ports.runner import GoesOn

EVERYTHING = AllowedTargets(patterns={TENANT: ("*",)})
ACCOUNT = "us-east-1:000000000000"
ROLE = "arn:aws:iam::000000000000:role/r"

Client = Callable[[str], Any]


@pytest.fixture(params=["ministack"])
def endpoint(request: pytest.FixtureRequest) -> str:
    """Where the engine answers."""
    return str(request.getfixturevalue(request.param).endpoint)


@pytest.fixture
def client(endpoint: str) -> Client:
    """A client of any service of the engine."""
    return lambda service: aws_client(service, endpoint)


@contextmanager
def a_runner(service: Service, endpoint: str, *, allowed: AllowedTargets = EVERYTHING) -> Iterator[AwsRunner]:
    """A runner whose clients go to the engine, whatever the region."""
    runner = AwsRunner(
        service, make_client=lambda name, _: TimedClient(aws_client(name, endpoint)), allowed=allowed, places=4
    )
    try:
        yield runner
    finally:
        runner.close()


async def run(
    service: Service,
    endpoint: str,
    settings: Mapping[str, object],
    *,
    kind: str,
    **shown: Any,  # noqa: ANN401 - as an_invocation has them
) -> UserResult:
    """One attempt."""
    with a_runner(service, endpoint) as runner:
        result = await runner.run(an_invocation(Target(kind=kind, settings=settings), **shown))
    assert not isinstance(result, GoesOn)
    return result
