"""Does a request that is repeated create once, however it is repeated?"""

import asyncio
from dataclasses import replace

import pytest

from tests.api.client import A_JOB, Client
from tests.api.worlds import DAY_MS, later_by
from tickwright.domain.instants import Instant, to_rfc3339


@pytest.mark.sem("SEM-IDEM-1")
async def test_a_repeat_gets_the_same_answer_and_says_so(acme: Client) -> None:
    """Also when its names come in another order, with other blanks."""
    first = await acme.post("/v1/jobs", A_JOB, idempotency_key="k")
    again = await acme.post("/v1/jobs", dict(reversed(A_JOB.items())), idempotency_key="k")

    assert (first.status, again.status) == (201, 201)
    assert again.json == first.json
    assert again.headers["ETag"] == first.headers["ETag"]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len((await acme.get("/v1/jobs")).json["jobs"]) == 1


@pytest.mark.sem("SEM-IDEM-1")
async def test_a_key_stands_for_one_body(acme: Client) -> None:
    """The same key with another body is a mistake of the caller, and changes nothing (B159)."""
    await acme.post("/v1/jobs", A_JOB, idempotency_key="k")
    got = await acme.post("/v1/jobs", A_JOB | {"priority": "high"}, idempotency_key="k")

    assert (got.status, got.code) == (422, "idempotency_key_reused")
    assert len((await acme.get("/v1/jobs")).json["jobs"]) == 1


@pytest.mark.sem("SEM-IDEM-1")
async def test_a_key_belongs_to_a_tenant_a_method_and_a_path(acme: Client, rival: Client) -> None:
    """Two tenants, and two operations of one, may use the same key (B160)."""
    one = await acme.post("/v1/jobs", A_JOB, idempotency_key="k")
    other = await rival.post("/v1/jobs", A_JOB, idempotency_key="k")
    ran = await acme.post(f"/v1/jobs/{one.json['jobId']}/run", idempotency_key="k")

    assert (one.status, other.status, ran.status) == (201, 201, 201)
    assert one.json["jobId"] != other.json["jobId"]


@pytest.mark.sem("SEM-IDEM-1")
async def test_of_requests_at_the_same_instant_one_creates(acme: Client) -> None:
    """The others are told so, or to come again; and then get the same job."""
    together = await asyncio.gather(*(acme.post("/v1/jobs", A_JOB, idempotency_key="k") for _ in range(8)))
    later = await acme.post("/v1/jobs", A_JOB, idempotency_key="k")

    assert {got.status for got in together} <= {201, 409}
    assert all(got.json["retryable"] for got in together if got.status == 409)
    made = {got.json["jobId"] for got in together if got.status == 201}
    assert made == {later.json["jobId"]}
    assert len((await acme.get("/v1/jobs")).json["jobs"]) == 1


async def test_a_refused_request_leaves_its_key_free(acme: Client) -> None:
    """Mended, it may be sent with the same key."""
    refused = await acme.post("/v1/jobs", A_JOB | {"priority": "urgent"}, idempotency_key="k")
    mended = await acme.post("/v1/jobs", A_JOB, idempotency_key="k")

    assert (refused.status, mended.status) == (422, 201)


async def test_a_repeat_after_its_instant_still_gets_its_answer(acme: Client) -> None:
    """A reply that was lost is asked for again when runAt is over; the answer is the first one."""
    soon = to_rfc3339(Instant(acme.api.kit.clock.now() + 400))
    one = A_JOB | {"schedule": {"runAt": soon}}
    first = await acme.post("/v1/jobs", one, idempotency_key="k")
    late = Client(replace(acme.api, kit=later_by(acme.api.kit, DAY_MS)), acme.secret)
    again = await late.post("/v1/jobs", one, idempotency_key="k")
    fresh = await late.post("/v1/jobs", one, idempotency_key="another")

    assert (first.status, again.status) == (201, 201)
    assert again.json["jobId"] == first.json["jobId"]
    assert fresh.status == 422


async def test_without_a_key_nothing_is_created(acme: Client) -> None:
    """A caller that cannot repeat safely would create twice one day."""
    got = await acme.post("/v1/jobs", A_JOB, idempotency_key=None)

    assert (got.status, got.code) == (400, "idempotency_key_missing")


@pytest.mark.parametrize("key", ["", " ", "a b", "\u00e9", "x" * 256, "a\x7f"])
async def test_a_key_that_cannot_be_kept_is_refused(acme: Client, key: str) -> None:
    """1 to 255 printable characters."""
    got = await acme.post("/v1/jobs", A_JOB, idempotency_key=key)

    assert (got.status, got.errors()) == (422, [("header:Idempotency-Key", "bad_value")])


async def test_each_job_of_a_batch_has_its_own_outcome(acme: Client) -> None:
    """One that is refused hinders no other; mended and sent again, it is created and the others are not."""
    jobs = [A_JOB | {"name": "one"}, A_JOB | {"priority": "urgent"}, 7, A_JOB | {"name": "four"}]
    first = await acme.post("/v1/jobs/batch", {"jobs": jobs}, idempotency_key="k")
    jobs[1:3] = [A_JOB | {"name": "two"}, A_JOB | {"name": "three"}]
    again = await acme.post("/v1/jobs/batch", {"jobs": jobs}, idempotency_key="k")

    assert [outcome["status"] for outcome in first.json["outcomes"]] == [201, 422, 422, 201]
    assert first.json["outcomes"][1]["problem"]["errors"][0]["pointer"] == "/priority"
    assert [outcome["status"] for outcome in again.json["outcomes"]] == [201] * 4
    assert [outcome["replayed"] for outcome in again.json["outcomes"]] == [True, False, False, True]
    assert again.json["outcomes"][0]["job"] == first.json["outcomes"][0]["job"]
    listed = [job["name"] for job in (await acme.get("/v1/jobs")).json["jobs"]]
    assert listed == ["four", "one", "three", "two"]


@pytest.mark.parametrize("count", [0, 101])
async def test_a_batch_has_1_to_100_jobs(acme: Client, count: int) -> None:
    """More is a second batch."""
    got = await acme.post("/v1/jobs/batch", {"jobs": [A_JOB] * count})

    assert got.status == 422


async def test_a_run_that_is_asked_for_twice_starts_once(acme: Client) -> None:
    """With a key; without one, the job's overlap rule decides."""
    job = await acme.job()
    path = f"/v1/jobs/{job['jobId']}/run"
    first = await acme.post(path, idempotency_key="k")
    again = await acme.post(path, idempotency_key="k")
    other = await acme.post(path, idempotency_key=None)

    assert (first.status, again.status) == (201, 201)
    assert again.json["executionId"] == first.json["executionId"]
    assert (other.status, other.code) == (409, "overlap")
