"""Do ETags keep two editors from overwriting each other, and spare a poller what it has?"""

import pytest

from tests.api.client import A_JOB, Client


@pytest.mark.sem("SEM-API-4")
async def test_an_etag_is_of_the_version_and_of_what_is_shown(acme: Client) -> None:
    """The same in the header, in the body, at creation and at each look."""
    job = await acme.job()
    got = await acme.get(f"/v1/jobs/{job['jobId']}")

    assert got.headers["ETag"] == got.json["etag"] == job["etag"]
    assert got.headers["ETag"].startswith('"1.')
    assert got.json == job


@pytest.mark.parametrize("form", ["{}", "W/{}", '"x", {}', "*"])
async def test_a_poller_that_has_it_gets_304(acme: Client, form: str) -> None:
    """Without a body; RFC 9110 compares weakly here."""
    job = await acme.job()
    path = f"/v1/jobs/{job['jobId']}"
    same = await acme.get(path, if_none_match=form.format(job["etag"]))
    await acme.post(f"{path}/pause")
    changed = await acme.get(path, if_none_match=job["etag"])

    assert (same.status, same.json) == (304, None)
    assert same.headers["ETag"] == job["etag"]
    assert changed.status == 200


async def test_an_execution_can_be_polled(acme: Client) -> None:
    """It may be kept for a second while it is open."""
    job = await acme.job()
    execution = (await acme.post(f"/v1/jobs/{job['jobId']}/run")).json
    path = f"/v1/executions/{execution['executionId']}"
    got = await acme.get(path)
    same = await acme.get(path, if_none_match=got.headers["ETag"])

    assert got.json == execution
    assert "max-age=1," in got.headers["Cache-Control"]
    assert (same.status, same.headers["Cache-Control"]) == (304, got.headers["Cache-Control"])


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_an_edit_says_what_it_was_made_from(acme: Client, method: str) -> None:
    """Without If-Match: 428; with an old one: 412; neither changes anything."""
    job = await acme.job()
    path = f"/v1/jobs/{job['jobId']}"
    blind = await acme.send(method, path, A_JOB)
    edited = await acme.send(method, path, A_JOB | {"priority": "high"}, if_match=job["etag"])
    late = await acme.send(method, path, A_JOB | {"priority": "low"}, if_match=job["etag"])

    assert (blind.status, blind.code) == (428, "if_match_missing")
    assert (edited.status, edited.json["priority"], edited.json["version"]) == (200, "high", 2)
    assert (late.status, late.code, late.json["retryable"]) == (412, "version_conflict", True)
    assert (await acme.get(path)).json == edited.json


@pytest.mark.parametrize("if_match", ['"9.abc"', 'W/"1"', '"other"', '"1.zz"', '"-1"', '"99999999999999999999"'])
async def test_another_etag_does_not_match(acme: Client, if_match: str) -> None:
    """Nor does a weak one: RFC 9110 compares strongly here."""
    job = await acme.job()
    got = await acme.send("PUT", f"/v1/jobs/{job['jobId']}", A_JOB, if_match=if_match)

    assert (got.status, got.code) == (412, "version_conflict")


@pytest.mark.parametrize("if_match", ["1", '"1", "2"', '"', ""])
async def test_what_is_no_single_etag_is_refused(acme: Client, if_match: str) -> None:
    """It says how to write it."""
    job = await acme.job()
    got = await acme.send("PUT", f"/v1/jobs/{job['jobId']}", A_JOB, if_match=if_match)

    assert (got.status, got.errors()) == (422, [("header:If-Match", "bad_value")])


@pytest.mark.parametrize("if_match", ["*", '"1"'])
async def test_any_version_or_the_bare_one_matches(acme: Client, if_match: str) -> None:
    """`*`: whichever there is. The hash is for pollers, an editor needs the version alone."""
    job = await acme.job()
    got = await acme.send("PUT", f"/v1/jobs/{job['jobId']}", A_JOB, if_match=if_match)

    assert got.status == 200


@pytest.mark.parametrize("action", ["DELETE ", "POST /pause", "POST /resume"])
async def test_an_action_heeds_an_if_match_where_it_is_sent(acme: Client, action: str) -> None:
    """It is not required: stopping a job must not fail because somebody has just edited it."""
    method, _, step = action.partition(" ")
    job = await acme.job()
    path = f"/v1/jobs/{job['jobId']}{step}"
    conflicting = await acme.send(method, path, if_match='"7"')
    done = await acme.send(method, path)

    assert (conflicting.status, done.status) == (412, 200)


async def test_a_patch_changes_its_members_and_no_other(acme: Client) -> None:
    """RFC 7396: objects are merged, null takes away, a list replaces."""
    job = await acme.job(
        name="nightly", tags=["a", "b"], payload={"keep": 1, "drop": 2}, owner="team", retryPolicy={"maxAttempts": 5}
    )
    patch = {
        "tags": ["c"],
        "payload": {"drop": None, "new": 3},
        "owner": None,
        "retryPolicy": {"backoff": {"factor": 3}},
    }
    got = await acme.send("PATCH", f"/v1/jobs/{job['jobId']}", patch, if_match=job["etag"])

    assert got.status == 200
    assert got.json["tags"] == ["c"]
    assert got.json["payload"] == {"keep": 1, "new": 3}
    assert got.json["owner"] is None
    assert got.json["retryPolicy"] == job["retryPolicy"] | {"backoff": job["retryPolicy"]["backoff"] | {"factor": 3}}
    unchanged = set(job) - {"tags", "payload", "owner", "retryPolicy", "version", "definitionVersion", "etag"}
    assert {name: got.json[name] for name in unchanged} == {name: job[name] for name in unchanged}


@pytest.mark.parametrize(
    ("patch", "pointer"),
    [({"priority": 3}, "/priority"), ({"target": None}, "/target"), ({"prio": "high"}, "/prio"), ([], ""), ("x", "")],
)
async def test_a_patch_must_make_a_job(acme: Client, patch: object, pointer: str) -> None:
    """What it makes is checked as POST would, and nothing is changed."""
    job = await acme.job()
    got = await acme.send("PATCH", f"/v1/jobs/{job['jobId']}", patch, if_match=job["etag"])

    assert got.status == 422
    assert pointer in {at for at, _ in got.errors()}
    assert (await acme.get(f"/v1/jobs/{job['jobId']}")).json == job


async def test_a_patch_of_nothing_changes_nothing_but_the_version(acme: Client) -> None:
    """What is shown can be sent back: every member survives the way out and in."""
    job = await acme.job(
        schedule={"cron": ["30 4 29 2 *", "@yearly"], "timezone": "Europe/Berlin", "dst": {"gap": "skip"}},
        target={"type": "http", "url": "https://example.com/a?b=c", "headers": {"X-A": "1"}},
        runDeadlineSec=900, catchup={"mode": "all", "windowSec": 600, "onResume": "catchup"}, overlap={"mode": "allow"},
        description="what it is", priority="low",
    )  # fmt: skip
    got = await acme.send("PATCH", f"/v1/jobs/{job['jobId']}", {}, if_match=job["etag"])

    assert got.json | {"version": 1, "definitionVersion": 1, "etag": ""} == job | {"etag": ""}


async def test_an_edit_of_something_else_leaves_a_hashed_time_where_it_is(acme: Client) -> None:
    """An H is the job's for life: it does not wander when a description is mended."""
    job = await acme.job(schedule={"cron": "H H H * *"})
    got = await acme.send("PATCH", f"/v1/jobs/{job['jobId']}", {"description": "better"}, if_match=job["etag"])

    assert got.json["resolvedCron"] == job["resolvedCron"]
