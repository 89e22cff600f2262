"""What the proxy says in the name of a service is read by the product's adapters as that service's own word."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.chaos.aws_kit import ENVIRONMENT
from tests.chaos.faults import Fault, Kind, Service
from tests.chaos.proxy import Proxy, listen
from tests.chaos.test_proxy import Fixed
from tickwright.adapters.aws.clients import dynamodb_client, sqs_client
from tickwright.adapters.aws.faults import passing_fault

TABLE = "t"
QUEUE = "http://127.0.0.1/000000000000/q"
WRITES: Mapping[tuple[Service, str], Mapping[str, Any]] = {
    (Service.DYNAMODB, "put_item"): {"TableName": TABLE, "Item": {"pk": {"S": "a"}}},
    (Service.DYNAMODB, "transact_write_items"): {
        "TransactItems": [{"Put": {"TableName": TABLE, "Item": {"pk": {"S": pk}}}} for pk in "ab"]
    },
    (Service.DYNAMODB, "batch_execute_statement"): {"Statements": [{"Statement": "INSERT"}, {"Statement": "INSERT"}]},
    (Service.SQS, "send_message"): {"QueueUrl": QUEUE, "MessageBody": "b"},
    (Service.SQS, "send_message_batch"): {
        "QueueUrl": QUEUE,
        "Entries": [{"Id": name, "MessageBody": "b"} for name in "12"],
    },
}


@asynccontextmanager
async def told(service: Service, kind: Kind, log: Path) -> AsyncIterator[Any]:
    """A client of the product's whose every call meets a fault; nothing is behind the proxy."""
    opened = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    proxy = Proxy(fate=Fixed(Fault(kind=kind), service), upstream="http://127.0.0.1:9", start_ms=0, log=opened)
    server, place = await listen(proxy)
    made = dynamodb_client if service is Service.DYNAMODB else sqs_client
    client = made(endpoint_url=place)
    try:
        yield client
    finally:
        await asyncio.to_thread(client.close)
        server.close()
        serving = asyncio.all_tasks() - {asyncio.current_task()}
        for one in serving:
            one.cancel()  # the client keeps its connections
        if serving:
            await asyncio.wait(serving)  # one that was closing already ends as cancelled: as well
        os.close(opened)


@pytest.fixture(autouse=True)
def invented_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the processes of a run have them."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("kind", [Kind.CUT, Kind.ERROR, Kind.THROTTLE])
@pytest.mark.parametrize(("service", "operation"), list(WRITES))
async def test_a_fault_of_a_whole_call_is_one_that_passes(
    tmp_path: Path, kind: Kind, service: Service, operation: str
) -> None:
    """The adapters try again; anything else would be a bug of ours, raised as it is."""
    async with told(service, kind, tmp_path / "log") as client:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is judged below
            await asyncio.to_thread(lambda: getattr(client, operation)(**WRITES[service, operation]))

    assert passing_fault(raised.value) is not None


@pytest.mark.parametrize(("service", "operation"), [(Service.DYNAMODB, "put_item"), (Service.SQS, "send_message")])
async def test_a_conflict_of_one_write_is_one_that_passes(tmp_path: Path, service: Service, operation: str) -> None:
    """It says nothing of the write's condition."""
    async with told(service, Kind.CONFLICT, tmp_path / "log") as client:
        with pytest.raises(ClientError) as raised:
            await asyncio.to_thread(lambda: getattr(client, operation)(**WRITES[service, operation]))

    assert passing_fault(raised.value) is not None


async def test_a_conflict_of_a_transaction_names_the_item_in_the_way(tmp_path: Path) -> None:
    """By a reason for each item, in their order."""
    request = WRITES[Service.DYNAMODB, "transact_write_items"]
    async with told(Service.DYNAMODB, Kind.CONFLICT, tmp_path / "log") as client:
        with pytest.raises(client.exceptions.TransactionCanceledException) as raised:
            await asyncio.to_thread(lambda: client.transact_write_items(**request))

    assert [reason["Code"] for reason in raised.value.response["CancellationReasons"]] == [
        "None",
        "TransactionConflict",
    ]


async def test_a_conflict_of_a_batch_is_said_of_each_part(tmp_path: Path) -> None:
    """The call itself is answered well."""
    request = WRITES[Service.DYNAMODB, "batch_execute_statement"]
    async with told(Service.DYNAMODB, Kind.CONFLICT, tmp_path / "log") as client:
        answer = await asyncio.to_thread(lambda: client.batch_execute_statement(**request))
    assert [said["Error"]["Code"] for said in answer["Responses"]] == ["TransactionConflict"] * 2

    request = WRITES[Service.SQS, "send_message_batch"]
    async with told(Service.SQS, Kind.CONFLICT, tmp_path / "log") as client:
        answer = await asyncio.to_thread(lambda: client.send_message_batch(**request))
    assert [failed["Id"] for failed in answer["Failed"]] == ["1", "2"]
