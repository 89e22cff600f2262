"""An ECS that knows RunTask alone: it keeps tokens as AWS says it does, and refuses as it is told.

ministack forgets tokens, so that a second try starts a second container there. JSON 1.1 on a free loopback port.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CLUSTER = "arn:aws:ecs:us-east-1:000000000000:cluster/c"
FAMILY = "arn:aws:ecs:us-east-1:000000000000:task-definition/nightly:1"
TARGET = "AmazonEC2ContainerServiceV20141113.RunTask"
TOKEN_CHARS_MAX = 64
STARTED_BY_CHARS_MAX = 128


@dataclass(slots=True)
class Ecs:
    """What it has started, and what it refuses."""

    refuses: tuple[str, str] | None = None  # an exception and its message, of the next request
    short_of: str | None = None  # the reason of a failure, with status 200
    loses_answers: bool = False  # does what it is asked, and hangs up
    started: list[Mapping[str, Any]] = field(default_factory=list)
    by_token: dict[str, tuple[str, str]] = field(default_factory=dict)

    def answer(self, request: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        """A status and a body."""
        if self.refuses is not None:
            return self._refused(*self.refuses)
        if request["cluster"] != CLUSTER:
            return self._refused("ClusterNotFoundException", "Cluster not found.")
        if request["taskDefinition"] != FAMILY:
            return self._refused("ClientException", "Unable to find task definition.")
        if len(request["clientToken"]) > TOKEN_CHARS_MAX or len(request["startedBy"]) > STARTED_BY_CHARS_MAX:
            return self._refused("InvalidParameterException", "Too long.")
        if self.short_of is not None:
            return 200, {"tasks": [], "failures": [{"arn": "arn:x", "reason": self.short_of}]}
        return self._start(request)

    def _start(self, request: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        token, asked = request["clientToken"], json.dumps(request, sort_keys=True)
        arn, first_asked = self.by_token.setdefault(
            token, (f"{CLUSTER.replace(':cluster/', ':task/')}/{len(self.started):032x}", asked)
        )
        if first_asked != asked:
            return 400, {"__type": "ConflictException", "message": "Other parameters.", "resourceIds": [arn]}
        if arn not in [one["arn"] for one in self.started]:
            self.started.append({"arn": arn, **request})
        return 200, {"tasks": [{"taskArn": arn, "lastStatus": "PROVISIONING"}], "failures": []}

    @staticmethod
    def _refused(name: str, message: str) -> tuple[int, Mapping[str, Any]]:
        return (500 if name == "ServerException" else 400), {"__type": name, "message": message}


@contextmanager
def a_fake_ecs(ecs: Ecs) -> Iterator[str]:
    """Serve until the block ends; the endpoint."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["X-Amz-Target"] == TARGET
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, value = ecs.answer(request)
            if ecs.loses_answers:
                self.close_connection = True
                return
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

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
