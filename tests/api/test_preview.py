"""Does a preview, and a write that is only validated, tell what would happen, and write nothing?"""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.api.client import A_JOB, Client
from tests.api.conftest import a_client
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.api.call import Api
from tickwright.domain.events import EventName
from tickwright.domain.instants import Instant
from tickwright.domain.schedules import Schedule, next_ticks, tzdata_version
from tickwright.domain.tenants import Scope
from tickwright.ports.second_engine import NoOpinion, Opinion
from tickwright.wiring.second_engine import DeferredEngine

PREVIEW = "/v1/schedules/preview"
BERLIN = {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}


@dataclass(frozen=True, slots=True)
class LateEngine:
    """An engine that expects every tick a minute later than ours."""

    def next_ticks(self, schedule: Schedule, after: Instant, count: int) -> Opinion | NoOpinion:
        return Opinion(tuple(Instant(tick.at + 60_000) for tick in next_ticks(schedule, after, count)))


async def looked_at(client: Client, schedule: dict[str, Any], **shown: object) -> Any:  # noqa: ANN401 - JSON
    """A preview."""
    got = await client.post(PREVIEW, {"schedule": schedule} | shown)
    assert got.status == 200, got.json
    return got.json


def asking(client: Client, engine: LateEngine | DeferredEngine) -> Client:
    """The same caller of an API that has a second engine."""
    return Client(replace(client.api, second_engine=engine), client.secret)


def disagreements(api: Api) -> list[tuple[str, str]]:
    """Which jobs the two engines were noted to disagree on, and from when."""
    telemetry = api.kit.telemetry
    assert isinstance(telemetry, MemoryTelemetry)
    noted = [one for one in telemetry.happenings if one.name is EventName.SCHEDULE_DISAGREEMENT]
    return [(one.about["jobId"], one.about["ours"]) for one in noted]


@pytest.mark.sem("SEM-SCHED-14")
async def test_a_preview_tells_the_ticks_around_a_clock_change(acme: Client) -> None:
    """The skipped time fires once, at the first instant after the gap, and the tick says so."""
    told = await looked_at(acme, BERLIN, count=3, **{"from": "2027-03-27T00:00:00Z"})

    assert [tick["at"] for tick in told["ticks"]] == [
        "2027-03-27T01:30:00.000Z",
        "2027-03-28T01:00:00.000Z",
        "2027-03-29T00:30:00.000Z",
    ]
    assert [tick["local"][11:] for tick in told["ticks"]] == ["02:30:00+01:00", "03:00:00+02:00", "02:30:00+02:00"]
    assert "does not exist in Europe/Berlin" in told["ticks"][1]["note"]
    assert (told["ticks"][0]["note"], told["ticks"][2]["note"]) == (None, None)
    assert "clock_change" in [note["code"] for note in told["lint"]]
    assert (told["tzdataVersion"], told["secondEngine"]) == (tzdata_version(), None)


@pytest.mark.sem("SEM-SCHED-14")
async def test_a_preview_explains_what_surprises(acme: Client) -> None:
    """Either day is enough, seven does not divide sixty, and midnight is everybody's."""
    told = await looked_at(acme, {"cron": ["0 0 13 * 5", "*/7 * * * *"]})

    assert "either is enough" in " ".join(told["explanation"])
    assert {"herd", "uneven_step"} & {note["code"] for note in told["lint"]} == {"herd", "uneven_step"}
    assert (told["resolvedCron"], len(told["ticks"])) == (["0 0 13 * 5", "*/7 * * * *"], 10)


async def test_a_hash_without_a_job_is_told_as_an_example(acme: Client) -> None:
    """The same one each time; the job that will be gets a slot of its own."""
    one, other = [await looked_at(acme, {"cron": "H H * * *"}) for _ in range(2)]

    assert one == other
    assert "H" not in one["resolvedCron"][0]
    assert [note["code"] for note in one["lint"]] == ["hashed"]


@pytest.mark.sem("SEM-SCHED-14", "SEM-SCHED-22")
async def test_a_window_is_previewed_in_slots_and_without_a_job_as_an_example(acme: Client) -> None:
    """Each tick says which time it comes from, and the same one each time."""
    schedule = {"cron": "0 6 * * *", "startAt": "2098-01-01T00:00:00Z", "window": 3_600}
    told, again = [await looked_at(acme, schedule) for _ in range(2)]

    assert told == again
    assert [note["code"] for note in told["lint"]] == ["rare", "hashed"]
    assert {tick["at"][11:14] for tick in told["ticks"]} == {"06:"}
    assert told["ticks"][0]["at"] != "2098-01-01T06:00:00.000Z"
    assert told["ticks"][0]["note"].endswith("after 2098-01-01T06:00:00+00:00, in its window")
    assert told["secondEngine"] is None


async def test_a_preview_ends_where_the_schedule_does(acme: Client) -> None:
    """By `maxRuns`, by `endAt`, or because it fires once."""
    hourly = {"every": "PT1H", "startAt": "2098-01-01T00:00:00Z"}

    assert len((await looked_at(acme, hourly | {"maxRuns": 2}))["ticks"]) == 2
    assert len((await looked_at(acme, hourly | {"endAt": "2098-01-01T03:30:00Z"}))["ticks"]) == 4
    assert len((await looked_at(acme, {"runAt": "9999-12-31T23:59:59Z", "timezone": "Asia/Tokyo"}))["ticks"]) == 1
    assert len((await looked_at(acme, hourly, count=100))["ticks"]) == 100


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"schedule": {"cron": "61 * * * *"}}, ("/schedule/cron", "out_of_range")),
        ({"schedule": {"cron": "0 0 30 2 *"}}, ("/schedule/cron", "never_fires")),
        ({"schedule": {"runAt": "2020-01-01T00:00:00Z"}}, ("/schedule/runAt", "in_the_past")),
        ({"schedule": {"every": "PT1H"}, "count": 101}, ("/count", "out_of_range")),
        ({"schedule": {"every": "PT1H"}, "from": "soon"}, ("/from", "bad_instant")),
        ({"schedule": {"every": "PT1H"}, "from": "0001-01-01T00:00:00Z"}, ("/from", "out_of_range")),
        ({"schedule": {"every": "PT1H"}, "until": None}, ("/until", "unknown_field")),
        ({}, ("/schedule", "missing")),
    ],
)
async def test_a_preview_refuses_as_a_job_is_refused(acme: Client, body: object, error: tuple[str, str]) -> None:
    """With a pointer to what must change."""
    got = await acme.post(PREVIEW, body)

    assert (got.status, got.errors()) == (422, [error])


async def test_a_key_that_may_not_read_jobs_gets_no_preview(api: Api) -> None:
    """A worker's key, for one."""
    worker = await a_client(api, "acme", frozenset({Scope.EXECUTIONS_RUN}))

    assert (await worker.post(PREVIEW, {"schedule": {"every": "PT1H"}})).status == 403


@pytest.mark.sem("SEM-SCHED-15")
async def test_a_disagreement_is_told_noted_and_refuses_nothing(acme: Client, api: Api) -> None:
    """In the preview as a lint note, at creation as an event with the job's id."""
    doubted = asking(acme, LateEngine())
    told = await looked_at(doubted, {"cron": "0 6 * * *"}, **{"from": "2098-01-01T00:00:00Z"})
    job = await doubted.job(schedule={"cron": "0 6 * * *"})

    assert told["secondEngine"] == {"ours": "2098-01-01T06:00:00.000Z", "theirs": "2098-01-01T06:01:00.000Z"}
    assert "second_engine" in [note["code"] for note in told["lint"]]
    assert disagreements(api) == [("", "2098-01-01T06:00:00.000Z"), (job["jobId"], job["nextRunAt"])]


@pytest.mark.sem("SEM-SCHED-15")
@pytest.mark.parametrize(
    "schedule",
    [BERLIN, {"cron": ["*/7 * * * *", "0 0 * * 1"]}, {"cron": "0 0 29 2 1", "dayMatch": "and"}, {"every": "PT1H"}],
)
async def test_the_engine_that_is_wired_agrees(acme: Client, api: Api, schedule: dict[str, object]) -> None:
    """It is croniter; what it cannot do, or only slowly, it is not asked."""
    wired = asking(acme, DeferredEngine())
    told = await looked_at(wired, schedule, count=30)
    await wired.job(schedule=schedule)

    assert (told["secondEngine"], disagreements(api)) == (None, [])


@pytest.mark.sem("SEM-SCHED-19")
async def test_a_job_that_is_only_validated_is_not_there(acme: Client) -> None:
    """No Idempotency-Key is needed, and its name stays free."""
    body = A_JOB | {"name": "nightly", "schedule": {"cron": "30 2 * * *"}}
    got = await acme.post("/v1/jobs?validateOnly=true", body, idempotency_key=None)
    listed = await acme.get("/v1/jobs")
    made = await acme.post("/v1/jobs", body)

    assert (got.status, got.json["job"]["name"], got.json["ticksBefore"]) == (200, "nightly", None)
    assert got.json["ticksAfter"] == [tick["at"] for tick in got.json["preview"]["ticks"]]
    assert listed.json["jobs"] == []
    assert (made.status, made.json["nextRunAt"]) == (201, got.json["ticksAfter"][0])


@pytest.mark.sem("SEM-SCHED-19")
async def test_an_edit_that_is_only_validated_tells_the_ticks_before_and_after(acme: Client) -> None:
    """By PUT and by PATCH alike; the job stays as it was, and the edit itself then does what was told."""
    job = await acme.job(schedule={"cron": "0 6 * * *"})
    path = f"/v1/jobs/{job['jobId']}"
    patch = {"schedule": {"cron": "0 18 * * *"}}
    looked = await acme.send("PATCH", f"{path}?validateOnly=true", patch, if_match=job["etag"])
    put = await acme.send("PUT", f"{path}?validateOnly=true", A_JOB | patch, if_match=job["etag"])
    unchanged = await acme.get(path)
    edited = await acme.send("PATCH", path, patch, if_match=looked.headers["ETag"])

    assert {at[11:16] for at in looked.json["ticksBefore"]} == {"06:00"}
    assert {at[11:16] for at in looked.json["ticksAfter"]} == {"18:00"}
    assert looked.json["ticksBefore"][0] == job["nextRunAt"]
    assert (put.json["ticksBefore"], put.json["ticksAfter"]) == (looked.json["ticksBefore"], looked.json["ticksAfter"])
    assert unchanged.json == job
    assert (edited.status, edited.json["nextRunAt"]) == (200, looked.json["ticksAfter"][0])


@pytest.mark.sem("SEM-SCHED-19")
async def test_a_write_that_is_only_validated_is_refused_as_the_write_would_be(acme: Client, rival: Client) -> None:
    """For its body, its name, its version, its precondition, or because the job is another's."""
    taken = await acme.job(name="taken")
    path = f"/v1/jobs/{(await acme.job())['jobId']}?validateOnly=true"
    named = A_JOB | {"name": "taken"}

    assert (await acme.post("/v1/jobs?validateOnly=true", named)).code == "name_taken"
    assert (await acme.post("/v1/jobs?validateOnly=true", A_JOB | {"schedule": {}})).status == 422
    assert (await acme.post("/v1/jobs?validateOnly=yes", A_JOB)).errors() == [("query:validateOnly", "bad_value")]
    assert (await acme.send("PUT", path, named, if_match="*")).code == "name_taken"
    assert (await acme.send("PUT", path, A_JOB)).status == 428
    assert (await acme.send("PATCH", path, {}, if_match='"7"')).status == 412
    assert (await rival.send("PATCH", path, {}, if_match="*")).status == 404
    await acme.send("DELETE", f"/v1/jobs/{taken['jobId']}")
    assert (await acme.post("/v1/jobs?validateOnly=true", named)).status == 200


@pytest.mark.sem("SEM-SCHED-15", "SEM-SCHED-22")
async def test_a_window_is_none_of_the_second_engines_business(acme: Client) -> None:
    """Both engines are asked where the schedule points; the slot in the window is ours, and no disagreement."""
    got = await acme.post("/v1/schedules/preview", {"schedule": {"cron": "0 6 * * *", "window": 3_600}})

    assert (got.status, got.json["secondEngine"]) == (200, None)
    assert "second_engine" not in {note["code"] for note in got.json["lint"]}
    assert {tick["at"][11:13] for tick in got.json["ticks"]} == {"06"}
