"""Does an edit with `effectiveFrom` wait, show that it waits, and tell beforehand what it would do?"""

import pytest

from tests.api.client import Client
from tickwright.domain.instants import Instant, from_rfc3339, to_rfc3339

HOURLY = {"cron": "0 * * * *"}
FROM = "2027-01-01T00:00:00Z"


async def a_job(client: Client) -> tuple[str, str]:
    """Path and ETag of an hourly job."""
    got = await client.post("/v1/jobs", {"schedule": HOURLY, "target": {"type": "python", "handler": "nightly"}})
    return f"/v1/jobs/{got.json['jobId']}", got.json["etag"]


@pytest.mark.sem("SEM-EDIT-2")
async def test_an_edit_that_waits_is_shown_and_changes_nothing_yet(acme: Client) -> None:
    """The job is as it was; `pendingEdit` says from when on it is another."""
    path, etag = await a_job(acme)

    got = await acme.send("PATCH", f"{path}?effectiveFrom={FROM}", {"schedule": {"cron": "30 * * * *"}}, if_match=etag)

    assert got.status == 200
    assert got.json["schedule"] == HOURLY
    assert got.json["pendingEdit"] == {"definitionVersion": 2, "effectiveFrom": "2027-01-01T00:00:00.000Z"}
    assert (await acme.get(path)).json["pendingEdit"] == got.json["pendingEdit"]


@pytest.mark.sem("SEM-EDIT-2", "SEM-SCHED-19")
async def test_a_look_shows_the_ticks_on_both_sides_of_its_time(acme: Client) -> None:
    """With `validateOnly`: the old ticks before the instant, the new ones from it on, and nothing is written."""
    path, etag = await a_job(acme)
    first = (await acme.get(path)).json["nextRunAt"]
    body = {"schedule": {"cron": "30 * * * *"}}
    until = to_rfc3339(Instant(from_rfc3339(first) + 2 * 3_600_000))

    got = await acme.send("PATCH", f"{path}?validateOnly=true&effectiveFrom={until}", body, if_match=etag)

    minutes = [at[14:16] for at in got.json["ticksAfter"]]
    assert minutes == ["00", "00"] + ["30"] * 8
    assert {at[14:16] for at in got.json["ticksBefore"]} == {"00"}
    assert (await acme.get(path)).json["etag"] == etag


@pytest.mark.sem("SEM-EDIT-2", "SEM-SCHED-19")
async def test_a_look_far_ahead_shows_the_ticks_from_its_time_on(acme: Client) -> None:
    """Else both lists would be the same; the preview begins at that instant in any case."""
    path, etag = await a_job(acme)
    body = {"schedule": {"cron": "30 * * * *"}}
    ahead = (await acme.get(path)).json["nextRunAt"]
    far = f"{int(ahead[:4]) + (ahead[5:7] == '12')}-{int(ahead[5:7]) % 12 + 1:02d}-15T00:00:00.000Z"

    got = await acme.send("PATCH", f"{path}?validateOnly=true&effectiveFrom={far}", body, if_match=etag)

    after = got.json["ticksAfter"]
    assert after == [tick["at"] for tick in got.json["preview"]["ticks"]]
    assert (after[0], len(after)) == (far.replace("00:00.", "30:00."), 10)
    assert got.json["ticksBefore"][0] == far
    assert {at[14:16] for at in got.json["ticksBefore"]} == {"00"}


@pytest.mark.sem("SEM-EDIT-2", "SEM-SCHED-19")
@pytest.mark.parametrize(("max_runs", "left"), [(25, 1), (24, 0), (60, 10)])
async def test_runs_until_then_count(acme: Client, max_runs: int, left: int) -> None:
    """Of a job that ends after so many runs, no more are told than will be left at that instant."""
    hourly = HOURLY | {"maxRuns": max_runs}
    job = await acme.job(schedule=hourly)
    path, first = f"/v1/jobs/{job['jobId']}", from_rfc3339(job["nextRunAt"])
    day_later = to_rfc3339(Instant(first + 24 * 3_600_000))
    body = {"schedule": hourly | {"cron": "30 * * * *", "maxRuns": 60}}

    looked = f"{path}?validateOnly=true&effectiveFrom={day_later}"
    got = await acme.send("PATCH", looked, body, if_match=job["etag"])

    assert [at[14:16] for at in got.json["ticksBefore"]] == ["00"] * left
    assert [at[14:16] for at in got.json["ticksAfter"]] == ["30"] * 10


@pytest.mark.sem("SEM-SCHED-19")
@pytest.mark.parametrize(("text", "code"), [("2099-01-01T00:00:00Z", "out_of_range"), ("tomorrow", "bad_instant")])
async def test_an_instant_that_cannot_be_is_refused(acme: Client, text: str, code: str) -> None:
    """More than a year ahead, or no instant at all."""
    path, etag = await a_job(acme)

    got = await acme.send("PATCH", f"{path}?effectiveFrom={text}", {"payload": 1}, if_match=etag)

    assert (got.status, got.errors()) == (422, [("query:effectiveFrom", code)])


@pytest.mark.sem("SEM-TZ-2")
async def test_zone_changes_are_a_list_of_the_tenants_own(acme: Client) -> None:
    """Nothing has moved on a fresh installation; the answer says by which rules."""
    await a_job(acme)

    got = await acme.get("/v1/zone-changes")

    assert got.status == 200
    assert (got.json["changes"], got.json["nextToken"]) == ([], None)
    assert got.json["tzdataVersion"]


@pytest.mark.sem("SEM-EDIT-2")
async def test_an_edit_over_one_that_waits_must_say_so(acme: Client) -> None:
    """Else it would be lost without a word: 409 with what to send; and then the new one stands in its place."""
    path, etag = await a_job(acme)
    waiting = await acme.send("PATCH", f"{path}?effectiveFrom={FROM}", {"priority": "low"}, if_match=etag)
    now_etag = waiting.json["etag"]

    looked = await acme.send("PATCH", f"{path}?validateOnly=true", {"priority": "high"}, if_match=now_etag)
    refused = await acme.send("PATCH", path, {"priority": "high"}, if_match=now_etag)
    put = await acme.send("PATCH", f"{path}?dropWaiting=true", {"priority": "high"}, if_match=now_etag)

    assert (looked.status, looked.code) == (refused.status, refused.code) == (409, "edit_waits")
    assert "dropWaiting=true" in refused.json["detail"]
    assert (put.status, put.json["priority"], put.json["pendingEdit"]) == (200, "high", None)


@pytest.mark.sem("SEM-JOB-1", "SEM-EDIT-2")
async def test_every_version_can_be_read_the_one_that_waits_too(acme: Client) -> None:
    """Newest first, page by page; what never was is 404."""
    path, etag = await a_job(acme)
    await acme.send("PATCH", f"{path}?effectiveFrom={FROM}", {"priority": "low"}, if_match=etag)

    newest = await acme.get(f"{path}/versions?limit=1")
    rest = await acme.get(f"{path}/versions?limit=1&nextToken={newest.json['nextToken']}")
    one = await acme.get(f"{path}/versions/2")

    told = [(one["definitionVersion"], one["priority"]) for got in (newest, rest) for one in got.json["versions"]]
    assert told == [(2, "low"), (1, "normal")]
    assert rest.json["nextToken"] is None
    assert one.json["definitionVersion"] == 2
    assert [(await acme.get(f"{path}/versions/{bad}")).status for bad in ("0", "3", "x", "9" * 30)] == [404] * 4


@pytest.mark.sem("SEM-EDIT-2")
async def test_an_edit_for_a_time_that_is_over_is_refused(acme: Client) -> None:
    """A mistyped year does not change the job at once."""
    path, etag = await a_job(acme)

    got = await acme.send("PATCH", f"{path}?effectiveFrom=2020-01-01T00:00:00Z", {"payload": 1}, if_match=etag)

    assert (got.status, got.errors()) == (422, [("query:effectiveFrom", "in_the_past")])


@pytest.mark.sem("SEM-CATCHUP-3", "SEM-SCHED-24")
async def test_a_rate_that_never_catches_up_is_noted(acme: Client) -> None:
    """Two a minute for a job of six a minute: allowed, and told in the answer and in a look."""
    body = {
        "schedule": {"every": "PT10S"},
        "target": {"type": "python", "handler": "nightly"},
        "catchup": {"mode": "all", "ratePerMin": 2},
    }

    created = await acme.post("/v1/jobs", body)
    looked = await acme.post("/v1/jobs?validateOnly=true", body)
    fine = await acme.post("/v1/jobs", body | {"catchup": {"mode": "all", "ratePerMin": 12}})

    assert "slow_catchup" in {note["code"] for note in created.json["lint"]}
    assert "slow_catchup" in {note["code"] for note in looked.json["preview"]["lint"]}
    assert "slow_catchup" not in {note["code"] for note in fine.json["lint"]}
