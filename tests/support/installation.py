"""Tickwright on a local AWS engine.

Tables and queues as the synthesised templates have them, and the environment of its functions.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.emulators.clients import aws_client
from tests.support.tables import arn_of, create_queues, create_tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Where it is and what it is called there."""

    store_endpoint: str
    queue_endpoint: str
    tables: Mapping[str, str]
    queues: Mapping[str, str]
    pool_queues: str = "test-pool"
    pools_undelivered_arn: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """What its functions find in their environment."""
        roles = [role for role in self.queues if "undelivered" not in role or role == "intake-undelivered"]
        return {
            "TICKWRIGHT_STAGE": "test",
            "TICKWRIGHT_BUCKETS": "16",
            "TICKWRIGHT_BUCKETS_SERVED": "16",
            "TICKWRIGHT_EPOCH_BASE": "0",
            "TICKWRIGHT_SCALE": "1",
            "TICKWRIGHT_PAGE_SECRET": "a secret of the tests, long enough",
            "TICKWRIGHT_TARGETS": "{}",
            "TICKWRIGHT_CLAIM_SEATS": "10",
            "TICKWRIGHT_WEBHOOK_KEY": "a key of the tests, long enough",
            "AWS_ENDPOINT_URL_DYNAMODB": self.store_endpoint,
            "AWS_ENDPOINT_URL_SQS": self.queue_endpoint,
            **{f"TICKWRIGHT_{role.upper()}_TABLE": name for role, name in self.tables.items()},
            **{f"TICKWRIGHT_QUEUE_{role.upper().replace('-', '_')}": self.queues[role] for role in roles},
            "TICKWRIGHT_POOL_QUEUES": self.pool_queues,
            "TICKWRIGHT_POOL_DLQ": self.pools_undelivered_arn,
        }


def install(store_endpoint: str, queue_endpoint: str, prefix: str) -> Installation:
    """Create the tables and queues of one installation, on one engine or on two."""
    sqs = aws_client("sqs", queue_endpoint)
    queues = create_queues(sqs, prefix=prefix)
    return Installation(
        pool_queues=f"{prefix}pool",
        pools_undelivered_arn=arn_of(sqs, queues["pools-undelivered"]),
        store_endpoint=store_endpoint,
        queue_endpoint=queue_endpoint,
        tables=create_tables(aws_client("dynamodb", store_endpoint), prefix=prefix),
        queues=queues,
    )


@contextmanager
def in_environment(values: Mapping[str, str]) -> Iterator[None]:
    """Let the process have these variables for a while."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
