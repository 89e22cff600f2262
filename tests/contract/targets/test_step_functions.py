"""Does a `stepFunctions` target start an execution once, whatever is lost on the way?"""

import json

import pytest

from tests.contract.targets.conftest import ACCOUNT, ROLE, Client, run
from tickwright.adapters.targets.step_functions import STEP_FUNCTIONS
from tickwright.domain.attempts import Fatal, HandedOver, Success, UserResult

pytestmark = pytest.mark.emulator
DEFINITION = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}


def a_machine(client: Client, name: str) -> str:
    machine = client("stepfunctions").create_state_machine(name=name, definition=json.dumps(DEFINITION), roleArn=ROLE)
    return str(machine["stateMachineArn"])


async def start(endpoint: str, machine: str, **settings: object) -> UserResult:
    target = {"stateMachineArn": machine} | settings
    return await run(STEP_FUNCTIONS, endpoint, target, kind="stepFunctions", payload='{"n":7}')


@pytest.mark.sem("SEM-TARGET-10")
async def test_a_machine_is_started_once_for_all_tries(endpoint: str, client: Client) -> None:
    """The name is made of the executionId: a try whose answer was lost is found again."""
    machine = a_machine(client, "target-once")

    first = await start(endpoint, machine)
    second = await start(endpoint, machine)

    started = client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]
    assert isinstance(first, Success)
    assert first == second
    assert [one["executionArn"] for one in started] == [json.loads(first.result or "")["executionArn"]]
    told = client("stepfunctions").describe_execution(executionArn=started[0]["executionArn"])["input"]
    assert json.loads(told)["payload"] == {"n": 7}


async def test_what_is_called_back_about_is_handed_over(endpoint: str, client: Client) -> None:
    """The machine completes the execution."""
    assert await start(endpoint, a_machine(client, "target-back"), completion="callback") == HandedOver()


@pytest.mark.sem("SEM-TARGET-6")
async def test_a_machine_that_is_missing_is_fatal(endpoint: str) -> None:
    """No other attempt can mend it."""
    result = await start(endpoint, f"arn:aws:states:{ACCOUNT}:stateMachine:nowhere")

    assert isinstance(result, Fatal)
    assert result.error.error_class == "StateMachineDoesNotExist"
