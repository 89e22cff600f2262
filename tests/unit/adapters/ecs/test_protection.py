"""Scale-in protection is asked of the agent over HTTP, and its answer is judged by the body."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tickwright.adapters.ecs.protection import EcsProtection, refusal_in

ARN = "arn:aws:ecs:eu-central-1:111122223333:task/tickwright/0123456789abcdef"
GRANTED = {"protection": {"ExpirationDate": "2026-12-01T10:00:00.000Z", "ProtectionEnabled": True, "TaskArn": ARN}}
LET_GO = {"protection": {"ExpirationDate": None, "ProtectionEnabled": False, "TaskArn": ARN}}
BLOCKED = {"failure": {"Arn": ARN, "Detail": "a deployment waits", "Reason": "DEPLOYMENT_BLOCKED"}}
DENIED = {"requestID": "1", "error": {"Arn": ARN, "Code": "AccessDeniedException", "Message": "no such right"}}


@contextmanager
def an_agent(*answers: tuple[int, object]) -> Iterator[tuple[str, list[tuple[str, str, object]]]]:
    """An agent that gives these answers one after the other; its address, and what it was asked."""
    asked: list[tuple[str, str, object]] = []
    left = iter(answers)

    class Agent(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, self.headers["Content-Type"], json.loads(body)))
            status, answer = next(left)
            said = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Agent)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/api/0123456789", asked
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


async def test_it_is_asked_for_at_the_agent_beside_the_container() -> None:
    """The path and the body are those that ECS documents; a second request counts the minutes anew."""
    with an_agent((200, GRANTED), (200, LET_GO)) as (uri, asked):
        protection = EcsProtection(uri)

        assert await protection.protect(15) is None
        assert await protection.let_go() is None

    path = "/api/0123456789/task-protection/v1/state"
    assert asked == [
        (path, "application/json", {"ProtectionEnabled": True, "ExpiresInMinutes": 15}),
        (path, "application/json", {"ProtectionEnabled": False}),
    ]


@pytest.mark.parametrize(
    ("status", "answer", "refusal"),
    [
        pytest.param(200, BLOCKED, "DEPLOYMENT_BLOCKED: a deployment waits", id="refused with 200"),
        pytest.param(400, DENIED, "AccessDeniedException: no such right", id="a right that is missing"),
        pytest.param(500, b"<html>", "not JSON: b'<html>'", id="no JSON"),
        pytest.param(200, LET_GO, "unexpected", id="the other state"),
        pytest.param(200, {}, "unexpected", id="nothing said"),
        pytest.param(302, {"location": "http://example.com"}, "unexpected", id="a redirect, which is not followed"),
    ],
)
async def test_a_refusal_is_told_in_its_own_words(status: int, answer: object, refusal: str) -> None:
    """ECS refuses with 200 too, so that no status tells."""
    with an_agent((status, answer)) as (uri, _):
        told = await EcsProtection(uri).protect(15)

    assert told is not None
    assert told.startswith(refusal)


async def test_an_agent_that_is_not_there_costs_no_run() -> None:
    """It is told as any refusal is."""
    with an_agent() as (uri, _):
        pass

    told = await EcsProtection(uri).protect(15)

    assert told is not None
    assert told.startswith("no answer")


def test_a_refusal_is_short() -> None:
    """It goes into a log line."""
    told = refusal_in(json.dumps({"failure": {"Reason": "X", "Detail": "y" * 9_000}}).encode(), is_asked_for=True)

    assert told is not None
    assert len(told) <= 200
