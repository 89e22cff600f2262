"""Does the answer to a write say what the schedule means, before anybody asks for a preview?"""

from typing import Any

import pytest

from tests.api.client import A_JOB, Client

EITHER_DAY = {"cron": "* * 1 5 1-4"}


def codes(job: Any) -> set[str]:  # noqa: ANN401 - JSON
    """The codes of the notes on a job."""
    return {note["code"] for note in job["lint"]}


@pytest.mark.sem("SEM-SCHED-24")
async def test_the_create_answer_tells_the_rule_of_the_two_days(acme: Client) -> None:
    """B021: who expects AND reads in the answer that either day is enough, and how to have both."""
    job = await acme.job(schedule=EITHER_DAY)
    told = " ".join(job["explanation"])

    assert job["resolvedCron"] == ["* * 1 5 1-4"]
    assert "either is enough" in told
    assert "dayMatch" in told
    assert "either_day" in codes(job)


@pytest.mark.sem("SEM-SCHED-24")
async def test_every_answer_that_shows_a_job_explains_its_schedule(acme: Client) -> None:
    """Made, read, replaced, patched, paused: the schedule that is then in force."""
    made = await acme.job(schedule=EITHER_DAY)
    path = f"/v1/jobs/{made['jobId']}"
    read = await acme.get(path)
    put = await acme.send("PUT", path, A_JOB | {"schedule": {"cron": "*/7 * * * *"}}, if_match=made["etag"])
    patched = await acme.send("PATCH", path, {"schedule": {"cron": "0 6 * * *"}}, if_match=put.json["etag"])
    paused = await acme.post(f"{path}/pause", {})

    assert (read.json["explanation"], read.json["lint"]) == (made["explanation"], made["lint"])
    assert "uneven_step" in codes(put.json)
    assert put.json["explanation"] != made["explanation"]
    assert "06:00" in patched.json["explanation"][0]
    assert paused.json["explanation"] == patched.json["explanation"]


@pytest.mark.sem("SEM-SCHED-24")
async def test_an_outcome_of_a_batch_explains_its_schedule(acme: Client) -> None:
    """Each for itself."""
    jobs = [A_JOB, A_JOB | {"schedule": EITHER_DAY}]
    got = await acme.post("/v1/jobs/batch", {"jobs": jobs})
    once, either = (outcome["job"] for outcome in got.json["outcomes"])

    assert once["explanation"][0].startswith("Fires once")
    assert once["lint"] == []
    assert "either_day" in codes(either)


@pytest.mark.sem("SEM-SCHED-24")
async def test_a_spread_schedule_is_told_as_it_was_settled(acme: Client) -> None:
    """With H the answer shows the times that this job has, and no note on a herd."""
    hashed = await acme.job(schedule={"cron": "H H * * *"})
    plain = await acme.job(schedule={"cron": "0 0 * * *"})
    minute, hour, *_ = hashed["resolvedCron"][0].split()

    assert f"{int(hour):02}:{int(minute):02}" in hashed["explanation"][0]
    assert "herd" in codes(plain)
    assert "herd" not in codes(hashed)
