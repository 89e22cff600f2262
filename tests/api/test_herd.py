"""Does the herd map tell a tenant when its ticks fall together, its own alone?"""

from collections.abc import Mapping

import pytest

from tests.api.client import Client
from tests.api.conftest import a_client
from tickwright.api.call import Api
from tickwright.domain.herd import MINUTE_MS, SPAN_MS_MAX
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant, from_rfc3339, to_rfc3339
from tickwright.domain.tenants import Scope
from tickwright.services.herd import herd_map

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
        ("scope=all", ("query:scope", "unknown_field")),
    ],
)
async def test_a_span_that_cannot_be_counted_is_refused(acme: Client, query: str, error: tuple[str, str]) -> None:
    """With the parameter that must change."""
    got = await acme.get(f"/v1/herd?{query}")

    assert (got.status, got.errors()) == (422, [error])


@pytest.mark.sem("SEM-SCHED-20")
async def test_what_is_left_out_is_told(acme: Client, api: Api) -> None:
    """With more jobs than may be looked at, `truncated` is true."""
    for _ in range(3):
        await acme.job(schedule=HOURLY)
    now = api.kit.clock.now()
    since = Instant(now - now % MINUTE_MS)
    until = Instant(since + SPAN_MS_MAX)
    two = await herd_map(api.kit, TenantId("acme"), since, until, jobs_max=2)
    three = await herd_map(api.kit, TenantId("acme"), since, until, jobs_max=3)

    assert (two.jobs, two.truncated) == (2, True)
    assert (three.jobs, three.truncated) == (3, False), to_rfc3339(since)


async def test_a_worker_key_may_not_see_it(api: Api) -> None:
    """It needs the scope that reading jobs needs."""
    worker = await a_client(api, "acme", frozenset({Scope.EXECUTIONS_RUN}))

    assert (await worker.get("/v1/herd")).status == 403
