"""Is what any version of a job has called secret in no answer about the versions before it, nor about their runs?"""

import json
from typing import Any

import pytest

from tests.api.client import A_JOB, Client, Got
from tests.api.test_executions import a_running_one, claim_again
from tickwright.domain import limits
from tickwright.domain.secrets import MASK

pytestmark = pytest.mark.sem("SEM-SECRET-2")

CARD = "4111-1111-1111-1111"
PAYLOAD = {"card": CARD, "amount": 7}
NAMED = {"secrets": ["/payload/card"]}
UNNAMED: dict[str, Any] = {"secrets": [], "payload": {"card": "none"}}


async def edited(client: Client, job_id: str, *edits: object) -> None:
    """Each edit makes a version."""
    for edit in edits:
        got = await client.send("PATCH", f"/v1/jobs/{job_id}", edit, if_match="*")
        assert got.status == 200, got.json


def says_nothing(*answers: Got) -> bool:
    """Whether all is well and the card is nowhere."""
    assert all(answer.status in {200, 201} for answer in answers), [answer.json for answer in answers]
    return all(CARD not in json.dumps([answer.json, dict(answer.headers)]) for answer in answers)


async def job_of(client: Client, path: str) -> str:
    return str((await client.get(path)).json["jobId"])


async def test_what_a_version_in_between_has_named_is_hidden_before_it(acme: Client) -> None:
    """The first version has the value, the second calls it a secret, the third has another: alone, in a list, again."""
    body, key = A_JOB | {"payload": PAYLOAD}, {"idempotency_key": "once"}
    created = await acme.post("/v1/jobs", body, **key)
    job_id = created.json["jobId"]
    await edited(acme, job_id, NAMED, UNNAMED, {"priority": "high"})

    versions = f"/v1/jobs/{job_id}/versions"
    first, replayed = await acme.get(f"{versions}/1"), await acme.post("/v1/jobs", body, **key)

    assert created.json["payload"] == PAYLOAD
    assert first.json["payload"] == replayed.json["payload"] == PAYLOAD | {"card": MASK}
    assert says_nothing(first, replayed, await acme.get(f"{versions}/2"), await acme.get(versions))
    assert (await acme.get(f"{versions}/3")).json["payload"]["card"] == "none"
    assert (await acme.get(f"/v1/jobs/{job_id}")).json["payload"]["card"] == "none"


async def test_a_run_of_an_old_version_is_shown_without_it(acme: Client) -> None:
    """Its error, its checkpoint, its log and why it waits: kept before anything was named, read after."""
    path = await a_running_one(acme, payload=PAYLOAD, retryPolicy={"backoff": {"initialSec": 0}})
    await acme.send("POST", f"{path}/heartbeat", {"workerId": "w", "leaseEpoch": 1, "checkpoint": PAYLOAD})
    error = {"class": "Refused", "message": f"card {CARD}", "trace": f"pay({CARD})"}
    said = {"leaseEpoch": 1, "kind": "retryLater", "afterSec": 0, "error": error, "log": f"paying with {CARD}\n"}
    assert (await acme.send("POST", f"{path}/fail", said)).status == 200
    job_id = await job_of(acme, path)
    before = await acme.get(path)
    await edited(acme, job_id, NAMED, UNNAMED)

    assert CARD in json.dumps(before.json)
    shown, logs = await acme.get(path), await acme.get(f"{path}/logs")
    assert says_nothing(shown, logs, await acme.get(f"{path}/explanation"))
    assert says_nothing(await acme.get(f"/v1/jobs/{job_id}/executions"))
    assert shown.json["error"]["message"] == f"card {MASK}"
    assert shown.json["checkpoint"] == PAYLOAD | {"card": MASK}
    assert [log["text"] for log in logs.json["logs"]] == [f"paying with {MASK}\n"]


async def test_the_result_of_an_old_version_is_shown_without_it(acme: Client) -> None:
    """And another tenant's or another job's pointers have nothing to do with it."""
    path = await a_running_one(acme, payload=PAYLOAD)
    await acme.send("POST", f"{path}/complete", {"leaseEpoch": 1, "result": {"paid": PAYLOAD}})
    before = (await acme.get(path)).json["result"]
    await edited(acme, await job_of(acme, path), NAMED, UNNAMED)

    assert before == {"paid": PAYLOAD}
    assert (await acme.get(path)).json["result"] == {"paid": PAYLOAD | {"card": MASK}}


async def test_a_dead_letter_of_an_old_version_hides_it_wherever_it_is_told_of(acme: Client) -> None:
    """Alone, in the list, in its group, in a dry run, and in what a redrive answers; its rerun hides it too."""
    path = await a_running_one(acme, payload=PAYLOAD)
    error = {"class": "Refused", "message": f"card {CARD}"}
    dead = await acme.send("POST", f"{path}/fail", {"leaseEpoch": 1, "kind": "fatal", "error": error})
    execution_id = dead.json["executionId"]
    await edited(acme, dead.json["jobId"], NAMED, UNNAMED)
    letters = "/v1/dead-letters"
    order = {"filter": {"errorClass": "Refused"}, "dryRun": True}

    assert says_nothing(
        await acme.get(f"{letters}/{execution_id}"),
        await acme.get(letters),
        await acme.get(f"{letters}/groups"),
        await acme.post(f"{letters}/redrives", order),
        await acme.get("/v1/executions?attention=true"),
    )
    (group,) = (await acme.get(f"{letters}/groups")).json["groups"]
    assert (group["message"], group["fingerprint"]) == (f"card {MASK}", dead.json["error"]["fingerprint"])
    masked = await acme.post(f"{path}/rerun", {"payload": PAYLOAD | {"card": MASK}})
    assert masked.errors() == [("/payload/card", "masked_value")]

    again = await acme.post(f"{path}/rerun", {"patch": {"amount": 8}})
    await claim_again(acme, again.json["executionId"])
    rerun = f"/v1/executions/{again.json['executionId']}"
    await acme.send("POST", f"{rerun}/complete", {"leaseEpoch": 1, "result": f"paid with {CARD}", "log": CARD})
    assert says_nothing(again, await acme.get(rerun), await acme.get(f"{rerun}/logs"))
    redriven = await acme.post(f"{path}/redrive")
    assert says_nothing(redriven)


async def test_what_a_waiting_edit_names_is_hidden_at_once(acme: Client) -> None:
    """Also if the edit never counts: its value is a secret until there is another."""
    job = await acme.job(payload=PAYLOAD)
    path = f"/v1/jobs/{job['jobId']}"
    later = await acme.send("PATCH", f"{path}?effectiveFrom=2026-12-24T00:00:00Z", NAMED, if_match="*")
    listed, alone = await acme.get("/v1/jobs"), await acme.get(path)
    dropping = f"{path}?dropWaiting=true"
    still = await acme.send("PATCH", dropping, {"priority": "high"}, if_match="*")
    gone = await acme.send("PATCH", dropping, UNNAMED, if_match="*")

    assert says_nothing(later, listed, alone, await acme.get(f"{path}/versions/1"))
    assert (still.status, still.errors()) == (422, [("/payload/card", "still_secret")])
    assert (gone.status, gone.json["payload"]["card"]) == (200, "none")
    assert says_nothing(await acme.get(f"{path}/versions"))


async def test_an_old_version_cannot_be_brought_back_by_its_mask(acme: Client) -> None:
    """Whoever sends it as it was shown would have the job run with the mask, though it names no secret any more."""
    job = await acme.job(payload=PAYLOAD, **NAMED)
    path = f"/v1/jobs/{job['jobId']}"
    await edited(acme, job["jobId"], UNNAMED)
    shown = (await acme.get(f"{path}/versions/1")).json["payload"]

    got = await acme.send("PATCH", path, {"payload": shown}, if_match="*")

    assert (got.status, got.errors()) == (422, [("/payload/card", "masked_value")])


async def test_a_job_names_so_many_secrets_in_all_its_life(acme: Client) -> None:
    """Each stays on its newest version, which has a size: one more is refused, those that were named are not."""
    payload = {f"k{number}": f"value-{number}" for number in range(limits.SECRETS_EVER_MAX + 1)}
    pointers = [f"/payload/{name}" for name in payload]
    job = await acme.job(payload=payload)
    steps = range(0, limits.SECRETS_EVER_MAX, limits.SECRETS_MAX)
    for start in steps:
        some = pointers[start : start + limits.SECRETS_MAX]
        fresh = {pointer.removeprefix("/payload/"): f"other-{start}-{pointer}" for pointer in pointers}
        await edited(acme, job["jobId"], {"secrets": some, "payload": fresh})
    path = f"/v1/jobs/{job['jobId']}"
    last = {"payload": {name: f"last-{name}" for name in payload}}

    over = await acme.send("PATCH", path, last | {"secrets": pointers[-1:]}, if_match="*")
    again = await acme.send("PATCH", path, last | {"secrets": pointers[:1]}, if_match="*")

    assert (over.status, over.errors()) == (422, [("/secrets", "too_many")])
    assert again.status == 200
    first = (await acme.get(f"{path}/versions/1")).json["payload"]
    assert [name for name, value in first.items() if value != MASK] == [f"k{limits.SECRETS_EVER_MAX}"]
