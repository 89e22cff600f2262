"""Can a person find what has died, give it another chance in bulk, or give it up, over HTTP?"""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.api.client import Client
from tests.api.test_executions import a_running_one, claim_again
from tickwright.domain import limits
from tickwright.domain.executions import Execution
from tickwright.domain.shown import Shown
from tickwright.loops.watch import WatchLoop
from tickwright.services import dead_letters
from tickwright.services.kit import Kit
from tickwright.services.shown import as_listed


async def a_dead_one(client: Client, error: str = "Broken", **shown: object) -> str:
    """The id of an execution that has died."""
    path = await a_running_one(client, **shown)
    got = await client.send("POST", f"{path}/fail", {"leaseEpoch": 1, "kind": "fatal", "error": {"class": error}})
    assert got.json["status"] == "DEAD"
    return str(got.json["executionId"])


async def listed(client: Client, query: str = "") -> list[str]:
    got = await client.get(f"/v1/dead-letters{query}")
    assert got.status == 200, got.json
    return [letter["execution"]["executionId"] for letter in got.json["deadLetters"]]


@pytest.mark.sem("SEM-DLQ-1")
async def test_the_dead_are_listed_and_filtered(acme: Client, rival: Client) -> None:
    """By job, by what they died of, and by time; another tenant's are not among them."""
    ids = [await a_dead_one(acme, error) for error in ("DbError", "Closed", "Closed")]
    await a_dead_one(rival)
    first = (await acme.get(f"/v1/dead-letters/{ids[0]}")).json
    died_at = first["execution"]["finishedAt"]

    assert sorted(await listed(acme)) == sorted(ids)
    assert await listed(acme, f"?jobId={first['execution']['jobId']}") == [ids[0]]
    assert await listed(acme, f"?fingerprint={first['fingerprint']}") == [ids[0]]
    assert sorted(await listed(acme, "?errorClass=Closed")) == sorted(ids[1:])
    assert ids[0] in await listed(acme, f"?since={died_at}&until={died_at}")
    assert await listed(acme, "?since=2099-01-01T00:00:00Z") == []


@pytest.mark.sem("SEM-DLQ-1")
async def test_the_list_goes_on_from_page_to_page(acme: Client) -> None:
    """A page may be short where a filter takes some away."""
    ids = [await a_dead_one(acme, error) for error in ("A", "B", "A", "B", "A")]
    found: list[str] = []
    token = ""
    while True:
        got = (await acme.get(f"/v1/dead-letters?errorClass=A&limit=2{token}")).json
        found += [letter["execution"]["executionId"] for letter in got["deadLetters"]]
        if got["nextToken"] is None:
            break
        token = f"&nextToken={got['nextToken']}"

    assert sorted(found) == sorted(ids[::2])


@pytest.mark.sem("SEM-DLQ-1")
async def test_the_dead_are_grouped_by_what_they_died_of(acme: Client) -> None:
    """The biggest group first, with a few of its jobs and executions."""
    ids = [await a_dead_one(acme, error) for error in ("DbError", "Closed", "Closed")]
    got = (await acme.get("/v1/dead-letters/groups")).json

    assert [(group["class"], group["count"], group["jobs"]) for group in got["groups"]] == [
        ("Closed", 2, 2),
        ("DbError", 1, 1),
    ]
    assert sorted(got["groups"][0]["executionIds"]) == sorted(ids[1:])
    assert (got["groupsInAll"], got["exact"]) == (2, True)
    assert (await acme.get(f"/v1/dead-letters/groups?fingerprint={got['groups'][1]['fingerprint']}")).json[
        "groups"
    ] == got["groups"][1:]


@pytest.mark.sem("SEM-DLQ-1")
async def test_the_dead_are_found_by_their_reason(acme: Client) -> None:
    """In the list, the groups, an order and a discard; a dry run of one needs no reason of its own."""
    dead = await a_dead_one(acme, "DbError")
    path, wanted = "/v1/dead-letters", {"filter": {"reason": "fatal"}, "dryRun": True}
    listed = [(await acme.get(f"{path}?reason={reason}")).json["deadLetters"] for reason in ("fatal", "pool_deleted")]
    (group,) = (await acme.get(f"{path}/groups?reason=fatal")).json["groups"]
    dry = [(await acme.post(f"{path}/{what}", wanted)).json["count"] for what in ("redrives", "discard")]
    order = await acme.post(f"{path}/redrives", {"filter": {"reason": "expired"}})
    unsaid = await acme.post(f"{path}/discard", {"filter": {"reason": "fatal"}})
    unknown = await acme.get(f"{path}?reason=overlap")

    assert [[one["execution"]["executionId"] for one in found] for found in listed] == [[dead], []]
    assert (group["reason"], group["class"], dry) == ("fatal", "DbError", [1, 1])
    assert (order.status, order.json["filter"]["reason"]) == (202, "expired")
    assert (unsaid.status, unsaid.errors()) == (422, [("/reason", "missing")])
    assert (unknown.status, unknown.errors()) == (422, [("query:reason", "bad_value")])


@pytest.mark.sem("SEM-DLQ-1")
async def test_the_biggest_groups_are_shown_up_to_the_limit(acme: Client) -> None:
    """The answer says how many there are in all; there are no pages, and what it does not know is refused."""
    for error in ("DbError", "Closed", "Closed"):
        await a_dead_one(acme, error)
    path = "/v1/dead-letters/groups"
    got = (await acme.get(f"{path}?limit=1")).json
    refused = [(await acme.get(f"{path}?{query}")).errors() for query in ("limit=0", "nextToken=x", "jobID=x")]

    assert ([group["class"] for group in got["groups"]], got["groupsInAll"], got["exact"]) == (["Closed"], 2, True)
    assert refused == [
        [("query:limit", "out_of_range")],
        [("query:nextToken", "unknown_field")],
        [("query:jobID", "unknown_field")],
    ]


@pytest.mark.sem("SEM-DLQ-1")
async def test_only_groups_that_are_shown_are_looked_through(acme: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the others say is read for nobody: each may be of another job, with versions of its own to be read."""
    for error in ("DbError", "Closed", "Closed"):
        await a_dead_one(acme, error)
    looked_through: list[int] = []

    async def counting(kit: Kit, letters: Sequence[Execution]) -> list[Shown]:
        looked_through.append(len(letters))
        return await as_listed(kit, letters)

    monkeypatch.setattr(dead_letters, "as_listed", counting)
    got = (await acme.get("/v1/dead-letters/groups?limit=1")).json

    assert (len(got["groups"]), got["groupsInAll"], looked_through) == (1, 2, [1])


@pytest.mark.sem("SEM-DLQ-1")
async def test_groups_say_when_there_were_more_to_look_at(acme: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then they are of the newest deaths alone, and not exact."""
    ids = [await a_dead_one(acme, "Closed") for _ in range(3)]
    monkeypatch.setattr(dead_letters, "_PAGE", 1)
    monkeypatch.setattr(limits, "DEAD_LOOKED_AT_MAX", 2)
    got = (await acme.get("/v1/dead-letters/groups")).json

    assert (got["groups"][0]["count"], got["exact"]) == (len(ids) - 1, False)


@pytest.mark.sem("SEM-DLQ-1", "SEM-SECRET-1")
async def test_one_is_shown_with_what_it_was_given(acme: Client, rival: Client) -> None:
    """Its payload without the secrets; one that is not dead, or another tenant's, is not found here."""
    shown: dict[str, Any] = {
        "name": "billing",
        "payload": {"card": "4000-1", "month": 11},
        "secrets": ["/payload/card"],
    }
    dead = await a_dead_one(acme, **shown)
    alive = (await a_running_one(acme)).removeprefix("/v1/executions/")
    got = (await acme.get(f"/v1/dead-letters/{dead}")).json

    assert (got["jobName"], got["payload"]) == ("billing", {"card": "********", "month": 11})
    assert got["execution"]["error"]["class"] == "Broken"
    assert [(await client.get(f"/v1/dead-letters/{one}")).status for client, one in ((acme, alive), (rival, dead))] == [
        404,
        404,
    ]


@pytest.mark.sem("SEM-DLQ-2")
async def test_an_order_is_counted_given_followed_and_carried_out(acme: Client) -> None:
    """A dry run writes nothing; the order is answered at once, and the watch carries it out."""
    ids = [await a_dead_one(acme, error) for error in ("DbError", "Closed", "Closed")]
    body = {"filter": {"errorClass": "Closed"}}
    dry = await acme.send("POST", "/v1/dead-letters/redrives", body | {"dryRun": True})
    given = await acme.post("/v1/dead-letters/redrives", body, idempotency_key="order-1")
    again = await acme.post("/v1/dead-letters/redrives", body, idempotency_key="order-1")
    path = f"/v1/dead-letters/redrives/{given.json['orderId']}"
    before = (await acme.get(path)).json

    await WatchLoop(acme.api.kit).look()

    after = (await acme.get(path)).json
    assert (dry.status, dry.json["count"], dry.json["truncated"]) == (200, 2, False)
    assert (given.status, given.json["status"], before["redriven"]) == (202, "RUNNING", 0)
    assert again.json["orderId"] == given.json["orderId"]
    assert (after["redriven"], after["filter"]["errorClass"]) == (2, "Closed")
    assert await listed(acme) == [ids[0]]
    assert [order["orderId"] for order in (await acme.get("/v1/dead-letters/redrives")).json["orders"]] == [
        given.json["orderId"]
    ]


@pytest.mark.sem("SEM-DLQ-2", "SEM-DLQ-3")
@pytest.mark.parametrize("path", ["/v1/dead-letters/redrives", "/v1/dead-letters/discard"])
async def test_all_that_has_died_is_meant_only_where_a_request_says_so(acme: Client, path: str) -> None:
    """An empty filter, or none, is refused by a redrive and a discard in the same words; dry runs are no exception."""
    for _ in range(2):
        await a_dead_one(acme)
    usual = {"reason": "all of it"} if path.endswith("discard") else {}
    asked: list[dict[str, Any]] = [
        {"filter": {}},
        {"filter": {"errorClass": None}},
        {"filter": {}, "dryRun": True},
        {"filter": {"errorClass": "Broken"}, "all": True},
    ]
    refused = [(await acme.post(path, usual | body)).errors() for body in asked]
    dry = (await acme.post(path, usual | {"all": True, "dryRun": True})).json
    still = await listed(acme)
    done = await acme.post(path, usual | {"all": True, "filter": {}})
    await WatchLoop(acme.api.kit).look()

    assert refused == [[("/filter", "empty")]] * 3 + [[("/all", "one_of_two")]]
    assert (dry["count"], dry["truncated"], len(dry["sample"]), len(still)) == (2, False, 2, 2)
    assert done.status in {200, 202}
    assert await listed(acme) == []


@pytest.mark.sem("SEM-DLQ-2")
async def test_an_order_that_was_cancelled_does_nothing(acme: Client, rival: Client) -> None:
    """It is final, and is said again; another tenant has no such order."""
    dead = await a_dead_one(acme)
    given = (await acme.post("/v1/dead-letters/redrives", {"all": True})).json
    path = f"/v1/dead-letters/redrives/{given['orderId']}"
    strange = await rival.send("POST", f"{path}/cancel")
    cancelled = [await acme.send("POST", f"{path}/cancel") for _ in range(2)]

    await WatchLoop(acme.api.kit).look()

    assert strange.status == 404
    assert [(got.status, got.json["status"]) for got in cancelled] == [(200, "CANCELLED")] * 2
    assert await listed(acme) == [dead]


async def test_an_order_needs_a_key_and_a_filter_that_makes_sense(acme: Client) -> None:
    """Each refusal names the member."""
    path = "/v1/dead-letters/redrives"
    refused = [
        (await acme.send("POST", path, {"all": True})).code,
        (await acme.post(path, {})).errors()[0],
        (await acme.post(path, {"filter": {"since": "soon"}})).errors()[0],
        (await acme.post(path, {"filter": {"jobId": "x"}})).errors()[0],
        (await acme.post(path, {"all": True, "ratePerMin": 0})).errors()[0],
        (await acme.post(path, {"all": True, "canary": {"first": 100}})).errors()[0],
        (await acme.get("/v1/dead-letters?until=soon")).errors()[0],
    ]

    assert refused == [
        "idempotency_key_missing",
        ("/filter", "missing"),
        ("/filter/since", "bad_instant"),
        ("/filter/jobId", "bad_value"),
        ("/ratePerMin", "out_of_range"),
        ("/canary/first", "out_of_range"),
        ("query:until", "bad_instant"),
    ]


async def test_a_tenant_has_a_few_orders_at_a_time(acme: Client) -> None:
    """One more is refused until one has ended."""
    path = "/v1/dead-letters/redrives"
    given = [await acme.post(path, {"all": True}) for _ in range(limits.ORDERS_OPEN_MAX)]
    refused = await acme.post(path, {"all": True})
    await acme.send("POST", f"{path}/{given[0].json['orderId']}/cancel")

    assert {got.status for got in given} == {202}
    assert (refused.status, refused.code) == (409, "too_many_orders")
    assert (await acme.post(path, {"all": True})).status == 202


@pytest.mark.sem("SEM-DLQ-3")
async def test_dead_ones_are_discarded_by_name_each_with_its_outcome(acme: Client, rival: Client) -> None:
    """Off the list and still DEAD, with the reason; what is not dead or another's is refused, the others are not."""
    dead, kept = await a_dead_one(acme), await a_dead_one(acme)
    alive = (await a_running_one(acme)).removeprefix("/v1/executions/")
    strange = await a_dead_one(rival)
    body = {"executionIds": [dead, alive, strange, "nothing", dead], "reason": "the data is gone"}
    got = (await acme.send("POST", "/v1/dead-letters/discard", body)).json
    again = (await acme.send("POST", "/v1/dead-letters/discard", body | {"executionIds": [dead], "reason": "x"})).json
    shown = (await acme.get(f"/v1/executions/{dead}")).json

    assert (got["discarded"], got["refused"]) == (1, 3)
    assert [(one["executionId"], one["status"]) for one in got["outcomes"]] == [
        (dead, 200),
        (alive, 409),
        (strange, 404),
        ("nothing", 404),
    ]
    assert again["discarded"] == 1
    assert (shown["status"], shown["discarded"]["reason"]) == ("DEAD", "the data is gone")
    explained = (await acme.get(f"/v1/executions/{dead}/explanation")).json["waitsFor"]
    assert explained.endswith("(the data is gone).")
    assert "redrive" not in explained
    assert await listed(acme) == [kept]
    assert await listed(rival) == [strange]


@pytest.mark.sem("SEM-DLQ-3")
async def test_dead_ones_are_discarded_by_filter(acme: Client) -> None:
    """A dry run counts them and writes nothing; the same request again goes on with what is left."""
    ids = [await a_dead_one(acme, error) for error in ("DbError", "Closed", "Closed")]
    body = {"filter": {"errorClass": "Closed"}, "reason": "known"}
    dry = (await acme.send("POST", "/v1/dead-letters/discard", body | {"dryRun": True})).json
    before = await listed(acme)
    named = await acme.send(
        "POST", "/v1/dead-letters/discard", {"executionIds": ids, "reason": "known", "dryRun": True}
    )
    got = [(await acme.send("POST", "/v1/dead-letters/discard", body)).json for _ in range(2)]
    both = await acme.send("POST", "/v1/dead-letters/discard", body | {"executionIds": ids})

    assert [(one["discarded"], one["more"]) for one in got] == [(2, False), (0, False)]
    assert (dry["count"], dry["truncated"], sorted(before)) == (2, False, sorted(ids))
    assert sorted(one["executionId"] for one in dry["sample"]) == sorted(ids[1:])
    assert named.errors() == [("/dryRun", "not_with_names")]
    assert both.errors() == [("/executionIds", "one_of_two")]
    assert await listed(acme) == [ids[0]]


@pytest.mark.sem("SEM-DLQ-3", "SEM-IDEM-1")
async def test_one_is_run_again_with_another_payload_in_its_place(acme: Client) -> None:
    """A new run names the old one, which is discarded by the same write; a repeat of the request makes no second."""
    dead = await a_dead_one(acme, payload={"rows": 7, "to": "a"})
    path = f"/v1/executions/{dead}/rerun"
    body = {"patch": {"rows": 8}, "reason": "there are eight"}
    got = [await acme.post(path, body, idempotency_key="rerun-1") for _ in range(2)]
    refused = await acme.post(path, {"payload": None})
    new, old = got[0].json, (await acme.get(f"/v1/executions/{dead}")).json

    assert [one.status for one in got] == [201, 201]
    assert got[0].json["executionId"] == got[1].json["executionId"]
    assert (new["status"], new["cause"], new["rerunOf"]) == ("QUEUED", "manual", dead)
    assert (old["status"], old["discarded"]["reason"]) == ("DEAD", "there are eight")
    assert (refused.status, refused.code) == (409, "discarded")
    assert await listed(acme) == []


async def test_a_rerun_says_what_is_wrong_with_its_payload(acme: Client) -> None:
    """One of the two members; a size within bounds; no mask in place of a secret."""
    shown: dict[str, Any] = {"payload": {"card": "4000-1", "month": 11}, "secrets": ["/payload/card"]}
    path = f"/v1/executions/{await a_dead_one(acme, **shown)}/rerun"
    refused = [
        (await acme.post(path, {})).errors(),
        (await acme.post(path, {"payload": 1, "patch": {}})).errors(),
        (await acme.post(path, {"payload": "x" * limits.PAYLOAD_BYTES_MAX})).errors(),
        (await acme.post(path, {"payload": {"card": "********", "month": 12}})).errors(),
    ]
    patched = await acme.post(path, {"patch": {"month": 12}})

    assert [[code for _, code in errors] for errors in refused] == [
        ["one_of_two"],
        ["one_of_two"],
        ["too_large"],
        ["masked_value"],
    ]
    assert patched.status == 201
    assert (await acme.get(f"{path.removesuffix('/rerun')}")).json["discarded"] is not None


async def dies_again(client: Client, execution_id: str, message: str) -> dict[str, Any]:
    """The dead letter of a run that says so much of what it was given."""
    await claim_again(client, execution_id)
    error = {"class": "Broken", "message": message}
    body = {"leaseEpoch": 1, "kind": "fatal", "error": error}
    await client.send("POST", f"/v1/executions/{execution_id}/fail", body)
    return dict((await client.get(f"/v1/dead-letters/{execution_id}")).json)


@pytest.mark.sem("SEM-DLQ-3", "SEM-SECRET-1")
async def test_a_rerun_hides_what_the_dead_one_hid(acme: Client) -> None:
    """Though its job does so no longer; also the rerun of the rerun, and what it says in its error."""
    dead = await a_dead_one(acme, payload={"card": "4000-1", "n": 1}, secrets=["/payload/card"])
    job_id = (await acme.get(f"/v1/dead-letters/{dead}")).json["execution"]["jobId"]
    open_now = {"payload": {"card": "other"}, "secrets": []}
    assert (await acme.send("PATCH", f"/v1/jobs/{job_id}", open_now, if_match="*")).status == 200

    for number in (2, 3):
        new = (await acme.post(f"/v1/executions/{dead}/rerun", {"patch": {"n": number}})).json
        dead = new["executionId"]
        letter = await dies_again(acme, dead, "card 4000-1 is refused")

        assert letter["payload"] == {"card": "********", "n": number}
        assert letter["execution"]["error"]["message"] == "card ******** is refused"


@pytest.mark.sem("SEM-DLQ-3", "SEM-SECRET-1")
async def test_a_rerun_takes_no_mask_for_what_its_job_has_hidden_since(acme: Client) -> None:
    """It was shown with one: whoever sends that back would have it run with the mask."""
    dead = await a_dead_one(acme, payload={"b": "4000-1", "n": 1})
    shown = (await acme.get(f"/v1/dead-letters/{dead}")).json
    path = f"/v1/jobs/{shown['execution']['jobId']}"
    assert (await acme.send("PATCH", path, {"secrets": ["/payload/b"]}, if_match="*")).status == 200

    masked = (await acme.get(f"/v1/dead-letters/{dead}")).json["payload"]
    refused = await acme.post(f"/v1/executions/{dead}/rerun", {"payload": masked})

    assert (shown["payload"]["b"], masked["b"]) == ("4000-1", "********")
    assert (refused.status, refused.errors()) == (422, [("/payload/b", "masked_value")])
