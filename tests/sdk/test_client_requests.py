"""Has the client a method for each request of the API, and does each say what the API takes?"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.sdk.product import a_product
from tests.sdk.scripted import Asked, Says, Scripted, scripted
from tickwright.api.route import routes_at
from tickwright.api.routes import ROUTES
from tickwright_sdk import Client, Dead
from tickwright_sdk.problems import Conflict, NotFound

AT = datetime(2027, 1, 1, tzinfo=UTC)
JOB: Mapping[str, Any] = {
    "name": "nightly",
    "schedule": {"cron": "0 2 * * *", "timezone": "UTC"},
    "target": {"type": "pool", "pool": "gpu", "handler": "work"},
}
LISTS = ("jobs", "executions", "versions", "logs", "pools", "calendars", "changes", "deadLetters", "orders", "outcomes")
_NOT_ASKED = {"GET /v1/openapi.json"}  # a document, not a request of a program


def of_jobs(client: Client) -> Iterable[object]:
    """What is done with jobs and executions."""
    yield from (client.submit({}), client.submit_many([{}]), client.would_submit({}), client.job("j"))
    yield from (client.edits.replace("j", {}, "e"), client.edits.change("j", {}, "e"), client.version("j", 1))
    yield from (client.pause("j"), client.resume("j"), client.cancel("j"), client.run("j"))
    yield from (client.execution("e"), client.explain("e"), client.cancel_execution("e"), client.redrive("e"))
    yield from map(list, (client.jobs(), client.versions("j"), client.executions("j"), client.logs("e")))
    yield list(client.needing_attention())


def of_the_rest(client: Client) -> Iterable[object]:
    """Schedules, pools, the dead, the tenant."""
    letters, calendars = client.dead_letters, client.calendars
    yield from (client.health(), client.me(), client.webhook_secret(), client.rotate_webhook_secret(1))
    yield from (client.preview({}), client.herd(), list(client.zone_changes()))
    yield from (calendars.get("c"), calendars.put("c", {}), calendars.retire("c"), calendars.version("c", 1))
    yield from map(list, (calendars.find(), calendars.versions("c"), client.pools(), letters.find()))
    yield from (client.pool("p"), client.put_pool("p"), client.delete_pool("p"), client.claim("p", {}, read_s=5))
    yield from (client.heartbeat("e", {}), client.complete("e", {}), client.fail("e", {}))
    yield from (letters.groups(), letters.get("e"), letters.redrive(Dead(everything=True)), letters.orders())
    yield from (letters.order("o"), letters.cancel_order("o"), letters.rerun("e"), letters.discard(["e"], reason="r"))


def answer(_: Asked) -> Says:
    """Empty lists of everything."""
    return Says(body={name: [] for name in LISTS} | {"nextToken": None})


def asked_of(server: Scripted) -> set[str]:
    """Which routes of the API were asked."""
    found = set()
    for asked in server.asked:
        [route] = [one for one, _ in routes_at(asked.path.partition("?")[0], ROUTES) if one.method == asked.method]
        found.add(f"{route.method} {route.path}")
    return found


@pytest.mark.sem("SEM-SDK-10")
def test_every_request_of_the_api_has_a_method() -> None:
    """A route that is added is to be one of the client's too."""
    with scripted() as server, Client(server.url, "tw_key") as client:
        server.otherwise = answer
        for ask in (of_jobs, of_the_rest):
            list(ask(client))

    assert asked_of(server) == {f"{route.method} {route.path}" for route in ROUTES} - _NOT_ASKED


def test_an_edit_is_sent_once_by_the_version_that_was_read() -> None:
    """A repeat would be refused for the version that the first has made."""
    with scripted() as server, Client(server.url, "tw_key") as client:
        client.edits.change("j", {"owner": None}, '"3.0f"', effective_from=AT, validate_only=True, drop_waiting=True)

    [asked] = server.asked
    assert (asked.method, asked.body, asked.headers["if-match"]) == ("PATCH", {"owner": None}, '"3.0f"')
    query = "validateOnly=true&dropWaiting=true&effectiveFrom=2027-01-01T00%3A00%3A00.000Z"
    assert asked.path == f"/v1/jobs/j?{query}"


def test_a_pool_is_deleted_over_the_runs_that_wait_in_it_only_if_that_is_said() -> None:
    """They end dead by it."""
    with scripted() as server, Client(server.url, "tw_key") as client:
        client.delete_pool("gpu")
        client.delete_pool("gpu", force=True)

    assert server.paths == ["DELETE /v1/pools/gpu", "DELETE /v1/pools/gpu?force=true"]


async def test_the_product_takes_what_the_client_sends() -> None:
    """Edits, versions, previews, calendars and the end of a pool, over HTTP."""
    async with a_product() as product:
        client = product.client
        told = await product.ask(lambda: looked_at(client))
        refused = await product.ask(lambda: code_of(lambda: client.delete_pool("gpu")))
        await product.ask(lambda: [client.cancel(job["jobId"]) for job in client.jobs()])
        await product.ask(lambda: client.delete_pool("gpu"))
        rests = await product.ask(lambda: code_of(lambda: client.put_pool("gpu")))

    assert told == {
        "tenant": "acme",
        "owners": ["b", "a"],
        "ticks": 2,
        "outcomes": 1,
        "calendar": 2,
        "would": "third",
    }
    assert (refused, rests) == ("pool_in_use", "pool_rests")


def looked_at(client: Client) -> dict[str, Any]:
    """A job that is edited twice, and what may be asked beside it."""
    job = client.submit(JOB)
    changed = client.edits.change(job["jobId"], {"owner": "a"}, job["etag"])
    client.edits.replace(job["jobId"], {**JOB, "owner": "b"}, changed["etag"])
    calendar = {"type": "exclude", "days": ["2027-01-01"]}
    etag = client.calendars.put("holidays", calendar)["etag"]
    client.calendars.put("holidays", calendar | {"description": "of all"}, etag=etag)
    return {
        "tenant": client.me()["tenantId"],
        "owners": [one["owner"] for one in list(client.versions(job["jobId"]))[:2]],
        "ticks": len(client.preview({"every": "PT1H"}, count=2, after=AT)["ticks"]),
        "outcomes": len(client.submit_many([{**JOB, "name": "other"}])),
        "calendar": client.calendars.get("holidays")["version"],
        "would": client.would_submit({**JOB, "name": "third"})["job"]["name"],
    }


def code_of(ask: Callable[[], object]) -> str:
    """With what a request is refused."""
    with pytest.raises((Conflict, NotFound)) as refused:
        ask()
    return refused.value.code
