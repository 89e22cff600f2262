"""The health of a worker over HTTP: one answer, for whoever decides whether to replace it.

Must not know what is well: it is told. It is served by the engine's own loop, so a worker whose heartbeats are held up
does not answer. Promise: SEM-SDK-9.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

_HEAD_BYTES_MAX = 8_192
_ASKING_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether it is well, and what there is to say of it."""

    is_well: bool
    body: Mapping[str, Any]


@contextlib.asynccontextmanager
async def serving(say: Callable[[], Health], *, host: str, port: int) -> AsyncIterator[int]:
    """Answer every GET with what is said then; 200 if well, else 503. Yields the port, which 0 lets the system choose.

    `host` is 127.0.0.1 unless whoever asks comes from outside of the machine or the container.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            async with asyncio.timeout(_ASKING_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer_to(head, say()))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, host, port, limit=_HEAD_BYTES_MAX)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def _answer_to(head: bytes, health: Health) -> bytes:
    if not head.startswith((b"GET ", b"HEAD ")):
        return b"HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    body = json.dumps(health.body).encode()
    status = "200 OK" if health.is_well else "503 Service Unavailable"
    lines = (
        f"HTTP/1.1 {status}",
        "Content-Type: application/json",
        "Cache-Control: no-store",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body if head.startswith(b"GET ") else b"")
