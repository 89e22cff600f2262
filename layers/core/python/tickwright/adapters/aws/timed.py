"""A client whose calls have time limits of their own, so that none keeps its thread for longer than it is of use.

Must not know an operation. What a client is made with is one time limit for all that it is ever asked.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

Answer = Mapping[str, Any]


class TimedClient:
    """A client of a service, used from any thread."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - botocore makes its clients at run time
        """Use a client of nobody else."""
        self._client = client
        self._call = threading.local()
        client.meta.events.register("before-call", self._limit)

    def call(self, operation: str, request: Mapping[str, Any], *, answers_s: float) -> Answer:
        """Call an operation by its snake_case name; nothing is heard for so long: raises what the client raises."""
        self._call.answers_s = answers_s
        method: Callable[..., Answer] = getattr(self._client, operation)
        return method(**request)

    def close(self) -> None:
        """Let the connections go."""
        self._client.close()

    def _limit(self, context: dict[str, Any], **_named: object) -> None:
        """The SDK's own name for the time limit of one request; it is asked in the thread that calls."""
        context["read_timeout"] = self._call.answers_s
