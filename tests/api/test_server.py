"""Does the local server answer over a real socket as the API does, and bear what a socket may bring?"""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.api.client import A_JOB, Client
from tickwright.api.call import Api
from tickwright.api.server import HttpServer, PortTaken
from tickwright.domain import limits


@pytest.fixture
async def server(api: Api) -> AsyncIterator[HttpServer]:
    made = HttpServer(api, port=0)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def http(server: HttpServer, acme: Client) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {acme.secret}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, trust_env=False) as client:
        yield client


async def test_a_job_goes_in_and_comes_out(http: httpx.AsyncClient) -> None:
    """Headers and bodies survive the way, on one connection."""
    made = await http.post("/v1/jobs", json=A_JOB | {"payload": "\u00e9"}, headers={"Idempotency-Key": "k"})
    job = made.json()
    got = await http.get(made.headers["Location"])
    same = await http.get(made.headers["Location"], headers={"If-None-Match": got.headers["ETag"]})

    assert made.status_code == 201
    assert got.json() == job
    assert job["payload"] == "\u00e9"
    assert (same.status_code, same.content) == (304, b"")


async def test_a_query_is_decoded(http: httpx.AsyncClient) -> None:
    """Percent, plus and all."""
    await http.post("/v1/jobs", json=A_JOB | {"tags": ["a b&c=d"]}, headers={"Idempotency-Key": "k"})
    found = await http.get("/v1/jobs", params={"tag": "a b&c=d"})
    other = await http.get("/v1/jobs", params={"tag": "a b"})

    assert (len(found.json()["jobs"]), len(other.json()["jobs"])) == (1, 0)


async def test_a_huge_body_is_refused_without_being_read_to_its_end(http: httpx.AsyncClient) -> None:
    """What is heard out has a bound of its own."""
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 64 * limits.BODY_BYTES_MAX:
            sent += 65_536
            yield b"x" * 65_536

    try:
        got = await http.post(
            "/v1/jobs", content=endless(), headers={"Idempotency-Key": "k", "Content-Type": "application/json"}
        )
    except httpx.TransportError:  # the server has closed the connection while it was still sent to
        got = None

    assert got is None or got.status_code == 413
    assert sent < 64 * limits.BODY_BYTES_MAX


async def test_a_body_that_is_too_large_is_heard_out_and_told_why(http: httpx.AsyncClient) -> None:
    """Eight times the limit: whoever parted in the middle would reset the connection, and the sender never saw why."""
    body = b"x" * (8 * limits.BODY_BYTES_MAX)

    got = await http.post(
        "/v1/jobs", content=body, headers={"Idempotency-Key": "k", "Content-Type": "application/json"}
    )

    assert (got.status_code, got.json()["code"]) == (413, "too_large")


async def test_what_is_no_http_ends_its_connection_alone(server: HttpServer, http: httpx.AsyncClient) -> None:
    """A port scanner must not hurt the others."""
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"\x16\x03\x01 not http\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()

    assert b"400" in answer
    assert (await http.get("/v1/health")).status_code == 200


async def test_a_hundred_requests_at_once_are_all_answered(http: httpx.AsyncClient) -> None:
    """Each with its own answer."""
    together = await asyncio.gather(
        *(
            http.post("/v1/jobs", json=A_JOB | {"payload": n}, headers={"Idempotency-Key": f"k{n}"}, timeout=30)
            for n in range(100)
        )
    )

    assert [got.json()["payload"] for got in together] == list(range(100))


async def test_a_port_in_use_is_said_before_anything_starts(server: HttpServer, api: Api) -> None:
    """In one line that names it."""
    port = int(server.url.rpartition(":")[2])

    with pytest.raises(PortTaken, match=f"127.0.0.1:{port} cannot be used"):
        HttpServer(api, port=port)


async def test_a_stopped_server_gives_its_port_back(api: Api) -> None:
    """The next start of the program needs it."""
    first = HttpServer(api, port=0)
    await first.start()
    port = int(first.url.rpartition(":")[2])
    await first.stop()
    second = HttpServer(api, port=port)
    await second.start()
    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            got = await client.get(f"{second.url}/v1/health")
    finally:
        await second.stop()

    assert json.loads(got.content)["status"] == "ok"


async def test_a_stop_does_not_wait_for_a_claim_that_does(api: Api, acme: Client) -> None:
    """Whoever polls for twenty seconds is told within one or two that the server ends, and may come again."""
    server = HttpServer(api, port=0)
    await server.start()
    headers = {"Authorization": f"Bearer {acme.secret}"}
    loop = asyncio.get_running_loop()
    async with httpx.AsyncClient(base_url=server.url, headers=headers, trust_env=False, timeout=30) as http:
        await http.put("/v1/pools/gpu", json={})
        claiming = asyncio.ensure_future(
            http.post("/v1/pools/gpu/claim", json={"workerId": "w", "max": 1, "waitSec": 20})
        )
        await asyncio.wait({claiming}, timeout=0.5)
        began_s = loop.time()
        await server.stop()
        told = await claiming

    assert (told.status_code, told.json()["code"], told.headers["retry-after"]) == (503, "unavailable", "2")
    assert loop.time() - began_s < 4
