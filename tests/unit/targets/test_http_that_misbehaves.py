"""Does an HTTP target that breaks every rule cost no more than its attempt: bounded bytes, bounded time, no crash?"""

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from tests.support.builders import TENANT
from tests.unit.targets.invocations import an_invocation, of_tenant
from tests.unit.targets.raw_servers import Answer, a_raw_server, saying, self_signed
from tests.unit.targets.servers import Told, a_server
from tests.unit.targets.test_http import run
from tickwright.adapters.targets.http import HttpRunner
from tickwright.domain.attempts import Failure, Fatal, HandedOver, NotRun, Success, UserResult
from tickwright.domain.executions import Reason
from tickwright.domain.ids import TenantId
from tickwright.domain.jobs import Target
from tickwright.domain.webhooks import WebhookSecret, secret_of
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.runner import Invocation

OK = b"HTTP/1.1 200 OK\r\n"
JSON = b"Content-Type: application/json\r\n"
BOMB = gzip.compress(b" " * 50_000_000)
SECRET = secret_of(b"a key", TENANT, 1)


async def run_raw(answer: Answer, *, left_ms: int = 5_000) -> UserResult:
    with a_raw_server(answer) as port:
        return await run(f"http://127.0.0.1:{port}/hook", left_ms=left_ms)


def without_end(*first: bytes) -> Answer:
    """Say this, then more for ever."""

    def answer(connection: socket.socket) -> None:
        for part in first:
            connection.sendall(part)
        while True:
            connection.sendall(b"x" * 65_536)

    return answer


def standing_still(*first: bytes) -> Answer:
    """Say this, then nothing, until the other side hangs up."""

    def answer(connection: socket.socket) -> None:
        for part in first:
            connection.sendall(part)
        while connection.recv(65_536):
            pass

    return answer


@pytest.mark.sem("SEM-TARGET-1")
@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        pytest.param(saying(), "HttpUnreachable", id="hangs up without a word"),
        pytest.param(saying(b"HTTP/1.1 20"), "HttpUnreachable", id="hangs up in the status line"),
        pytest.param(saying(OK + b"Content-Length: 100\r\n\r\nshort"), "HttpUnreachable", id="hangs up in the body"),
        pytest.param(saying(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "HttpUnreachable", id="speaks another protocol"),
        pytest.param(saying(b"\x00" * 200_000), "HttpUnreachable", id="says a line without end"),
        pytest.param(saying(b"HTTP/1.1 two-hundred OK\r\n\r\n"), "HttpUnreachable", id="a status that is no number"),
        pytest.param(saying(b"HTTP/1.1 99999 OK\r\n\r\n"), "HttpUnreachable", id="a status beyond all"),
        pytest.param(
            saying(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nnonsense"), "HttpUnreachable", id="chunks of garbage"
        ),
        pytest.param(
            saying(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc"), "HttpUnreachable", id="hangs up in a chunk"
        ),
        pytest.param(
            saying(OK, *(b"X-%d: y\r\n" % n for n in range(5_000)), b"\r\n"), "HttpUnreachable", id="a flood of headers"
        ),
        pytest.param(saying(OK + b"X: " + b"y" * 200_000 + b"\r\n\r\n"), "HttpUnreachable", id="a header without end"),
    ],
)
async def test_what_is_no_answer_is_tried_again(answer: Answer, error_class: str) -> None:
    """Whether it was carried out is not known: it counts as an attempt."""
    result = await run_raw(answer)

    assert isinstance(result, Failure)
    assert result.error.error_class == error_class
    assert len(result.error.message) <= 2_000


@pytest.mark.sem("SEM-TARGET-6", "SEM-TARGET-12")
async def test_a_post_that_finds_no_thread_was_not_run_and_another_tenants_is() -> None:
    """Hosts that nobody can look up keep a tenant's threads; what nobody was told of counts no attempt."""
    asked, found, look_up, told = threading.Semaphore(0), threading.Event(), socket.getaddrinfo, Told()

    def slow(host: str, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as the socket module has them
        if host == "slow.example.com":
            asked.release()
            found.wait(10.0)
        return look_up("127.0.0.1", *arguments, **named)

    def to(url: str, tenant_id: TenantId = TENANT) -> Invocation:
        return of_tenant(an_invocation(Target(kind="http", settings={"url": url}), left_ms=30_000), tenant_id)

    with a_server(told) as other, pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", slow)
        runner = HttpRunner(allow_private=True, places=1)
        stuck = [asyncio.create_task(runner.run(to("http://slow.example.com:9/"))) for _ in range(2)]
        for _ in stuck:
            assert await asyncio.to_thread(asked.acquire, timeout=5)
        for one in stuck:
            one.cancel()
        await asyncio.wait(stuck)
        unsent = await runner.run(to(f"{other}/first"))
        sent = await runner.run(to(f"{other}/second", TenantId("another")))
        found.set()
        runner.close()

    assert isinstance(unsent, NotRun)
    assert isinstance(sent, Success)
    assert told.paths == ["/second"]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(saying(b"HTTP/1.1 204 No Content\r\n\r\n"), id="204 without a length"),
        pytest.param(saying(OK + b"\r\n"), id="an end by hanging up"),
        pytest.param(saying(OK + b"Content-Le"), id="a status, and half a header"),
        pytest.param(saying(b"HTTP/1.1 100 Continue\r\n\r\n", OK, b"Content-Length: 0\r\n\r\n"), id="100 first"),
        pytest.param(
            saying(OK + JSON + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB), BOMB),
            id="a bomb of gzip",
        ),
        pytest.param(without_end(OK + JSON + b"\r\n"), id="a body without end"),
        pytest.param(without_end(OK + JSON + b"Content-Length: 99999999999\r\n\r\n"), id="a huge length"),
    ],
)
async def test_a_success_is_one_whatever_follows(answer: Answer) -> None:
    """Nothing is unpacked, and no more is read than could be kept."""
    started = time.process_time()

    result = await run_raw(answer)

    assert result == Success(result=None)
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(standing_still(), id="says nothing"),
        pytest.param(standing_still(b"HTTP/1.1 200"), id="stops in the status line"),
        pytest.param(standing_still(OK + b"Content-Length: 9\r\n\r\nabc"), id="stops in the body"),
        pytest.param(standing_still(b"HTTP/1.1 100 Continue\r\n\r\n" * 3), id="goes on saying go on"),
    ],
)
async def test_what_stands_still_ends_with_the_attempt(answer: Answer) -> None:
    """Its time limit, not the server, says when."""
    started = time.monotonic()  # noqa: TID251 - what is tested is real time

    result = await run_raw(answer, left_ms=300)

    assert isinstance(result, Failure)
    assert result.reason is Reason.TIMED_OUT
    assert time.monotonic() - started < 2.0  # noqa: TID251


async def test_a_header_that_comes_letter_by_letter_ends_with_the_attempt() -> None:
    """Each read succeeds; all of them together do not."""

    def answer(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"H")
            threading.Event().wait(0.02)

    result = await run_raw(answer, left_ms=300)

    assert isinstance(result, Failure)


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tmp_path: Path) -> None:
    """Nothing of the execution is told to whoever stands in between."""
    told = threading.Event()
    with a_raw_server(lambda _connection: told.set(), tls=self_signed(tmp_path)) as port:
        result = await run(f"https://127.0.0.1:{port}/")

    assert isinstance(result, Failure)
    assert "certificate" in result.error.message.lower()
    assert not told.is_set()


async def test_a_server_without_tls_is_not_spoken_to_without_it() -> None:
    """The URL said https."""
    with a_server(told := Told()) as url:
        result = await run(url.replace("http:", "https:"))

    assert isinstance(result, Failure)
    assert told.paths == []


@pytest.mark.sem("SEM-TARGET-2")
@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.8", "169.254.169.254", "::1", "fd00:ec2::254", "::ffff:127.0.0.1", "64:ff9b::7f00:1"],
)
async def test_a_name_that_leads_inside_is_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Names are looked up first, and what they lead to is looked at; by IPv6 as well."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_named: [_found(address)])

    result = await run("http://harmless.example/", allow_private=False)

    assert isinstance(result, Fatal)
    assert result.error.error_class == "HttpAddressRefused"


@pytest.mark.sem("SEM-TARGET-2")
async def test_a_name_with_one_address_inside_is_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would be tried until the inside one comes first."""
    found = [_found("93.184.216.34"), _found("10.0.0.8")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_named: found)

    result = await run("http://harmless.example/", allow_private=False)

    assert isinstance(result, Fatal)


@pytest.mark.sem("SEM-TARGET-2")
async def test_a_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leads elsewhere a moment later gains nothing: what was looked at is what is connected to."""
    told, asked = Told(), list[str]()
    with a_server(told) as url:
        port = int(url.rpartition(":")[2])

        def looked_up(host: str, *_arguments: object, **_named: object) -> list[Any]:
            asked.append(host)
            return [_found("127.0.0.1" if len(asked) == 1 else "10.255.255.1", port)]

        monkeypatch.setattr(socket, "getaddrinfo", looked_up)
        result = await run(f"http://changes.example:{port}/")

    assert isinstance(result, Success)
    assert asked == ["changes.example"]
    assert told.sent_headers[0]["host"] == f"changes.example:{port}"


def _found(address: str, port: int = 80) -> Any:  # noqa: ANN401 - as getaddrinfo has it
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    place = (address, port, 0, 0) if family is socket.AF_INET6 else (address, port)
    return (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place)


@contextmanager
def signing(secrets: Sequence[WebhookSecret] | Exception) -> Iterator[HttpRunner]:
    """A runner whose tenant has these secrets, or cannot be asked for any."""

    async def secrets_of(_tenant_id: TenantId) -> Sequence[WebhookSecret]:
        if isinstance(secrets, Exception):
            raise secrets
        return secrets

    runner = HttpRunner(allow_private=True, secrets_of=secrets_of, places=2)
    try:
        yield runner
    finally:
        runner.close()


@pytest.mark.sem("SEM-TARGET-1")
@pytest.mark.parametrize(
    ("completion", "status", "expected"),
    [
        ("callback", 202, HandedOver()),
        ("callback", 200, Success(result=None)),
        (None, 202, Success(result=None)),
        ("response", 202, Success(result=None)),
    ],
)
async def test_a_202_is_a_hand_over_where_the_job_says_so(
    completion: str | None, status: int, expected: UserResult
) -> None:
    """Any other success has ended at once; without the word 202 is a success as it always was."""
    settings = {} if completion is None else {"completion": completion}
    with a_server(Told(status=status)) as url, signing([]) as runner:
        target = Target(kind="http", settings={"url": url, **settings})
        result = await runner.run(an_invocation(target))

    assert result == expected


@pytest.mark.sem("SEM-SIGN-1")
async def test_a_receiver_with_the_standards_library_takes_what_is_posted() -> None:
    """The id stays the same over the attempts: it is the execution's."""
    with a_server(told := Told()) as url, signing([SECRET]) as runner:
        target = Target(kind="http", settings={"url": url, "headers": {"Webhook-Id": "mine"}})
        await runner.run(invocation := an_invocation(target, payload='{"a":"\u00e9"}'))

    headers = told.sent_headers[0]
    assert Webhook(SECRET.text).verify(told.sent_bodies[0], headers)["payload"] == {"a": "\u00e9"}
    assert headers["webhook-id"] == invocation.execution.ref.id


async def test_without_a_secret_nothing_is_signed() -> None:
    """An installation without a key posts as before."""
    with a_server(told := Told()) as url, signing([]) as runner:
        await runner.run(an_invocation(Target(kind="http", settings={"url": url})))

    assert "webhook-signature" not in told.sent_headers[0]


@pytest.mark.sem("SEM-SIGN-1")
async def test_what_cannot_be_signed_is_not_sent() -> None:
    """The store does not say which secret it is: the claim goes back, and no attempt is counted."""
    with a_server(told := Told()) as url, signing(StoreUnavailable("throttled")) as runner:
        result = await runner.run(an_invocation(Target(kind="http", settings={"url": url})))

    assert isinstance(result, NotRun)
    assert told.paths == []
