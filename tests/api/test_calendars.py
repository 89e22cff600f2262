"""Are a tenant's calendars put, read, listed and retired as it says, and is every version kept?"""

from datetime import date
from typing import Any

import pytest

from tests.api.client import A_JOB, Client
from tickwright.domain.calendar_rules import CALENDARS_OF_TENANT_MAX

PATH = "/v1/calendars/holidays"
HOLIDAYS: dict[str, Any] = {"type": "exclude", "days": ["--12-25"], "weekdays": ["sun"]}


@pytest.mark.sem("SEM-CAL-1")
async def test_a_calendar_is_shown_as_it_was_put(acme: Client) -> None:
    """Every member, each list in order and without repeats; 201 where it is new."""
    body = {
        "type": "include",
        "timezone": "Europe/Berlin",
        "days": ["2026-12-24/2027-01-02", "--02-29", "2026-12-24/2027-01-02"],
        "weekdays": ["sun", "sat"],
        "windows": [{"start": "2026-05-01T10:00:00+02:00", "end": "2026-05-01T09:00:00Z"}],
        "description": "When the shop is open",
    }
    put = await acme.send("PUT", PATH, body)
    got = await acme.get(PATH)

    assert (put.status, put.headers["Location"]) == (201, PATH)
    assert (got.status, got.json, got.headers["ETag"]) == (200, put.json, put.headers["ETag"])
    assert put.json == {
        "name": "holidays",
        "version": 1,
        "updatedAt": put.json["updatedAt"],
        "type": "include",
        "timezone": "Europe/Berlin",
        "description": "When the shop is open",
        "days": ["--02-29", "2026-12-24/2027-01-02"],
        "weekdays": ["sat", "sun"],
        "windows": [{"start": "2026-05-01T08:00:00.000Z", "end": "2026-05-01T09:00:00.000Z"}],
        "retired": False,
        "etag": put.headers["ETag"],
    }


@pytest.mark.sem("SEM-CAL-4")
async def test_other_content_is_a_new_version_and_equal_content_none(acme: Client) -> None:
    """Both versions can be read, and are listed newest first."""
    first = await acme.send("PUT", PATH, HOLIDAYS)
    same = await acme.send("PUT", PATH, {"weekdays": ["sun", "sun"], "days": ["--12-25"], "type": "exclude"})
    second = await acme.send("PUT", PATH, HOLIDAYS | {"days": ["--12-26"]})
    listed = (await acme.get(f"{PATH}/versions")).json

    assert (first.status, same.status, second.status) == (201, 200, 200)
    assert (same.json, second.json["version"]) == (first.json, 2)
    assert [(one["version"], one["entries"]) for one in listed["versions"]] == [(2, 2), (1, 2)]
    assert listed["nextToken"] is None
    assert (await acme.get(f"{PATH}/versions/1")).json == first.json
    assert (await acme.get(f"{PATH}/versions/2")).json == second.json


@pytest.mark.sem("SEM-CAL-4")
async def test_versions_are_listed_page_by_page(acme: Client) -> None:
    """Each once, newest first."""
    for day in range(1, 6):
        await acme.send("PUT", PATH, HOLIDAYS | {"days": [f"--12-{day:02d}"]})
    pages = [(await acme.get(f"{PATH}/versions?limit=2")).json]
    for _ in range(2):
        pages.append((await acme.get(f"{PATH}/versions?limit=2&nextToken={pages[-1]['nextToken']}")).json)

    assert [[one["version"] for one in page["versions"]] for page in pages] == [[5, 4], [3, 2], [1]]
    assert pages[-1]["nextToken"] is None


@pytest.mark.sem("SEM-CAL-4", "SEM-API-4")
async def test_a_write_on_another_version_is_refused(acme: Client) -> None:
    """With If-Match, of a put and of a retirement; without it the last write wins."""
    first = await acme.send("PUT", PATH, HOLIDAYS)
    second = await acme.send("PUT", PATH, HOLIDAYS | {"type": "include"}, if_match=first.headers["ETag"])
    late = [
        await acme.send("PUT", PATH, HOLIDAYS, if_match=first.headers["ETag"]),
        await acme.send("DELETE", PATH, if_match=first.headers["ETag"]),
        await acme.send("PUT", "/v1/calendars/absent", HOLIDAYS, if_match=first.headers["ETag"]),
    ]

    assert second.status == 200
    assert [(got.status, got.code) for got in late] == [(412, "version_conflict")] * 3
    assert (await acme.get(PATH)).json == second.json


@pytest.mark.sem("SEM-CAL-4")
async def test_a_put_may_demand_that_there_is_one_or_none(acme: Client) -> None:
    """`If-None-Match: *` creates alone, `If-Match: *` changes alone; what is retired counts as none."""
    absent = await acme.send("PUT", PATH, HOLIDAYS, if_match="*")
    first = await acme.send("PUT", PATH, HOLIDAYS, if_none_match="*")
    again = await acme.send("PUT", PATH, HOLIDAYS | {"type": "include"}, if_none_match="*")
    changed = await acme.send("PUT", PATH, HOLIDAYS | {"type": "include"}, if_match="*")
    await acme.send("DELETE", PATH)
    retired = await acme.send("PUT", PATH, HOLIDAYS, if_match="*")
    back = await acme.send("PUT", PATH, HOLIDAYS, if_none_match="*")

    assert [(got.status, got.code) for got in (absent, again, retired)] == [(412, "version_conflict")] * 3
    assert [(got.status, got.json["version"]) for got in (first, changed, back)] == [(201, 1), (200, 2), (201, 3)]


@pytest.mark.sem("SEM-API-1")
@pytest.mark.parametrize("headers", [{"if_none_match": '"1.0a"'}, {"if_none_match": "*", "if_match": "*"}])
async def test_a_put_takes_one_demand_that_it_understands(acme: Client, headers: dict[str, str]) -> None:
    """An ETag in If-None-Match, or both headers, are refused; nothing is put."""
    got = await acme.send("PUT", PATH, HOLIDAYS, **headers)

    assert (got.status, got.errors()) == (422, [("header:If-None-Match", "bad_value")])
    assert (await acme.get(PATH)).status == 404


@pytest.mark.sem("SEM-CAL-4")
async def test_a_retired_calendar_is_not_listed_until_it_is_put_again(acme: Client) -> None:
    """It can still be read, and its versions go on counting."""
    await acme.send("PUT", PATH, HOLIDAYS)
    await acme.send("PUT", "/v1/calendars/blackouts", HOLIDAYS)
    gone = await acme.send("DELETE", PATH)
    again = await acme.send("DELETE", PATH)
    without = (await acme.get("/v1/calendars")).json

    assert (gone.status, gone.json["retired"], gone.json["version"]) == (200, True, 1)
    assert (again.status, again.code) == (404, "not_found")
    assert [one["name"] for one in without["calendars"]] == ["blackouts"]
    assert (await acme.get(PATH)).json == gone.json

    back = await acme.send("PUT", PATH, HOLIDAYS)

    assert (back.status, back.json["retired"], back.json["version"]) == (201, False, 1)
    assert [one["name"] for one in (await acme.get("/v1/calendars")).json["calendars"]] == ["blackouts", "holidays"]


@pytest.mark.sem("SEM-CAL-1", "SEM-SCHED-2")
@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, ("/type", "missing")),
        ({"type": "only"}, ("/type", "bad_value")),
        ({"type": "exclude"}, ("", "no_entries")),
        ({"type": "exclude", "days": [], "weekdays": []}, ("", "no_entries")),
        (HOLIDAYS | {"days": ["2026-02-30"]}, ("/days/0", "bad_day")),
        (HOLIDAYS | {"days": ["--12-25", "2026-12-25/2026-12-24"]}, ("/days/1", "bad_day")),
        (HOLIDAYS | {"days": ["20261225"]}, ("/days/0", "bad_day")),
        (HOLIDAYS | {"days": ["--02-30"]}, ("/days/0", "bad_day")),
        (HOLIDAYS | {"days": ["2026-12-25"] * 1_001}, ("/days", "too_many")),
        (HOLIDAYS | {"weekdays": ["Sunday"]}, ("/weekdays/0", "bad_value")),
        (HOLIDAYS | {"timezone": "Mars/Base"}, ("/timezone", "bad_timezone")),
        (HOLIDAYS | {"windows": [{"start": "2026-01-01T00:00:00Z"}]}, ("/windows/0/end", "missing")),
        (
            HOLIDAYS | {"windows": [{"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:00:00Z"}]},
            ("/windows/0/end", "ends_before_start"),
        ),
        (
            HOLIDAYS | {"windows": [{"start": "tomorrow", "end": "2026-01-01T00:00:00Z"}]},
            ("/windows/0/start", "bad_instant"),
        ),
        (HOLIDAYS | {"holidays": 1}, ("/holidays", "unknown_field")),
    ],
)
async def test_a_calendar_that_means_nothing_is_refused(
    acme: Client, body: dict[str, Any], error: tuple[str, str]
) -> None:
    """With where it is wrong; nothing is kept."""
    got = await acme.send("PUT", PATH, body)

    assert (got.status, got.errors()) == (422, [error])
    assert (await acme.get(PATH)).status == 404


@pytest.mark.sem("SEM-CAL-1")
async def test_a_calendar_that_would_not_fit_its_item_is_refused(acme: Client) -> None:
    """Each list within its bounds, all together not."""
    windows = [
        {"start": f"{2000 + year}-{month:02d}-01T00:00:00Z", "end": f"{2000 + year}-{month:02d}-02T00:00:00Z"}
        for year in range(83)
        for month in range(1, 13)
    ]
    body: dict[str, Any] = {"type": "exclude", "windows": windows}
    days = [f"--12-{day}" for day in range(10, 15)]
    too_many = await acme.send("PUT", PATH, body | {"days": days})
    too_large = await acme.send("PUT", PATH, body | {"description": "€" * 1_024})
    most = await acme.send("PUT", PATH, body | {"days": days[1:]})

    assert (too_many.errors(), too_large.errors()) == ([("", "too_many")], [("", "too_large")])
    assert (most.status, len(most.json["windows"])) == (201, 996)


@pytest.mark.sem("SEM-CAL-1")
@pytest.mark.parametrize("name", ["-a", "a b", "ä", "a" * 65, ".", "~"])
async def test_a_name_that_no_calendar_may_have_is_refused(acme: Client, name: str) -> None:
    """A put says what a name is made of; to all others there is no such calendar."""
    put = await acme.send("PUT", f"/v1/calendars/{name}", HOLIDAYS)
    others = [
        await acme.send(method, f"/v1/calendars/{name}{rest}")
        for method, rest in (("GET", ""), ("DELETE", ""), ("GET", "/versions"), ("GET", "/versions/1"))
    ]

    assert (put.status, put.errors()) == (422, [("path:name", "bad_value")])
    assert [(got.status, got.code) for got in others] == [(404, "not_found")] * 4


@pytest.mark.sem("SEM-CAL-1")
async def test_a_tenant_has_a_bounded_number_of_calendars(acme: Client, rival: Client) -> None:
    """Retired ones count, for they are kept; those of others do not."""
    for number in range(CALENDARS_OF_TENANT_MAX):
        assert (await acme.send("PUT", f"/v1/calendars/c{number}", HOLIDAYS)).status == 201
    await acme.send("DELETE", "/v1/calendars/c0")
    one_more = await acme.send("PUT", PATH, HOLIDAYS)

    assert (one_more.status, one_more.errors()) == (422, [("path:name", "too_many")])
    assert (await acme.send("PUT", "/v1/calendars/c1", HOLIDAYS | {"type": "include"})).status == 200
    assert (await rival.send("PUT", PATH, HOLIDAYS)).status == 201


@pytest.mark.sem("SEM-TENANT-1")
async def test_another_tenants_calendar_is_not_there(acme: Client, rival: Client) -> None:
    """Neither read nor retired nor changed: a put of the same name is a calendar of one's own."""
    mine = await acme.send("PUT", PATH, HOLIDAYS)
    reads = [await rival.get(f"{PATH}{rest}") for rest in ("", "/versions", "/versions/1")]
    retired = await rival.send("DELETE", PATH)
    own = await rival.send("PUT", PATH, HOLIDAYS | {"type": "include"})

    assert [(got.status, got.code) for got in (*reads, retired)] == [(404, "not_found")] * 4
    assert (own.status, own.json["version"]) == (201, 1)
    assert (await rival.get("/v1/calendars")).json["calendars"][0]["type"] == "include"
    assert (await acme.get(PATH)).json == mine.json


@pytest.mark.parametrize("version", ["0", "2", "-1", "x", "1" * 50, "٣"])
async def test_a_version_that_never_was_is_not_found(acme: Client, version: str) -> None:
    """Whatever stands in its place."""
    await acme.send("PUT", PATH, HOLIDAYS)
    got = await acme.get(f"{PATH}/versions/{version}")

    assert (got.status, got.code) == (404, "not_found")


FREEZE: dict[str, Any] = {
    "type": "exclude",
    "windows": [{"start": "2098-05-05T00:00:00Z", "end": "2098-05-05T12:30:00Z"}],
}
NAMING = {"cron": "0 6,12,18 * * *", "calendars": ["freeze"]}


@pytest.mark.sem("SEM-CAL-5")
async def test_a_schedule_names_calendars_that_there_are(acme: Client, rival: Client) -> None:
    """Each that there is not is pointed at, on every way to a schedule; another tenant's is none."""
    await acme.send("PUT", "/v1/calendars/freeze", FREEZE)
    await acme.send("PUT", "/v1/calendars/old", FREEZE)
    await acme.send("DELETE", "/v1/calendars/old")
    await rival.send("PUT", "/v1/calendars/theirs", FREEZE)
    job = await acme.job()
    schedule = {"cron": "0 6 * * *", "calendars": ["freeze", "old", "theirs"]}
    body = A_JOB | {"schedule": schedule}
    edit = {"schedule": {"runAt": None, **schedule}}
    path, etag = f"/v1/jobs/{job['jobId']}", job["etag"]
    refused = [
        await acme.post("/v1/jobs", body),
        await acme.post("/v1/jobs?validateOnly=true", body),
        await acme.send("PUT", path, body, if_match=etag),
        await acme.send("PATCH", path, edit, if_match=etag),
        await acme.send("PATCH", f"{path}?validateOnly=true", edit, if_match=etag),
        await acme.post("/v1/schedules/preview", {"schedule": schedule}),
    ]
    batch = await acme.post("/v1/jobs/batch", {"jobs": [body, A_JOB]})

    expected = [("/schedule/calendars/1", "unknown_calendar"), ("/schedule/calendars/2", "unknown_calendar")]
    assert [(got.status, got.errors()) for got in refused] == [(422, expected)] * len(refused)
    assert [one["status"] for one in batch.json["outcomes"]] == [422, 201]
    assert (await acme.get(path)).json == job


@pytest.mark.sem("SEM-CAL-5")
async def test_a_job_keeps_a_calendar_that_was_retired(acme: Client) -> None:
    """Its edits may name it, and go on being judged by it; other jobs may not take it up."""
    await acme.send("PUT", "/v1/calendars/freeze", FREEZE)
    job, other = await acme.job(schedule=NAMING), await acme.job()
    await acme.send("DELETE", "/v1/calendars/freeze")
    kept = await acme.send(
        "PATCH", f"/v1/jobs/{job['jobId']}", {"schedule": {"cron": "0 7 * * *"}}, if_match=job["etag"]
    )
    taken_up = await acme.send(
        "PATCH", f"/v1/jobs/{other['jobId']}", {"schedule": {"runAt": None, **NAMING}}, if_match=other["etag"]
    )

    assert (kept.status, kept.json["schedule"]) == (200, {"cron": "0 7 * * *", "calendars": ["freeze"]})
    assert (taken_up.status, taken_up.errors()) == (422, [("/schedule/calendars/0", "unknown_calendar")])


@pytest.mark.sem("SEM-CAL-5", "SEM-IDEM-1")
async def test_a_repeated_request_is_answered_as_before_though_its_calendar_was_retired(acme: Client) -> None:
    """The first request has created the job."""
    await acme.send("PUT", "/v1/calendars/freeze", FREEZE)
    body = A_JOB | {"schedule": NAMING}
    first = await acme.post("/v1/jobs", body, idempotency_key="once")
    await acme.send("DELETE", "/v1/calendars/freeze")
    again = await acme.post("/v1/jobs", body, idempotency_key="once")
    new = await acme.post("/v1/jobs", body, idempotency_key="twice")

    assert (first.status, again.status, new.status) == (201, 201, 422)
    assert again.json["jobId"] == first.json["jobId"]


@pytest.mark.sem("SEM-CAL-6")
async def test_a_preview_shows_open_ticks_and_tells_of_the_closed(acme: Client) -> None:
    """How many, the first of them, and by which version of which calendar."""
    await acme.send("PUT", "/v1/calendars/freeze", FREEZE)
    body = {"schedule": NAMING, "from": "2098-05-04T20:00:00Z", "count": 2}
    got = (await acme.post("/v1/schedules/preview", body)).json
    notes = [note["message"] for note in got["lint"] if note["code"] == "calendar"]

    assert [tick["at"] for tick in got["ticks"]] == ["2098-05-05T18:00:00.000Z", "2098-05-06T06:00:00.000Z"]
    assert notes == [
        "up to the last one shown 2 ticks are closed: the first at 2098-05-05T06:00:00.000Z, by freeze@1",
    ]


@pytest.mark.sem("SEM-CAL-6")
async def test_a_preview_tells_that_no_tick_is_open(acme: Client) -> None:
    """Not as a schedule that never fires: a calendar may be changed."""
    await acme.send("PUT", "/v1/calendars/freeze", {"type": "exclude", "weekdays": ["mon", "tue", "wed"]})
    body = {"schedule": NAMING | {"cron": "0 6 * * MON"}, "from": "2098-05-05T20:00:00Z"}
    got = (await acme.post("/v1/schedules/preview", body)).json
    notes = [note["message"] for note in got["lint"] if note["code"] == "calendar"]

    assert got["ticks"] == []
    assert len(notes) == 1
    assert notes[0].startswith("no open tick is found")
    assert "freeze@1" in notes[0]


@pytest.mark.sem("SEM-CAL-6", "SEM-SCHED-19")
async def test_an_edit_that_names_a_calendar_is_told_before_and_after(acme: Client) -> None:
    """Without it the job fires at six each day, with it not on weekdays."""
    await acme.send("PUT", "/v1/calendars/weekends", {"type": "include", "weekdays": ["sat", "sun"]})
    job = await acme.job(schedule={"cron": "0 6 * * *"})
    edit = {"schedule": {"calendars": ["weekends"]}}
    got = await acme.send("PATCH", f"/v1/jobs/{job['jobId']}?validateOnly=true", edit, if_match=job["etag"])
    days = [[date.fromisoformat(at[:10]).weekday() for at in got.json[name]] for name in ("ticksBefore", "ticksAfter")]

    assert got.status == 200
    assert set(days[0]) == set(range(7))
    assert (set(days[1]), len(days[1])) == ({5, 6}, 10)


@pytest.mark.sem("SEM-CAL-6", "SEM-SCHED-20")
async def test_the_herd_map_leaves_closed_ticks_out(acme: Client) -> None:
    """Of the jobs that name a calendar, not of others."""
    await acme.send("PUT", "/v1/calendars/freeze", FREEZE)
    for schedule in (NAMING, NAMING, {"cron": "0 6 * * *"}):
        await acme.job(schedule=schedule)
    got = await acme.get("/v1/herd?from=2098-05-05T00:00:00Z")

    assert [(minute["at"][11:16], minute["ticks"]) for minute in got.json["minutes"]] == [("06:00", 1), ("18:00", 2)]
