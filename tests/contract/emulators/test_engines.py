"""The local engines keep what is written, decide one condition at a time, and die with the tests that started them."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.emulators import Emulator, missing_dynamodb_local, start_dynamodb_local
from tests.support.emulators.clients import aws_client
from tests.support.emulators.installed import give_up_on

ROOT = Path(__file__).resolve().parents[3]
CONTENDERS = 8
ROUNDS = 25
DIES_WITHIN_S = 10

TABLE_OF_THE_ENGINES = "engines"


@pytest.fixture(params=["dynamodb_local", "ministack", "moto"])
def tables(request: pytest.FixtureRequest) -> Iterator[DynamoDBClient]:
    """A client of one engine with one table, `id` its key."""
    engine: Emulator | None = request.getfixturevalue(request.param)
    client = aws_client("dynamodb", engine.endpoint if engine else None)
    client.create_table(
        TableName=TABLE_OF_THE_ENGINES,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    yield client
    client.delete_table(TableName=TABLE_OF_THE_ENGINES)


def test_an_item_that_was_put_is_read_back(tables: DynamoDBClient) -> None:
    """A consistent read after a put returns the item as it was written."""
    item = {"id": {"S": "a"}, "leaseEpoch": {"N": "3"}}

    tables.put_item(TableName=TABLE_OF_THE_ENGINES, Item=item)

    read = tables.get_item(TableName=TABLE_OF_THE_ENGINES, Key={"id": {"S": "a"}}, ConsistentRead=True)
    assert read["Item"] == item


def test_one_of_many_contenders_wins_a_conditional_write(tables: DynamoDBClient) -> None:
    """Of eight threads that put the same absent item, exactly one succeeds, in every round."""

    def put(contender: int, key: str) -> bool:
        try:
            tables.put_item(
                TableName=TABLE_OF_THE_ENGINES,
                Item={"id": {"S": key}, "by": {"N": str(contender)}},
                ConditionExpression="attribute_not_exists(id)",
            )
        except tables.exceptions.ConditionalCheckFailedException:
            return False
        return True

    with ThreadPoolExecutor(CONTENDERS) as threads:
        winners = [
            sum(threads.map(put, range(CONTENDERS), [f"round-{number}"] * CONTENDERS)) for number in range(ROUNDS)
        ]

    assert winners == [1] * ROUNDS


def test_a_message_that_was_sent_is_received(ministack: Emulator) -> None:
    """The queues of ministack hand out what was sent to them."""
    queues = aws_client("sqs", ministack.endpoint)
    url = queues.create_queue(QueueName="engines")["QueueUrl"]

    queues.send_message(QueueUrl=url, MessageBody="hint")

    received = queues.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"]
    assert [message["Body"] for message in received] == ["hint"]


@pytest.mark.emulator
def test_a_stopped_engine_frees_its_port() -> None:
    """After stop() nothing listens there any more, and a second stop() changes nothing."""
    reason = missing_dynamodb_local()
    if reason is not None:
        give_up_on("DynamoDB Local", reason)
    emulator = start_dynamodb_local()
    assert _listens(emulator.endpoint)

    emulator.stop()
    emulator.stop()

    assert not _listens(emulator.endpoint)


@pytest.mark.emulator
def test_an_engine_dies_with_killed_tests() -> None:
    """A test process that is killed outright, and so runs no exit handler, leaves no server behind."""
    reason = missing_dynamodb_local()
    if reason is not None:
        give_up_on("DynamoDB Local", reason)
    program = (
        "from tests.support.emulators import start_dynamodb_local\n"
        "print(start_dynamodb_local().endpoint, flush=True)\n"
        "input()\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with starter:
        assert starter.stdout is not None
        endpoint = starter.stdout.readline().strip()
        assert _listens(endpoint)

        starter.send_signal(signal.SIGKILL)

    assert _falls_silent(endpoint)


def _falls_silent(endpoint: str) -> bool:
    give_up_at = time.monotonic() + DIES_WITHIN_S
    while _listens(endpoint) and time.monotonic() < give_up_at:
        time.sleep(0.05)
    return not _listens(endpoint)


def _listens(endpoint: str) -> bool:
    address = urlsplit(endpoint)
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname, address.port)) == 0
