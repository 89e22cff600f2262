"""Is an address told public from private, and a Retry-After read in both its forms?"""

import json
from dataclasses import replace

import pytest

from tests.support.builders import a_definition
from tickwright.adapters.targets.doors import is_public
from tickwright.adapters.targets.http_answers import Answer, result_from, retry_after_s, said_by, told
from tickwright.domain import limits
from tickwright.domain.attempts import Fatal, HandedOver
from tickwright.domain.instants import from_rfc3339

NOW = from_rfc3339("2026-11-29T12:00:00Z")


@pytest.mark.parametrize(
    "address",
    [
        "10.1.2.3", "172.16.0.1", "192.168.1.1", "127.0.0.1", "127.8.8.8", "100.64.0.1", "169.254.169.254", "0.0.0.0",  # noqa: S104
        "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "::", "::1",
        "fe80::1%eth0", "fec0::2",
        "fc00::1", "fd00:ec2::254", "ff0e::1", "2001:db8::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    ],
)  # fmt: skip
def test_an_address_of_the_inside_is_not_public(address: str) -> None:
    """Private, loopback, link-local (so the metadata service), shared, multicast, reserved; also inside IPv6."""
    assert not is_public(address)


@pytest.mark.sem("SEM-TARGET-2")
@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::808:808"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    """Also one that NAT64 wraps: networks without IPv4 have no other."""
    assert is_public(address)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0), (" 30 ", 30.0), ("Sun, 29 Nov 2026 12:00:10 GMT", 10.0), ("Sun, 29 Nov 2026 11:00:00 GMT", 0.0),
        ("", None), ("soon", None), ("-5", None), ("1.5", None), ("99999999999999999999", None),
        ("Sun, 29 Nov 2026 12:00:10", None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    """Anything else is as if it were not there."""
    assert retry_after_s(text, NOW) == seconds


def an_answer(status: int, body: bytes, content_type: str = "text/plain") -> Answer:
    """An answer with this body."""
    return Answer(status=status, reason="Because", headers={"Content-Type": content_type}, body=body)


@pytest.mark.sem("SEM-LOG-1")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (an_answer(503, b"try\n\tlater \x1b[31m\xff"), "503 Because\ntry\n\tlater  [31m\ufffd\n"),
        (an_answer(404, b""), "404 Because\n\n"),
        (an_answer(200, b"<p>fine</p>"), "200 Because\n<p>fine</p>\n"),
        (an_answer(500, b"x" * 5_000), f"500 Because\n{'x' * 2_000}\n"),
        (an_answer(200, b'{"rows": 7}', "application/json"), ""),
        (an_answer(204, b""), ""),
    ],
)
def test_the_log_has_what_the_result_has_not(answer: Answer, said: str) -> None:
    """The status and the text of a failure, and of a success that is no JSON; a plain success costs no log."""
    assert said_by(answer, result_from(answer, answer, NOW)) == said


@pytest.mark.sem("SEM-LOG-1")
def test_a_hand_over_is_logged_if_it_says_anything() -> None:
    """Most say nothing."""
    assert said_by(an_answer(202, b""), HandedOver()) == ""
    assert said_by(an_answer(202, b"as ticket 7"), HandedOver()) == "202 Because\nas ticket 7\n"


PEM = "-----BEGIN KEY-----\nfirst line\nsecond line\n-----END KEY-----"


@pytest.mark.sem("SEM-SECRET-1")
@pytest.mark.parametrize("filler", [0, 450, 490, 1_960, 1_990, 32_740])
def test_no_part_of_a_secret_is_quoted_wherever_the_answer_is_cut(filler: int) -> None:
    """In the error, which has one line of it, and in the log; whole, or where either or the body itself ends."""
    spec = replace(a_definition().spec, payload=json.dumps({"pem": PEM}), secrets=("/payload/pem",))
    body = (b"." * filler + PEM.encode() + b" was sent")[: limits.RESULT_BYTES_MAX + 1]
    answer = an_answer(400, body)
    quoted = told(answer, spec)
    result = result_from(answer, quoted, NOW)

    assert isinstance(result, Fatal)
    assert "BEGIN" not in result.error.message + said_by(quoted, result)
    assert "line" not in result.error.message + said_by(quoted, result)
    assert filler > 0 or result.error.message == "400 Because: ******** was sent"


@pytest.mark.sem("SEM-SECRET-1")
def test_a_redirect_that_has_a_secret_in_its_address_is_quoted_without_it() -> None:
    """Also where the address is shortened, and where the reason has one."""
    spec = replace(a_definition().spec, payload='"the-secret"', secrets=("/payload",))
    answer = Answer(status=302, reason="the-secret", headers={"Location": "." * 495 + "the-secret"}, body=b"")
    result = result_from(answer, told(answer, spec), NOW)

    assert isinstance(result, Fatal)
    assert "the-s" not in result.error.message
