"""The link of a call whose lease is kept by an event loop of this process, the engine: notes go there, reasons come.

Must not know how a lease is kept, nor where the handler is called. What is noted in a second becomes one write: a loop
that reports each row must not cost a write a row. Promises: SEM-SDK-1, SEM-SDK-3.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tickwright_sdk import limits
from tickwright_sdk.context import LOST

_LOG = logging.getLogger("tickwright.worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What is to be stored with the lease; None leaves what is there."""

    progress: float | None = None
    checkpoint: str | None = None


def joined(earlier: Note | None, later: Note | None) -> Note | None:
    """Both in one: the later wins where both say something."""
    if earlier is None or later is None:
        return later or earlier
    return Note(
        progress=earlier.progress if later.progress is None else later.progress,
        checkpoint=earlier.checkpoint if later.checkpoint is None else later.checkpoint,
    )


class EngineLink:
    """Made on the engine's loop; `beat` sends a heartbeat with a note, and says whether to go on."""

    def __init__(
        self,
        beat: Callable[[Note], Awaitable[bool]],
        write: Callable[[str], object],
        *,
        interval_s: float = limits.NOTE_INTERVAL_S,
    ) -> None:
        """`write` takes a line of log, from any thread."""
        self._loop = asyncio.get_running_loop()
        self._beat, self._write, self._interval_s = beat, write, interval_s
        self._guard = threading.Lock()
        self._stopped = threading.Event()
        self._reason: str | None = None
        self._calls: list[Callable[[], object]] = []
        self._note: Note | None = None
        self._is_due = False
        self._sent_s: float | None = None
        self._later: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None

    @property
    def reason(self) -> str | None:
        return self._reason

    def stop(self, reason: str) -> None:
        """Tell the handler why it should stop; the first reason stays."""
        with self._guard:
            if self._reason is not None:
                return
            self._reason, calls = reason, self._calls
            self._calls = []
            self._stopped.set()
        for call in calls:
            call()

    def note(self, progress: float | None, checkpoint: str | None) -> None:
        with self._guard:
            self._note = joined(self._note, Note(progress=progress, checkpoint=checkpoint))
            is_due, self._is_due = self._is_due, True
        if not is_due:
            with contextlib.suppress(RuntimeError):  # the engine is gone
                self._loop.call_soon_threadsafe(self._send_in_time)

    def write(self, line: str) -> None:
        self._write(line)

    def wait(self, seconds: float) -> None:
        self._stopped.wait(seconds)

    def when_stopped(self, call: Callable[[], object]) -> Callable[[], None]:
        with self._guard:
            is_stopped = self._reason is not None
            if not is_stopped:
                self._calls.append(call)
        if is_stopped:
            call()

        def forget() -> None:
            with contextlib.suppress(ValueError):
                self._calls.remove(call)

        return forget

    async def finish(self) -> None:
        """Send what is still unsent: the next attempt goes on from it. On the engine's loop."""
        if self._later is not None:
            self._later.cancel()
        if self._sending is not None:
            await self._sending
        await self._send()

    def _send_in_time(self) -> None:
        since_s = None if self._sent_s is None else self._loop.time() - self._sent_s
        wait_s = 0.0 if since_s is None else max(0.0, self._interval_s - since_s)
        self._later = self._loop.call_later(wait_s, self._begin_to_send)

    def _begin_to_send(self) -> None:
        self._sending = self._loop.create_task(self._send())

    async def _send(self) -> None:
        with self._guard:
            note, self._note, self._is_due = self._note, None, False
        if note is None:
            return
        self._sent_s = self._loop.time()
        try:
            goes_on = await self._beat(note)
        except Exception:  # noqa: BLE001 - what does not get through costs the next attempt some work, this one nothing
            _LOG.exception("what a handler noted was not sent")
            return
        if not goes_on:
            self.stop(LOST)
