"""How a client of an AWS service is made: every timeout and every retry written out.

The SDK's own retries are off: the adapters decide what is repeated and how a repeated write is judged (SEM-STORE-5).
Must not know an operation. boto3 is left out: it adds a third to a cold start and nothing else that is used here.
"""

from botocore.client import BaseClient
from botocore.config import Config
from botocore.session import Session

CONNECT_TIMEOUT_S = 1.0  # same region: a connection takes milliseconds
DYNAMODB_READ_TIMEOUT_S = 3.0  # its slowest answers take tens of milliseconds; a repeated write is judged, not feared
SQS_READ_TIMEOUT_S = 25.0  # a long poll waits for up to 20 s
TARGET_READ_TIMEOUT_S = 60.0  # each call names its own instead (timed.py)
CONNECTIONS = 32  # also the number of threads: one call each
INTAKE_CONNECTIONS = 4  # of SQS beside those: a request or a landing puts one at a time

# botocore knows the second alone, and CDK and all other SDKs ask for the first: both act on one Region.
_REGION = ("region", ["AWS_REGION", "AWS_DEFAULT_REGION"], None, None)


def new_session() -> Session:
    """What the clients of one kit share: it reads what the SDK knows of AWS, and whose credentials there are, once.

    It makes one client at a time.
    """
    return Session(session_vars={"region": _REGION})


def dynamodb_client(
    session: Session | None = None, *, endpoint_url: str | None = None, region: str | None = None
) -> BaseClient:
    """A DynamoDB client; `endpoint_url` is for the local engines."""
    return _client(
        session or new_session(), "dynamodb", DYNAMODB_READ_TIMEOUT_S, endpoint_url=endpoint_url, region=region
    )


def sqs_client(
    session: Session | None = None, *, endpoint_url: str | None = None, region: str | None = None
) -> BaseClient:
    """An SQS client, for queues and an intake; `endpoint_url` is for the local engines."""
    return _client(
        session or new_session(),
        "sqs",
        SQS_READ_TIMEOUT_S,
        endpoint_url=endpoint_url,
        region=region,
        connections=CONNECTIONS + INTAKE_CONNECTIONS,
    )


def target_client(service: str, *, region: str, connections: int, endpoint_url: str | None = None) -> BaseClient:
    """A client of a service that a target calls, in the region that the target names, to be called with time limits."""
    # Made in a thread, when a first attempt needs it: a session of its own.
    session = new_session()
    return _client(
        session, service, TARGET_READ_TIMEOUT_S, endpoint_url=endpoint_url, region=region, connections=connections
    )


def _client(  # noqa: PLR0913 - all that a client is made with
    session: Session,
    service: str,
    read_timeout_s: float,
    *,
    region: str | None,
    endpoint_url: str | None = None,
    connections: int = CONNECTIONS,
) -> BaseClient:
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
