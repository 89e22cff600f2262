"""What the queues cost: requests by operation; a batch is one request for each 64 KB of it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

_CHUNK_BYTES: Final = 65_536


class RequestMeter:
    """Counts what it is shown; give it to the queue as its `meter`."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.billed = 0

    def __call__(self, operation: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Take one operation's request and answer."""
        self.requests[operation] += 1
        sent = sum(len(entry.get("MessageBody", "")) for entry in request.get("Entries", []))
        got = sum(len(message["Body"]) for message in answer.get("Messages", []))
        self.billed += max(1, -(-(sent + got) // _CHUNK_BYTES))
