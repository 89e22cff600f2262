"""Are secrets in no answer, and safe from whoever edits a job by what an answer shows?"""

import json
from typing import Any

import pytest

from tests.api.client import IN_A_YEAR, Client, Got
from tickwright.domain.secrets import MASK

pytestmark = pytest.mark.sem("SEM-SECRET-1")

CARD, TOKEN = "4111-1111-1111-1111", "Bearer s3cr3t"
BODY: dict[str, Any] = {
    "name": "pay",
    "schedule": {"runAt": IN_A_YEAR},
    "target": {"type": "http", "url": "https://example.com/x", "headers": {"Authorization": TOKEN, "X-Trace": "on"}},
    "payload": {"card": {"number": CARD, "holder": "N. N."}, "amount": 7},
    "secrets": ["/payload/card/number"],
}
MASKED = BODY | {
    "target": BODY["target"] | {"headers": {"Authorization": MASK, "X-Trace": "on"}},
    "payload": {"card": {"number": MASK, "holder": "N. N."}, "amount": 7},
}


def says_nothing(got: Got) -> bool:
    """Whether neither secret is anywhere in an answer, its headers included."""
    text = json.dumps([got.json, dict(got.headers)], ensure_ascii=False)
    return CARD not in text and "s3cr3t" not in text


def shown(got: Got) -> dict[str, Any]:
    """The members of a job that were sent."""
    return {name: got.json[name] for name in BODY}


async def kept(client: Client, job_id: str) -> dict[str, Any]:
    """What its workers are given."""
    head = await client.api.kit.store.head(job_id)  # type: ignore[arg-type]
    assert head is not None
    definition = await client.api.kit.store.definition(head.job_id, head.definition_version)
    assert definition is not None
    settings: Any = definition.spec.target.settings
    return {"payload": json.loads(definition.spec.payload), "headers": settings["headers"]}


async def test_secrets_are_in_no_answer_about_a_job(acme: Client) -> None:
    """Created and replayed, looked at, listed, edited, paused, in each version, and in a preview."""
    key = {"idempotency_key": "once"}
    created, replayed = await acme.post("/v1/jobs", BODY, **key), await acme.post("/v1/jobs", BODY, **key)
    path = f"/v1/jobs/{created.json['jobId']}"
    got = await acme.get(path)
    edited = await acme.send("PATCH", path, {"priority": "high"}, if_match="*")
    others = [
        await acme.get("/v1/jobs"),
        await acme.get(f"{path}/versions"),
        await acme.get(f"{path}/versions/1"),
        await acme.post(f"{path}/pause"),
        await acme.post("/v1/jobs?validateOnly=true", BODY | {"name": "other"}),
        await acme.send("PATCH", f"{path}?validateOnly=true", {"priority": "low"}, if_match="*"),
        await acme.post("/v1/jobs/batch", {"jobs": [BODY | {"name": "third"}]}),
    ]

    assert (created.status, replayed.headers["Idempotent-Replayed"], edited.status) == (201, "true", 200)
    assert all(other.status == 200 for other in others)
    assert all(says_nothing(answer) for answer in (created, replayed, got, edited, *others))
    assert all(shown(answer) == MASKED for answer in (created, replayed, got))
    assert shown(edited) == MASKED | {}


async def test_a_patch_keeps_what_it_does_not_name(acme: Client) -> None:
    """The values, not the masks, are what the next version has."""
    job = await acme.job(**BODY)
    path = f"/v1/jobs/{job['jobId']}"

    got = await acme.send("PATCH", path, {"payload": {"amount": 8}}, if_match=job["etag"])

    assert got.status == 200
    assert await kept(acme, job["jobId"]) == {
        "payload": BODY["payload"] | {"amount": 8},
        "headers": BODY["target"]["headers"],
    }


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_what_was_shown_is_not_taken_for_the_secret(acme: Client, method: str) -> None:
    """Whoever sends back what was read is told where the masks are, and nothing is changed."""
    job = await acme.job(**BODY)
    path = f"/v1/jobs/{job['jobId']}"

    refused = await acme.send(method, path, MASKED, if_match=job["etag"])
    unnamed = await acme.send(method, path, MASKED | {"secrets": [], "target": BODY["target"]}, if_match=job["etag"])

    places = [("/payload/card/number", "masked_value"), ("/target/headers/Authorization", "masked_value")]
    assert (refused.status, refused.errors()) == (422, places)
    assert (unnamed.status, unnamed.errors()) == (422, places[:1])
    assert (await acme.get(path)).json == job


async def test_a_job_cannot_be_copied_by_its_masks(acme: Client) -> None:
    """A new job that would have them for values is refused."""
    got = await acme.post("/v1/jobs", MASKED)

    assert got.status == 422
    assert got.errors() == [("/payload/card/number", "masked_value"), ("/target/headers/Authorization", "masked_value")]


async def test_a_secret_stays_one_until_it_has_another_value(acme: Client) -> None:
    """Nobody reads it by no longer calling it a secret."""
    job = await acme.job(**BODY)
    path = f"/v1/jobs/{job['jobId']}"
    still = await acme.send("PATCH", path, {"secrets": []}, if_match="*")
    open_now = await acme.send("PATCH", path, {"secrets": [], "payload": {"card": {"number": "none"}}}, if_match="*")
    before = await acme.get(f"{path}/versions/1")

    assert (still.status, still.errors()) == (422, [("/payload/card/number", "still_secret")])
    assert open_now.json["payload"]["card"]["number"] == "none"
    assert before.json["payload"]["card"]["number"] == MASK


async def test_what_is_declared_later_is_hidden_in_the_versions_before(acme: Client) -> None:
    """The value is the same there."""
    job = await acme.job(**BODY | {"secrets": []})
    path = f"/v1/jobs/{job['jobId']}"
    assert job["payload"]["card"]["number"] == CARD

    await acme.send("PATCH", path, {"secrets": BODY["secrets"]}, if_match="*")

    assert says_nothing(await acme.get(f"{path}/versions/1"))
    assert says_nothing(await acme.get(f"{path}/versions"))


async def test_a_pointer_that_leads_nowhere_is_refused(acme: Client) -> None:
    """At creation, and when an edit takes away what it led to."""
    created = await acme.post("/v1/jobs", BODY | {"secrets": ["/payload/card/nr", "payload"]})
    job = await acme.job(**BODY)
    edited = await acme.send("PATCH", f"/v1/jobs/{job['jobId']}", {"payload": {"card": None}}, if_match="*")

    assert created.errors() == [("/secrets/0", "leads_nowhere"), ("/secrets/1", "bad_pointer")]
    assert edited.errors() == [("/secrets/0", "leads_nowhere")]


async def test_an_etag_tells_nothing_of_a_secret(acme: Client) -> None:
    """It is made of what is shown: two jobs that differ in their secrets alone have hashes of the masks."""
    job = await acme.job(**BODY)
    path = f"/v1/jobs/{job['jobId']}"
    other = await acme.send("PATCH", path, {"payload": {"card": {"number": "4222"}}}, if_match="*")
    back = await acme.send("PATCH", path, {"payload": {"card": {"number": CARD}}}, if_match="*")

    assert (other.status, back.status) == (200, 200)
    assert (await kept(acme, job["jobId"]))["payload"] == BODY["payload"]
    assert shown(other) == shown(back) == MASKED


@pytest.mark.parametrize("value", ["s3cr3t\u00e9", "s3cr3t\n", 7, "s3cr3t" * 500])
async def test_a_refused_header_is_not_repeated(acme: Client, value: object) -> None:
    """The refusal says what is wrong with its value, and not the value."""
    target = BODY["target"] | {"headers": {"Authorization": value}}
    got = await acme.post("/v1/jobs", BODY | {"target": target})

    assert got.status == 422
    assert [pointer for pointer, _ in got.errors()] == ["/target/headers/Authorization"]
    assert says_nothing(got)


async def test_a_run_by_hand_takes_no_payload_that_was_read(acme: Client) -> None:
    """Whoever reads a job and sends what it shows along is refused, masks or none, and nothing starts."""
    job = await acme.job(**BODY)
    path = f"/v1/jobs/{job['jobId']}"
    read = (await acme.get(path)).json

    sent = [await acme.post(f"{path}/run", body) for body in ({"payload": read["payload"]}, read, {"payload": None})]

    assert [got.status for got in sent] == [422] * 3
    assert (await acme.get(f"{path}/executions")).json["executions"] == []
