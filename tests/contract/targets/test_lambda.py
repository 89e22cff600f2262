"""Does a `lambda` target end an attempt as its function does?"""

import asyncio
import io
import json
import zipfile
from collections.abc import Iterator

import pytest

from tests.contract.targets.conftest import ACCOUNT, ROLE, Client, a_runner, run
from tests.unit.targets.invocations import an_invocation
from tickwright.adapters.targets.lambda_ import LAMBDA
from tickwright.domain.attempts import Failure, Fatal, HandedOver, NotRun, Success, UserResult
from tickwright.domain.executions import Reason
from tickwright.domain.jobs import Target

pytestmark = [pytest.mark.emulator, pytest.mark.slow]
NAME = "target-contract"
ARN = f"arn:aws:lambda:{ACCOUNT}:function:{NAME}"
CODE = """
import os
import time

def handler(event, context):
    wanted = event["payload"] or {}
    print("said", wanted)
    if wanted.get("raises"):
        raise ValueError("no account 17")
    if wanted.get("sleeps"):
        time.sleep(wanted["sleeps"])
    if wanted.get("dies"):
        os._exit(3)
    return {"of": event["executionId"], "epoch": event["leaseEpoch"], "big": "x" * wanted.get("big", 0)}
"""


@pytest.fixture
def function(client: Client) -> Iterator[str]:
    """A function that does what its payload says; taken away at the end, with its folders."""
    aws = client("lambda")
    aws.create_function(
        FunctionName=NAME,
        Runtime="python3.13",
        Role=ROLE,
        Handler="app.handler",
        Code={"ZipFile": _zipped(CODE)},
        Timeout=2,
        MemorySize=128,
    )
    yield NAME
    aws.delete_function(FunctionName=NAME)
    aws.close()


def _zipped(code: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("app.py", code)
    return data.getvalue()


async def invoke(endpoint: str, payload: object = None, **settings: object) -> UserResult:
    target = {"functionArn": ARN} | settings
    return await run(LAMBDA, endpoint, target, kind="lambda", payload=json.dumps(payload), left_ms=20_000)


@pytest.mark.sem("SEM-TARGET-7")
async def test_what_a_function_returns_is_the_result(endpoint: str, function: str) -> None:
    """It is told all that every target is told; the end of what it prints is kept."""
    invocation = an_invocation(Target(kind="lambda", settings={"functionArn": ARN}), left_ms=20_000, payload='{"a":1}')
    with a_runner(LAMBDA, endpoint) as runner:
        result = await runner.run(invocation)

    assert isinstance(result, Success)
    assert json.loads(result.result or "") == {"of": invocation.execution.ref.id, "epoch": 1, "big": ""}
    assert "said {'a': 1}" in invocation.log.tail().text


@pytest.mark.sem("SEM-TARGET-7")
async def test_what_a_function_raises_is_a_failure(endpoint: str, function: str) -> None:
    """It may be tried again, unless the job gives up on its class."""
    result = await invoke(endpoint, {"raises": True})

    assert isinstance(result, Failure)
    assert result.error.message == "no account 17"
    assert result.error.error_class


@pytest.mark.sem("SEM-TARGET-7")
async def test_a_function_that_takes_too_long_has_timed_out(endpoint: str, function: str) -> None:
    """Its own limit ends it before the attempt's does."""
    result = await invoke(endpoint, {"sleeps": 10})

    assert isinstance(result, Failure)
    assert result.reason is Reason.TIMED_OUT


async def test_an_attempt_ends_at_its_own_limit_though_the_function_does_not(endpoint: str, function: str) -> None:
    """The call is left behind in its thread."""
    invocation = an_invocation(
        Target(kind="lambda", settings={"functionArn": ARN}), payload='{"sleeps":1.5}', left_ms=300
    )
    with a_runner(LAMBDA, endpoint) as runner:
        result = await runner.run(invocation)

    assert isinstance(result, Failure)
    assert result.reason is Reason.TIMED_OUT


async def test_a_function_that_dies_is_a_failure(endpoint: str, function: str) -> None:
    """Out of memory looks alike: it counts as an attempt."""
    assert isinstance(await invoke(endpoint, {"dies": True}), Failure)


async def test_an_answer_that_is_too_large_to_keep_is_a_success_without_a_result(endpoint: str, function: str) -> None:
    """The work is done."""
    assert await invoke(endpoint, {"big": 200_000}) == Success(result=None)


@pytest.mark.sem("SEM-TARGET-6")
async def test_a_throttled_function_was_not_run(endpoint: str, function: str, client: Client) -> None:
    """No attempt is counted, and those that were throttled together come back apart."""
    client("lambda").put_function_concurrency(FunctionName=NAME, ReservedConcurrentExecutions=0)

    result = await invoke(endpoint)

    assert isinstance(result, NotRun)
    assert 10 <= result.after_s <= 30


@pytest.mark.sem("SEM-TARGET-6")
async def test_a_function_that_is_missing_is_fatal(endpoint: str) -> None:
    """No other attempt can mend it."""
    result = await invoke(endpoint)

    assert isinstance(result, Fatal)
    assert result.error.error_class == "ResourceNotFoundException"


async def test_an_event_is_a_success_once_it_is_taken(endpoint: str, function: str) -> None:
    """Nobody waits for its end."""
    result = await invoke(endpoint, invocation="event")

    assert isinstance(result, Success)
    assert "requestId" in (result.result or "")


async def test_an_event_that_is_called_back_about_is_handed_over(endpoint: str, function: str) -> None:
    """The function completes it by executionId and leaseEpoch."""
    assert await invoke(endpoint, invocation="event", completion="callback") == HandedOver()


async def test_many_attempts_share_one_client(endpoint: str, function: str) -> None:
    """They run side by side, each in a thread."""
    with a_runner(LAMBDA, endpoint) as runner:
        attempts = [an_invocation(Target(kind="lambda", settings={"functionArn": ARN}), left_ms=30_000) for _ in "1234"]
        results = await asyncio.gather(*(runner.run(attempt) for attempt in attempts))

    assert all(isinstance(result, Success) for result in results)
