"""The fence in DynamoDB, on DynamoDB Local and ministack: put, update, tombstone, transaction."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.emulators.clients import aws_client
from tickwright_sdk.fences import Fence, FenceRefused, dynamodb

_TABLES = count()


def fence(number: int) -> Fence:
    """The fence of one execution."""
    return Fence(owner="e1", number=number)


@pytest.fixture(params=["dynamodb_local", "ministack"])
def client(request: pytest.FixtureRequest) -> DynamoDBClient:
    """A client of each engine."""
    return aws_client("dynamodb", request.getfixturevalue(request.param).endpoint)


@pytest.fixture
def table(client: DynamoDBClient) -> str:
    """A table of this test's own."""
    name = f"bills-{next(_TABLES)}"
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name


def _item(client: DynamoDBClient, table: str, key: str = "a") -> dict[str, Any]:
    return dict(client.get_item(TableName=table, Key={"pk": {"S": key}}, ConsistentRead=True).get("Item", {}))


def _put(client: DynamoDBClient, table: str, number: int) -> None:
    item = {"pk": {"S": "a"}, "cents": {"N": str(number * 10)}}
    dynamodb.put(client, {"TableName": table, "Item": item}, fence(number))


def _update(client: DynamoDBClient, table: str, number: int) -> None:
    request = {
        "TableName": table,
        "Key": {"pk": {"S": "a"}},
        "UpdateExpression": "SET cents = :cents REMOVE note",
        "ExpressionAttributeValues": {":cents": {"N": str(number * 10)}},
    }
    dynamodb.update(client, request, fence(number))


@pytest.mark.sem("SEM-SDK-12")
@pytest.mark.parametrize("write", [_put, _update])
def test_a_write_is_refused_once_a_later_attempt_has_written(
    client: DynamoDBClient, table: str, write: Callable[[DynamoDBClient, str, int], None]
) -> None:
    """Compared as numbers: 10 is after 9. The refusal says whose number stands there."""
    for number in (8, 8, 9, 10):
        write(client, table, number)
    with pytest.raises(FenceRefused) as raised:
        write(client, table, 9)

    assert raised.value.seen == 10
    assert _item(client, table) == {"pk": {"S": "a"}, "cents": {"N": "100"}, "fence": {"N": "10"}}


def test_an_item_from_before_there_were_fences_is_taken(client: DynamoDBClient, table: str) -> None:
    """A table need not be migrated."""
    client.put_item(TableName=table, Item={"pk": {"S": "a"}, "note": {"S": "old"}})

    _update(client, table, 1)

    assert _item(client, table) == {"pk": {"S": "a"}, "cents": {"N": "10"}, "fence": {"N": "1"}}


@pytest.mark.sem("SEM-SDK-12")
def test_what_is_buried_still_refuses_a_zombie(client: DynamoDBClient, table: str) -> None:
    """A delete would have forgotten the fence, and let the zombie's item rise again."""
    _put(client, table, 2)

    dynamodb.bury(client, table, {"pk": {"S": "a"}}, fence(3), remove=("cents",))
    with pytest.raises(FenceRefused):
        _put(client, table, 2)

    assert _item(client, table) == {"pk": {"S": "a"}, "deleted": {"BOOL": True}, "fence": {"N": "3"}}


@pytest.mark.sem("SEM-SDK-12")
def test_a_zombie_buries_nothing_that_a_later_attempt_has_written(client: DynamoDBClient, table: str) -> None:
    """The item is as the later attempt left it, alive and with all its attributes."""
    _put(client, table, 3)
    before = _item(client, table)

    with pytest.raises(FenceRefused) as raised:
        dynamodb.bury(client, table, {"pk": {"S": "a"}}, fence(2), remove=("cents",))

    assert raised.value.seen == 3
    assert _item(client, table) == before


@pytest.mark.sem("SEM-SDK-12")
def test_a_transaction_behind_a_guard_writes_all_or_nothing(client: DynamoDBClient, table: str) -> None:
    """The zombie's item has a key of its own, which no fence was ever at: the guard refuses it all the same."""

    def pay(number: int) -> None:
        item = {"pk": {"S": f"payment-{number}"}}
        guard = {"pk": {"S": "FENCE#e1"}}
        dynamodb.transact(client, [{"Put": {"TableName": table, "Item": item}}], fence(number), table=table, key=guard)

    pay(2)
    with pytest.raises(FenceRefused) as raised:
        pay(1)
    pay(3)

    assert raised.value.seen == 2
    assert [_item(client, table, f"payment-{number}") != {} for number in (1, 2, 3)] == [False, True, True]
    assert _item(client, table, "FENCE#e1")["fence"] == {"N": "3"}


@pytest.mark.parametrize("exists", [True, False])
def test_a_condition_of_the_callers_own_fails_as_botocore_says_it(
    client: DynamoDBClient, table: str, *, exists: bool
) -> None:
    """Not a zombie: the caller's own rule said no, whether the item was there or not."""
    if exists:
        _put(client, table, 1)
    request = {
        "TableName": table,
        "Item": {"pk": {"S": "a"}},
        "ConditionExpression": "paid = :no OR attribute_exists(paid)",
        "ExpressionAttributeValues": {":no": {"BOOL": False}},
    }

    with pytest.raises(client.exceptions.ConditionalCheckFailedException):
        dynamodb.put(client, request, fence(2))


@pytest.mark.sem("SEM-SDK-12")
def test_a_condition_of_the_callers_own_cannot_let_a_zombie_through(client: DynamoDBClient, table: str) -> None:
    """An OR of the caller's is kept in brackets."""
    _put(client, table, 2)
    request = {
        "TableName": table,
        "Item": {"pk": {"S": "a"}},
        "ConditionExpression": "attribute_exists(pk) OR attribute_exists(cents)",
    }

    with pytest.raises(FenceRefused):
        dynamodb.put(client, request, fence(1))

    assert _item(client, table)["fence"] == {"N": "2"}
