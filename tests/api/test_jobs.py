"""Does a job do over HTTP what its tenant asks: begin, pause, go on, run now, end?"""

import pytest

from tests.api.client import A_JOB, IN_A_YEAR, Client
from tests.api.test_executions import a_running_one


async def test_a_new_job_is_shown_whole(acme: Client) -> None:
    """With every default in it: what is shown is what will be done."""
    got = await acme.post("/v1/jobs", A_JOB | {"payload": {"n": 1}, "name": "nightly"})
    job = got.json

    assert got.headers["Location"] == f"/v1/jobs/{job['jobId']}"
    assert (job["status"], job["version"], job["nextRunAt"]) == ("ACTIVE", 1, "2099-01-01T00:00:00.000Z")
    assert job["schedule"] == {"runAt": IN_A_YEAR}
    assert job["target"] == {"type": "python", "handler": "nightly"}
    assert job["retryPolicy"] == {
        "maxAttempts": 3,
        "backoff": {"initialSec": 10.0, "factor": 2.0, "maxSec": 3600.0, "jitter": "full"},
        "retryOn": [],
        "giveUpOn": [],
    }
    assert (job["timeoutSec"], job["priority"], job["overlap"]) == (300, "normal", {"mode": "skip"})
    pace = {"maxRuns": None, "ratePerMin": None}
    assert job["catchup"] == {"mode": "all", "windowSec": 86_400, "onResume": "skip", **pace}
    assert (job["payload"], job["tags"], job["owner"], job["resolvedCron"]) == ({"n": 1}, [], None, None)


async def test_a_hashed_cron_shows_what_it_stands_for(acme: Client) -> None:
    """The schedule stays as it was written."""
    job = await acme.job(schedule={"cron": "H H * * *", "timezone": "Europe/Berlin"})
    minute, hour, *rest = job["resolvedCron"][0].split()

    assert job["schedule"] == {"cron": "H H * * *", "timezone": "Europe/Berlin"}
    assert (0 <= int(minute) <= 59, 0 <= int(hour) <= 23, rest) == (True, True, ["*", "*", "*"])


async def test_a_paused_job_is_due_no_more_until_it_is_resumed(acme: Client) -> None:
    """Doing it twice is as doing it once."""
    job = await acme.job(schedule={"cron": "0 0 29 2 *"})  # no tick comes meanwhile
    path = f"/v1/jobs/{job['jobId']}"
    paused = await acme.post(f"{path}/pause")
    again = await acme.post(f"{path}/pause")
    resumed = await acme.post(f"{path}/resume")

    assert (paused.json["status"], paused.json["nextRunAt"]) == ("PAUSED", None)
    assert again.json == paused.json
    assert (resumed.json["status"], resumed.json["nextRunAt"]) == ("ACTIVE", job["nextRunAt"])
    assert (await acme.get(path)).json == resumed.json


@pytest.mark.parametrize("action", ["pause", "resume", "run"])
async def test_a_job_that_was_ended_stays_so(acme: Client, action: str) -> None:
    """DELETE may be repeated; everything else is refused, with what to do instead."""
    job = await acme.job()
    path = f"/v1/jobs/{job['jobId']}"
    ended = await acme.send("DELETE", path)
    again = await acme.send("DELETE", path)
    got = await acme.post(f"{path}/{action}")

    assert (ended.status, ended.json["status"], ended.json["nextRunAt"]) == (200, "CANCELLED", None)
    assert again.json == ended.json
    assert (got.status, got.code) == (409, "job_over")


async def test_an_ended_job_is_edited_no_more(acme: Client) -> None:
    """But it can be looked at, with its ledger."""
    job = await acme.job()
    path = f"/v1/jobs/{job['jobId']}"
    ended = await acme.send("DELETE", path)
    got = await acme.send("PUT", path, A_JOB, if_match=ended.headers["ETag"])

    assert (got.status, got.code) == (409, "job_over")
    assert (await acme.get(f"{path}/executions")).status == 200


async def test_a_run_now_is_an_execution_of_its_own(acme: Client) -> None:
    """Beside the schedule, with the tenant's request as its cause; it occupies the job."""
    job = await acme.job()
    path = f"/v1/jobs/{job['jobId']}"
    ran = await acme.post(f"{path}/run")
    listed = (await acme.get(f"{path}/executions")).json["executions"]
    after = (await acme.get(path)).json

    assert ran.headers["Location"] == f"/v1/executions/{ran.json['executionId']}"
    assert (ran.json["status"], ran.json["cause"], ran.json["attempt"]) == ("QUEUED", "manual", 0)
    assert [execution["executionId"] for execution in listed] == [ran.json["executionId"]]
    assert after["activeExecutionId"] == ran.json["executionId"]
    assert after["nextRunAt"] == job["nextRunAt"]


async def test_a_job_names_its_run_while_that_is_unfinished(acme: Client) -> None:
    """Alone and in the list; an ended one is no active one, and a job that lets runs overlap has none."""
    path = await a_running_one(acme)
    running = (await acme.get(path)).json
    job = f"/v1/jobs/{running['jobId']}"
    before = [(await acme.get(job)).json, (await acme.get("/v1/jobs")).json["jobs"][0]]
    await acme.send("POST", f"{path}/complete", {"leaseEpoch": 1})
    after = [(await acme.get(job)).json, (await acme.get("/v1/jobs")).json["jobs"][0]]

    assert [one["activeExecutionId"] for one in before] == [running["executionId"]] * 2
    assert [one["activeExecutionId"] for one in after] == [None] * 2
    assert before[0]["etag"] != after[0]["etag"]


async def test_a_job_that_is_due_now_fires_at_once(acme: Client) -> None:
    """Within the look-ahead, submit itself takes the scheduler's steps."""
    job = await acme.job(schedule={"every": "PT1S"})
    executions = (await acme.get(f"/v1/jobs/{job['jobId']}/executions")).json["executions"]

    assert executions
    assert executions[-1]["scheduledTime"] == job["nextRunAt"]


@pytest.mark.parametrize(
    "path", ["/v1/jobs/x", "/v1/jobs/" + "a" * 26, "/v1/jobs/..", "/v1/jobs/%2e%2e", "/v1/jobs/\U0001f600"]
)
async def test_an_id_that_is_none_is_not_found(acme: Client, path: str) -> None:
    """Well-formed or not."""
    got = await acme.get(path)

    assert (got.status, got.code) == (404, "not_found")
