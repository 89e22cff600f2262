"""Lambda's Runtime API for one function, on the loopback address: it hands out events one by one, and takes answers.

Must not know a function. What it speaks is the protocol that the runtime's client polls (`/2018-06-01/runtime/`).
"""

import json
import queue
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from tickwright.adapters.clock_system import SystemClock

ARN = "arn:aws:lambda:us-east-1:000000000000:function:packed"
# A handler that has not answered by then never will.
ANSWER_S_MAX = 90


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: `kind` is response, error, or init/error."""

    kind: str
    body: Any


@dataclass(frozen=True, slots=True)
class _Event:
    request_id: str
    body: bytes
    left_ms: int


class RuntimeApi:
    """The server; closing it ends whoever polls."""

    def __init__(self) -> None:
        """Serve on a free port."""
        self._events: queue.Queue[_Event | None] = queue.Queue()
        self._answers: queue.Queue[Answer] = queue.Queue()
        self._count = 0
        serving = type("_Serving", (_Handler,), {"events": self._events, "answers": self._answers})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), serving)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """What AWS_LAMBDA_RUNTIME_API is."""
        return f"127.0.0.1:{self._server.server_port}"

    def invoke(self, event: object, *, left_ms: int) -> Answer:
        """Hand an event out and wait for what becomes of it; queue.Empty if nothing does."""
        self._count += 1
        self._events.put(_Event(f"00000000-0000-0000-0000-{self._count:012}", json.dumps(event).encode(), left_ms))
        return self._answers.get(timeout=ANSWER_S_MAX)

    def close(self) -> None:
        """Let the poller go, and stop."""
        self._events.put(None)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body in one segment: else each call waits for an acknowledgement.
    disable_nagle_algorithm = True
    wbufsize = -1
    events: ClassVar[queue.Queue[_Event | None]]
    answers: ClassVar[queue.Queue[Answer]]

    def do_GET(self) -> None:
        """`invocation/next`, which waits."""
        event = self.events.get()
        if event is None:
            self.close_connection = True
            return
        self._reply(
            200,
            event.body,
            {
                "Lambda-Runtime-Aws-Request-Id": event.request_id,
                "Lambda-Runtime-Deadline-Ms": str(SystemClock().now() + event.left_ms),
                "Lambda-Runtime-Invoked-Function-Arn": ARN,
                "Content-Type": "application/json",
            },
        )

    def do_POST(self) -> None:
        """`invocation/ID/response`, `invocation/ID/error` or `init/error`."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"null")
        *_, of, kind = self.path.split("/")
        self._reply(202, b"", {})
        self.answers.put(Answer("init/error" if of == "init" else kind, body))

    def _reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""
