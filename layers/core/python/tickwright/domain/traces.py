"""One trace an execution, one span an attempt (W3C Trace Context), the same for whoever computes it.

Must not know who is told.
"""

import hashlib

from tickwright.domain.ids import Epoch, ExecutionRef


def traceparent(ref: ExecutionRef, epoch: Epoch) -> str:
    """The header's value for the attempt of this epoch."""
    trace = hashlib.sha256(ref.id.encode()).hexdigest()[:32]
    span = hashlib.sha256(f"{ref.id} {epoch}".encode()).hexdigest()[:16]
    return f"00-{trace}-{span}-01"
