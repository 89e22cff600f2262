"""What a message says: an envelope with a version, in JSON that a person can read in the console.

A message that this version does not understand is no hint: it is set aside and never guessed at. Must not know a queue.
Promise: SEM-QUEUE-4.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

from tickwright.domain.ids import Epoch, TenantId, parse_execution_id
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import LAMBDA, PoolName
from tickwright.ports.queue import DeadLetter, Hint, Received

MemberT = TypeVar("MemberT", str, int)

_VERSION: Final = 1
_GROUP_CHARS_MAX: Final = 128  # SQS's limit of a MessageGroupId


def to_body(hint: Hint) -> str:
    """A hint's message."""
    members = {
        "v": _VERSION,
        "executionId": hint.ref.id,
        "tenantId": hint.tenant_id,
        "lane": hint.lane.value,
        "leaseEpoch": hint.epoch,
        "jobVersion": hint.job_version,
        "dueAt": hint.due_at,
    }
    return _json(members if hint.pool == LAMBDA else members | {"pool": hint.pool})


def from_body(body: str, lane: Lane, pool: str = LAMBDA) -> Hint | None:
    """The hint of a message of this lane and pool, or None where it is none that this version understands."""
    try:
        envelope = json.loads(body)
        hint = _hint(envelope) if envelope["v"] == _VERSION else None
    except (ValueError, KeyError, TypeError, RecursionError):  # the last: brackets in brackets, thousands deep
        return None
    return hint if hint is not None and hint.lane is lane and hint.queue == pool else None


def _hint(envelope: Mapping[str, Any]) -> Hint:
    execution_id, tenant_id = (_of_type(envelope[name], str) for name in ("executionId", "tenantId"))
    epoch, job_version, due_at = (_of_type(envelope[name], int) for name in ("leaseEpoch", "jobVersion", "dueAt"))
    ref = parse_execution_id(execution_id)
    if ref is None:
        raise ValueError("no executionId")
    return Hint(
        ref=ref,
        tenant_id=TenantId(tenant_id),
        lane=Lane(envelope["lane"]),
        epoch=Epoch(epoch),
        job_version=job_version,
        due_at=Instant(due_at),
        pool=PoolName(_of_type(envelope.get("pool", LAMBDA), str)),
    )


def _of_type(member: object, kind: type[MemberT]) -> MemberT:
    """A member of this very type: true is no number here."""
    if type(member) is not kind:
        raise TypeError("a member of another type")
    return member


def letter_to_body(letter: DeadLetter) -> str:
    """A dead letter's message, for people."""
    return _json(
        {
            "v": _VERSION,
            "executionId": letter.ref.id,
            "jobId": letter.ref.job_id,
            "tenantId": letter.tenant_id,
            "generation": letter.generation,
            "reason": letter.reason,
            "errorClass": letter.error_class,
            "message": letter.message,
        }
    )


def group_of(tenant_id: TenantId) -> str:
    """The message group of a tenant: fair queues share by it. One send without it would escape the sharing."""
    name = quote(tenant_id, safe="")
    return name if len(name) <= _GROUP_CHARS_MAX else hashlib.sha256(tenant_id.encode()).hexdigest()


def received_from_record(record: Mapping[str, Any], lane: Lane) -> Received | None:
    """A record of the event that Lambda's poller of this lane delivers; None where its body is no hint."""
    count = record["attributes"]["ApproximateReceiveCount"]
    return _received(from_body(record["body"], lane), record["receiptHandle"], count)


def received_from_message(message: Mapping[str, Any], lane: Lane, pool: str = LAMBDA) -> Received | None:
    """A message that was received from this lane of a pool; None where its body is no hint."""
    count = message["Attributes"]["ApproximateReceiveCount"]
    return _received(from_body(message["Body"], lane, pool), message["ReceiptHandle"], count)


def _received(hint: Hint | None, receipt: str, count: str) -> Received | None:
    return None if hint is None else Received(hint=hint, receipt=receipt, receive_count=int(count))


def _json(members: Mapping[str, object]) -> str:
    return json.dumps(members, ensure_ascii=True, separators=(",", ":"))
