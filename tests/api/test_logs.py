"""Can a tenant read what the attempts of its executions have said?"""

from dataclasses import replace

import pytest

from tests.api.client import Client
from tests.api.test_executions import a_running_one, claim_again
from tickwright.api.call import Api
from tickwright.domain import limits

pytestmark = pytest.mark.sem("SEM-LOG-1")


async def test_an_execution_that_has_said_nothing_has_no_logs(acme: Client) -> None:
    """An empty page; on one machine there is no other place to look at."""
    path = await a_running_one(acme)
    got = await acme.get(f"{path}/logs")

    assert got.status == 200
    assert got.json == {
        "executionId": path.rpartition("/")[2],
        "logs": [],
        "cloudWatch": None,
        "nextToken": None,
    }


async def test_what_is_reported_is_read_newest_first(acme: Client) -> None:
    """With the failure of the first attempt and the success of the second; page by page if one likes."""
    path = await a_running_one(acme, retryPolicy={"maxAttempts": 3, "backoff": {"initialSec": 0}})
    error = {"class": "Flaky", "message": "once"}
    failed = {"leaseEpoch": 1, "error": error, "log": "first: Größe\n", "logCut": 5}
    await acme.send("POST", f"{path}/fail", failed)
    await claim_again(acme, path.rpartition("/")[2])
    done = await acme.send("POST", f"{path}/complete", {"leaseEpoch": 2, "log": "second\n"})
    got = await acme.get(f"{path}/logs")
    first = await acme.get(f"{path}/logs?limit=1")
    rest = await acme.get(f"{path}/logs?limit=1&nextToken={first.json['nextToken']}")

    assert done.status == 200
    shown = [
        (log["attempt"], log["leaseEpoch"], log["saidBy"], log["text"], log["cutBytes"]) for log in got.json["logs"]
    ]
    assert shown == [(2, 2, "report", "second\n", 0), (1, 1, "report", "first: Größe\n", 5)]
    assert [*first.json["logs"], *rest.json["logs"]] == got.json["logs"]
    assert rest.json["nextToken"] is None


async def test_the_end_of_a_long_report_is_kept(acme: Client) -> None:
    """In whole characters; one that is longer than anybody reads is refused."""
    path = await a_running_one(acme)
    long = "é" * limits.LOG_CHARS_ACCEPTED
    refused = await acme.send("POST", f"{path}/complete", {"leaseEpoch": 1, "log": f"{long}."})
    await acme.send("POST", f"{path}/complete", {"leaseEpoch": 1, "log": long, "logCut": 7})
    (log,) = (await acme.get(f"{path}/logs")).json["logs"]

    assert (refused.status, refused.errors()) == (422, [("/log", "too_long")])
    assert log["text"] == "é" * (limits.LOG_BYTES_MAX // 2)
    assert log["cutBytes"] == 2 * limits.LOG_CHARS_ACCEPTED - limits.LOG_BYTES_MAX + 7


async def test_a_refused_report_leaves_no_log(acme: Client) -> None:
    """Of an epoch that the execution does not have."""
    path = await a_running_one(acme)
    refused = await acme.send("POST", f"{path}/complete", {"leaseEpoch": 2, "log": "zombie"})

    assert refused.status == 409
    assert (await acme.get(f"{path}/logs")).json["logs"] == []


@pytest.mark.sem("SEM-TENANT-1")
async def test_another_tenants_logs_do_not_exist(acme: Client, rival: Client) -> None:
    """The answer is that of an execution that was never there."""
    path = await a_running_one(acme)
    await acme.send("POST", f"{path}/complete", {"leaseEpoch": 1, "log": "said"})

    assert (await rival.get(f"{path}/logs")).status == 404


async def test_an_installation_says_where_all_of_it_is(acme: Client, api: Api) -> None:
    """The link is made for this execution."""
    path = await a_running_one(acme)
    linked = Client(replace(api, log_link=lambda execution: f"https://logs.example/{execution.ref.id}"), acme.secret)

    got = await linked.get(f"{path}/logs")

    assert got.json["cloudWatch"] == f"https://logs.example/{path.rpartition('/')[2]}"
