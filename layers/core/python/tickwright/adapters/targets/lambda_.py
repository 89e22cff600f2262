"""The target kind `lambda`: invokes a function, and waits for its answer or, with `invocation: event`, for none.

Must not know leases. What the function returns is the result; what it raises is a failure under its class's name, so
that retryOn and giveUpOn go by it. Promises: SEM-TARGET-7, SEM-SECRET-1.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from tickwright.adapters.targets.aws_faults import Faults
from tickwright.adapters.targets.aws_service import Answer, Call, Service, taken
from tickwright.adapters.targets.envelope import body_of
from tickwright.adapters.targets.results import result_of_body
from tickwright.domain.attempts import Failure, Success, UserResult, an_error
from tickwright.domain.executions import Reason
from tickwright.domain.secrets import scrubbed
from tickwright.ports.runner import Invocation

# More than a result may have, enough for any error with its trace.
_ANSWER_BYTES_MAX: Final = 1_048_576
_LOG_BYTES: Final = 4_096  # of a longer log, its end
_TIMED_OUT: Final = frozenset({"Sandbox.Timedout"})

_FAULTS: Final = Faults(
    not_run=frozenset({"TooManyRequestsException", "EC2ThrottledException"}),
    passing=frozenset(
        {
            "CodeArtifactUserPendingException",
            "EFSIOException",
            "EFSMountConnectivityException",
            "EFSMountTimeoutException",
            "ResourceConflictException",
            "S3FilesMountConnectivityException",
            "S3FilesMountTimeoutException",
            "SnapStartNotReadyException",
            "SnapStartTimeoutException",
        }
    ),
    # Settings of the function that no second try mends, though Lambda answers 502.
    fatal=frozenset(
        {
            "EC2AccessDeniedException",
            "InvalidRuntimeException",
            "InvalidSecurityGroupIDException",
            "InvalidSubnetIDException",
            "InvalidZipFileException",
            "KMSAccessDeniedException",
            "KMSDisabledException",
            "KMSInvalidStateException",
            "KMSNotFoundException",
        }
    ),
)


def _send(call: Call, invocation: Invocation) -> UserResult:
    settings = invocation.definition.spec.target.settings
    is_event = settings.get("invocation") == "event"
    request: dict[str, Any] = {"FunctionName": str(settings["functionArn"]), "Payload": body_of(invocation)}
    if is_event:
        answer = call("invoke", request | {"InvocationType": "Event"})
        return taken(invocation, {"requestId": _request_id(answer)})
    answer = call("invoke", request | {"InvocationType": "RequestResponse", "LogType": "Tail"})
    _note_log(invocation, answer)
    body = _body(answer)
    return Success(result=result_of_body(body)) if "FunctionError" not in answer else _failed(answer, body)


def _body(answer: Answer) -> bytes:
    stream = answer["Payload"]
    try:
        body: bytes = stream.read(_ANSWER_BYTES_MAX)
        return body
    finally:
        stream.close()


def _note_log(invocation: Invocation, answer: Answer) -> None:
    """The last 4 KB of what the function said."""
    try:
        said = base64.b64decode(answer.get("LogResult", ""), validate=True)
    except binascii.Error:
        return
    if said:
        is_cut = len(said) >= _LOG_BYTES
        text = said.decode("utf-8", "replace")
        text = text.lstrip("\N{REPLACEMENT CHARACTER}") if is_cut else text
        invocation.log.write(scrubbed(text, invocation.definition.spec, is_cut=is_cut))


def _failed(answer: Answer, body: bytes) -> Failure:
    error = _object(body)
    error_class = str(error.get("errorType") or answer["FunctionError"])
    trace = error.get("stackTrace")
    error_trace = "".join(str(line) for line in trace) if isinstance(trace, list) else ""
    told = an_error(error_class, str(error.get("errorMessage") or ""), error_trace)
    return Failure(error=told, reason=Reason.TIMED_OUT if error_class in _TIMED_OUT else Reason.FAILED)


def _object(body: bytes) -> Mapping[str, object]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _request_id(answer: Answer) -> str:
    return str(answer.get("ResponseMetadata", {}).get("RequestId", ""))


LAMBDA: Final = Service(name="lambda", faults=_FAULTS, send=_send)
