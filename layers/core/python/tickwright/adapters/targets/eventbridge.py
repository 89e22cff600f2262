"""The target kind `eventbridge`: puts an event on a bus; what the bus's rules do with it is theirs.

Must not know leases. An event may be put twice: consumers tell doubles by detail.executionId. Promise: SEM-TARGET-9.
"""

from typing import Final

from botocore.exceptions import ClientError

from tickwright.adapters.targets.aws_faults import Faults
from tickwright.adapters.targets.aws_service import Answer, Call, Service, taken
from tickwright.adapters.targets.envelope import body_of
from tickwright.domain.attempts import UserResult
from tickwright.ports.runner import Invocation

SOURCE_DEFAULT: Final = "tickwright"
DETAIL_TYPE_DEFAULT: Final = "Execution Due"
_FAULTS: Final = Faults(passing=frozenset({"InternalException", "InternalFailure"}))


def _send(call: Call, invocation: Invocation) -> UserResult:
    settings = invocation.definition.spec.target.settings
    entry = {
        "EventBusName": str(settings["busArn"]),
        "Source": str(settings.get("source", SOURCE_DEFAULT)),
        "DetailType": str(settings.get("detailType", DETAIL_TYPE_DEFAULT)),
        "Detail": body_of(invocation).decode(),
    }
    answer = call("put_events", {"Entries": [entry]})
    _raise_if_refused(answer)
    return taken(invocation, {"eventId": str(answer["Entries"][0]["EventId"])})


def _raise_if_refused(answer: Answer) -> None:
    """An entry's error comes with status 200; it means what the same error of the whole call means."""
    outcome = answer["Entries"][0]
    if code := outcome.get("ErrorCode"):
        message = str(outcome.get("ErrorMessage", ""))
        raise ClientError({"Error": {"Code": str(code), "Message": message}}, "PutEvents")


EVENTBRIDGE: Final = Service(name="events", faults=_FAULTS, send=_send)
