"""Does the herd map tell a tenant when its ticks fall together, its own alone?"""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.api.client import Client
from tests.api.conftest import a_client
from tickwright.api.call import Api
from tickwright.domain.herd import MINUTE_MS, SPAN_MS_MAX
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant, from_rfc3339, to_rfc3339
from tickwright.domain.lanes import bucket_of
from tickwright.domain.tenants import Scope
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.services.herd import herd_map
from tickwright.services.herd_of_all import herd_of_all

HOURLY: Mapping[str, object] = {"every": "PT1H"}


async def test_a_day_of_ticks_is_counted_by_minute(acme: Client, rival: Client) -> None:
    """Those of another tenant are not in it."""
    for schedule in (HOURLY, HOURLY, {"cron": "*/30 * * * *"}):
        await acme.job(schedule=schedule)
    await rival.job(schedule={"cron": "* * * * *"})
    got = await acme.get("/v1/herd")
    ticks = {minute["at"][14:16]: minute["ticks"] for minute in got.json["minutes"]}

    assert (got.status, got.json["jobs"], got.json["truncated"]) == (200, 3, False)
    assert ticks == {"00": 3, "30": 1}
    assert len(got.json["minutes"]) == 48
    assert from_rfc3339(got.json["toMinute"]) - from_rfc3339(got.json["fromMinute"]) == SPAN_MS_MAX


async def test_the_span_is_the_one_that_was_asked_for(acme: Client) -> None:
    """In whole minutes; the end is not counted."""
    await acme.job(schedule={"cron": "0 6 * * *"})
    got = await acme.get("/v1/herd?from=2098-05-05T05:59:30Z&to=2098-05-05T06:01:00Z")
    none = await acme.get("/v1/herd?from=2098-05-05T05:00:00Z&to=2098-05-05T06:00:00Z")

    assert got.json["fromMinute"] == "2098-05-05T05:59:00.000Z"
    assert got.json["minutes"] == [{"at": "2098-05-05T06:00:00.000Z", "ticks": 1}]
    assert none.json["minutes"] == []


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("from=soon", ("query:from", "bad_instant")),
        ("from=2020-01-01T00:00:00Z", ("query:from", "in_the_past")),
        ("from=9999-01-01T00:00:00Z", ("query:from", "out_of_range")),
        ("from=2098-01-01T00:00:00Z&to=2098-01-01T00:00:59Z", ("query:to", "out_of_range")),
        ("from=2098-01-01T00:00:00Z&to=2098-01-02T00:01:00Z", ("query:to", "out_of_range")),
        ("scope=mine", ("query:scope", "bad_value")),
    ],
)
async def test_a_span_that_cannot_be_counted_is_refused(acme: Client, query: str, error: tuple[str, str]) -> None:
    """With the parameter that must change."""
    got = await acme.get(f"/v1/herd?{query}")

    assert (got.status, got.errors()) == (422, [error])


@pytest.mark.sem("SEM-API-1")
async def test_a_plus_that_became_a_blank_is_recognised(acme: Client) -> None:
    """As every server reads a query; the same in a body is only a bad instant."""
    blank = await acme.get("/v1/herd?from=2098-01-01T00:00:00 01:00")
    other = await acme.get("/v1/herd?from=soon")

    assert "write it as %2B" in blank.json["errors"][0]["message"]
    assert "%2B" not in other.json["errors"][0]["message"]


@pytest.mark.sem("SEM-SCHED-20")
async def test_what_is_left_out_is_told(acme: Client, api: Api) -> None:
    """With more jobs than may be looked at, `truncated` is true."""
    for _ in range(3):
        await acme.job(schedule=HOURLY)
    since, until = a_day(api)
    two = await herd_map(api.kit, TenantId("acme"), since, until, jobs_max=2)
    three = await herd_map(api.kit, TenantId("acme"), since, until, jobs_max=3)

    assert (two.jobs, two.truncated) == (2, True)
    assert (three.jobs, three.truncated) == (3, False), to_rfc3339(since)


@pytest.fixture
async def admin(api: Api) -> Client:
    """A key of another tenant, which may look at the whole installation."""
    return await a_client(api, "operators", frozenset(Scope))


@pytest.mark.sem("SEM-SCHED-21")
async def test_an_administrator_sees_everybodys_ticks_as_counts_alone(
    acme: Client, rival: Client, admin: Client
) -> None:
    """Those of all tenants add up; no name, no job and no tenant is in the answer."""
    for tenant in (acme, rival):
        for number in range(8):
            await tenant.job(schedule=HOURLY, name=f"hourly-{number}", priority="high" if number % 2 else "low")
    got = await admin.get("/v1/herd?scope=all")
    own = await admin.get("/v1/herd")

    assert {minute["ticks"] for minute in got.json["minutes"]} == {16}
    assert len(got.json["minutes"]) == 24
    assert {key: value for key, value in got.json.items() if key not in {"minutes", "fromMinute", "toMinute"}} == {
        "scope": "all",
        "jobs": 16,
        "truncated": False,
        "estimated": False,
        "bucketsRead": 4,
        "buckets": 4,
    }
    assert {frozenset(minute) for minute in got.json["minutes"]} == {frozenset({"at", "ticks"})}
    assert (own.json["scope"], own.json["jobs"], own.json["bucketsRead"]) == ("tenant", 0, None)


@pytest.mark.sem("SEM-SCHED-21")
async def test_only_an_administrator_sees_everybodys_ticks(acme: Client) -> None:
    """A tenant's key that may do all else is refused, and told which scope it lacks."""
    got = await acme.get("/v1/herd?scope=all")

    assert (got.status, got.code) == (403, "forbidden")
    assert "admin" in got.json["detail"]


@pytest.mark.sem("SEM-SCHED-21")
async def test_a_part_of_the_buckets_stands_for_all(acme: Client, api: Api) -> None:
    """Whole buckets, far from each other, are read up to the budget, and what they hold is scaled to all of them."""
    jobs = [JobId((await acme.job(schedule=HOURLY))["jobId"]) for _ in range(80)]
    held = [sum(bucket_of(job, 4) == bucket for job in jobs) for bucket in range(4)]
    since, until = a_day(api)
    two = await herd_of_all(api.kit, since, until, heads_max=held[0] + held[3])
    nearly = await herd_of_all(api.kit, since, until, heads_max=held[0] + held[3] + held[2] - 1)
    whole = await herd_of_all(api.kit, since, until, heads_max=80)

    assert min(held) > 0
    assert (two.buckets_read, two.buckets, two.herd.truncated) == (2, 4, False)
    assert set(two.herd.minutes.values()) == {two.herd.jobs} == {(held[0] + held[3]) * 2}
    assert nearly == two
    assert (whole.buckets_read, whole.herd.jobs) == (4, 80)


@pytest.mark.sem("SEM-SCHED-21", "SEM-BUCKET-3")
async def test_what_lies_beyond_a_lowered_count_is_counted(acme: Client, api: Api) -> None:
    """Jobs stay in the buckets of before, which loops go on to serve; read in part, they are an estimate."""
    jobs = [JobId((await acme.job(schedule=HOURLY))["jobId"]) for _ in range(40)]
    await SchedulerLoop(api.kit, "of before").tick()
    lowered = replace(api.kit, buckets=1)
    since, until = a_day(api)

    whole = await herd_of_all(lowered, since, until)
    part = await herd_of_all(lowered, since, until, heads_max=sum(bucket_of(job, 4) == 0 for job in jobs))

    assert any(bucket_of(job, 4) for job in jobs)
    assert (whole.buckets_read, whole.buckets, whole.herd.jobs) == (4, 4, 40)
    assert (part.buckets_read, part.buckets) == (1, 4)


@pytest.mark.sem("SEM-SCHED-21")
async def test_a_bucket_that_is_too_large_is_cut_and_told(acme: Client, api: Api) -> None:
    """The first bucket is all there is to judge by: so much of it is counted as may be read."""
    jobs = [JobId((await acme.job(schedule=HOURLY))["jobId"]) for _ in range(80)]
    since, until = a_day(api)
    found = await herd_of_all(api.kit, since, until, heads_max=1)

    assert sum(bucket_of(job, 4) == 0 for job in jobs) > 1
    assert (found.buckets_read, found.herd.truncated, found.herd.jobs) == (1, True, 4)


def a_day(api: Api) -> tuple[Instant, Instant]:
    """From this minute on."""
    now = api.kit.clock.now()
    since = Instant(now - now % MINUTE_MS)
    return since, Instant(since + SPAN_MS_MAX)


async def test_a_worker_key_may_not_see_it(api: Api) -> None:
    """It needs the scope that reading jobs needs."""
    worker = await a_client(api, "acme", frozenset({Scope.EXECUTIONS_RUN}))

    assert (await worker.get("/v1/herd")).status == 403
