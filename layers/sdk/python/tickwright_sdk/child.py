"""The program of a child: calls handlers one after another, as the parent's lines say.

    python -m tickwright_sdk.child <read fd> <write fd> <parent's pid>

Must not know leases, nor why it is to stop. A line down is a call or a reason to stop; a line up is a note, a line of
log, or the end of a call. It ends with its parent, at once on Linux. Promises: SEM-SDK-7, SEM-SDK-8.
"""

import asyncio
import contextlib
import ctypes
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tickwright_sdk import limits
from tickwright_sdk.calling import awaited, called
from tickwright_sdk.context import Context
from tickwright_sdk.handlers import AnyJob, Job, Manner, found
from tickwright_sdk.memory import bounded
from tickwright_sdk.payloads import Shape
from tickwright_sdk.results import Failed, Later, Result, Succeeded

_PR_SET_PDEATHSIG = 1


class Wire:
    """Both ends of the pipe to the parent, and the reason to stop that came through it."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._lines = os.fdopen(read_fd, "rb")
        self._out = write_fd
        self._guard = threading.Lock()
        self.calls: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.link = ChildLink(self)

    def send(self, line: dict[str, Any]) -> None:
        """Send one line up, whole, whichever thread says it."""
        data = json.dumps(line).encode() + b"\n"
        with self._guard:
            while data:
                data = data[os.write(self._out, data) :]

    def listen(self) -> None:
        """Read until the parent is gone; nothing is left to do then."""
        for line in self._lines:
            told = json.loads(line)
            if "call" in told:
                self.calls.put(told["call"])
            else:
                self.link.stop(told["serial"], told["stop"])
        os._exit(0)


class ChildLink:
    """The link of the call that goes on now; one after another has it."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._guard = threading.Lock()
        self._serial = 0
        self._early: dict[int, str] = {}
        self._reason: str | None = None
        self._stopped = threading.Event()
        self._calls: list[Callable[[], object]] = []

    def begin(self, serial: int) -> None:
        """A call begins: what was said of the one before is over."""
        with self._guard:
            # It may have been told to stop before it had begun.
            self._serial, self._reason, self._calls = serial, self._early.pop(serial, None), []
            self._stopped.clear()
            if self._reason is not None:
                self._stopped.set()

    def stop(self, serial: int, reason: str) -> None:
        """The parent says why this call should stop; said of another, it comes too late."""
        with self._guard:
            if serial > self._serial:
                self._early[serial] = reason
            if serial != self._serial or self._reason is not None:
                return
            self._reason, calls = reason, self._calls
            self._stopped.set()
        for call in calls:
            call()

    @property
    def reason(self) -> str | None:
        return self._reason

    def note(self, progress: float | None, checkpoint: str | None) -> None:
        self._wire.send({"note": {"progress": progress, "checkpoint": checkpoint}, "serial": self._serial})

    def write(self, line: str) -> None:
        self._wire.send({"log": line[-limits.LINE_CHARS_MAX :], "serial": self._serial})

    def wait(self, seconds: float) -> None:
        self._stopped.wait(seconds)

    def when_stopped(self, call: Callable[[], object]) -> Callable[[], None]:
        with self._guard:
            stopped = self._reason is not None
            self._calls.append(call)
        if stopped:
            call()

        def forget() -> None:
            with contextlib.suppress(ValueError):
                self._calls.remove(call)

        return forget


def main() -> None:
    """Serve calls until the parent is gone."""
    read_fd, write_fd, parent = map(int, sys.argv[1:4])
    _end_with(parent)
    _offer_to_the_kernel()
    for fd in (read_fd, write_fd):
        os.set_inheritable(fd, False)  # noqa: FBT003 - what a handler starts must not keep the pipe open
    wire = Wire(read_fd, write_fd)
    threading.Thread(target=wire.listen, name="parent", daemon=True).start()
    while True:
        told = wire.calls.get()
        wire.link.begin(told["serial"])
        wire.send(_line_of(_call(told, wire.link)) | {"serial": told["serial"]})


def _call(told: dict[str, Any], link: ChildLink) -> Result:
    """One call, within its memory."""
    try:
        job = _job(told)
        with bounded(told["memoryMb"]):
            return _made(job, told, link)
    except MemoryError as fault:
        # The frames still hold what the handler made: without this not even the answer could be written.
        traceback.clear_frames(fault.__traceback__)
        return Failed(error_class="MemoryError", message=f"It needed more than its {told['memoryMb']} MB.")
    except BaseException as raised:  # noqa: BLE001 - the module cannot be imported, or lacks the handler
        message = f"A child cannot load the handler: {raised}"
        return Failed(error_class=type(raised).__name__, message=message, fatal=told["mustLoad"])


def _made(job: AnyJob, told: dict[str, Any], link: ChildLink) -> Result:
    context = Context.of(told["context"], link)
    if job.is_async:
        return asyncio.run(awaited(job, told["payload"], context, lets_through=(MemoryError,)))
    return called(job, told["payload"], context, lets_through=(MemoryError,))


_known: dict[str, AnyJob] = {}


def _job(told: dict[str, Any]) -> AnyJob:
    if told["name"] not in _known:
        fn = found(told["module"], told["place"])
        _known[told["name"]] = Job(told["name"], fn, manner=Manner(), shape=Shape(fn, {}))
    return _known[told["name"]]


def _line_of(result: Result) -> dict[str, Any]:
    match result:
        case Succeeded(result=text):
            return {"succeeded": text}
        case Later(after_s=after_s, message=message):
            return {"later": after_s, "message": message}
        case Failed():
            names = ("error_class", "message", "trace", "fatal")
            return {"failed": {name: getattr(result, name) for name in names}}


def _end_with(parent: int) -> None:
    """Be killed when the parent ends, also in the middle of a C call; elsewhere the end of the pipe does that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that
        os._exit(0)


def _offer_to_the_kernel() -> None:
    """Where memory runs out the kernel takes this, and not the parent that keeps the leases of all."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    main()
