"""How a client of an AWS service is made: every timeout and every retry written out.

The SDK's own retries are off: the adapters decide what is repeated and how a repeated write is judged (SEM-STORE-2).
Must not know an operation. boto3 is left out: it adds a third to a cold start and nothing else that is used here.
"""

import botocore.session
from botocore.client import BaseClient
from botocore.config import Config

CONNECT_TIMEOUT_S = 1.0  # same region: a connection takes milliseconds
DYNAMODB_READ_TIMEOUT_S = 3.0  # its slowest answers take tens of milliseconds; a repeated write is judged, not feared
SQS_READ_TIMEOUT_S = 25.0  # a long poll waits for up to 20 s
CLOUDFORMATION_READ_TIMEOUT_S = 20.0  # a person waits for it
CONNECTIONS = 32  # also the number of threads: one call each


def dynamodb_client(*, endpoint_url: str | None = None, region: str | None = None) -> BaseClient:
    """A DynamoDB client; `endpoint_url` is for the local engines."""
    return _client("dynamodb", DYNAMODB_READ_TIMEOUT_S, endpoint_url=endpoint_url, region=region)


def sqs_client(*, endpoint_url: str | None = None, region: str | None = None) -> BaseClient:
    """An SQS client; `endpoint_url` is for the local engines."""
    return _client("sqs", SQS_READ_TIMEOUT_S, endpoint_url=endpoint_url, region=region)


def target_client(service: str, *, region: str, read_timeout_s: float, connections: int) -> BaseClient:
    """A client of a service that a target calls, in the region that the target names; a connection a thread."""
    return _client(service, read_timeout_s, endpoint_url=None, region=region, connections=connections)


def cloudformation_client(*, region: str | None = None) -> BaseClient:
    """A CloudFormation client, for an operator's command: it asks once, from wherever the operator is."""
    return _client("cloudformation", CLOUDFORMATION_READ_TIMEOUT_S, endpoint_url=None, region=region, connections=1)


def _client(
    service: str,
    read_timeout_s: float,
    *,
    endpoint_url: str | None,
    region: str | None,
    connections: int = CONNECTIONS,
) -> BaseClient:
    session = botocore.session.get_session()
    return session.create_client(
        service,
        region_name=region,
        endpoint_url=endpoint_url,
        config=Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=read_timeout_s,
            max_pool_connections=connections,
            retries={"total_max_attempts": 1, "mode": "standard"},
            tcp_keepalive=True,
        ),
    )
