"""Which errors of an AWS service say that the world is unwell, so that asking again is right.

Must not know an operation's own answers (a refused condition is one). What is not named here is a bug or a
wrong setting, and is raised as it is. Promise: SEM-STORE-5.
"""

from collections.abc import Mapping
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
)
from botocore.exceptions import (
    ConnectionError as AwsConnectionError,
)
from botocore.parsers import ResponseParserError

# Throttled: nothing was done. The service answers, and has too much to do.
THROTTLED: Final = frozenset(
    {
        "LimitExceededException",
        "OverLimit",
        "AWS.SimpleQueueService.OverLimit",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
        "KmsThrottled",
    }
)
# Another transaction holds the item: nothing was done, and no condition was judged.
_CONFLICT: Final = frozenset(
    {
        "ReplicatedWriteConflictException",
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
# Ill, or late: what was asked may have been done.
_UNKNOWN: Final = frozenset(
    {
        "ExpiredTokenException",
        "InternalError",
        "InternalFailure",
        "InternalServerError",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
    }
)
PASSING: Final = THROTTLED | _CONFLICT | _UNKNOWN
_SERVER_ERROR: Final = 500
_CUT_OFF: Final = (AwsConnectionError, HTTPClientError, ResponseParserError, CredentialRetrievalError)
# All that a client raises for a call.
CALL_ERRORS: Final = (ClientError, BotoCoreError, ResponseParserError)


def passing_fault(error: Exception) -> str | None:
    """The name of a fault that passes, or None if asking again is of no use."""
    if isinstance(error, _CUT_OFF):
        return type(error).__name__
    if not isinstance(error, ClientError):
        return None
    answer: Mapping[str, Any] = error.response
    code: str = answer.get("Error", {}).get("Code", "")
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return code if code in PASSING or status >= _SERVER_ERROR else None


def is_put_off(error: Exception) -> bool:
    """Whether it is the answer of a service that is there, and has nothing against the request but the moment."""
    if not isinstance(error, ClientError):
        return False
    answer: Mapping[str, Any] = error.response
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return code_of(error) in THROTTLED | _CONFLICT and status < _SERVER_ERROR


def code_of(error: ClientError) -> str:
    """What the service calls the error."""
    return str(error.response.get("Error", {}).get("Code", ""))
