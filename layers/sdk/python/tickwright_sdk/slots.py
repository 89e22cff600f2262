"""One child as its worker has it: started when it is needed, kept warm, killed when its call must end.

Must not know handlers' results beyond their lines. A child that dies costs the one call it had, and counts as an
attempt of it: whatever always kills its worker ends dead, and harms no other. Promises: SEM-SDK-7, SEM-SDK-8.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from tickwright_sdk.context import Context
from tickwright_sdk.handlers import AnyJob
from tickwright_sdk.results import Failed, Later, Result, Succeeded

# What a call is said to have failed of whose child ended without an answer.
KILLED, EXITED = "ChildKilled", "ChildExited"
_CALLS_MAX = 200  # then a fresh child: whatever leaks in one is bounded
_LINE_BYTES_MAX = 4 << 20  # a result, a note or a line of log; far over what each may have
_ENDS_S = 2.0  # how long a killed child may take to be gone
_OURS, _SECRET = "TICKWRIGHT_", ("_KEY", "_SECRET", "_TOKEN")


@dataclass(slots=True)
class _Child:
    """A started one."""

    program: asyncio.subprocess.Process
    lines: asyncio.StreamReader
    reading: asyncio.ReadTransport
    writing: asyncio.WriteTransport
    gone: "asyncio.Future[int]"  # done with its exit status
    calls: int = 0
    is_spent: bool = False

    def send(self, line: dict[str, Any]) -> None:
        """Send a line down; one that is gone does not matter."""
        if not self.writing.is_closing():
            self.writing.write(json.dumps(line).encode() + b"\n")


class Slot:
    """A place for one call at a time in a child. Only the engine's loop may use it.

    Children are started from that loop's thread alone: Linux kills them when the thread that started them ends.
    """

    def __init__(self) -> None:
        self._child: _Child | None = None
        self._last: _Child | None = None

    async def call(self, job: AnyJob, payload: str, context: Context) -> Result:
        """Call once. Cancelled, it kills the child and what that has started."""
        child = await self._ready()
        child.calls += 1
        here = asyncio.get_running_loop()

        def stop() -> None:
            reason = context.link.reason
            with contextlib.suppress(RuntimeError):
                here.call_soon_threadsafe(child.send, {"stop": reason, "serial": child.calls})

        child.send({"call": _told(job, payload, context) | {"serial": child.calls}})
        forget = context.link.when_stopped(stop)
        try:
            result = await self._answer(child, context)
        except BaseException:
            await self._end()
            raise
        finally:
            forget()
        if child.is_spent or child.calls >= _CALLS_MAX:
            await self._end()
        return result

    async def close(self) -> None:
        """Kill what there is, and see it gone."""
        await self._end()
        if self._last is not None:
            await asyncio.wait({self._last.gone}, timeout=_ENDS_S)

    async def _answer(self, child: _Child, context: Context) -> Result:
        async for line in _lines_of(child):
            match line:
                case {"note": noted}:
                    context.link.note(noted["progress"], noted["checkpoint"])
                case {"log": text}:
                    context.link.write(text)
                case _:
                    return _result_of(line, child)
        child.is_spent = True
        await asyncio.wait({child.gone}, timeout=_ENDS_S)
        return _gone(child.program.returncode)

    async def _ready(self) -> _Child:
        if self._child is not None and self._child.program.returncode is not None:
            await self._end()  # it died between two calls
        if self._child is None:
            self._child = self._last = await _start()
        return self._child

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        # The group: what the handler has started would keep the pipe open, and go on.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.program.pid, signal.SIGKILL)
        if not child.writing.is_closing():
            child.writing.abort()
        child.reading.close()
        await asyncio.wait({child.gone}, timeout=_ENDS_S)


async def _start() -> _Child:
    down_read, down_write = os.pipe()
    up_read, up_write = os.pipe()
    try:
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tickwright_sdk.child", str(down_read), str(up_write), str(os.getpid())),
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=(down_read, up_write),
            start_new_session=True,
            env=_environment() | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},  # noqa: PTH109
        )
    except BaseException:
        os.close(down_write)
        os.close(up_read)
        raise
    finally:
        os.close(down_read)
        os.close(up_write)
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=_LINE_BYTES_MAX)
    reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(up_read, "rb"))
    writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(down_write, "wb"))
    gone = asyncio.ensure_future(program.wait())
    return _Child(program=program, lines=lines, reading=reading, writing=writing, gone=gone)


def _environment() -> dict[str, str]:
    """The worker's own, without the platform's secrets: what a handler starts would have them too."""
    return {name: text for name, text in os.environ.items() if not (name.startswith(_OURS) and name.endswith(_SECRET))}


async def _lines_of(child: _Child) -> AsyncIterator[dict[str, Any]]:
    """What the child says in its present call, until it is gone, whatever of its own still holds the pipe open."""
    while (line := await _next_line(child)) is not None:
        told: dict[str, Any] = json.loads(line)
        if told["serial"] == child.calls:
            yield told


async def _next_line(child: _Child) -> bytes | None:
    reading = asyncio.ensure_future(child.lines.readline())
    either: set[asyncio.Future[Any]] = {reading, child.gone}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():  # it has ended: what it said before may still be in the pipe
            await asyncio.wait({reading}, timeout=0.1)
        return (reading.result() or None) if reading.done() else None
    except (ValueError, OSError):
        return None
    finally:
        reading.cancel()


def _told(job: AnyJob, payload: str, context: Context) -> dict[str, Any]:
    return {
        "name": job.name,
        "module": job.fn.__module__,
        "place": job.fn.__qualname__,
        "payload": payload,
        "context": context.told(),
        "memoryMb": job.manner.memory_mb,
        # One that is called here for once may need what only its worker's process has: that ends no run.
        "mustLoad": job.manner.in_child,
    }


def _result_of(line: dict[str, Any], child: _Child) -> Result:
    match line:
        case {"succeeded": result}:
            return Succeeded(result=result)
        case {"later": after_s, "message": message}:
            return Later(after_s=after_s, message=message)
        case _:
            failed = Failed(**line["failed"])
            # What it holds of the memory that it could not have more of is not known.
            child.is_spent = failed.error_class == "MemoryError"
            return failed


def _gone(status: int | None) -> Failed:
    """A child that ended without an answer."""
    if status is not None and status < 0:
        name = signal.Signals(-status).name
        why = "; out of memory is the commonest reason for that" if -status == signal.SIGKILL else ""
        message = f"The handler's process was killed by {name}{why}."
        return Failed(error_class=KILLED, message=message)
    return Failed(error_class=EXITED, message=f"The handler's process ended by itself, with status {status}.")
