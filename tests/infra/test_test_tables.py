"""The tables and queues that other tests use: those of the templates, whatever was kept in .build/."""

import json
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.policy.checks import QUEUE, TABLE
from infra.policy.templates import Templates
from tests.support import tables

ROLES = {"jobs": "Jobs", "executions": "Executions", "journal": "Journal", "control": "Control"}


def test_the_kept_tables_are_those_of_the_template(dev: Templates) -> None:
    """A kept template that outlived a change would test yesterday's keys."""
    synthesised = {address.logical_id: table["Properties"] for address, table in dev.of_type(TABLE)}

    kept = tables.table_definitions()

    assert {role: kept[role]["KeySchema"] for role in ROLES} == {
        role: synthesised[name]["KeySchema"] for role, name in ROLES.items()
    }
    assert {role: kept[role].get("TimeToLive") for role in ROLES} == {
        "jobs": None,
        "executions": "ttl",
        "journal": None,
        "control": "ttl",
    }


def test_the_kept_queues_are_those_of_the_template(dev: Templates) -> None:
    """All nine, each with the visibility that is deployed."""
    synthesised = sorted(queue["Properties"]["VisibilityTimeout"] for _, queue in dev.of_type(QUEUE))

    kept = sorted(int(queue.attributes["VisibilityTimeout"]) for queue in tables.queue_definitions().values())

    assert kept == synthesised


def described(name: str) -> dict[str, Any]:
    table: dict[str, Any] = dict(boto3.client("dynamodb").describe_table(TableName=name)["Table"])
    return table


def test_tables_are_created_with_their_indexes() -> None:
    """On any endpoint: here one in this process."""
    with mock_aws():
        names = tables.create_tables(boto3.client("dynamodb"), prefix="t1-")

        indexes = {
            role: {index["IndexName"] for index in described(name).get("GlobalSecondaryIndexes", [])}
            for role, name in names.items()
        }
        ttl = boto3.client("dynamodb").describe_time_to_live(TableName=names["executions"])

    assert names == {role: f"t1-{role}" for role in ROLES}
    assert indexes == {
        "jobs": {"due", "tenant"},
        "executions": {"waiting", "attention"},
        "journal": set(),
        "control": set(),
    }
    assert ttl["TimeToLiveDescription"]["AttributeName"] == "ttl"


@pytest.mark.parametrize("lane", ["high", "normal", "low", "backfill"])
def test_queues_are_created_with_their_dead_letter_queues(lane: str) -> None:
    """A test that receives a poisoned hint a thousand times finds it where production would."""
    with mock_aws():
        client = boto3.client("sqs")
        urls = tables.create_queues(client, prefix="t1-")

        asked = client.get_queue_attributes(QueueUrl=urls[lane], AttributeNames=["All"])["Attributes"]

    redrive = json.loads(asked["RedrivePolicy"])
    assert redrive["deadLetterTargetArn"].endswith(f":t1-{lane}-undelivered")
    assert redrive["maxReceiveCount"] == 1_000
