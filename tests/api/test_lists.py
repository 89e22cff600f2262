"""Do lists go on where they ended, for their own tenant and filters alone?"""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import Client


async def all_pages(client: Client, path: str, member: str = "jobs") -> list[Any]:
    found: list[Any] = []
    token: str | None = ""
    while token is not None:
        got = await client.get(path + (f"&nextToken={token}" if token else ""))
        found += got.json[member]
        token = got.json["nextToken"]
    return found


@pytest.mark.sem("SEM-API-5")
async def test_pages_show_everything_once_in_order(acme: Client) -> None:
    """Whatever the size of a page; a full last page is followed by an end (B164, B165)."""
    names = [f"job-{n:02d}" for n in range(10)]
    for name in reversed(names):
        await acme.job(name=name)

    for limit in (1, 3, 5, 10, 11):
        assert [job["name"] for job in await all_pages(acme, f"/v1/jobs?limit={limit}")] == names


async def test_filters_choose_by_name_status_and_tag(acme: Client) -> None:
    """Together they narrow down."""
    a = await acme.job(name="billing/a", tags=["night"])
    await acme.job(name="billing/b", tags=["day"])
    await acme.job(name="other", tags=["night"])
    await acme.post(f"/v1/jobs/{a['jobId']}/pause")

    async def names(query: str) -> list[str]:
        return [job["name"] for job in await all_pages(acme, f"/v1/jobs?{query}&limit=1")]

    assert await names("prefix=billing/") == ["billing/a", "billing/b"]
    assert await names("tag=night") == ["billing/a", "other"]
    assert await names("status=PAUSED") == ["billing/a"]
    assert await names("prefix=billing/&tag=day&status=ACTIVE") == ["billing/b"]


async def test_a_list_of_jobs_has_no_payloads(acme: Client) -> None:
    """A page of a thousand jobs must not be a gigabyte."""
    await acme.job(payload="x" * 1_000)
    job = (await acme.get("/v1/jobs")).json["jobs"][0]

    assert "payload" not in job
    assert job["timeoutSec"] == 300


@pytest.mark.sem("SEM-API-5")
@pytest.mark.parametrize("spoil", ["tenant", "filter", "path", "secret", "cut", "changed", "made up"])
async def test_a_token_is_good_for_its_list_alone(acme: Client, rival: Client, spoil: str) -> None:
    """It names a place in one list of one tenant; nobody makes one or changes one."""
    jobs = [await acme.job(name=f"job-{n}") for n in range(3)]
    token = (await acme.get("/v1/jobs?limit=1")).json["nextToken"]
    client, path = acme, "/v1/jobs?limit=1"
    match spoil:
        case "tenant":
            client = rival
        case "filter":
            path += "&prefix=job"
        case "path":
            path = f"/v1/jobs/{jobs[0]['jobId']}/executions?limit=1"
        case "secret":
            client = Client(replace(acme.api, page_secret=b"another"), acme.secret)
        case "cut":
            token = token[:-2]
        case "changed":
            token = token[:-1] + ("A" if token[-1] != "A" else "B")
        case _:
            token = "bm90IG91cnM"
    got = await client.get(f"{path}&nextToken={token}")

    assert (got.status, got.errors()) == (422, [("query:nextToken", "bad_token")])


async def test_a_page_may_have_another_size_than_the_one_before(acme: Client) -> None:
    """The token says where, not how much."""
    for n in range(4):
        await acme.job(name=f"job-{n}")
    token = (await acme.get("/v1/jobs?limit=1")).json["nextToken"]
    got = await acme.get(f"/v1/jobs?limit=3&nextToken={token}")

    assert [job["name"] for job in got.json["jobs"]] == ["job-1", "job-2", "job-3"]


@pytest.mark.parametrize(
    ("query", "pointer", "code"),
    [
        ("limit=0", "query:limit", "out_of_range"),
        ("limit=1001", "query:limit", "out_of_range"),
        ("limit=ten", "query:limit", "bad_type"),
        ("status=asleep", "query:status", "bad_value"),
        ("colour=red", "query:colour", "unknown_field"),
        ("nextToken=!!!", "query:nextToken", "bad_token"),
        ("limit=1&limit=2", "query:limit", "twice"),
        ("tag=", "query:tag", "too_short"),
    ],
)
async def test_a_parameter_that_cannot_be_is_refused(acme: Client, query: str, pointer: str, code: str) -> None:
    """A filter with a typing error in it would show everything."""
    got = await acme.get(f"/v1/jobs?{query}")

    assert (got.status, got.errors()) == (422, [(pointer, code)])


async def test_a_jobs_executions_come_newest_first(acme: Client) -> None:
    """By scheduled time, page by page."""
    job = await acme.job(overlap={"mode": "allow"})
    path = f"/v1/jobs/{job['jobId']}"
    made = [(await acme.post(f"{path}/run")).json["executionId"] for _ in range(5)]
    listed = await all_pages(acme, f"{path}/executions?limit=2", "executions")

    assert sorted(made) == sorted(execution["executionId"] for execution in listed)
    times = [execution["scheduledTime"] for execution in listed]
    assert times == sorted(times, reverse=True)


async def test_executions_are_listed_by_job_or_by_need(acme: Client) -> None:
    """There is no list of all of a tenant's: it would be a scan."""
    without = await acme.get("/v1/executions")
    wrong = await acme.get("/v1/executions?attention=false")
    right = await acme.get("/v1/executions?attention=true")

    assert (without.status, without.errors()) == (422, [("query:attention", "missing")])
    assert wrong.status == 422
    assert right.json == {"executions": [], "nextToken": None}
