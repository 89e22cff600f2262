"""The target kind `sqs`: sends a message to a queue; whoever receives it does the work.

Must not know leases. A FIFO queue drops what it was sent under the same key within five minutes, so that a message
whose answer was lost arrives once; a standard queue may get it twice. Promise: SEM-TARGET-8.
"""

from typing import Any, Final

from tickwright.adapters.targets.aws_faults import Faults
from tickwright.adapters.targets.aws_service import Call, Service, once_key, taken
from tickwright.adapters.targets.envelope import body_of
from tickwright.domain.attempts import UserResult
from tickwright.ports.runner import Invocation

_FAULTS: Final = Faults(not_run=frozenset({"RequestThrottled", "KmsThrottled", "OverLimit"}))
_FIFO: Final = ".fifo"
# JSON may hold them, a message may not; in JSON they stand only inside strings, where the escape means the same.
_UNSENDABLE: Final = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}


def _send(call: Call, invocation: Invocation) -> UserResult:
    settings = invocation.definition.spec.target.settings
    arn = str(settings["queueArn"])
    request: dict[str, Any] = {
        "QueueUrl": _url(arn),
        "MessageBody": body_of(invocation).decode().translate(_UNSENDABLE),
        "MessageAttributes": {
            "executionId": {"DataType": "String", "StringValue": invocation.execution.ref.id},
            "leaseEpoch": {"DataType": "Number", "StringValue": str(invocation.epoch)},
        },
    }
    group = settings.get("messageGroupId")
    if arn.endswith(_FIFO):
        request["MessageDeduplicationId"] = once_key(invocation)
        group = group or invocation.execution.job_id
    if group is not None:
        request["MessageGroupId"] = str(group)
    answer = call("send_message", request)
    return taken(invocation, {"messageId": str(answer["MessageId"])})


def _url(arn: str) -> str:
    """A queue's URL is made of what its ARN says: no look-up, and no right to make one."""
    _, partition, _, region, account, name = arn.split(":")
    suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    return f"https://sqs.{region}.{suffix}/{account}/{name}"


SQS: Final = Service(name="sqs", faults=_FAULTS, send=_send)
