"""What every target is told of an attempt: ids, times, the fence, the trace, the last checkpoint, and the payload.

The executionId is the idempotency key for side effects, the leaseEpoch the fence. Must not know a target. Promise:
SEM-TARGET-3, SEM-CHECKPOINT-1.
"""

import json
from collections.abc import Mapping

from tickwright.domain import traces
from tickwright.domain.instants import to_rfc3339
from tickwright.ports.runner import Invocation

USER_AGENT = "tickwright"


def body_of(invocation: Invocation, *, with_checkpoint: bool = True) -> bytes:
    """The JSON body: payload and checkpoint go in as the text they are kept as, so nothing of them is changed.

    `with_checkpoint`: false where there is no room for one; it is read at the API then.
    """
    execution = invocation.execution
    noted = execution.noted if with_checkpoint else None
    members = {
        "executionId": _quoted(execution.ref.id),
        "jobId": _quoted(execution.job_id),
        "tenantId": json.dumps(execution.tenant_id),
        "scheduledTime": _quoted(to_rfc3339(execution.scheduled_at)),
        "attempt": str(execution.attempt),
        "leaseEpoch": str(invocation.epoch),
        "deadline": _quoted(to_rfc3339(invocation.deadline_at)),
        "traceparent": _quoted(traceparent(invocation)),
        "checkpoint": "null" if noted is None or noted.checkpoint is None else noted.checkpoint,
        "payload": invocation.definition.spec.payload,
    }
    return ("{" + ",".join(f'"{name}":{text}' for name, text in members.items()) + "}").encode()


def headers_of(invocation: Invocation) -> dict[str, str]:
    """The tenant's headers, and ours over them."""
    sent = invocation.definition.spec.target.settings.get("headers")
    own = {str(name): str(value) for name, value in sent.items()} if isinstance(sent, Mapping) else {}
    ours = {
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": USER_AGENT,
        "Idempotency-Key": invocation.execution.ref.id,
        "traceparent": traceparent(invocation),
    }
    taken = {name.lower() for name in ours}
    return {name: value for name, value in own.items() if name.lower() not in taken} | ours


def traceparent(invocation: Invocation) -> str:
    """The trace and the span of an attempt."""
    return traces.traceparent(invocation.execution.ref, invocation.epoch)


def may_hand_over(invocation: Invocation) -> bool:
    """Whether who is told may take it and complete it later, by its epoch."""
    return invocation.definition.spec.target.settings.get("completion") == "callback"


def _quoted(text: str) -> str:
    """Ids and times hold nothing that JSON escapes."""
    return f'"{text}"'
