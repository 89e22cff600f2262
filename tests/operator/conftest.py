"""An installation that is found by its stage: one for all commands of the operator, since its stack has one name."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support.emulators.clients import aws_client
from tests.support.emulators.server import Emulator
from tests.support.installation import Installation, in_environment, install
from tickwright.wiring.operator import OUTPUT

STAGE = "optest"


def _template(environment: Mapping[str, str]) -> dict[str, Any]:
    """As the stack Core says it, and nothing else."""
    told = json.dumps({name: value for name, value in environment.items() if name.startswith("TICKWRIGHT_")})
    # A stack has to have some resource.
    nothing = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}
    return {"Resources": {"Nothing": nothing}, "Outputs": {OUTPUT: {"Value": told}}}


@pytest.fixture(scope="package")
def installation(ministack: Emulator) -> Iterator[Installation]:
    """One that is found by its stage."""
    made = install(ministack.endpoint, ministack.endpoint, "operator-")
    stack = {"StackName": f"Tickwright-{STAGE}-Core", "TemplateBody": json.dumps(_template(made.environment))}
    cloudformation = aws_client("cloudformation", ministack.endpoint)
    cloudformation.create_stack(**stack)
    cloudformation.get_waiter("stack_create_complete").wait(
        StackName=stack["StackName"], WaiterConfig={"Delay": 1, "MaxAttempts": 30}
    )
    with in_environment({**made.environment, "AWS_ENDPOINT_URL": ministack.endpoint}):
        yield made
