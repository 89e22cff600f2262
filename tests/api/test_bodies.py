"""Is a body that cannot be read, or has not the right shape, refused, saying where and what to change?"""

import json
from typing import Any

import pytest

from tests.api.client import A_JOB, Client
from tickwright.api.openapi import document
from tickwright.api.shapes import PATTERNS_SAY
from tickwright.domain import limits


async def nothing_was_made(client: Client) -> bool:
    jobs: list[Any] = (await client.get("/v1/jobs")).json["jobs"]
    return jobs == []


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "Expecting value"),
        (b"{", "Expecting property name"),
        (b"{'a': 1}", "Expecting property name"),
        (b'{"schedule": {},}', "property name"),
        (b'{"a": 1} {"b": 2}', "Extra data"),
        (b"\xff\xfe", "not UTF-8"),
        (b'\xef\xbb\xbf{"a": 1}', "BOM"),
        (b'{"payload": NaN}', "NaN"),
        (b'{"payload": -Infinity}', "-Infinity"),
        (b'{"payload": 1e999}', "too large"),
        (b'{"payload": ' + b"9" * 5_000 + b"}", "digits"),
        (b'{"name": "a", "name": "b"}', "'name' stands twice"),
        (b'{"payload": {"x": {"k": 1, "k": 1}}}', "'k' stands twice"),
        (b'{"name": "\\ud800"}', "half a character"),
        (b'{"\\udfff": 1}', "half a character"),
    ],
)
async def test_what_is_no_json_is_refused(acme: Client, raw: bytes, says: str) -> None:
    """Strictly: what two parsers could read differently is none."""
    got = await acme.send_raw("POST", "/v1/jobs", raw, idempotency_key="k", content_type="application/json")

    assert (got.status, got.code) == (400, "malformed_json")
    assert says in got.json["detail"]
    assert await nothing_was_made(acme)


@pytest.mark.parametrize("depth", [65, 500, 100_000])
@pytest.mark.parametrize("pair", [(b"[", b"]"), (b'{"a":', b"}")])
async def test_a_body_that_is_nested_too_deep_is_refused(acme: Client, depth: int, pair: tuple[bytes, bytes]) -> None:
    """However deep, in bounded time and without a stack that ends."""
    raw = b'{"payload":' + pair[0] * depth + b"0" + pair[1] * depth + b"}"
    got = await acme.send_raw("POST", "/v1/jobs", raw, idempotency_key="k")

    assert (got.status, got.errors()) == (422, [("", "too_deep")])


async def test_a_payload_of_the_allowed_depth_comes_back_as_it_was(acme: Client) -> None:
    """60 levels, every kind of value, every kind of character."""
    payload: Any = [1, -0.5, 1e300, True, None, "\u0000\n\u2028\U0001f600", {"": {}}]
    for _ in range(58):
        payload = [payload]
    job = await acme.job(payload=payload)

    assert (await acme.get(f"/v1/jobs/{job['jobId']}")).json["payload"] == payload


@pytest.mark.sem("SEM-API-1")
async def test_a_body_over_a_megabyte_is_refused(acme: Client) -> None:
    """Before it is parsed."""
    raw = b'{"payload":"' + b"x" * limits.BODY_BYTES_MAX + b'"}'
    got = await acme.send_raw("POST", "/v1/jobs", raw, idempotency_key="k")

    assert (got.status, got.code) == (413, "too_large")


async def test_a_payload_over_its_limit_is_refused(acme: Client) -> None:
    """In UTF-8 bytes, not in characters."""
    got = await acme.post("/v1/jobs", A_JOB | {"payload": "\u00e9" * (limits.PAYLOAD_BYTES_MAX // 2)})

    assert (got.status, got.errors()) == (422, [("/payload", "too_large")])
    assert await nothing_was_made(acme)


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/xml", "application/json; charset=utf-16", "multipart/form-data"]
)
async def test_another_media_type_is_refused(acme: Client, content_type: str | None) -> None:
    """A form that a browser sends by itself must not make a job."""
    got = await acme.post("/v1/jobs", A_JOB, content_type=content_type)

    assert (got.status, got.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON; Charset=UTF-8", 'application/json;charset="utf-8"']
)
async def test_json_in_utf_8_is_accepted_however_it_is_called(acme: Client, content_type: str) -> None:
    """Media types have no case."""
    assert (await acme.post("/v1/jobs", A_JOB, content_type=content_type)).status == 201


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        ({"schedule": None}, {("/schedule", "bad_type")}),
        ({"schedule": "0 0 * * *"}, {("/schedule", "bad_type")}),
        ({"target": {"type": "http"}}, {("/target/url", "missing")}),
        ({"target": {}}, {("/target/type", "missing")}),
        ({"target": {"type": "carrier-pigeon"}}, {("/target/type", "bad_value")}),
        ({"target": {"type": "python", "handler": "a b"}}, {("/target/handler", "bad_value")}),
        ({"target": {"type": "python", "handler": "x", "url": "y"}}, {("/target/url", "unknown_field")}),
        ({"retryPolicy": {"maxAttempts": "3"}}, {("/retryPolicy/maxAttempts", "bad_type")}),
        ({"retryPolicy": {"maxAttempts": True}}, {("/retryPolicy/maxAttempts", "bad_type")}),
        ({"retryPolicy": {"maxAttempts": 0}}, {("/retryPolicy/maxAttempts", "out_of_range")}),
        ({"retryPolicy": {"maxAttempts": 10**400}}, {("/retryPolicy/maxAttempts", "out_of_range")}),
        ({"retryPolicy": {"backoff": {"jitter": "some"}}}, {("/retryPolicy/backoff/jitter", "bad_value")}),
        (
            {"retryPolicy": {"backoff": {"initialSec": 20, "maxSec": 10}}},
            {("/retryPolicy/backoff/maxSec", "out_of_range")},
        ),
        ({"timeoutSec": 1.5}, {("/timeoutSec", "bad_type")}),
        ({"timeoutSec": 43_201}, {("/timeoutSec", "out_of_range")}),
        ({"priority": "urgent"}, {("/priority", "bad_value")}),
        ({"tags": ["a", 1, ""]}, {("/tags/1", "bad_type"), ("/tags/2", "too_short")}),
        ({"tags": ["t"] * 21}, {("/tags", "too_many")}),
        ({"name": "x" * 129}, {("/name", "too_long")}),
        ({"name": "no blanks"}, {("/name", "invalid_name")}),
        ({"overlap": {"mode": "fight"}}, {("/overlap/mode", "bad_value")}),
        ({"catchup": {"windowSec": 1}}, {("/catchup/windowSec", "out_of_range")}),
        ({"timeout_sec": 3}, {("/timeout_sec", "unknown_field")}),
        ({"a/b~c": 3, "Name": "x"}, {("/a~1b~0c", "unknown_field"), ("/Name", "unknown_field")}),
    ],
)
async def test_a_wrong_member_is_named_by_its_pointer(
    acme: Client, change: dict[str, Any], errors: set[tuple[str, str]]
) -> None:
    """Type, range, spelling: where it is, and a code that programs go by."""
    got = await acme.post("/v1/jobs", A_JOB | change)

    assert (got.status, got.code, got.json["retryable"]) == (422, "invalid", False)
    assert set(got.errors()) == errors
    assert all(error["message"] for error in got.json["errors"])
    assert await nothing_was_made(acme)


@pytest.mark.parametrize(
    "change",
    [
        {"deadline": {"by": "06:00"}}, {"waitFor": []}, {"steps": []}, {"concurrencyKey": "k"}, {"startWithinSec": 5},
        {"overlap": {"mode": "queue"}}, {"overlap": {"mode": "replace"}}, {"overlap": {"mode": "skip", "limit": 3}},
        {"schedule": {"after": "job"}},
    ],
)  # fmt: skip
async def test_what_later_versions_bring_is_refused_as_such(acme: Client, change: dict[str, Any]) -> None:
    """A user of the documentation learns that it is not a typing error."""
    got = await acme.post("/v1/jobs", A_JOB | change)

    assert got.status == 422
    assert "not_supported_yet" in {code for _, code in got.errors()}


@pytest.mark.parametrize(
    ("schedule", "pointer", "code"),
    [
        ({"cron": "0 25 * * *"}, "/schedule/cron", None),
        ({"cron": "0 0 * * *", "timezone": "Mars/Olympus"}, "/schedule/timezone", "unknown_zone"),
        ({"cron": "0 0 * * *", "timezone": "../../etc/passwd"}, "/schedule/timezone", "unknown_zone"),
        ({"cron": "0 0 30 2 *"}, "/schedule/cron", None),
        ({"runAt": "2020-01-01T00:00:00Z"}, "/schedule/runAt", "in_the_past"),
        ({"runAt": "2099-01-01T00:00:00"}, "/schedule/runAt", "bad_instant"),
        ({"runAt": "tomorrow"}, "/schedule/runAt", "bad_instant"),
        ({"every": "5 minutes"}, "/schedule/every", "bad_duration"),
        ({"every": "PT5M", "cron": "* * * * *"}, "/schedule", "one_kind"),
        ({}, "/schedule", "one_kind"),
        ({"cron": "* * * * *", "tz": "UTC"}, "/schedule/tz", "unknown_field"),
    ],
)
async def test_a_schedule_that_cannot_be_is_refused(
    acme: Client, schedule: dict[str, Any], pointer: str, code: str | None
) -> None:
    """The schedule's own reader says which member, and what to write."""
    got = await acme.post("/v1/jobs", A_JOB | {"schedule": schedule})

    assert got.status == 422
    assert pointer in {at for at, _ in got.errors()}
    assert code is None or code in {given for _, given in got.errors()}


@pytest.mark.sem("SEM-API-1")
@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"name": ""}, "/name", "It is empty; write at least one character, or leave out"),
        ({"schedule": []}, "/schedule", "It is a list; write an object, in braces."),
        ({"schedule": {"cron": []}}, "/schedule/cron", "cron is empty; name at least one"),
        ({"schedule": {"cron": "@daily", "calendars": []}}, "/schedule/calendars", "is empty; name at least one"),
        ({"schedule": {"cron": "0 6 * * *\n"}}, "/schedule/cron", "holds a line break"),
        ({"schedule": {"cron": "@daily", "timezone": "europe/berlin"}}, "/schedule/timezone", "mean Europe/Berlin?"),
        ({"schedule": {"cron": "@daily", "timezone": "America/New York"}}, "/schedule/timezone", "America/New_York?"),
        ({"schedule": {"cron": "@daily", "every": "PT1H"}}, "/schedule", 'with null, such as "cron": null'),
    ],
)
async def test_a_refusal_says_what_was_probably_meant(
    acme: Client, change: dict[str, Any], pointer: str, says: str
) -> None:
    """In the words of JSON, with what to write instead."""
    got = await acme.post("/v1/jobs", A_JOB | change)
    told = {error["pointer"]: error["message"] for error in got.json["errors"]}

    assert says in told[pointer]


@pytest.mark.sem("SEM-API-1")
async def test_a_job_that_is_no_object_is_refused_in_words_of_json(acme: Client) -> None:
    """And of no programming language."""
    got = await acme.post("/v1/jobs", [])

    assert got.errors() == [("", "bad_type")]
    assert got.json["errors"][0]["message"] == "It is a list; write an object, in braces."


@pytest.mark.sem("SEM-API-1")
async def test_at_most_twenty_problems_are_listed(acme: Client) -> None:
    """A hostile body gets no answer as long as itself."""
    got = await acme.post("/v1/jobs", A_JOB | {f"x{n}": n for n in range(100)})

    assert len(got.json["errors"]) == 20


@pytest.mark.parametrize(
    "headers", [{"Host": "x"}, {"content-TYPE": "x"}, {"Idempotency-Key": "x"}, {"A": "1", "a": "2"}]
)
async def test_headers_that_the_target_sets_itself_are_refused(acme: Client, headers: dict[str, str]) -> None:
    """A tenant's Host or Idempotency-Key would contradict ours."""
    target = {"type": "http", "url": "https://example.com/", "headers": headers}
    got = await acme.post("/v1/jobs", A_JOB | {"target": target})

    assert (got.status, got.errors()) == (422, [("/target/headers", "bad_value")])


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "\u00e9", "a\x00"])
async def test_a_header_value_cannot_end_its_line(acme: Client, value: str) -> None:
    """Nor hold what HTTP does not carry."""
    target = {"type": "http", "url": "https://example.com/", "headers": {"X-A": value}}
    got = await acme.post("/v1/jobs", A_JOB | {"target": target})

    assert (got.status, got.errors()) == (422, [("/target/headers/X-A", "bad_value")])


async def test_a_refusal_shows_little_of_what_was_sent(acme: Client) -> None:
    """A value of a megabyte does not come back in an error."""
    got = await acme.post("/v1/jobs", A_JOB | {"priority": "x" * 100_000})

    assert len(json.dumps(got.json)) < 1_000


def patterns_in(schema: object) -> set[str]:
    """Every pattern that a part of the document holds a text or a name to."""
    if isinstance(schema, dict):
        here = {schema["pattern"]} if isinstance(schema.get("pattern"), str) else set()
        here |= set(schema.get("patternProperties", {}))
        return here.union(*(patterns_in(part) for part in schema.values()))
    return set().union(*(patterns_in(part) for part in schema)) if isinstance(schema, list) else set()


def test_every_pattern_is_told_in_words() -> None:
    """A person who has mistyped an id is not shown a regular expression; and no words are left over."""
    found = patterns_in(document()["components"]["schemas"])

    assert found
    assert found == set(PATTERNS_SAY)


async def test_a_text_that_fits_no_pattern_is_refused_in_words(acme: Client) -> None:
    """In a body and in a query alike."""
    path = "/v1/dead-letters"
    got = [
        await acme.post(f"{path}/redrives", {"filter": {"jobId": "nightly"}}),
        await acme.get(f"{path}/groups?jobId=nightly"),
    ]
    words = "Write an id as an answer has it: 26 small letters and digits from 2 to 7; it is 'nightly'."

    assert [one.json["errors"][0]["message"] for one in got] == [words] * 2
