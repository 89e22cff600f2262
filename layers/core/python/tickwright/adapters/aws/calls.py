"""How a blocking client is called from a coroutine: in threads, as many as the client has connections.

Must not know what an answer means. A call whose caller is cancelled goes on in its thread: to a write, a lost reply.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from botocore.exceptions import ClientError

Answer = Mapping[str, Any]
Meter = Callable[[str, Mapping[str, Any], Answer], None]


class Calls:
    """The operations of one client. `meter` is shown each operation's name, request and answer, errors among them."""

    def __init__(
        self,
        client: object,
        *,
        threads: int,
        meter: Meter | None = None,
        always: Mapping[str, Any] | None = None,
    ) -> None:
        """Use a client, whose owner closes it; `always` is added to each request."""
        self._client = client
        self._meter = meter
        self._always = always or {}
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="aws")

    async def __call__(self, operation: str, request: Mapping[str, Any]) -> Answer:
        """Call an operation by its snake_case name; raises what the client raises."""
        method: Callable[..., Answer] = getattr(self._client, operation)
        whole = {**request, **self._always}
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self._executor, lambda: method(**whole))
        except ClientError as error:
            self._show(operation, whole, error.response)
            raise
        self._show(operation, whole, answer)
        return answer

    def _show(self, operation: str, request: Mapping[str, Any], answer: Answer) -> None:
        if self._meter is not None:
            self._meter(operation, request, answer)

    def close(self) -> None:
        """Let go of the threads, without waiting for calls under way."""
        self._executor.shutdown(wait=False, cancel_futures=True)
