"""Pools through the API: put, look, list, claim, and report what was claimed with the epoch that came with it."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import Client, Got
from tests.api.conftest import a_client
from tickwright.api.call import Api
from tickwright.domain.tenants import Scope

GPU: dict[str, Any] = {"type": "pool", "pool": "gpu", "handler": "billing.nightly"}
ASKING: dict[str, Any] = {"workerId": "gpu-1", "max": 10}


async def a_pool(client: Client, name: str = "gpu", **body: object) -> Got:
    got = await client.send("PUT", f"/v1/pools/{name}", body)
    assert got.status in {200, 201}, got.json
    return got


async def a_run(client: Client, **shown: object) -> Any:  # noqa: ANN401 - JSON
    """A run that is due now."""
    job = await client.job(target=GPU, **shown)
    got = await client.post(f"/v1/jobs/{job['jobId']}/run")
    assert got.status == 201, got.json
    return got.json


async def claimed(client: Client, **body: object) -> list[dict[str, Any]]:
    got = await client.send("POST", "/v1/pools/gpu/claim", ASKING | body)
    assert got.status == 200, got.json
    return list(got.json["executions"])


@pytest.mark.sem("SEM-POOL-1")
async def test_a_pool_is_put_read_and_listed(acme: Client) -> None:
    """Created, then described anew; a reader that has it already is told so."""
    created = await a_pool(acme, description="cards")
    changed = await a_pool(acme, description="newer cards")
    read = await acme.get("/v1/pools/gpu")
    listed = await acme.get("/v1/pools")

    assert (created.status, created.headers["Location"]) == (201, "/v1/pools/gpu")
    assert (changed.status, changed.json["version"], changed.json["description"]) == (200, 2, "newer cards")
    assert read.json == changed.json
    assert (await acme.get("/v1/pools/gpu", if_none_match=read.json["etag"])).status == 304
    assert [pool["name"] for pool in listed.json["pools"]] == ["gpu"]


@pytest.mark.sem("SEM-POOL-6")
async def test_a_pool_that_no_job_names_is_deleted(acme: Client, rival: Client) -> None:
    """It is said since when; a machine finds it gone, and so does everybody. A job that names it keeps it."""
    made = (await a_pool(acme, description="cards")).json
    job = await acme.job(target={"type": "pool", "pool": "gpu", "handler": "nightly"})
    named = await acme.send("DELETE", "/v1/pools/gpu")
    await acme.send("DELETE", f"/v1/jobs/{job['jobId']}")
    strange = await rival.send("DELETE", "/v1/pools/gpu")
    stale = await acme.send("DELETE", "/v1/pools/gpu", if_match='"7-x"')
    gone = await acme.send("DELETE", "/v1/pools/gpu", if_match=made["etag"])
    again = await acme.send("DELETE", "/v1/pools/gpu")
    anew = await acme.send("PUT", "/v1/pools/gpu")

    assert (named.status, named.code, job["jobId"] in named.json["detail"]) == (409, "pool_in_use", True)
    assert (strange.status, stale.status) == (404, 412)
    assert (gone.status, gone.json["name"], gone.json["deletedAt"] is not None) == (200, "gpu", True)
    assert again.status == 200
    assert (await acme.get("/v1/pools/gpu")).status == 404
    assert (await acme.get("/v1/pools")).json["pools"] == []
    assert (await acme.send("POST", "/v1/pools/gpu/claim", ASKING)).status == 404
    assert (anew.status, anew.code, anew.headers["Retry-After"]) == (409, "pool_rests", "90")


@pytest.mark.sem("SEM-POOL-6")
async def test_a_pool_in_which_a_run_waits_is_deleted_by_force_alone(acme: Client) -> None:
    """The refusal says what `force` would do to how many; what is no truth value is no consent."""
    await a_pool(acme)
    run = await a_run(acme)
    elsewhere = {"target": {"type": "http", "url": "https://a.example", "pool": None, "handler": None}}
    await acme.send("PATCH", f"/v1/jobs/{run['jobId']}", elsewhere, if_match="*")

    refused = await acme.send("DELETE", "/v1/pools/gpu")
    unclear = await acme.send("DELETE", "/v1/pools/gpu?force=yes")
    gone = await acme.send("DELETE", "/v1/pools/gpu?force=true")

    assert (refused.status, refused.code, refused.json["retryable"]) == (409, "pool_in_use", False)
    assert refused.json["detail"] == (
        f"An unfinished run waits in it, such as {run['executionId']}; claim or cancel it first, or delete it with "
        "?force=true: then it ends DEAD (pool_deleted)."
    )
    assert (unclear.status, unclear.errors()) == (422, [("query:force", "bad_value")])
    assert (gone.status, gone.json["name"]) == (200, "gpu")


async def test_a_pool_needs_no_body(acme: Client) -> None:
    """Its name is all that it must have."""
    made = await acme.send("PUT", "/v1/pools/gpu")

    assert (made.status, made.json["description"]) == (201, None)


async def test_pools_are_listed_in_pages(acme: Client) -> None:
    """By name, each once."""
    for name in ("gpu", "cpu", "arm"):
        await a_pool(acme, name)

    first = await acme.get("/v1/pools?limit=2")
    second = await acme.get(f"/v1/pools?limit=2&nextToken={first.json['nextToken']}")

    names = [pool["name"] for page in (first, second) for pool in page.json["pools"]]
    assert names == ["arm", "cpu", "gpu"]
    assert second.json["nextToken"] is None


async def test_an_older_version_is_not_put_over_a_newer_one(acme: Client) -> None:
    """If-Match names what was read."""
    old = (await a_pool(acme, description="cards")).json["etag"]
    await a_pool(acme, description="newer cards")

    late = await acme.send("PUT", "/v1/pools/gpu", {"description": "cards"}, if_match=old)

    assert (late.status, late.code) == (412, "version_conflict")


@pytest.mark.parametrize("name", ["lambda", "fargate", "GPU", "g" * 33, "a%20b"])
async def test_a_name_that_cannot_be_one_is_refused_where_it_stands(acme: Client, name: str) -> None:
    """The platform's own pools among them."""
    got = await acme.send("PUT", f"/v1/pools/{name}", {})

    assert (got.status, got.errors()) == (422, [("path:name", "bad_value")])


@pytest.mark.sem("SEM-POOL-1", "SEM-TENANT-1")
async def test_another_tenants_pool_is_not_there(acme: Client, rival: Client) -> None:
    """404 on every path, also while its queue has work; a job of the other tenant cannot name it either."""
    await a_pool(acme)
    await a_run(acme)

    answers = [
        await rival.get("/v1/pools/gpu"),
        await rival.send("POST", "/v1/pools/gpu/claim", ASKING),
    ]
    named = await rival.post("/v1/jobs", {"schedule": {"every": "PT1H"}, "target": GPU})

    assert [got.status for got in answers] == [404, 404]
    assert (await rival.get("/v1/pools")).json["pools"] == []
    assert (named.status, named.errors()) == (422, [("/target/pool", "unknown_pool")])
    assert len(await claimed(acme)) == 1


@pytest.mark.sem("SEM-POOL-1")
async def test_a_job_that_names_no_pool_that_exists_is_refused_on_every_path(acme: Client) -> None:
    """Submit, batch, edit and what is only validated alike; nothing is written."""
    body = {"schedule": {"every": "PT1H"}, "target": GPU}
    job = await acme.job()
    path = f"/v1/jobs/{job['jobId']}"

    refused = [
        await acme.post("/v1/jobs", body),
        await acme.send("POST", "/v1/jobs?validateOnly=true", body),
        await acme.send("PUT", path, body, if_match="*"),
        await acme.send("PATCH", path, {"target": GPU}, if_match="*"),
        await acme.send("PATCH", f"{path}?validateOnly=true", {"target": GPU}, if_match="*"),
    ]
    batch = await acme.post("/v1/jobs/batch", {"jobs": [body]})

    assert [(got.status, got.errors()) for got in refused] == [(422, [("/target/pool", "unknown_pool")])] * 5
    assert [outcome["status"] for outcome in batch.json["outcomes"]] == [422]
    assert (await acme.get(path)).json == job
    await a_pool(acme)
    assert (await acme.post("/v1/jobs", body)).status == 201


@pytest.mark.parametrize(
    ("target", "pointer", "code"),
    [
        ({"type": "pool", "handler": "x"}, "/target/pool", "missing"),
        ({"type": "pool", "pool": "gpu"}, "/target/handler", "missing"),
        ({"type": "pool", "pool": "lambda", "handler": "x"}, "/target/pool", "invalid_name"),
        ({"type": "pool", "pool": "a/b", "handler": "x"}, "/target/pool", "invalid_name"),
        ({"type": "pool", "pool": "gpu", "handler": "a b"}, "/target/handler", "bad_value"),
        ({"type": "pool", "pool": "gpu", "handler": "x", "url": "y"}, "/target/url", "unknown_field"),
    ],
)
async def test_a_target_that_means_no_pool_is_refused(
    acme: Client, target: dict[str, Any], pointer: str, code: str
) -> None:
    """With where and what."""
    got = await acme.post("/v1/jobs", {"schedule": {"every": "PT1H"}, "target": target})

    assert (got.status, got.errors()) == (422, [(pointer, code)])


@pytest.mark.sem("SEM-POOL-2")
async def test_a_machine_claims_runs_and_reports(acme: Client) -> None:
    """What it is told is enough to run; heartbeat and result go with the epoch it was told."""
    await a_pool(acme)
    run = await a_run(acme, name="nightly", payload={"n": [1, None]}, timeoutSec=600)

    (told,) = await claimed(acme)

    path = f"/v1/executions/{told['executionId']}"
    kept = await acme.post(f"{path}/heartbeat", {"workerId": "gpu-1", "leaseEpoch": told["leaseEpoch"]})
    ended = await acme.post(f"{path}/complete", {"leaseEpoch": told["leaseEpoch"], "result": {"rows": 3}})
    assert told["executionId"] == run["executionId"]
    assert told["payload"] == {"n": [1, None]}
    assert (told["jobName"], told["handler"], told["scheduledTime"]) == (
        "nightly", "billing.nightly", run["scheduledTime"],
    )  # fmt: skip
    assert (told["attempt"], told["maxAttempts"], told["leaseEpoch"], told["checkpoint"]) == (1, 3, 1, None)
    assert told["alone"] is False
    assert 55 < told["leaseSec"] <= 60
    assert 595 < told["timeSec"] <= 600
    assert told["heartbeatSec"] == 15
    assert told["traceparent"].startswith("00-")
    assert (kept.status, ended.status, ended.json["status"]) == (200, 200, "SUCCEEDED")
    assert await claimed(acme) == []


@pytest.mark.sem("SEM-POOL-2", "SEM-CHECKPOINT-1")
async def test_the_next_machine_is_told_the_checkpoint(acme: Client) -> None:
    """What the one before has noted, after it failed."""
    await a_pool(acme)
    await a_run(acme, retryPolicy={"backoff": {"initialSec": 0}})
    (told,) = await claimed(acme)
    path = f"/v1/executions/{told['executionId']}"
    await acme.post(f"{path}/heartbeat", {"workerId": "gpu-1", "leaseEpoch": 1, "checkpoint": {"at": "row 7"}})
    await acme.post(f"{path}/fail", {"leaseEpoch": 1, "error": {"class": "OSError", "message": "cut"}})

    (next_told,) = await claimed(acme, workerId="gpu-2", waitSec=5)

    assert (next_told["attempt"], next_told["leaseEpoch"], next_told["checkpoint"]) == (2, 2, {"at": "row 7"})


@pytest.mark.sem("SEM-POOL-2", "SEM-SDK-17")
async def test_a_machine_is_told_of_a_run_whose_child_died_that_it_is_to_be_alone(acme: Client) -> None:
    """It may be what ended the workers before; what failed by itself is called as usual."""
    await a_pool(acme)
    await a_run(acme, retryPolicy={"backoff": {"initialSec": 0}})
    said = []
    for epoch, error_class in ((1, "OSError"), (2, "ChildKilled"), (3, "OSError")):
        (told,) = await claimed(acme, waitSec=5)
        said.append(told["alone"])
        body = {"leaseEpoch": epoch, "error": {"class": error_class, "message": "cut"}}
        await acme.post(f"/v1/executions/{told['executionId']}/fail", body)

    assert said == [False, False, True]


@pytest.mark.sem("SEM-POOL-3")
async def test_a_claim_may_be_repeated(acme: Client) -> None:
    """With the requestId that it had: the same answer, though more is waiting."""
    await a_pool(acme)
    for _ in range(3):
        await a_run(acme)

    first = await claimed(acme, max=2, requestId="r-1")
    again = await claimed(acme, max=2, requestId="r-1")

    assert len(first) == 2
    assert [told["executionId"] for told in again] == [told["executionId"] for told in first]
    assert len(await claimed(acme)) == 1


@pytest.mark.sem("SEM-POOL-3")
async def test_a_machine_that_stops_closes_its_request(acme: Client) -> None:
    """It is told what it was granted, and the request claims nothing any more."""
    await a_pool(acme)
    await a_run(acme)

    assert await claimed(acme, requestId="r-1", close=True) == []
    assert await claimed(acme, requestId="r-1") == []
    assert len(await claimed(acme, requestId="r-2")) == 1
    assert len(await claimed(acme, requestId="r-2", close=True)) == 1


async def test_a_machine_may_ask_for_some_priorities_alone(acme: Client) -> None:
    """Those of the job that waits."""
    await a_pool(acme)
    await a_run(acme, priority="low")
    await a_run(acme, priority="high")

    high = await claimed(acme, lanes=["high", "normal"])
    low = await claimed(acme, lanes=["low"])

    assert (len(high), len(low)) == (1, 1)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"max": 0}, "/max"), ({"max": 11}, "/max"), ({"waitSec": 21}, "/waitSec"), ({"waitSec": -1}, "/waitSec"),
        ({"workerId": ""}, "/workerId"), ({"workerId": "a b"}, "/workerId"), ({"lanes": []}, "/lanes"),
        ({"lanes": ["backfill"]}, "/lanes/0"), ({"requestId": ""}, "/requestId"), ({"most": 3}, "/most"),
        ({"requestId": "r" * 65}, "/requestId"), ({"close": True}, "/requestId"), ({"close": "yes"}, "/close"),
    ],
)  # fmt: skip
async def test_a_claim_out_of_bounds_is_refused(acme: Client, change: dict[str, Any], pointer: str) -> None:
    """Nothing is claimed by a request that means something else than it says."""
    await a_pool(acme)
    await a_run(acme)

    got = await acme.send("POST", "/v1/pools/gpu/claim", ASKING | change)

    assert (got.status, [where for where, _ in got.errors()]) == (422, [pointer])
    assert len(await claimed(acme)) == 1


@pytest.mark.parametrize(
    ("scope", "may"),
    [
        (Scope.JOBS_WRITE, {"put", "delete"}), (Scope.JOBS_READ, {"get", "list"}), (Scope.EXECUTIONS_RUN, {"claim"}),
        (Scope.DEAD_LETTERS, set()),
    ],
)  # fmt: skip
async def test_a_key_does_what_its_scope_says(api: Api, acme: Client, scope: Scope, may: set[str]) -> None:
    """A machine's key may claim and change nothing else."""
    await a_pool(acme)
    client = await a_client(api, "acme", frozenset({scope}))

    answers = {
        "put": await client.send("PUT", "/v1/pools/gpu", {}),
        "get": await client.get("/v1/pools/gpu"),
        "list": await client.get("/v1/pools"),
        "claim": await client.send("POST", "/v1/pools/gpu/claim", ASKING),
        "delete": await client.send("DELETE", "/v1/pools/gpu"),
    }

    assert {name for name, got in answers.items() if got.status != 403} == may


async def test_an_execution_says_which_pool_it_waits_for(acme: Client) -> None:
    """Somebody whose machines are all switched off finds the reason."""
    await a_pool(acme)
    run = await a_run(acme)

    told = await acme.get(f"/v1/executions/{run['executionId']}/explanation")

    assert told.json["waitsFor"] == "a worker of the pool gpu"


@pytest.mark.sem("SEM-POOL-5", "SEM-API-1")
async def test_a_claim_without_a_seat_is_told_when_to_come_again(acme: Client, api: Api) -> None:
    """429 with Retry-After, as the door itself refuses; what finds work, or wants no wait, is answered as ever."""
    crowded = Client(replace(api, claim_seats=0), acme.secret)
    await a_pool(acme)

    refused = await crowded.send("POST", "/v1/pools/gpu/claim", ASKING | {"waitSec": 20})
    empty = await crowded.send("POST", "/v1/pools/gpu/claim", ASKING)
    await a_run(acme)
    granted = await crowded.send("POST", "/v1/pools/gpu/claim", ASKING | {"waitSec": 20})

    assert (refused.status, refused.code, refused.json["retryable"]) == (429, "too_many_claims", True)
    assert int(refused.headers["Retry-After"]) > 0
    assert (empty.status, empty.json["executions"]) == (200, [])
    assert (granted.status, len(granted.json["executions"])) == (200, 1)


@pytest.mark.sem("SEM-SECRET-3", "SEM-CHECKPOINT-1")
async def test_a_machine_is_given_what_nobody_else_is_shown(acme: Client) -> None:
    """The payload and the checkpoint of the attempt before, whole; whoever looks at the run sees masks."""
    await a_pool(acme)
    payload, secrets = {"card": "4111-1111", "n": 7}, ["/payload/card"]
    await a_run(acme, payload=payload, secrets=secrets, retryPolicy={"backoff": {"initialSec": 0}})
    (told,) = await claimed(acme)
    path, beat = f"/v1/executions/{told['executionId']}", {"workerId": "gpu-1", "leaseEpoch": 1}
    await acme.send("POST", f"{path}/heartbeat", beat | {"checkpoint": payload})
    failed = await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "error": {"class": "Flaky"}})

    (again,) = await claimed(acme, waitSec=5)

    assert failed.json["checkpoint"] == {"card": "********", "n": 7}
    assert (again["payload"], again["checkpoint"]) == (payload, payload)
