"""Is a body of a megabyte refused, with its reason, in little more than the time that JSON takes to be read?

Whatever grows faster than that holds up every other request of the process. On the machine this was written on, what
comes beside the reading takes some 5 ms. The bound here leaves room for a slow and busy one.
"""

import json
from collections.abc import Callable
from time import process_time

import pytest

from tests.api.client import A_JOB, IN_A_YEAR, Client, Got
from tickwright.domain import limits

_TRIES = 4
_MS_MAX = 25.0
_READINGS_MAX = 2.0
_BYTES = limits.BODY_BYTES_MAX - 100
_WHEN = f'"schedule":{{"runAt":"{IN_A_YEAR}"}}'
_WHERE = '"target":{"type":"python","handler":"nightly"}'
_REST = f"{_WHEN},{_WHERE}"
_HTTP = f'{{{_WHEN},"target":{{"type":"http","url":"https://example.com/",'
_CRON = f'{{{_WHERE},"schedule":{{"cron":'

Unit = Callable[[int], str]


def member(number: int) -> str:
    """A name that no object has."""
    return f'"x{number:x}":0'


def repeated(head: str, unit: Unit, tail: str) -> bytes:
    """A megabyte of units between head and tail."""
    count = (_BYTES - len(head) - len(tail)) // (len(unit(999_999)) + 1)
    return (head + ",".join(map(unit, range(count))) + tail).encode()


def stretched(head: str, text: str, tail: str) -> bytes:
    """A megabyte of the text between head and tail."""
    return (head + text * ((_BYTES - len(head) - len(tail)) // len(text.encode())) + tail).encode()


SHAPES: tuple[tuple[bytes, str, str], ...] = (
    (repeated("{", member, "}"), "", "too_many"),
    (repeated("{", lambda at: f'"x{at:x}":{{}}', "}"), "", "too_many"),
    (repeated(f"{{{_REST},", member, "}"), "", "too_many"),
    (repeated(f'{{{_WHERE},"schedule":{{', member, "}}"), "/schedule", "too_many"),
    (repeated(f'{_CRON}"* * * * *","dst":{{', member, "}}}"), "/schedule/dst", "too_many"),
    (repeated(f"{_CRON}[", lambda _: '"* * * * *"', "]}}"), "/schedule/cron", "too_many"),
    (repeated(f'{_CRON}"* * * * *","calendars":[', lambda at: f'"c{at}"', "]}}"), "/schedule/calendars", "too_many"),
    (repeated(f'{{{_WHEN},"target":{{"type":"python",', member, "}}"), "/target", "too_many"),
    (repeated(f'{{{_WHEN},"target":{{"type":[', lambda _: "0", "]}}"), "/target/type", "too_many"),
    (repeated(f'{_HTTP}"headers":{{', lambda at: f'" {at:x}":0', "}}}"), "/target/headers", "too_many"),
    (repeated(f'{{{_REST},"retryPolicy":{{"backoff":{{', member, "}}}"), "/retryPolicy/backoff", "too_many"),
    (repeated(f'{{{_REST},"tags":[', lambda _: "0", "]}"), "/tags", "too_many"),
    (repeated("[", lambda _: "0", "]"), "", "too_many"),
    (stretched(f'{_CRON}"', "* ", '"}}'), "/schedule/cron", "too_long"),
    (stretched(f'{_CRON}"* * * * *","timezone":"', "A/", '"}}'), "/schedule/timezone", "too_long"),
    (stretched(f'{{{_WHERE},"schedule":{{"every":"PT', "9", 'S"}}'), "/schedule/every", "too_long"),
    (stretched(f'{{{_REST},"name":"', "\u00e9", '"}'), "/name", "too_long"),
    (stretched(f'{_HTTP}"headers":{{"', "x", '":"x"}}}'), "/target/headers", "too_long"),
    (stretched(f'{{{_REST},"payload":"', "x", '"}'), "/payload", "too_large"),
    (repeated(f'{{{_REST},"payload":[', lambda _: "0", "]}"), "/payload", "too_large"),
    (repeated(f'{{{_REST},"payload":[', lambda _: "1e9", "]}"), "/payload", "too_large"),
    (repeated(f'{{{_REST},"payload":[', lambda _: '{"":0}', "]}"), "/payload", "too_large"),
    (repeated(f'{{{_REST},"payload":[', lambda _: "[" * 60 + "]" * 60, "]}"), "/payload", "too_large"),
    (repeated(f'{{{_REST},"payload":{{', member, "}}"), "/payload", "too_large"),
)


async def cpu_ms(client: Client, raw: bytes, path: str, method: str) -> tuple[float, float, Got]:
    """The least CPU that the answer took, and that reading alone took."""
    answered, read = [], []
    while True:
        began_s = process_time()
        json.loads(raw)
        read_s = process_time()
        got = await client.send_raw(method, path, raw, idempotency_key="k", if_match="*")
        answered.append((process_time() - read_s) * 1_000)
        read.append((read_s - began_s) * 1_000)
        if within(min(answered), min(read)) or len(read) == _TRIES:
            return min(answered), min(read), got


def within(answered_ms: float, read_ms: float) -> bool:
    return answered_ms <= _READINGS_MAX * read_ms + _MS_MAX


@pytest.mark.sem("SEM-API-6")
@pytest.mark.sem("SEM-SCHED-2")
@pytest.mark.parametrize(("raw", "pointer", "code"), SHAPES, ids=[f"{at}-{raw[-60:-40]!r}" for raw, at, _ in SHAPES])
async def test_a_hostile_job_is_refused_about_as_fast_as_it_is_read(
    acme: Client, raw: bytes, pointer: str, code: str
) -> None:
    """With where and why, whether it would be made or put in place of another."""
    made = await acme.job()
    for method, path in (("POST", "/v1/jobs"), ("PUT", f"/v1/jobs/{made['jobId']}")):
        answered_ms, read_ms, got = await cpu_ms(acme, raw, path, method)

        assert (got.status, got.errors()) == (422, [(pointer, code)])
        assert got.json["errors"][0]["message"]
        if code == "too_large":
            assert "more than the 262144 bytes" in got.json["errors"][0]["message"]
        assert within(answered_ms, read_ms), (answered_ms, read_ms)


@pytest.mark.sem("SEM-API-6")
@pytest.mark.parametrize(
    ("method", "path", "raw", "pointer"),
    [
        ("POST", "/v1/jobs/batch", repeated('{"jobs":[', lambda _: "{}", "]}"), "/jobs"),
        ("POST", "/v1/jobs/batch", repeated('{"jobs":[{', member, "}]}"), "/jobs/0"),
        ("POST", "/v1/jobs/batch", repeated("{", member, "}"), ""),
        ("POST", "/v1/schedules/preview", repeated('{"schedule":{', member, "}}"), "/schedule"),
        ("POST", "/v1/schedules/preview", repeated('{"count":[', lambda _: "0", "]}"), "/count"),
        ("PATCH", "/v1/jobs/{jobId}", repeated("{", member, "}"), ""),
        ("PATCH", "/v1/jobs/{jobId}", repeated('{"schedule":{', member, "}}"), "/schedule"),
    ],
)
async def test_batches_previews_and_patches_are_refused_as_fast(
    acme: Client, method: str, path: str, raw: bytes, pointer: str
) -> None:
    """Whatever the body is of."""
    made = await acme.job()
    answered_ms, read_ms, got = await cpu_ms(acme, raw, path.replace("{jobId}", made["jobId"]), method)

    assert (got.status, got.errors()) == (422, [(pointer, "too_many")])
    assert within(answered_ms, read_ms), (answered_ms, read_ms)


@pytest.mark.sem("SEM-API-6")
async def test_what_may_be_long_is_not_taken_for_hostile(acme: Client) -> None:
    """A payload of as many values as fit, as many headers as may be, and blanks and escapes up to a megabyte."""
    zeros = [0] * (limits.PAYLOAD_BYTES_MAX // 2 - 1)
    headers = {f"X-{number}": "v" * 2_048 for number in range(30)}
    target = {"type": "http", "url": "https://example.com/", "headers": headers}
    wide = await acme.job(payload=zeros, target=target, tags=[f"t{number}" for number in range(20)])
    many = await acme.job(payload={f"{number:x}": "" for number in range(20_000)})
    padded = json.dumps(A_JOB | {"payload": "\u00e9" * 100_000}).encode() + b" " * 400_000
    got = await acme.send_raw("POST", "/v1/jobs", padded, idempotency_key="padded")

    assert len((await acme.get(f"/v1/jobs/{wide['jobId']}")).json["payload"]) == len(zeros)
    assert len((await acme.get(f"/v1/jobs/{many['jobId']}")).json["payload"]) == 20_000
    assert got.status == 201


@pytest.mark.sem("SEM-API-6")
async def test_a_full_batch_is_not_taken_for_hostile(acme: Client) -> None:
    """A hundred jobs with all that a job may have, and payloads that fill the body."""
    payload = "p" * 5_000
    retry = {"retryOn": [f"E{number}" for number in range(20)], "giveUpOn": [f"F{number}" for number in range(20)]}
    jobs = [
        A_JOB | {"payload": payload, "tags": [f"t{at}" for at in range(20)], "retryPolicy": retry} for _ in range(100)
    ]
    got = await acme.post("/v1/jobs/batch", {"jobs": jobs})

    assert {outcome["status"] for outcome in got.json["outcomes"]} == {201}


@pytest.mark.sem("SEM-API-6")
@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b'{"x":[' + b",".join([b"[" + b",".join([b'"x"'] * 999) + b"]"] * 20) + b"]}", ("", "too_many")),
        (b'{"tags":["' + b'","'.join([b"x" * 65_000] * 5) + b'"]}', ("", "too_many")),
        (b'{"tags":["' + b"x" * 65_537 + b'"]}', ("/tags/0", "too_long")),
        (b'{"a~b/c":{"x":["' + b"x" * 65_537 + b'"]}}', ("/a~0b~1c/x/0", "too_long")),
    ],
)
async def test_many_values_and_long_texts_are_refused_wherever_they_are(
    acme: Client, raw: bytes, error: tuple[str, str]
) -> None:
    """In members that are not there as well."""
    got = await acme.send_raw("POST", "/v1/jobs", raw, idempotency_key="k")

    assert (got.status, got.errors()) == (422, [error])


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ('{"a:b": ":::", "c": [{"d": ":"}]}', 201),
        ('"\\u003a \\u00e9"', 201),
        ('{"a\\u003a": 1, "a:": 2}', 400),
        ('{"a": ":", "a": "::"}', 400),
        ('{"a": "\\u003a\\u003A", "b": {"c": 1, "c": 2}}', 400),
        ("[[1e400]]", 400),
        ("[-1e400]", 400),
    ],
)
async def test_a_name_that_stands_twice_is_found_among_colons(acme: Client, payload: str, status: int) -> None:
    """In texts and names, escaped or not, colons are no sign of a member."""
    got = await acme.send_raw("POST", "/v1/jobs", f'{{{_REST},"payload":{payload}}}'.encode(), idempotency_key="k")

    assert got.status == status
