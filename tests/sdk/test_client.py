"""The client: what is sent twice and what is not, what refusals become, and where the key must never be."""

import logging
import re
import threading
from collections.abc import Iterator

import pytest

from tests.sdk.scripted import Says, Scripted, problem, scripted
from tickwright_sdk.client import Client
from tickwright_sdk.connection import Patience
from tickwright_sdk.problems import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    Unauthenticated,
    Unavailable,
    Unreachable,
)

KEY = "tw_a-key-that-nobody-may-see"


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A server that answers {} unless it is told otherwise."""
    with scripted() as one:
        yield one


@pytest.fixture
def waited() -> list[float]:
    """How long the client has waited between tries."""
    return []


@pytest.fixture
def client(server: Scripted, waited: list[float]) -> Iterator[Client]:
    """A client that does not really wait."""
    with Client(server.url, KEY, wait=waited.append) as one:
        yield one


@pytest.mark.sem("SEM-SDK-10")
def test_a_submission_whose_answer_was_lost_is_sent_again_under_the_same_key(server: Scripted, client: Client) -> None:
    """The connection broke: the job may exist, so the repeat carries the key of the first."""
    server.script.extend([Says(cut=True), Says(status=201, body={"jobId": "j"})])

    job = client.submit({"schedule": {"every": "PT1H"}})

    assert job == {"jobId": "j"}
    keys = [asked.headers["idempotency-key"] for asked in server.asked]
    assert len(keys) == 2
    assert keys[0] == keys[1]
    assert len(keys[0]) == 32


def test_two_submissions_have_two_keys_and_a_key_of_ones_own_is_sent_as_it_is(server: Scripted, client: Client) -> None:
    """What is another request to the caller is another to the API."""
    client.submit({"a": 1})
    client.submit({"a": 1})
    client.submit({"a": 1}, idempotency_key="mine")

    first, second, third = [asked.headers["idempotency-key"] for asked in server.asked]
    assert first != second
    assert third == "mine"


@pytest.mark.sem("SEM-SDK-10")
def test_a_claim_and_a_heartbeat_are_never_sent_twice_by_themselves(server: Scripted, client: Client) -> None:
    """A claim that was granted and lost would hold executions; whoever polls decides, under the same requestId."""
    server.otherwise = lambda _: Says(cut=True)

    with pytest.raises(Unreachable):
        client.claim("gpu", {"workerId": "w", "max": 1, "waitSec": 0}, read_s=5)
    with pytest.raises(Unreachable):
        client.heartbeat("e", {"workerId": "w", "leaseEpoch": 1})

    assert server.paths == ["POST /v1/pools/gpu/claim", "POST /v1/executions/e/heartbeat"]


def test_what_is_unavailable_is_asked_again_no_sooner_than_it_says(
    server: Scripted, client: Client, waited: list[float]
) -> None:
    """Retry-After is heeded; otherwise the pauses grow, with chance."""
    server.script.extend([problem(503, "unavailable", Retry_After="2"), Says(cut=True), Says(body={"jobId": "j"})])

    assert client.job("j") == {"jobId": "j"}

    assert waited[0] == 2
    assert 0 <= waited[1] < 0.4


def test_an_end_comes_to_all_patience(server: Scripted, client: Client, waited: list[float]) -> None:
    """Four tries, then the caller is told."""
    server.otherwise = lambda _: problem(503, "unavailable")

    with pytest.raises(Unavailable):
        client.job("j")

    assert len(server.asked) == 4
    assert len(waited) == 3


def test_a_server_that_asks_for_an_hour_is_not_waited_for(server: Scripted, client: Client) -> None:
    """A program that waits so long looks dead; it is told instead."""
    server.otherwise = lambda _: problem(503, "unavailable", Retry_After="3600")

    with pytest.raises(Unavailable) as raised:
        client.job("j")

    assert raised.value.retry_after_s == 3600
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "malformed_json", Invalid),
        (401, "unauthenticated", Unauthenticated),
        (403, "forbidden", Forbidden),
        (404, "not_found", NotFound),
        (409, "overlap", Conflict),
        (412, "version_conflict", Conflict),
        (422, "invalid", Invalid),
        (302, "moved", Refused),
    ],
)
def test_a_refusal_is_an_exception_of_its_kind_and_is_not_repeated(
    server: Scripted, client: Client, status: int, code: str, kind: type[Refused]
) -> None:
    """The same request would be refused again; also a redirect is no place to carry a key to."""
    server.otherwise = lambda _: problem(status, code)

    with pytest.raises(kind) as raised:
        client.pause("j")

    assert (raised.value.status, raised.value.code) == (status, code)
    assert len(server.asked) == 1


@pytest.mark.sem("SEM-SDK-10")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_key_is_carried_to_no_other_place(server: Scripted, client: Client, status: int) -> None:
    """A redirect is not followed, whatever it is, nor repeated."""
    server.otherwise = lambda _: Says(status=status, headers={"Location": f"{server.url}/elsewhere"})

    with pytest.raises(Refused):
        client.job("j")

    assert server.paths == ["GET /v1/jobs/j"]


def test_a_refusal_says_what_to_change(server: Scripted, client: Client) -> None:
    """The message for people has every field; programs have them one by one."""
    errors = [{"pointer": "/schedule", "code": "missing", "message": "Say when."}]
    server.otherwise = lambda _: Says(status=422, body={"code": "invalid", "detail": "One thing.", "errors": errors})

    with pytest.raises(Invalid, match=r"422 invalid: One thing. \(/schedule: Say when.\)") as raised:
        client.submit({})

    assert raised.value.errors[0].pointer == "/schedule"


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"\xff\xfe", b"[1]", b"", b'{"errors": 7}'])
def test_a_page_of_a_proxy_is_a_refusal_too(server: Scripted, client: Client, body: bytes) -> None:
    """Whatever stands between the two may answer in its own words."""
    server.otherwise = lambda _: Says(status=502, body=body)

    with pytest.raises(Unavailable) as raised:
        client.job("j")

    assert raised.value.code == ""


def test_an_answer_that_is_no_json_is_no_answer(server: Scripted, client: Client) -> None:
    """A captive portal says 200 to everything."""
    server.otherwise = lambda _: Says(body=b"<html>Log in</html>")

    with pytest.raises(Unreachable):
        client.job("j")


def test_connections_are_kept(server: Scripted, client: Client) -> None:
    """Twenty requests, one connection."""
    for _ in range(20):
        client.job("j")

    assert len({asked.connection for asked in server.asked}) == 1


def test_a_list_is_followed_to_its_end(server: Scripted, client: Client) -> None:
    """A page may be empty and have a next."""
    server.script.extend(
        [
            Says(body={"executions": [{"n": 1}], "nextToken": "a b"}),
            Says(body={"executions": [], "nextToken": "c"}),
            Says(body={"executions": [{"n": 2}], "nextToken": None}),
        ]
    )

    assert [one["n"] for one in client.executions("j")] == [1, 2]
    assert server.paths == [
        "GET /v1/jobs/j/executions",
        "GET /v1/jobs/j/executions?nextToken=a+b",
        "GET /v1/jobs/j/executions?nextToken=c",
    ]


def test_an_id_cannot_lead_elsewhere(server: Scripted, client: Client) -> None:
    """A slash in an id stays within its step of the path; the ids of executions go as they are."""
    client.job("../admin?x=1")
    client.execution("abc.20261201T000000000Z~M~def")

    assert server.paths == ["GET /v1/jobs/..%2Fadmin%3Fx%3D1", "GET /v1/executions/abc.20261201T000000000Z~M~def"]


@pytest.mark.sem("SEM-SDK-10")
def test_the_key_is_nowhere_to_be_read(server: Scripted, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    """Not in a log at its most talkative, not in an exception, not in a repr."""
    caplog.set_level(logging.DEBUG)
    server.script.extend([Says(cut=True), problem(401, "unauthenticated")])

    with pytest.raises(Unauthenticated) as raised:
        client.job("j")

    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    seen = [caplog.text, str(raised.value), repr(raised.value), repr(client), repr(raised.value.__cause__)]
    assert caplog.text
    assert not [text for text in seen if KEY in text]


@pytest.mark.parametrize(
    "url", ["http://api.example.com", "ftp://localhost", "localhost:8080", "https://u:p@example.com", "https://x?y=1"]
)
def test_an_address_that_would_give_the_key_away_is_refused(url: str) -> None:
    """Plain http is for this machine alone."""
    with pytest.raises(ValueError, match=r"address|clear"):
        Client(url, KEY)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:hidden@x.example/y?token=hidden", "'https://x.example/y'"),
        ("user:hidden@x.example", "'user:x.example'"),
        ("//user:hidden@x.example", "'//x.example'"),
        ("tw_hidden", "a word"),
    ],
)
def test_an_address_that_is_none_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    """A password in it goes into no message, nor does a key that was put in its place."""
    with pytest.raises(ValueError, match=re.escape(f"not {shown}")) as raised:
        Client(url, KEY)

    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize("key", ["", "tw key", "tw_\r\nX-Other: 1", "ü", "x" * 257])
def test_what_cannot_be_a_key_is_refused(key: str) -> None:
    """A line break in it would be another header."""
    with pytest.raises(ValueError, match="printable"):
        Client("https://api.example.com", key)


def test_a_pending_call_can_be_cut(server: Scripted, client: Client) -> None:
    """Another thread ends a long poll at once; what it was granted comes back under the same requestId."""
    polled, released = threading.Event(), threading.Event()

    def hang(_: object) -> Says:
        polled.set()
        released.wait(20)
        return Says(body={"executions": []})

    server.otherwise = hang
    ended: list[type[BaseException]] = []

    def poll() -> None:
        try:
            client.claim("gpu", {"waitSec": 20}, read_s=25)
        except Unreachable as fault:
            ended.append(type(fault))

    polling = threading.Thread(target=poll)
    polling.start()
    assert polled.wait(5)
    client.cut()
    polling.join(5)
    still_waits = polling.is_alive()
    released.set()

    assert ended == [Unreachable]
    assert not still_waits
    assert len(server.asked) == 1


def test_a_server_that_is_not_there_is_said_so(client: Client, server: Scripted) -> None:
    """With the request and the reason; it may be back, so it is asked more than once."""
    waited: list[float] = []
    with Client("http://127.0.0.1:9", KEY, wait=waited.append) as nowhere, pytest.raises(Unreachable) as raised:
        nowhere.job("j")

    assert "GET /v1/jobs/j: NewConnectionError" in str(raised.value)
    assert "refused" in str(raised.value)
    assert len(waited) == 3
    assert KEY not in str(raised.value)


def test_patience_is_bounded_and_has_chance() -> None:
    """Twice as long each time, up to a bound, and any part of it."""
    patience = Patience(pause_s=1, pause_s_max=5)

    assert [patience.pause(attempt, 1.0) for attempt in (1, 2, 3, 4, 50)] == [1, 2, 4, 5, 5]
    assert patience.pause(3, 0.5) == 2
