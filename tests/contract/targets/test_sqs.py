"""Does an `sqs` target put the message where it belongs, once where the queue can tell?"""

import json
from typing import Any

import pytest

from tests.contract.targets.conftest import ACCOUNT, Client, run
from tickwright.adapters.targets.sqs import SQS
from tickwright.domain.attempts import Fatal, HandedOver, Success, UserResult

pytestmark = pytest.mark.emulator


async def send(endpoint: str, queue: str, payload: object = None, **settings: object) -> UserResult:
    target = {"queueArn": f"arn:aws:sqs:{ACCOUNT}:{queue}"} | settings
    return await run(SQS, endpoint, target, kind="sqs", payload=json.dumps(payload, ensure_ascii=False))


def received(client: Client, url: str) -> list[Any]:
    answer = client("sqs").receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        MessageAttributeNames=["All"],
        MessageSystemAttributeNames=["All"],
    )
    return list(answer.get("Messages", []))


@pytest.mark.sem("SEM-TARGET-8")
async def test_a_message_tells_all_that_a_target_is_told(endpoint: str, client: Client) -> None:
    """The body is the envelope; id and epoch stand in attributes too, where a filter sees them."""
    url = client("sqs").create_queue(QueueName="target-plain")["QueueUrl"]

    result = await send(endpoint, "target-plain", {"a": "\u00e9\uffff\ufffe\x00"}, messageGroupId="t1")

    (message,) = received(client, url)
    body = json.loads(message["Body"])
    assert isinstance(result, Success)
    assert json.loads(result.result or "") == {"messageId": message["MessageId"]}
    assert body["payload"] == {"a": "\u00e9\uffff\ufffe\x00"}
    assert message["MessageAttributes"]["executionId"]["StringValue"] == body["executionId"]
    assert message["MessageAttributes"]["leaseEpoch"]["StringValue"] == "1"
    assert message["Attributes"]["MessageGroupId"] == "t1"


@pytest.mark.sem("SEM-TARGET-8")
async def test_a_fifo_queue_gets_a_message_once(endpoint: str, client: Client) -> None:
    """A second try of what was sent is dropped by the queue; the group is the job, so that its runs stay in order."""
    url = client("sqs").create_queue(QueueName="target-once.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]

    first = await send(endpoint, "target-once.fifo")
    second = await send(endpoint, "target-once.fifo")

    (message,) = received(client, url)
    assert first == second
    assert message["Attributes"]["MessageGroupId"] == json.loads(message["Body"])["jobId"]


async def test_what_is_called_back_about_is_handed_over(endpoint: str, client: Client) -> None:
    """Whoever receives the message completes the execution."""
    client("sqs").create_queue(QueueName="target-back")

    assert await send(endpoint, "target-back", completion="callback") == HandedOver()


@pytest.mark.sem("SEM-TARGET-6")
async def test_a_queue_that_is_missing_is_fatal(endpoint: str) -> None:
    """No other attempt can mend it."""
    result = await send(endpoint, "target-nowhere")

    assert isinstance(result, Fatal)
    assert "NonExistent" in result.error.error_class or "DoesNotExist" in result.error.error_class
