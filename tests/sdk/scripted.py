"""An HTTP server on the loopback address that answers as a test says, and notes what it was asked."""

import json
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    connection: int  # the same number, the same kept connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """One answer; `cut` closes the connection in its place."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


def problem(status: int, code: str, *, retryable: bool = False, **headers: str) -> Says:
    """A refusal as the API gives it."""
    body = {"status": status, "code": code, "detail": f"it is {code}", "errors": [], "retryable": retryable}
    return Says(status=status, body=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


Answering = Callable[[Asked], Says]


@dataclass(slots=True)
class Scripted:
    """The server: `script` first, one answer a request, then whatever `otherwise` says."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    script: deque[Says] = field(default_factory=deque)
    otherwise: Answering = field(default=lambda _: Says())
    guard: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: Asked) -> Says:
        """Note a request; the answer to it."""
        with self.guard:
            self.asked.append(asked)
            says = self.script.popleft() if self.script else None
        return self.otherwise(asked) if says is None else says

    @property
    def paths(self) -> list[str]:
        """Every method and path that was asked, in order."""
        return [f"{one.method} {one.path}" for one in self.asked]


@contextmanager
def scripted() -> Iterator[Scripted]:
    """Serve on a free port until the end."""
    served = Scripted()

    class Endpoint(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(
                method=self.command,
                path=self.path,
                headers={name.lower(): text for name, text in self.headers.items()},
                body=json.loads(raw) if raw else None,
                connection=self.client_address[1],
            )
            self._send(served.answer(asked))

        def _send(self, says: Says) -> None:
            if says.cut:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            raw = says.body if isinstance(says.body, bytes) else json.dumps(says.body).encode()
            self.send_response(says.status)
            for name, text in {**says.headers, "Content-Length": str(len(raw))}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - http.server's names

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *asked: Any) -> None:  # noqa: ANN401 - socketserver's
            """A client that has gone is no error here."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(*asked)

    server = Server(("127.0.0.1", 0), Endpoint)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    serving.start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
