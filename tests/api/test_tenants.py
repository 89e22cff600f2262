"""Does the tenant come from the credential alone, and is another tenant's thing as if it were not there?"""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import A_JOB, Client
from tests.api.conftest import a_client
from tests.api.worlds import DAY_MS, later_by
from tickwright.api.call import Api
from tickwright.api.exchange import Caller
from tickwright.api.keys import look_up, make_key
from tickwright.api.routes import ROUTES
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.tenants import Scope

OPEN = {"/v1/health", "/v1/openapi.json"}
BODIES: dict[str, Any] = {
    "heartbeat": {"workerId": "w", "leaseEpoch": 1},
    "complete": {"leaseEpoch": 1},
    "fail": {"leaseEpoch": 1, "error": {"class": "E"}},
    "rerun": {"payload": 8},
}


def a_call(path: str, ids: dict[str, str]) -> str:
    for name, value in ids.items():
        path = path.replace(f"{{{name}}}", value)
    return path


@pytest.mark.sem("SEM-TENANT-1")
@pytest.mark.parametrize(
    "route", [route for route in ROUTES if "Id}" in route.path], ids=lambda r: f"{r.method} {r.path}"
)
async def test_another_tenants_id_is_not_found(acme: Client, rival: Client, route: Any) -> None:  # noqa: ANN401
    """On every path with an id in it: never 403, which would say that there is something."""
    job = await acme.job()
    execution = (await acme.post(f"/v1/jobs/{job['jobId']}/run")).json
    order = (await acme.post("/v1/dead-letters/redrives", {"all": True})).json
    ids = {"jobId": job["jobId"], "executionId": execution["executionId"], "orderId": order["orderId"]}
    body = BODIES.get(route.path.rpartition("/")[2], A_JOB if route.method in {"PUT", "PATCH"} else None)
    got = await rival.send(route.method, a_call(route.path, ids), body, if_match='"1"')
    mine = await acme.get(f"/v1/jobs/{job['jobId']}")

    assert (got.status, got.code) == (404, "not_found")
    assert (mine.json["status"], mine.json["version"]) == ("ACTIVE", 1 if mine.json["version"] == 1 else 2)
    assert (await acme.get(f"/v1/executions/{execution['executionId']}")).json["status"] == "QUEUED"


@pytest.mark.sem("SEM-TENANT-1")
async def test_lists_show_the_callers_own(acme: Client, rival: Client) -> None:
    """Two tenants may have a job of the same name."""
    await acme.job(name="nightly")
    theirs = await rival.job(name="nightly")

    assert [job["jobId"] for job in (await rival.get("/v1/jobs")).json["jobs"]] == [theirs["jobId"]]


@pytest.mark.parametrize(
    "authorization",
    [
        None, "", "Bearer", "Bearer ", "tw_x", "Basic dXNlcjpwYXNz", "Bearer tw_unknown", "Bearer tw_a tw_b",
        "Bearer " + "x" * 10_000, "Bearer tw_\u00e9", "Bearer tw_a\nX: y",
    ],
)  # fmt: skip
async def test_without_a_valid_key_nobody_gets_in(acme: Client, authorization: str | None) -> None:
    """Whatever stands in the header: 401, and how to do better."""
    got = await acme.get("/v1/jobs", authorization=authorization)

    assert (got.status, got.code) == (401, "unauthenticated")
    assert got.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
async def test_every_path_but_two_asks_who_calls(api: Api, route: Any) -> None:  # noqa: ANN401
    """Before anything is read or looked for."""
    path = a_call(route.path, {"jobId": "x", "executionId": "y"})
    got = await Client(api, None).send(route.method, path)

    assert (got.status == 401) == (route.path not in OPEN)


@pytest.mark.parametrize("route", [r for r in ROUTES if r.scope], ids=lambda route: f"{route.method} {route.path}")
async def test_a_key_does_what_its_scopes_allow(api: Api, route: Any) -> None:  # noqa: ANN401
    """A key with every other scope may not."""
    client = await a_client(api, "acme", frozenset(Scope) - {route.scope})
    path = a_call(route.path, {"jobId": "x", "executionId": "y"})
    got = await client.send(route.method, path)

    assert (got.status, got.code) == (403, "forbidden")
    assert route.scope.value in got.json["detail"]


async def test_a_key_that_has_expired_opens_nothing(api: Api) -> None:
    """To the millisecond, by the server's clock."""
    now = api.kit.clock.now()
    secret, key = await make_key(
        api.kit, TenantId("acme"), scopes=[Scope.JOBS_READ], label="short", expires_at=Instant(now + DAY_MS)
    )
    before = await Client(api, secret).get("/v1/jobs")
    after = await Client(replace(api, kit=later_by(api.kit, DAY_MS)), secret).get("/v1/jobs")

    assert key.expires_at is not None
    assert (before.status, after.status) == (200, 401)


@pytest.mark.sem("SEM-KEY-1")
async def test_only_a_keys_hash_is_kept(api: Api) -> None:
    """Whoever reads the store cannot call the API."""
    secret, key = await make_key(api.kit, TenantId("acme"), scopes=[Scope.ADMIN], label="mine")
    kept = await api.kit.store.api_key(key.key_hash)

    assert kept == key
    assert secret.startswith("tw_")
    assert len(secret) == len("tw_") + 52
    assert secret.removeprefix("tw_") not in repr(kept)
    assert await look_up(api.kit, f"bearer {secret}") == Caller(
        tenant_id=TenantId("acme"), scopes=frozenset({Scope.ADMIN}), label="mine"
    )
    hashed = await look_up(api.kit, f"Bearer {key.key_hash}")
    assert isinstance(hashed, Refusal)
    assert hashed.code is Code.UNAUTHENTICATED


async def test_behind_the_gateway_a_key_in_the_header_proves_nothing(api: Api, acme: Client) -> None:
    """Only what the authorizer says does: a request that came past it is refused."""
    behind = replace(api, behind_gateway=True)
    got = await Client(behind, acme.secret).get("/v1/me")

    assert (got.status, got.code) == (401, "unauthenticated")


async def test_me_says_whose_key_it_is(acme: Client) -> None:
    """And what it may do, so that a console can hide what it may not."""
    got = await acme.get("/v1/me")

    assert got.json == {
        "tenantId": "acme",
        "label": "acme's key",
        "scopes": ["dead-letters", "executions:run", "jobs:read", "jobs:write"],
    }
