"""The intake on SQS: a queue of submissions that nobody but their landing reads, and one of those that were refused.

Must not decide. What is put has been acknowledged, so a put is answered only when SQS has it. Promise: SEM-INTAKE-1.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tickwright.adapters.aws.calls import Calls
from tickwright.adapters.aws.clients import INTAKE_CONNECTIONS
from tickwright.adapters.aws.patience import Patience, Persistence
from tickwright.adapters.sqs.messages import group_of
from tickwright.domain import limits
from tickwright.domain.ids import JobId, TenantId, is_job_id
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Refusal
from tickwright.ports.clock import Clock
from tickwright.ports.entropy import Entropy
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.intake import Arrived, Left, Submission

_LOG = logging.getLogger(__name__)
VERSION: Final = 1  # of a message and of the body in it: a landing reads no body that may say more than it knows
_READ: Final = range(1, VERSION + 1)  # what was accepted before an update lands after it
_MS_IN_S: Final = 1_000
_REFUSED: Final = "refused"  # the member that says why it was set aside
_LOOKS_S: Final = 2
_HIDDEN_S: Final = 360  # far longer than ten are moved; who dies leaves them for so long


class SqsIntake:
    """The intake of an installation. `refused_url`: where people look; whoever only puts has none."""

    def __init__(
        self, client: object, url: str, *, clock: Clock, entropy: Entropy, refused_url: str | None = None
    ) -> None:
        """Use a client made by adapters/aws/clients.py; whoever made it closes it."""
        self._calls = Calls(client, threads=INTAKE_CONNECTIONS)
        self._url = url
        self._refused_url = refused_url
        self._persistence = Persistence(
            clock=clock, entropy=entropy, patience=Patience(), fault=QueueUnavailable, busy=QueueUnavailable
        )

    def close(self) -> None:
        """Let go of the threads."""
        self._calls.close()

    async def put(self, submission: Submission) -> bool:
        """One message, in its tenant's group."""
        body = submission_to_body(submission)
        if len(body) > limits.SUBMISSION_BYTES_MAX:
            return False
        await self._send(self._url, body, submission)
        return True

    async def show_again(self, arrived: Arrived, *, after_ms: int) -> None:
        """Move the end of its visibility."""
        seconds = -(-after_ms // _MS_IN_S)
        request = {"QueueUrl": self._url, "ReceiptHandle": arrived.receipt, "VisibilityTimeout": seconds}
        await self._ask("change_message_visibility", request)

    async def set_aside(self, submission: Submission, refusal: Refusal) -> None:
        """The submission with the reason, whole: whoever reads it may want to send it again."""
        assert self._refused_url is not None, "whoever lands submissions is told where to put those that are refused"
        errors = [f"{error.pointer} {error.code}: {error.message}" for error in refusal.errors[:20]]
        told = {"code": refusal.code.value, "detail": refusal.detail, "errors": errors}
        body = json.dumps({**_members(submission), _REFUSED: told}, separators=(",", ":"))
        await self._send(self._refused_url, body, submission)

    async def _send(self, url: str, body: str, submission: Submission) -> None:
        request = {"QueueUrl": url, "MessageBody": body, "MessageGroupId": group_of(submission.tenant_id)}
        await self._ask("send_message", request)

    async def _ask(self, operation: str, request: Mapping[str, Any]) -> None:
        await self._persistence.persist(operation, lambda: self._calls(operation, request))


class SqsLeftIntake:
    """The queue of an intake, or of what it could not deliver, as an operator reads it."""

    def __init__(self, client: object, url: str, *, clock: Clock, entropy: Entropy) -> None:
        """Use a client made by adapters/aws/clients.py; whoever made it closes it."""
        self._calls = Calls(client, threads=1)
        self._url = url
        self._persistence = Persistence(
            clock=clock, entropy=entropy, patience=Patience(), fault=QueueUnavailable, busy=QueueUnavailable
        )

    async def take(self) -> Sequence[Left]:
        """One long poll, which asks every part of the queue: an empty answer means that nothing is visible."""
        asked = {
            "MaxNumberOfMessages": 10,
            "WaitTimeSeconds": _LOOKS_S,
            "VisibilityTimeout": _HIDDEN_S,
        }
        answer = await self._ask("receive_message", asked)
        return [_left(message) for message in answer.get("Messages", ())]

    async def forget(self, left: Left) -> None:
        """Delete its message."""
        await self._ask("delete_message", {"ReceiptHandle": left.receipt})

    async def show(self, left: Left) -> None:
        """End its visibility timeout."""
        await self._ask("change_message_visibility", {"ReceiptHandle": left.receipt, "VisibilityTimeout": 0})

    async def _ask(self, operation: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        request = {"QueueUrl": self._url, **asked}
        answer: Mapping[str, Any] = await self._persistence.persist(operation, lambda: self._calls(operation, request))
        return answer


def _left(message: Mapping[str, Any]) -> Left:
    receipt = str(message["ReceiptHandle"])
    record = {"messageId": message["MessageId"], "receiptHandle": receipt, "body": message["Body"]}
    arrived = arrived_from_record(record)
    if arrived is None:
        return Left(submission=None, receipt=receipt)
    told = json.loads(message["Body"]).get(_REFUSED)
    return Left(submission=arrived.submission, receipt=receipt, refused=None if told is None else str(told["code"]))


def submission_to_body(submission: Submission) -> str:
    """A submission's message. All of it is ASCII: SQS refuses some characters that JSON allows."""
    return json.dumps(_members(submission), separators=(",", ":"))


def arrived_from_record(record: Mapping[str, Any]) -> Arrived | None:
    """The submission of a record of an SQS event; None, and an error in the log, if this version reads none in it."""
    try:
        submission = _submission(json.loads(record["body"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        _LOG.error("The message %s holds no submission; it is left to the queue's redrive policy.", record["messageId"])
        return None
    return Arrived(submission=submission, receipt=str(record["receiptHandle"]))


def _members(submission: Submission) -> dict[str, object]:
    return {
        "v": VERSION,
        "tenantId": submission.tenant_id,
        "jobId": submission.job_id,
        "key": submission.key,
        "bodyHash": submission.body_hash,
        "askedAt": submission.asked_at,
        "body": submission.body,
    }


def _submission(members: Mapping[str, Any]) -> Submission:
    texts = [members[name] for name in ("tenantId", "jobId", "key", "bodyHash", "body")]
    if members["v"] not in _READ or type(members["askedAt"]) is not int or not all(type(one) is str for one in texts):
        raise ValueError("another version, or a member of another type")
    tenant_id, job_id, key, body_hash, body = texts
    if not is_job_id(job_id):
        raise ValueError("no id of a job")
    return Submission(
        tenant_id=TenantId(tenant_id),
        job_id=JobId(job_id),
        key=key,
        body_hash=body_hash,
        asked_at=Instant(members["askedAt"]),
        body=body,
    )
