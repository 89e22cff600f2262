"""What every target is told of an attempt: ids, times, the fence, the trace, and the payload.

The executionId is the idempotency key for side effects, the leaseEpoch the fence. Must not know a target. Promise:
SEM-TARGET-3.
"""

import hashlib
from collections.abc import Mapping

from tickwright.domain.instants import to_rfc3339
from tickwright.ports.runner import Invocation

USER_AGENT = "tickwright"


def body_of(invocation: Invocation) -> bytes:
    """The JSON body: the payload goes in as the text it is kept as, so nothing of it is changed."""
    execution = invocation.execution
    members = {
        "executionId": _quoted(execution.ref.id),
        "jobId": _quoted(execution.job_id),
        "scheduledTime": _quoted(to_rfc3339(execution.scheduled_at)),
        "attempt": str(execution.attempt),
        "leaseEpoch": str(invocation.epoch),
        "deadline": _quoted(to_rfc3339(invocation.deadline_at)),
        "traceparent": _quoted(traceparent(invocation)),
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
    """One trace an execution, one span an attempt (W3C Trace Context), the same for whoever computes it."""
    trace = hashlib.sha256(invocation.execution.ref.id.encode()).hexdigest()[:32]
    span = hashlib.sha256(f"{invocation.execution.ref.id} {invocation.epoch}".encode()).hexdigest()[:16]
    return f"00-{trace}-{span}-01"


def _quoted(text: str) -> str:
    """Ids and times hold nothing that JSON escapes."""
    return f'"{text}"'
