"""Is a hint read back as it was written, and what is no hint never taken for one?"""

import json
from typing import Any

import pytest

from tests.support.builders import TICK, a_dead_letter, a_hint, a_manual_key, a_ref
from tickwright.adapters.sqs.messages import from_body, group_of, letter_to_body, received_from_record, to_body
from tickwright.domain.ids import Epoch, ExecutionRef, TenantId
from tickwright.domain.lanes import Lane
from tickwright.ports.queue import Received

HINT = a_hint(epoch=Epoch(3), job_version=2)


def changed(**members: object) -> str:
    """The envelope of HINT with other members; None takes one out."""
    envelope: dict[str, Any] = json.loads(to_body(HINT)) | members
    return json.dumps({name: value for name, value in envelope.items() if value is not None})


@pytest.mark.parametrize("lane", Lane)
@pytest.mark.parametrize("key", [a_ref().key, a_manual_key(4)], ids=["tick", "manual"])
def test_a_hint_is_read_back_as_it_was_written(lane: Lane, key: Any) -> None:  # noqa: ANN401 - a key
    """Of every lane, for ticks and for runs that somebody asked for."""
    hint = a_hint(ref=ExecutionRef(a_ref().job_id, key), lane=lane, tenant_id=TenantId("Grüße"), due_at=TICK)

    assert from_body(to_body(hint), lane) == hint


def test_a_message_is_an_envelope_with_a_version() -> None:
    """Readable in the console, and pinned: what is on the way during a deployment is read by the new code."""
    assert json.loads(to_body(HINT)) == {
        "v": 1,
        "executionId": f"{HINT.ref.job_id}.{HINT.ref.key}",
        "tenantId": "acme",
        "lane": "normal",
        "leaseEpoch": 3,
        "jobVersion": 2,
        "dueAt": TICK,
    }


@pytest.mark.parametrize(
    "body",
    [
        "",
        "hello",
        "[]",
        "null",
        "17",
        "{}",
        changed(v=2),
        changed(v=None),
        changed(executionId="nobody"),
        changed(executionId=17),
        changed(lane="express"),
        changed(lane="high"),
        changed(leaseEpoch="3"),
        changed(leaseEpoch=True),
        changed(dueAt=1.5),
        changed(tenantId=None),
        changed(tenantId=5),
        "[" * 200_000,
    ],
)
def test_what_is_no_hint_of_this_lane_is_not_guessed_at(body: str) -> None:
    """No JSON, no envelope, another version, another lane, a wrong type, brackets deeper than any reader goes."""
    assert from_body(body, Lane.NORMAL) is None


def test_members_of_a_later_version_are_passed_over() -> None:
    """What adds a member keeps the version: the old code reads what it knows."""
    assert from_body(changed(traceparent="00-1"), Lane.NORMAL) == HINT


def test_a_record_of_the_poller_is_a_received_hint() -> None:
    """As Lambda delivers it."""
    record = {
        "messageId": "m-1",
        "receiptHandle": "r-1",
        "body": to_body(HINT),
        "attributes": {"ApproximateReceiveCount": "3", "MessageGroupId": "acme"},
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:normal",
    }

    assert received_from_record(record, Lane.NORMAL) == Received(hint=HINT, receipt="r-1", receive_count=3)
    assert received_from_record(record | {"body": "hello"}, Lane.NORMAL) is None


def test_a_dead_letter_says_what_a_person_needs() -> None:
    """Which execution, and why."""
    letter = a_dead_letter(message="Grüße: keine Datei")

    assert json.loads(letter_to_body(letter)) == {
        "v": 1,
        "executionId": letter.ref.id,
        "jobId": letter.ref.job_id,
        "tenantId": "acme",
        "generation": 1,
        "reason": "failed",
        "errorClass": "ValueError",
        "message": "Grüße: keine Datei",
    }


@pytest.mark.parametrize(
    ("tenant", "group"),
    [
        ("acme", "acme"),
        ("a b/c", "a%20b%2Fc"),
        ("Grüße", "Gr%C3%BC%C3%9Fe"),
        ("x" * 129, "26f083cbc6d96eecbde0e60fc1f9ec9d7f7ebde65ed6c51cfb6c67a9f19a1a7e"),
    ],
)
def test_a_group_is_what_sqs_takes_and_one_for_each_tenant(tenant: str, group: str) -> None:
    """At most 128 characters of ASCII; two tenants are never one group."""
    made = group_of(TenantId(tenant))

    assert made.isascii()
    assert len(made) <= 128
    assert made == group or len(tenant) > 128
    assert made != group_of(TenantId(tenant + "x"))
