"""The API on a port of this machine: started and stopped by whoever shares the event loop with it.

Must not know the endpoints. Its port is taken before anything else starts, so that a port in use is one clear line.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn

from tickwright.api.asgi import asgi_app
from tickwright.api.call import Api

_STOP_S = 5


class PortTaken(OSError):  # noqa: N818 - a state of the world, named as one
    """Another program listens there."""


class _Quiet(uvicorn.Server):
    """Leaves the signals to the program: it stops its loops first, then this."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """One server on one port; port 0 takes a free one."""

    def __init__(self, api: Api, *, host: str = "127.0.0.1", port: int = 8080) -> None:
        """Take the port, or raise PortTaken."""
        self._socket = _bound(host, port)
        self._ending = asyncio.Event()
        config = uvicorn.Config(
            asgi_app(api, self._ending),
            lifespan="off",
            ws="none",
            http="h11",
            loop="none",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_STOP_S,
        )
        self._server = _Quiet(config)
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self._socket.getsockname()[:2]
        return f"http://{host}:{port}"

    async def start(self) -> None:
        """Answer requests from now on; the socket already keeps those that come before."""
        self._socket.listen(_BACKLOG)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))

    async def stop(self) -> None:
        """Take no more requests, finish those that are open (5 s at most), and give the port back."""
        self._ending.set()
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving
        self._socket.close()


_BACKLOG = 1_024


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as fault:
        bound.close()
        raise PortTaken(f"{host}:{port} cannot be used: {fault.strerror}") from fault
    return bound
