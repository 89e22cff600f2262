"""Does an HTTP target end an attempt as its answer says, in bounded time and bytes, and never inside our network?"""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.builders import TENANT
from tests.unit.targets.invocations import an_invocation
from tests.unit.targets.servers import Told, a_server
from tickwright.adapters.targets.http import HttpRunner
from tickwright.domain.attempts import Failure, Fatal, Success, UserResult
from tickwright.domain.executions import Noted, Reason
from tickwright.domain.jobs import Target
from tickwright.ports.runner import GoesOn


@asynccontextmanager
async def a_runner(*, allow_private: bool = True) -> AsyncIterator[HttpRunner]:
    runner = HttpRunner(allow_private=allow_private, places=4)
    try:
        yield runner
    finally:
        runner.close()


async def run(url: str, *, allow_private: bool = True, **shown: Any) -> UserResult:  # noqa: ANN401
    headers = shown.pop("headers", {})
    target = Target(kind="http", settings={"url": url, "headers": headers})
    async with a_runner(allow_private=allow_private) as runner:
        result = await runner.run(an_invocation(target, **shown))
    assert not isinstance(result, GoesOn)
    return result


@pytest.mark.sem("SEM-TARGET-1")
async def test_a_2xx_is_a_success_and_its_json_is_kept() -> None:
    """A JSON body is the result, in its compact form."""
    told = Told(status=201, headers={"Content-Type": "application/json; charset=utf-8"}, body=b'{ "done": [1, 2] }')
    with a_server(told) as url:
        result = await run(f"{url}/hook?x=1")

    assert result == Success(result='{"done":[1,2]}')
    assert told.paths == ["/hook?x=1"]


@pytest.mark.sem("SEM-LOG-1")
async def test_what_a_target_answers_is_the_log_of_the_attempt() -> None:
    """Its status and its text, more of it than an error has."""
    with a_server(Told(status=500, body=b"line 1\nline 2 " + b"x" * 900)) as url:
        invocation = an_invocation(Target(kind="http", settings={"url": url, "headers": {}}))
        async with a_runner() as runner:
            await runner.run(invocation)

    assert invocation.log.tail().text.splitlines()[1:] == ["line 1", f"line 2 {'x' * 900}"]
    assert invocation.log.tail().text.startswith("500 ")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", b"<p>fine</p>"),
        ("application/json", b"{not json"),
        ("application/json", b'"' + b"x" * 40_000 + b'"'),
        ("application/json", b"NaN"),
        ("application/json", b"[" * 20_000 + b"]" * 10_000),
    ],
)
async def test_a_body_that_is_no_bounded_json_is_not_kept(content_type: str, body: bytes) -> None:
    """The status alone says success: what cannot be a result costs nothing but itself."""
    with a_server(Told(headers={"Content-Type": content_type}, body=body)) as url:
        assert await run(url) == Success(result=None)


@pytest.mark.sem("SEM-TARGET-3")
async def test_the_target_is_told_who_calls_and_how_to_fence() -> None:
    """Ids, times, epoch, trace and payload go in the body; the idempotency key is the same in every attempt."""
    told = Told()
    with a_server(told) as url:
        await run(url, payload='{"a":"\u00e9"}', headers={"X-Team": "billing", "user-agent": "mine"})

    body = json.loads(told.sent_bodies[0])
    assert body["payload"] == {"a": "\u00e9"}
    assert (body["attempt"], body["leaseEpoch"]) == (1, 1)
    assert body["executionId"].startswith(body["jobId"])
    assert body["tenantId"] == TENANT
    assert body["scheduledTime"] == "2026-12-01T00:00:00.000Z"
    sent = told.sent_headers[0]
    assert sent["idempotency-key"] == body["executionId"]
    assert sent["traceparent"] == body["traceparent"]
    assert (sent["x-team"], sent["user-agent"]) == ("billing", "tickwright")


@pytest.mark.sem("SEM-CHECKPOINT-1")
@pytest.mark.parametrize(
    ("noted", "told_of"),
    [
        (None, None),
        (Noted(progress=0.5), None),
        (Noted(checkpoint='{"row":7,"of":"\u4e16"}'), {"row": 7, "of": "\u4e16"}),
    ],
)
async def test_the_target_is_handed_the_last_checkpoint(noted: Noted | None, told_of: object) -> None:
    """What an attempt before has noted, as it was; null where none has."""
    told = Told()
    with a_server(told) as url:
        await run(url, noted=noted)

    assert json.loads(told.sent_bodies[0])["checkpoint"] == told_of


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
async def test_a_status_about_the_moment_is_tried_again(status: int) -> None:
    """408, 425, 429 and 5xx are failures, with what the target says in the message."""
    with a_server(Told(status=status, body=b"come\r\nback")) as url:
        result = await run(url)

    assert isinstance(result, Failure)
    assert result.error.error_class == f"Http{status}"
    assert result.error.message.endswith("come back")
    assert result.after_s is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 418, 422, 499])
async def test_a_status_about_the_request_is_fatal(status: int) -> None:
    """Other 4xx say that the same request will never do."""
    with a_server(Told(status=status)) as url:
        result = await run(url)

    assert isinstance(result, Fatal)
    assert result.error.error_class == f"Http{status}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    """It could lead anywhere, also inside; the message says where it points."""
    told = Told(status=status, headers={"Location": "http://169.254.169.254/latest"})
    with a_server(told) as url:
        result = await run(url)

    assert isinstance(result, Fatal)
    assert "169.254.169.254" in result.error.message
    assert len(told.paths) == 1


@pytest.mark.sem("SEM-TARGET-1")
async def test_retry_after_is_heeded() -> None:
    """Seconds that a server asks for reach the retry."""
    with a_server(Told(status=429, headers={"Retry-After": "120"})) as url:
        result = await run(url)

    assert isinstance(result, Failure)
    assert result.after_s == 120.0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.8.8"])
async def test_an_address_of_this_network_is_refused(host: str) -> None:
    """However it is written: it is looked at after it was looked up."""
    told = Told()
    with a_server(told) as url:
        port = url.rpartition(":")[2]
        result = await run(f"http://{host}:{port}/", allow_private=False)

    assert isinstance(result, Fatal)
    assert result.error.error_class == "HttpAddressRefused"
    assert told.paths == []


async def test_a_host_that_nobody_listens_on_is_tried_again() -> None:
    """A connection that is refused says nothing about the request."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        result = await run(f"http://127.0.0.1:{port}/")

    assert isinstance(result, Failure)
    assert result.error.error_class == "HttpUnreachable"


async def test_an_answer_that_drips_is_ended_by_the_time_limit() -> None:
    """A byte now and then keeps every read alive; the attempt's own limit counts all of it."""
    over = threading.Event()

    def drip(handler: Any) -> None:  # noqa: ANN401
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not over.wait(0.05):
            handler.wfile.write(b"x")
            handler.wfile.flush()

    def until_broken(handler: Any) -> None:  # noqa: ANN401
        try:
            drip(handler)
        except OSError:
            over.set()

    with a_server(Told(before=until_broken)) as url:
        started = time.monotonic()  # noqa: TID251 - what is tested is real time
        result = await run(url, left_ms=300)
        took = time.monotonic() - started  # noqa: TID251
        broken = await asyncio.to_thread(over.wait, 5.0)
        over.set()

    assert isinstance(result, Failure)
    assert result.reason is Reason.TIMED_OUT
    assert took < 2.0
    assert broken, "the connection was closed, not forgotten"


@pytest.mark.sem("SEM-TARGET-6")
async def test_a_cancelled_attempt_closes_its_connection_and_may_go_on() -> None:
    """The thread that waits for the answer is woken at once, and is free again; the server has been told."""
    asked, closed = threading.Event(), threading.Event()

    def wait_for_the_end(handler: Any) -> None:  # noqa: ANN401
        asked.set()
        if handler.rfile.read(1) == b"":
            closed.set()

    with a_server(Told(before=wait_for_the_end)) as url:
        async with a_runner() as runner:
            invocation = an_invocation(Target(kind="http", settings={"url": url}), left_ms=60_000)
            running = asyncio.create_task(runner.run(invocation))
            assert await asyncio.to_thread(asked.wait, 5.0)
            running.cancel()
            assert await running == GoesOn()
            assert await asyncio.to_thread(closed.wait, 5.0)


@pytest.mark.sem("SEM-TARGET-6")
async def test_a_cancelled_attempt_that_has_reached_nobody_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its host was still being looked up: what the look-up finds later is told of nothing."""
    asked, found, look_up, told = threading.Event(), threading.Event(), socket.getaddrinfo, Told()

    def slow(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as the socket module has them
        asked.set()
        found.wait(5.0)
        return look_up(*arguments, **named)

    with a_server(told) as url:
        runner = HttpRunner(allow_private=True, places=1)
        monkeypatch.setattr(socket, "getaddrinfo", slow)
        running = asyncio.create_task(runner.run(an_invocation(Target(kind="http", settings={"url": url}))))
        assert await asyncio.to_thread(asked.wait, 5.0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        found.set()
        monkeypatch.undo()
        after = await runner.run(an_invocation(Target(kind="http", settings={"url": url})))
        runner.close()

    assert isinstance(after, Success)
    assert told.paths == ["/"]  # of the one after it


async def test_no_time_left_means_no_call() -> None:
    """An attempt that starts after its own limit touches nobody."""
    told = Told()
    with a_server(told) as url:
        result = await run(url, left_ms=0)

    assert isinstance(result, Failure)
    assert result.reason is Reason.TIMED_OUT
    assert told.paths == []
