"""Can a worker of a tenant's own keep, end and lose an attempt over HTTP, as the fence says?"""

from typing import Any

import pytest

from tests.api.client import Client
from tickwright.api.call import Api
from tickwright.api.keys import make_key
from tickwright.domain import limits
from tickwright.domain.changes.executions import Claim
from tickwright.domain.executions import Reason
from tickwright.domain.ids import TenantId, WorkerId, parse_execution_id
from tickwright.domain.reasons import REASONS
from tickwright.domain.tenants import Scope
from tickwright.ports.store import Applied


async def a_running_one(client: Client, **shown: object) -> str:
    """The path of an execution that a worker has just claimed, at epoch 1."""
    job = await client.job(**shown)
    execution = (await client.post(f"/v1/jobs/{job['jobId']}/run")).json
    await claim_again(client, execution["executionId"])
    return f"/v1/executions/{execution['executionId']}"


async def claim_again(client: Client, execution_id: str) -> None:
    kit, ref = client.api.kit, parse_execution_id(execution_id)
    assert ref is not None
    change = Claim(
        ref=ref,
        worker=WorkerId("w-1"),
        token=kit.entropy.token(),
        now=kit.clock.now(),
        lease_ms=kit.durations.lease_ms,
        timeout_ms=60_000,
        clock_error_ms=kit.durations.clock_error_ms,
    )
    assert isinstance(await kit.store.write(change), Applied)


async def test_a_heartbeat_moves_the_lease(acme: Client) -> None:
    """And says until when."""
    path = await a_running_one(acme)
    got = await acme.send("POST", f"{path}/heartbeat", {"workerId": "w-1", "leaseEpoch": 1})

    assert got.status == 200
    assert got.json["extendUntil"] == (await acme.get(path)).json["leaseUntil"]


@pytest.mark.sem("SEM-CHECKPOINT-1")
async def test_a_heartbeat_notes_progress_and_a_checkpoint(acme: Client) -> None:
    """Both are shown, each is kept while only the other is told, and a list shows the progress alone."""
    path = await a_running_one(acme)
    beat = {"workerId": "w-1", "leaseEpoch": 1}
    before = await acme.get(path)
    await acme.send("POST", f"{path}/heartbeat", {**beat, "progress": 0.25, "checkpoint": {"row": 7, "of": "\u4e16"}})
    noted = await acme.get(path)
    await acme.send("POST", f"{path}/heartbeat", {**beat, "progress": 1})
    later = await acme.get(path)
    (listed,) = (await acme.get(f"/v1/jobs/{later.json['jobId']}/executions")).json["executions"]

    assert (before.json["progress"], before.json["checkpoint"]) == (None, None)
    assert (noted.json["progress"], noted.json["checkpoint"]) == (0.25, {"row": 7, "of": "\u4e16"})
    assert (later.json["progress"], later.json["checkpoint"]) == (1.0, {"row": 7, "of": "\u4e16"})
    assert listed["progress"] == 1.0
    assert "checkpoint" not in listed


@pytest.mark.sem("SEM-CHECKPOINT-1")
async def test_a_checkpoint_outlives_a_failure_and_no_success(acme: Client) -> None:
    """What a worker has noted is there for the next attempt; once all is done, nobody needs it."""
    path = await a_running_one(acme, retryPolicy={"backoff": {"initialSec": 0}})
    await acme.send("POST", f"{path}/heartbeat", {"workerId": "w-1", "leaseEpoch": 1, "checkpoint": [7]})
    failed = await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "error": {"class": "Flaky"}})
    await claim_again(acme, failed.json["executionId"])
    again = await acme.get(path)
    done = await acme.send("POST", f"{path}/complete", {"leaseEpoch": 2})

    assert (failed.json["status"], failed.json["checkpoint"], again.json["checkpoint"]) == ("RETRY", [7], [7])
    assert (done.json["status"], done.json["checkpoint"]) == ("SUCCEEDED", None)


@pytest.mark.sem("SEM-RETRY-3")
async def test_a_worker_that_stops_gives_its_run_back(acme: Client) -> None:
    """Nothing has failed and no attempt is counted; the same report again is answered the same."""
    path = await a_running_one(acme)
    given = await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "kind": "notRun"})
    again = await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "kind": "notRun"})

    shown = (given.json["status"], given.json["reason"], given.json["attempt"], given.json["error"])
    assert shown == ("RETRY", "given_back", 0, None)
    assert again.json == given.json


@pytest.mark.sem("SEM-API-3")
async def test_a_result_ends_the_execution(acme: Client) -> None:
    """It can be read; sent once more, it is answered once more (B136)."""
    path = await a_running_one(acme)
    body = {"leaseEpoch": 1, "result": {"rows": 7, "text": "\u00e9"}}
    done = await acme.send("POST", f"{path}/complete", body)
    again = await acme.send("POST", f"{path}/complete", body)

    assert (done.status, done.json["status"]) == (200, "SUCCEEDED")
    assert done.json["result"] == {"rows": 7, "text": "\u00e9"}
    assert done.json["finishedAt"] >= done.json["startedAt"]
    assert again.json == done.json
    assert "max-age=30," in (await acme.get(path)).headers["Cache-Control"]


@pytest.mark.sem("SEM-FENCE-1")
@pytest.mark.parametrize(
    ("step", "body"),
    [
        ("heartbeat", {"workerId": "w-1"}),
        ("complete", {"result": 1}),
        ("fail", {"error": {"class": "E"}}),
        ("fail", {"kind": "retryLater", "afterSec": 1}),
    ],
)
@pytest.mark.parametrize("epoch", [2, 2**53 - 1])
async def test_another_epoch_is_refused_and_changes_nothing(
    acme: Client, step: str, body: dict[str, Any], epoch: int
) -> None:
    """A worker that has lost its lease is told to stop."""
    path = await a_running_one(acme)
    before = (await acme.get(path)).json
    got = await acme.send("POST", f"{path}/{step}", body | {"leaseEpoch": epoch})

    assert (got.status, got.code, got.json["retryable"]) == (409, "lease_lost", False)
    assert (await acme.get(path)).json == before


async def test_a_failure_is_tried_again_by_the_policy(acme: Client) -> None:
    """With what went wrong kept: class, message, the end of the trace, a fingerprint."""
    path = await a_running_one(acme, retryPolicy={"maxAttempts": 2, "backoff": {"initialSec": 600}})
    error = {"class": "DbError", "message": "gone away " * 1_000, "trace": "first\n" + "frame\n" * 2_000}
    got = await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "error": error})

    assert (got.json["status"], got.json["attempt"]) == ("RETRY", 1)
    assert got.json["retryAt"] is not None
    kept = got.json["error"]
    assert kept["class"] == "DbError"
    assert len(kept["message"]) == limits.ERROR_MESSAGE_CHARS_MAX
    assert len(kept["trace"]) == limits.ERROR_TRACE_CHARS_MAX
    assert kept["fingerprint"]


async def test_a_fatal_failure_ends_it_and_it_needs_attention(acme: Client) -> None:
    """No more attempts; a person finds it in the list."""
    path = await a_running_one(acme)
    got = await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "kind": "fatal", "error": {"class": "Closed"}})
    listed = (await acme.get("/v1/executions?attention=true")).json["executions"]

    assert (got.json["status"], got.json["reason"]) == ("DEAD", "fatal")
    assert [execution["executionId"] for execution in listed] == [got.json["executionId"]]
    assert "result" not in listed[0]
    assert "trace" not in listed[0]["error"]


async def test_retry_later_counts_no_attempt(acme: Client) -> None:
    """The worker asked for it: nothing has failed."""
    path = await a_running_one(acme)
    got = await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "kind": "retryLater", "afterSec": 60})

    assert (got.json["status"], got.json["attempt"], got.json["leaseEpoch"]) == ("RETRY", 0, 1)


@pytest.mark.sem("SEM-RETRY-3")
async def test_why_a_run_asked_to_be_tried_later_is_shown(acme: Client) -> None:
    """With the execution and in its explanation, bounded, and without the job's secrets; nothing said keeps it."""
    path = await a_running_one(acme, payload={"pin": "s3cr3t-p"}, secrets=["/payload/pin"])
    why = {"class": "RetryLater", "message": "the bank of s3cr3t-p is closed" + "." * limits.ERROR_MESSAGE_CHARS_MAX}
    body = {"leaseEpoch": 1, "kind": "retryLater", "afterSec": 0, "error": why}
    asked = (await acme.send("POST", f"{path}/fail", body)).json
    told = (await acme.get(f"{path}/explanation")).json["waitsFor"]
    await claim_again(acme, asked["executionId"])
    again = (await acme.send("POST", f"{path}/fail", {"leaseEpoch": 2, "kind": "retryLater", "afterSec": 0})).json

    assert (asked["reason"], asked["error"]["class"]) == ("retry_later", "RetryLater")
    assert asked["error"]["message"].startswith("the bank of ******** is closed.")
    assert len(asked["error"]["message"]) == limits.ERROR_MESSAGE_CHARS_MAX
    assert "It said: the bank of ******** is closed." in told
    assert again["error"] == asked["error"]


@pytest.mark.parametrize(
    ("step", "body", "errors"),
    [
        ("heartbeat", {"leaseEpoch": 1}, [("/workerId", "missing")]),
        ("heartbeat", {"workerId": "w", "leaseEpoch": 0}, [("/leaseEpoch", "out_of_range")]),
        ("heartbeat", {"workerId": "a b", "leaseEpoch": 1}, [("/workerId", "bad_value")]),
        ("heartbeat", {"workerId": "w", "leaseEpoch": 1, "progress": 1.5}, [("/progress", "out_of_range")]),
        ("heartbeat", {"workerId": "w", "leaseEpoch": 1, "progress": "1"}, [("/progress", "bad_type")]),
        ("heartbeat", {"workerId": "w", "leaseEpoch": 1, "checkpoint": "x" * 4_095}, [("/checkpoint", "too_large")]),
        ("complete", {}, [("/leaseEpoch", "missing")]),
        ("complete", {"leaseEpoch": "1"}, [("/leaseEpoch", "bad_type")]),
        ("complete", {"leaseEpoch": 1, "result": "x" * 40_000}, [("/result", "too_large")]),
        ("fail", {"leaseEpoch": 1}, [("/error", "missing")]),
        ("fail", {"leaseEpoch": 1, "kind": "retryLater"}, [("/afterSec", "missing")]),
        ("fail", {"leaseEpoch": 1, "kind": "oops", "error": {"class": "E"}}, [("/kind", "bad_value")]),
        ("fail", {"leaseEpoch": 1, "error": {}}, [("/error/class", "missing")]),
        ("fail", {"leaseEpoch": 1, "error": {"class": ""}}, [("/error/class", "too_short")]),
        ("fail", {"leaseEpoch": 1, "error": {"class": "E"}, "afterSec": -1}, [("/afterSec", "out_of_range")]),
        ("fail", {"leaseEpoch": 1, "error": {"class": "E"}, "afterSec": 1e300}, [("/afterSec", "out_of_range")]),
    ],
)
async def test_a_report_that_cannot_be_read_is_refused(
    acme: Client, step: str, body: dict[str, Any], errors: list[tuple[str, str]]
) -> None:
    """And the attempt goes on."""
    path = await a_running_one(acme)
    got = await acme.send("POST", f"{path}/{step}", body)

    assert (got.status, got.errors()) == (422, errors)
    assert (await acme.get(path)).json["status"] == "RUNNING"


async def test_a_waiting_execution_is_cancelled_at_once(acme: Client) -> None:
    """A repeat gets the same answer; nothing starts any more (B172)."""
    job = await acme.job()
    execution = (await acme.post(f"/v1/jobs/{job['jobId']}/run")).json
    path = f"/v1/executions/{execution['executionId']}"
    cancelled = await acme.send("POST", f"{path}/cancel")
    again = await acme.send("POST", f"{path}/cancel")

    assert (cancelled.status, cancelled.json["status"]) == (200, "CANCELLED")
    assert (again.status, again.json["status"]) == (200, "CANCELLED")


async def test_a_running_one_is_asked_to_stop(acme: Client) -> None:
    """Its worker learns it with the next heartbeat; what it reports then is refused, and counts as stopped (B170)."""
    path = await a_running_one(acme)
    asked = await acme.send("POST", f"{path}/cancel")
    beat = await acme.send("POST", f"{path}/heartbeat", {"workerId": "w-1", "leaseEpoch": 1})
    told = await acme.send("POST", f"{path}/complete", {"leaseEpoch": 1, "result": 1})
    ended = await acme.send("GET", path)

    assert (asked.status, asked.json["status"]) == (200, "CANCELLING")
    assert (beat.status, beat.code) == (told.status, told.code) == (409, "cancelled")
    assert (ended.json["status"], ended.json["result"]) == ("CANCELLED", None)


async def test_a_finished_one_is_not_cancelled(acme: Client) -> None:
    """It says what it is already (B172)."""
    path = await a_running_one(acme)
    await acme.send("POST", f"{path}/complete", {"leaseEpoch": 1})
    got = await acme.send("POST", f"{path}/cancel")

    assert (got.status, got.code) == (409, "already_finished")
    assert "SUCCEEDED" in got.json["detail"]


async def test_an_explanation_says_what_it_waits_for(acme: Client) -> None:
    """In words, with since when and from when."""
    job = await acme.job()
    execution = (await acme.post(f"/v1/jobs/{job['jobId']}/run")).json
    path = f"/v1/executions/{execution['executionId']}"
    waiting = await acme.get(f"{path}/explanation")
    await claim_again(acme, execution["executionId"])
    running = await acme.get(f"{path}/explanation")

    assert waiting.json["waitsFor"] == "a worker of the pool fargate"
    assert waiting.json["executionId"] == execution["executionId"]
    assert "attempt 1" in running.json["waitsFor"]


@pytest.mark.sem("SEM-REASON-1")
async def test_an_explanation_says_what_the_reason_means(acme: Client) -> None:
    """And what to do about it, in the words of the table."""
    path = await a_running_one(acme)
    error = {"class": "Broken", "message": "for good"}
    dead = await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "kind": "fatal", "error": error})
    told = (await acme.get(f"{path}/explanation")).json["waitsFor"]

    assert dead.json["reason"] == "fatal"
    assert told.startswith("nothing: it is DEAD (fatal). ")
    meant = REASONS[Reason.FATAL]
    assert told.endswith(f"{meant.means} Its error: Broken: for good. {meant.dead}")


@pytest.mark.parametrize("execution_id", ["x", "a.b", "a" * 26 + ".20261201T000000000Z", "#", "~"])
async def test_an_id_that_is_none_is_not_found(acme: Client, execution_id: str) -> None:
    """Well-formed or not."""
    got = await acme.get(f"/v1/executions/{execution_id}")

    assert (got.status, got.code) == (404, "not_found")


@pytest.mark.sem("SEM-REDRIVE-1", "SEM-REDRIVE-2")
async def test_a_dead_one_is_redriven(acme: Client) -> None:
    """The same request again is answered the same; without its key it is not dead any more."""
    path = await a_running_one(acme)
    error = {"class": "Broken", "message": "for good"}
    dead = await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "kind": "fatal", "error": error})

    opened = await acme.send("POST", f"{path}/redrive", idempotency_key="once")
    again = await acme.send("POST", f"{path}/redrive", idempotency_key="once")
    other = await acme.send("POST", f"{path}/redrive")

    assert (dead.json["status"], dead.json["generation"], dead.json["redrivenAt"]) == ("DEAD", 1, None)
    assert (opened.status, opened.json["status"], opened.json["generation"]) == (200, "QUEUED", 2)
    assert (opened.json["scheduledTime"], opened.json["finishedAt"]) == (dead.json["scheduledTime"], None)
    assert opened.json["maxAttempts"] == dead.json["attempt"] + 3
    assert again.json == opened.json
    assert (other.status, other.code) == (409, "not_dead")


@pytest.mark.sem("SEM-REDRIVE-1")
async def test_a_redrive_needs_a_key_for_dead_letters(acme: Client, api: Api) -> None:
    """One that may only write jobs may not."""
    path = await a_running_one(acme)
    secret, _ = await make_key(api.kit, TenantId("acme"), scopes=frozenset({Scope.JOBS_WRITE}), label="writer")

    got = await Client(api, secret).send("POST", f"{path}/redrive")

    assert (got.status, got.code) == (403, "forbidden")


@pytest.mark.sem("SEM-REDRIVE-1")
async def test_a_redriven_execution_counts_its_attempts_anew(acme: Client) -> None:
    """Those of its generation are shown beside those of all, and an explanation speaks of its generation alone."""
    path = await a_running_one(acme)
    failed = {"class": "Broken", "message": "no"}
    await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "kind": "fatal", "error": failed})
    opened = (await acme.send("POST", f"{path}/redrive")).json
    waiting = (await acme.get(f"{path}/explanation")).json["waitsFor"]
    await claim_again(acme, opened["executionId"])
    running = (await acme.get(f"{path}/explanation")).json["waitsFor"]
    again = (await acme.send("POST", f"{path}/fail", {"leaseEpoch": opened["leaseEpoch"] + 1, "error": failed})).json
    retrying = (await acme.get(f"{path}/explanation")).json["waitsFor"]

    assert [(one["attempt"], one["maxAttempts"]) for one in (opened, again)] == [(1, 4), (2, 4)]
    assert [(one["generationAttempt"], one["generationMaxAttempts"]) for one in (opened, again)] == [(0, 3), (1, 3)]
    assert waiting == "a worker of the pool fargate, for attempt 1 of 3 of generation 2"
    assert running.startswith("attempt 1 of 3 of generation 2 on w-1, until its time is over at ")
    assert ", then attempt 2 of 3 of generation 2 (failed). " in retrying
