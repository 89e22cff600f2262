"""What a handler is told and can say while it is called, wherever it is called: thread, user loop, child or test.

Must not know who keeps the lease: that is behind `Link`. Nothing here blocks but `sleep`, and nothing raises into a
handler: whoever is to stop is told, and asks. Promises: SEM-SDK-1, SEM-SDK-3.
"""

import asyncio
import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, Self

from tickwright_sdk import limits
from tickwright_sdk.results import Fatal, RetryLater, json_text

_LOGGER = logging.getLogger("tickwright.handlers")
_LINE = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
_LINE.converter = time.gmtime  # lines of machines in several zones are read side by side


# Why a handler should stop, as it reads it in `ctx.cancel_reason`.
CANCELLED, LOST, DEADLINE, DRAINING = "cancelled", "lease_lost", "deadline", "draining"


class Link(Protocol):
    """What joins a handler to whoever keeps its lease. Every method may be called from any thread."""

    @property
    def reason(self) -> str | None:
        """Why the handler should stop (cancelled, lease_lost, deadline, draining); None while it should go on."""
        ...

    def note(self, progress: float | None, checkpoint: str | None) -> None:
        """Send this with the lease, soon; None leaves what is there."""
        ...

    def write(self, line: str) -> None:
        """Add a line to the log of this attempt."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait so long, or until there is a reason to stop."""
        ...

    def when_stopped(self, call: Callable[[], object]) -> Callable[[], object]:
        """Call once there is a reason to stop, at once if there is one already; what is returned takes that back."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a handler is told. `idempotency_key` is the same in every attempt; `lease_epoch`, the fence, grows."""

    execution_id: str
    job_id: str
    lease_epoch: int
    attempt: int
    max_attempts: int
    scheduled_time: datetime
    deadline: datetime
    link: Link = field(repr=False, compare=False)
    job_name: str | None = None
    tenant_id: str | None = None  # whose job it is, as the platform's own workers tell it; a pool's is its machine's
    traceparent: str | None = None
    checkpoint: Any = None  # what the last attempt that left one noted last
    _logs: list[logging.Logger] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def idempotency_key(self) -> str:
        """The key for side effects in systems that take one: the same in every attempt of this execution."""
        return self.execution_id

    @property
    def cancelled(self) -> bool:
        """Whether to stop: asked to, lease lost, out of time, or the worker drains."""
        return self.link.reason is not None

    @property
    def cancel_reason(self) -> str | None:
        """Why to stop: cancelled, lease_lost, deadline or draining; None while there is no reason."""
        return self.link.reason

    def heartbeat(self, *, progress: float | None = None, checkpoint: Any = None) -> bool:  # noqa: ANN401 - any JSON
        """Note how far the work is, and tell whether to stop.

        The lease is kept without this. `progress` is from 0 to 1. `checkpoint` (JSON of up to 4 KB) is stored with
        the lease within about a second, and is the next attempt's `ctx.checkpoint`. It waits for nothing.
        """
        if progress is not None and not (math.isfinite(progress) and 0 <= progress <= 1):
            raise ValueError(f"progress is a number from 0 to 1, not {progress!r}")
        if progress is not None or checkpoint is not None:
            most, what = limits.CHECKPOINT_BYTES_MAX, "the checkpoint"
            kept = None if checkpoint is None else json_text(checkpoint, bytes_max=most, what=what)
            self.link.note(progress, kept)
        return self.cancelled

    def sleep(self, seconds: float) -> bool:
        """Wait, in a plain handler; ends early when it is to stop, and tells whether it is."""
        if asyncio._get_running_loop() is not None:  # noqa: SLF001 - the one question that raises nothing
            raise RuntimeError("ctx.sleep() would hold up every async handler: use `await ctx.sleep_async()` here")
        self.link.wait(seconds)
        return self.cancelled

    async def sleep_async(self, seconds: float) -> bool:
        """Wait, in an `async` handler; ends early when it is to stop, and tells whether it is."""
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        forget = self.link.when_stopped(lambda: loop.call_soon_threadsafe(stopped.set))
        waiting = asyncio.ensure_future(stopped.wait())
        try:
            await asyncio.wait({waiting}, timeout=seconds)
        finally:
            forget()
            waiting.cancel()
        return self.cancelled

    def retry_after(self, seconds: float, message: str = "") -> RetryLater:
        """Make what to raise to be tried again later; it does not count as an attempt."""
        return RetryLater(seconds, message)

    def stopped(self) -> RetryLater:
        """Make what to raise when it was told to stop with work left: what a handler returns says that it is done.

        The run goes on where its checkpoint says, on another machine where this one drains; it does not count as an
        attempt. Of a run that was cancelled, has lost its lease or is out of time, nothing that is said counts.
        """
        return RetryLater(0, f"stopped with work left: {self.cancel_reason or 'of its own accord'}")

    def fatal(self, message: str) -> Fatal:
        """Make what to raise when trying again is of no use."""
        return Fatal(message)

    @property
    def log(self) -> logging.Logger:
        """A logger whose lines are kept with the attempt and also go where the worker's own log goes."""
        if not self._logs:
            logger = logging.Logger(_LOGGER.name)  # noqa: LOG001 - one for each attempt, kept by nobody else
            logger.setLevel(logging.INFO)  # the worker's own level says what its output shows, not what is kept here
            logger.parent = _LOGGER
            logger.addHandler(_ToLink(self.link))
            self._logs.append(logger)
        return self._logs[0]

    def told(self) -> dict[str, Any]:
        """All but the link, as JSON has it: for a child."""
        return {
            "executionId": self.execution_id,
            "jobId": self.job_id,
            "leaseEpoch": self.lease_epoch,
            "attempt": self.attempt,
            "maxAttempts": self.max_attempts,
            "scheduledTime": self.scheduled_time.isoformat(),
            "deadline": self.deadline.isoformat(),
            "jobName": self.job_name,
            "tenantId": self.tenant_id,
            "traceparent": self.traceparent,
            "checkpoint": self.checkpoint,
        }

    @classmethod
    def of(cls, told: dict[str, Any], link: Link) -> Self:
        """The context that was told: by a parent, or by the API's claim."""
        return cls(
            execution_id=told["executionId"],
            job_id=told["jobId"],
            lease_epoch=told["leaseEpoch"],
            attempt=told["attempt"],
            max_attempts=told["maxAttempts"],
            scheduled_time=datetime.fromisoformat(told["scheduledTime"]),
            deadline=datetime.fromisoformat(told["deadline"]),
            job_name=told.get("jobName"),
            tenant_id=told.get("tenantId"),
            traceparent=told.get("traceparent"),
            checkpoint=told.get("checkpoint"),
            link=link,
        )


class _ToLink(logging.Handler):
    """Hands each line to the link."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link
        self.setFormatter(_LINE)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._link.write(self.format(record))
        except Exception:  # noqa: BLE001 - logging's own rule: a line that cannot be written harms nobody
            self.handleError(record)


def checkpoint_of(text: str | None) -> Any:  # noqa: ANN401 - any JSON
    """A stored checkpoint as the next attempt sees it."""
    return None if text is None else json.loads(text)
