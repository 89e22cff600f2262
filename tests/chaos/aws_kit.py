"""How a process of a chaos run reaches DynamoDB and SQS: with the product's own clients, and under a name of its own.

Must not know whether a proxy stands between.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tickwright.adapters.aws.clients import dynamodb_client, sqs_client
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.dynamodb.engine import Options
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.dynamodb.tables import TableNames
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.adapters.sqs.queue import QueueUrls, SqsQueue
from tickwright.domain.lanes import LANES
from tickwright.ports.telemetry import Telemetry
from tickwright.services.kit import Kit

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": "*",
}
_NAME = "AWS_SDK_UA_APP_ID"  # the SDK says this name with each request


@contextmanager
def aws_kit(place: Mapping[str, Any], telemetry: Telemetry, *, member: str) -> Iterator[Kit]:
    """A kit on the tables and queues of a place."""
    os.environ |= {**ENVIRONMENT, _NAME: member}
    clock, entropy = SystemClock(), SystemEntropy()
    store = DynamoDbStore(
        dynamodb_client(endpoint_url=place["dynamodb"]),
        TableNames(**place["tables"]),
        clock=clock,
        entropy=entropy,
        options=Options(),
    )
    queue = SqsQueue(sqs_client(endpoint_url=place["sqs"]), urls_of(place["queues"]), clock=clock, entropy=entropy)
    try:
        yield Kit(store=store, queue=queue, clock=clock, entropy=entropy, telemetry=telemetry)
    finally:
        queue.close()
        store.close()


def urls_of(by_role: Mapping[str, str]) -> QueueUrls:
    """The queues by what they are for."""
    return QueueUrls(
        ready={lane: by_role[lane.value] for lane in LANES},
        undelivered={lane: by_role[f"{lane.value}-undelivered"] for lane in LANES},
        fleet={lane: by_role[f"fargate-{lane.value}"] for lane in LANES},
        dead=by_role["dead"],
    )
