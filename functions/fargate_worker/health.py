"""Whether this machine still answers: a port of its own loopback, and the probe that asks it.

Must not ask the store: a store that is down would take every machine away, when all that helps is to wait.
"""

import asyncio
import http.client
import json
import os
import sys
from collections.abc import Callable

from tickwright.fleet_settings import HEALTH_PORT_DEFAULT

_HOST = "127.0.0.1"
_REQUEST_BYTES_MAX = 8_192
_TIMEOUT_S = 4.0  # under the 5 s that ECS gives a probe

Facts = Callable[[], dict[str, object]]


async def serve_health(port: int, facts: Facts) -> asyncio.Server:
    """Answer every request with what `facts` says; an event loop that hangs answers nothing."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(facts()))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asked has gone, or asked for something else
        finally:
            writer.close()

    return await asyncio.start_server(answer, _HOST, port, limit=_REQUEST_BYTES_MAX)


def _answer(facts: dict[str, object]) -> bytes:
    body = json.dumps(facts, separators=(",", ":")).encode()
    head = ("HTTP/1.1 200 OK", "Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close")
    return "\r\n".join((*head, "", "")).encode() + body


def probe(port: int) -> bool:
    """Whether the process on this machine answers."""
    connection = http.client.HTTPConnection(_HOST, port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(0 if probe(int(os.environ.get("TICKWRIGHT_HEALTH_PORT", HEALTH_PORT_DEFAULT))) else 1)
