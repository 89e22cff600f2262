"""A proxy that strikes calls: between the processes of a run and one service of AWS, on the loopback address only.

`python -m tests.chaos.proxy` reads its orders as one line of JSON, says on stdout where it listens, writes each fault
that it carried out to a file, and ends when stdin does. It forwards what it is given byte for byte, and learns who
calls what from the headers. Must not choose: tests/chaos/faults.py does.
"""

import asyncio
import contextlib
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.chaos.faults import Fate, Fault, Kind, Service, windows
from tests.chaos.refusals import refusal

NOBODY = "nobody"
_HEAD_END = b"\r\n\r\n"
_HEAD_BYTES_MAX = 1 << 20
_APP = re.compile(r"\bapp/(\S+)")
_KEPT_BACK = {Kind.DELAY, Kind.HELD}
_NOT_DONE = {Kind.CUT, Kind.ERROR, Kind.THROTTLE, Kind.CONFLICT}


@dataclass(frozen=True, slots=True)
class Whole:
    """One request or answer, with all its bytes."""

    raw: bytes
    headers: Mapping[str, str]

    @property
    def body(self) -> bytes:
        """What follows the headers."""
        return self.raw.partition(_HEAD_END)[2]

    @property
    def operation(self) -> str:
        """PutItem, SendMessage."""
        return self.headers.get("x-amz-target", "").rpartition(".")[2]

    @property
    def member(self) -> str:
        """Who calls, as the SDK says it of its application."""
        found = _APP.search(self.headers.get("user-agent", ""))
        return NOBODY if found is None else found.group(1)


async def read_whole(reader: asyncio.StreamReader) -> Whole | None:
    """The next one of a connection; None at its end."""
    try:
        head = await reader.readuntil(_HEAD_END)
    except asyncio.IncompleteReadError:
        return None
    lines = head.decode("latin-1").split("\r\n")[1:]
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return Whole(head + await _chunks(reader), headers)
    return Whole(head + await reader.readexactly(int(headers.get("content-length", 0))), headers)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    found = b""
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        found += line + await reader.readexactly(size + 2)
        if size == 0:
            return found


async def end(writer: asyncio.StreamWriter) -> None:
    """Close a connection, whatever its other side has done meanwhile."""
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


class Connection:
    """One connection to the service, opened when it is needed, and again when it was closed meanwhile."""

    def __init__(self, host: str, port: int) -> None:
        """Nothing is opened yet."""
        self._address = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Whole) -> Whole:
        """Its answer. A connection that was found closed is replaced; one that breaks in the middle is an error."""
        if self._streams is None or self._streams[0].at_eof():
            await self.close()
            self._streams = await asyncio.open_connection(*self._address, limit=_HEAD_BYTES_MAX)
        reader, writer = self._streams
        writer.write(request.raw)
        await writer.drain()
        answer = await read_whole(reader)
        if answer is None:
            raise ConnectionError("the service closed the connection")
        if answer.headers.get("connection", "").lower() == "close":
            await self.close()
        return answer

    async def close(self) -> None:
        """Let go of it."""
        if self._streams is not None:
            await end(self._streams[1])
        self._streams = None


@dataclass(slots=True, kw_only=True)
class Proxy:
    """In front of one service."""

    fate: Fate
    upstream: str
    start_ms: int
    log: int  # the file that faults are written to
    calls: Counter[str] = field(default_factory=Counter)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a caller, until either side ends it."""
        place = urlsplit(self.upstream)
        assert place.hostname is not None
        assert place.port is not None
        connection = Connection(place.hostname, place.port)
        try:
            while (request := await read_whole(reader)) is not None:
                answer = await self._answer(connection, request)
                if answer is None:
                    return
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return  # one of the two is gone, or the run is over: so is the other's connection
        finally:
            await connection.close()
            await end(writer)

    async def _answer(self, connection: Connection, request: Whole) -> bytes | None:
        """What the caller is told; None ends the connection without a word."""
        self.calls[request.operation] += 1
        fault = self.fate.meet(request.member, request.operation, _now_ms() - self.start_ms)
        if fault is None:
            return (await connection.ask(request)).raw
        self._note(request, fault)
        if fault.kind in _KEPT_BACK:
            await asyncio.sleep(fault.for_ms / 1_000)
        reply = None if fault.kind in _NOT_DONE else (await connection.ask(request)).raw
        if fault.kind in {Kind.CUT, Kind.LOST}:
            return None
        if fault.kind in _KEPT_BACK:
            return reply
        return refusal(self.fate.service, fault.kind, request.operation, request.body)

    def _note(self, request: Whole, fault: Fault) -> None:
        about = {"service": self.fate.service.value, "member": request.member, "operation": request.operation}
        self._write({**about, "fault": fault.kind.value, "forMs": fault.for_ms, "wallMs": _now_ms()})

    def close(self) -> None:
        """Say how much was asked."""
        self._write({"service": self.fate.service.value, "calls": dict(self.calls)})

    def _write(self, line: Mapping[str, object]) -> None:
        os.write(self.log, json.dumps(line).encode() + b"\n")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


async def listen(proxy: Proxy) -> tuple[asyncio.Server, str]:
    """Begin to serve on a free port; where."""
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=_HEAD_BYTES_MAX)
    port: int = server.sockets[0].getsockname()[1]
    return server, f"http://127.0.0.1:{port}"


async def main() -> None:
    """A proxy before each service that the orders name, until stdin ends."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    orders: dict[str, Any] = json.loads(await lines.readline())
    log = os.open(Path(orders["log"]), os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
    seed, begin_ms, quiet_ms = orders["seed"], orders["beginMs"], orders["quietMs"]
    planned = windows(seed, begin_ms=begin_ms, quiet_ms=quiet_ms)
    places = {}
    async with contextlib.AsyncExitStack() as stack:
        for name, upstream in orders["services"].items():
            fate = Fate(seed=seed, service=Service(name), windows=planned, quiet_ms=quiet_ms)
            proxy = Proxy(fate=fate, upstream=upstream, start_ms=orders["startMs"], log=log)
            server, places[name] = await listen(proxy)
            stack.callback(server.close)
            stack.callback(proxy.close)
        print(json.dumps(places), flush=True)
        await lines.read()


if __name__ == "__main__":
    asyncio.run(main())
