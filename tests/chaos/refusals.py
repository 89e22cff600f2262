"""How the services word a refusal in which nothing was done, or in which the caller is told so.

Must not know when it is told.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.chaos.faults import Kind, Service

_DYNAMODB: Final = "com.amazonaws.dynamodb.v20120810#"
_SQS: Final = "com.amazonaws.sqs#"
_ERRORS: Final[Mapping[tuple[Service, Kind], tuple[int, str]]] = {
    (Service.DYNAMODB, Kind.ERROR): (500, f"{_DYNAMODB}InternalServerError"),
    (Service.DYNAMODB, Kind.LATE_ERROR): (500, f"{_DYNAMODB}InternalServerError"),
    (Service.DYNAMODB, Kind.THROTTLE): (400, f"{_DYNAMODB}ProvisionedThroughputExceededException"),
    (Service.DYNAMODB, Kind.CONFLICT): (400, f"{_DYNAMODB}TransactionConflictException"),
    (Service.SQS, Kind.ERROR): (500, f"{_SQS}InternalFailure"),
    (Service.SQS, Kind.LATE_ERROR): (500, f"{_SQS}InternalFailure"),
    (Service.SQS, Kind.THROTTLE): (403, f"{_SQS}RequestThrottled"),
    (Service.SQS, Kind.CONFLICT): (403, f"{_SQS}RequestThrottled"),  # it knows no conflicts
}
_MESSAGE: Final = "A fault of the chaos run."


def refusal(service: Service, kind: Kind, operation: str, body: bytes) -> bytes:
    """The whole answer to a request."""
    if kind is Kind.CONFLICT and operation in _INSIDE:
        status, said = _INSIDE[operation](json.loads(body))
        return _answer(status, said)
    status, name = _ERRORS[service, kind]
    return _answer(status, {"__type": name, "message": _MESSAGE})


def _cancelled(request: Mapping[str, Any]) -> tuple[int, Mapping[str, object]]:
    """The last item of the transaction is the one in the way."""
    reasons = [{"Code": "None"} for _ in request["TransactItems"][1:]] + [
        {"Code": "TransactionConflict", "Message": _MESSAGE}
    ]
    codes = ", ".join(reason["Code"] for reason in reasons)
    told = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    name = f"{_DYNAMODB}TransactionCanceledException"
    return 400, {"__type": name, "Message": told, "CancellationReasons": reasons}


def _statements(request: Mapping[str, Any]) -> tuple[int, Mapping[str, object]]:
    refused = {"Error": {"Code": "TransactionConflict", "Message": _MESSAGE}}
    return 200, {"Responses": [refused for _ in request["Statements"]]}


def _entries(request: Mapping[str, Any]) -> tuple[int, Mapping[str, object]]:
    failed = [{"Id": entry["Id"], "Code": "InternalError", "SenderFault": False} for entry in request["Entries"]]
    return 200, {"Successful": [], "Failed": failed}


_INSIDE: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[int, Mapping[str, object]]]]] = {
    "TransactWriteItems": _cancelled,
    "BatchExecuteStatement": _statements,
    "SendMessageBatch": _entries,
    "DeleteMessageBatch": _entries,
}


def _answer(status: int, said: Mapping[str, object]) -> bytes:
    body = json.dumps(said).encode()
    lines = [f"HTTP/1.1 {status} Said", "Content-Type: application/x-amz-json-1.0", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
