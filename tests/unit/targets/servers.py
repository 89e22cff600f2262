"""An HTTP server on a free loopback port that answers as it is told and keeps what it was sent."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(slots=True)
class Told:
    """What to answer, and what was sent."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    before: Callable[[Any], None] | None = None  # called with the handler in place of an answer
    paths: list[str] = field(default_factory=list)
    sent_headers: list[dict[str, str]] = field(default_factory=list)
    sent_bodies: list[bytes] = field(default_factory=list)


@contextmanager
def a_server(told: Told) -> Iterator[str]:
    """Serve until the block ends; the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.paths.append(self.path)
            told.sent_headers.append({name.lower(): value for name, value in self.headers.items()})
            told.sent_bodies.append(self.rfile.read(int(self.headers.get("content-length", 0))))
            if told.before is not None:
                told.before(self)
                return
            self.send_response(told.status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(told.body)))
            self.end_headers()
            self.wfile.write(told.body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
