"""Is every answer one that its document allows, whatever is asked and whatever is broken?"""

import json
import logging
from dataclasses import replace

import pytest

import tickwright
from tests.api.client import A_JOB, Client
from tests.api.worlds import with_a_store_that, without_a_store
from tickwright.api.call import Api
from tickwright.api.exchange import Request
from tickwright.api.problems import SHOWN
from tickwright.api.routes import ROUTES
from tickwright.api.service import answer
from tickwright.domain.outcomes import Code


def test_every_code_has_a_status_and_a_title() -> None:
    """A new code without one would be a 500."""
    assert set(SHOWN) == set(Code)
    assert all(400 <= shown.status <= 503 for shown in SHOWN.values())


@pytest.mark.parametrize(
    "path",
    ["/", "", "/v1", "/v1/", "/v1/jobs/", "/v2/jobs", "/v1/jobs//pause", "/v1/JOBS", "/v1/job\u00e9", "//v1/jobs"],
)
async def test_an_unknown_path_is_not_found(acme: Client, path: str) -> None:
    """With a word on where the known ones are listed."""
    got = await acme.get(path)

    assert (got.status, got.code) == (404, "not_found")
    assert "/v1/openapi.json" in got.json["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/jobs", "GET, POST"),
        ("POST", "/v1/jobs/x", "DELETE, GET, PATCH, PUT"),
        ("GET", "/v1/jobs/x/pause", "POST"),
        ("TRACE", "/v1/me", "GET"),
        ("get", "/v1/me", "GET"),
        ("GET", "/v1/jobs/batch", "POST"),
    ],
)
async def test_an_unknown_method_says_which_there_are(acme: Client, method: str, path: str, allowed: str) -> None:
    """In the Allow header, as RFC 9110 asks."""
    got = await acme.send(method, path)

    assert (got.status, got.code, got.headers["Allow"]) == (405, "method_not_allowed", allowed)


@pytest.mark.parametrize("sent", ["abc-123", "a" * 128])
async def test_a_well_formed_request_id_is_kept(acme: Client, sent: str) -> None:
    """In the header of every answer, and in the body of a refusal."""
    fine = await acme.get("/v1/me", x_request_id=sent)
    refused = await acme.get("/v1/jobs/x", x_request_id=sent)

    assert fine.headers["X-Request-Id"] == sent
    assert refused.json["requestId"] == sent


@pytest.mark.parametrize("sent", [None, "", "a b", "a" * 129, "x\r\ny", "\u00e9"])
async def test_another_request_id_is_replaced(acme: Client, sent: str | None) -> None:
    """It goes into logs and headers: no caller writes lines of its own there."""
    first = await acme.get("/v1/me", x_request_id=sent)
    second = await acme.get("/v1/me", x_request_id=sent)

    assert first.headers["X-Request-Id"] not in {sent, second.headers["X-Request-Id"]}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
async def test_a_store_that_does_not_answer_is_a_503(acme: Client, route: object) -> None:
    """With a Retry-After, and retryable; openapi.json alone needs no store."""
    assert hasattr(route, "path")
    assert hasattr(route, "method")
    broken = Client(replace(acme.api, kit=without_a_store(acme.api.kit)), acme.secret)
    got = await broken.send(route.method, route.path)

    if route.path == "/v1/openapi.json":
        assert got.status == 200
        return
    assert (got.status, got.code, got.json["retryable"]) == (503, "unavailable", True)
    assert int(got.headers["Retry-After"]) >= 1


async def test_a_bug_is_a_500_that_tells_no_details(acme: Client, caplog: pytest.LogCaptureFixture) -> None:
    """They are in the log, under the requestId."""
    kit = with_a_store_that(acme.api.kit, RuntimeError("the password is swordfish"))
    with caplog.at_level(logging.ERROR):
        got = await Client(replace(acme.api, kit=kit), acme.secret).get("/v1/me", x_request_id="r-1")

    assert (got.status, got.code) == (500, "internal")
    assert "swordfish" not in json.dumps(got.json)
    assert "swordfish" in caplog.text
    assert [record.__dict__["requestId"] for record in caplog.records] == ["r-1"]


async def test_health_needs_no_key_and_asks_the_store(api: Api) -> None:
    """What a load balancer and a person look at first."""
    got = await Client(api, None).get("/v1/health")

    assert (got.status, got.json) == (200, {"status": "ok", "version": tickwright.__version__})
    assert got.headers["Cache-Control"] == "no-store"


async def test_openapi_json_is_served_and_cached(api: Api) -> None:
    """The document that is checked in."""
    got = await Client(api, None).get("/v1/openapi.json")
    same = await Client(api, None).get("/v1/openapi.json", if_none_match=got.headers["ETag"])

    assert got.json["openapi"] == "3.1.0"
    assert set(got.json["paths"]) == {route.path for route in ROUTES}
    assert same.status == 304


async def test_a_refusal_is_never_kept_by_a_cache(acme: Client) -> None:
    """Its reason may be gone a moment later."""
    got = await acme.get("/v1/jobs/x")

    assert got.headers["Cache-Control"] == "no-store"
    assert got.headers["Content-Type"] == "application/problem+json"


async def test_no_answer_is_guessed_at_by_a_browser(acme: Client) -> None:
    """A tenant's payload must not be run as a page."""
    got = await acme.get("/v1/jobs")

    assert got.headers["X-Content-Type-Options"] == "nosniff"


async def test_an_action_takes_no_body_or_an_empty_object(acme: Client) -> None:
    """Nothing else: a member that is ignored would be a wish that is."""
    path = f"/v1/jobs/{(await acme.job())['jobId']}/pause"
    nothing = await acme.send("POST", path)
    empty = await acme.send("POST", path, {})
    more = await acme.send("POST", path, {"until": "tomorrow"})

    assert (nothing.status, empty.status, more.status) == (200, 200, 422)


async def test_a_cancelled_request_is_not_answered(acme: Client) -> None:
    """A server that shuts down cancels; that is no bug of ours to be noted."""
    import asyncio  # noqa: PLC0415

    kit = with_a_store_that(acme.api.kit, asyncio.CancelledError())
    request = Request(method="GET", path="/v1/me", headers={"authorization": f"Bearer {acme.secret}"})

    with pytest.raises(asyncio.CancelledError):
        await answer(replace(acme.api, kit=kit), request, ROUTES)


async def test_a_name_belongs_to_one_job_of_a_tenant(acme: Client) -> None:
    """Until the job is ended."""
    job = await acme.job(name="nightly")
    second = await acme.post("/v1/jobs", A_JOB | {"name": "nightly"})
    await acme.send("DELETE", f"/v1/jobs/{job['jobId']}")
    third = await acme.post("/v1/jobs", A_JOB | {"name": "nightly"})

    assert (second.status, second.code) == (409, "name_taken")
    assert job["jobId"] in second.json["detail"]
    assert third.status == 201
