"""What the jobs call: a server of this test, and a function on the local AWS that asks it.

A worker refuses an address that is not public, and no test opens a hole in that: so the tenant's target is a `lambda`.
The server writes down every call. Must not know the jobs' schedules.
"""

import io
import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.deploy.app import ACCOUNT, FUNCTION
from tests.support.emulators.clients import aws_client

_CODE = '''
"""Asks the server of the test what to do, and does it."""
import json
import urllib.error
import urllib.request

SERVER = "{server}"


class Unwell(Exception):
    """The server has said so."""


def handler(event, context):
    asked = urllib.request.Request(SERVER, data=json.dumps(event).encode(), method="POST")
    try:
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        raise Unwell(refused.read().decode()) from None
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """One call: of which execution, under which epoch, as which attempt, and what was noted of it."""

    kind: str
    execution_id: str
    epoch: int
    attempt: int
    note: Any


@dataclass(slots=True)
class Book:
    """Every call there has been; `broken` are the kinds that fail, `enough` those that have gone on for long enough."""

    calls: list[Called] = field(default_factory=list)
    broken: set[str] = field(default_factory=lambda: {"dead"})
    enough: set[str] = field(default_factory=set)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def told(self, event: dict[str, Any]) -> str | None:
        """Write the call down; why it fails, or None."""
        payload = event["payload"]
        called = Called(
            kind=payload["kind"],
            execution_id=event["executionId"],
            epoch=event["leaseEpoch"],
            attempt=event["attempt"],
            note=event.get("note"),
        )
        with self._guard:
            self.calls.append(called)
            if called.kind in self.broken:
                return "it does not work today"
        return "not yet" if called.kind == "flaky" and called.attempt <= 2 else None

    def of(self, kind: str) -> list[Called]:
        """The calls of one kind, in their order."""
        with self._guard:
            return [call for call in self.calls if call.kind == kind]


@contextmanager
def serving(book: Book) -> Iterator[str]:
    """The server; where it is."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fault = book.told(event)
            heard = {"heard": event["payload"], "enough": event["payload"]["kind"] in book.enough}
            answer = json.dumps(heard).encode() if fault is None else fault.encode()
            self.send_response(200 if fault is None else 503)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving_it = threading.Thread(target=server.serve_forever, daemon=True)
    serving_it.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving_it.join()
        server.server_close()


def make_function(endpoint: str, server: str) -> None:
    """The tenant's own function: no part of the installation."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("target.py", _CODE.format(server=server))
    aws_client("lambda", endpoint).create_function(
        FunctionName=FUNCTION,
        Runtime="python3.13",
        Handler="target.handler",
        Role=f"arn:aws:iam::{ACCOUNT}:role/{FUNCTION}",
        Code={"ZipFile": packed.getvalue()},
        Timeout=30,
    )


def delete_function(endpoint: str) -> None:
    """Take it away again, and what it has said."""
    aws_client("lambda", endpoint).delete_function(FunctionName=FUNCTION)
    aws_client("logs", endpoint).delete_log_group(logGroupName=f"/aws/lambda/{FUNCTION}")
