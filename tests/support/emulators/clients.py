"""A client for a local engine: invented credentials, written-out timeouts, no proxy, no file of the user's settings."""

from typing import Any, Literal, overload

import botocore.session
from botocore.config import Config
from mypy_boto3_dynamodb import DynamoDBClient
from mypy_boto3_sqs import SQSClient

REGION = "us-east-1"
CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 30
CONNECTIONS_MAX = 32


@overload
def aws_client(service: Literal["dynamodb"], endpoint: str | None, *, attempts: int = 1) -> DynamoDBClient: ...
@overload
def aws_client(service: Literal["sqs"], endpoint: str | None, *, attempts: int = 1) -> SQSClient: ...
@overload
def aws_client(service: str, endpoint: str | None, *, attempts: int = 1) -> Any: ...  # noqa: ANN401 - other services are few


def aws_client(service: str, endpoint: str | None, *, attempts: int = 1) -> object:
    """Make a client of `service` at `endpoint`; None is for moto, which answers inside this process.

    One attempt by default: a test that wants retries says so, and a failure is seen when it happens.
    """
    session = botocore.session.Session(profile=None)
    return session.create_client(
        service,
        region_name=REGION,
        endpoint_url=endpoint,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            retries={"total_max_attempts": attempts, "mode": "standard"},
            max_pool_connections=CONNECTIONS_MAX,
            proxies={},
        ),
    )
