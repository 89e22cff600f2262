"""Does what one installation has accepted and not landed reach the intake of another?"""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from tests.operator.conftest import STAGE
from tests.support.builders import an_id
from tests.support.emulators.clients import aws_client
from tests.support.installation import Installation
from tickwright.adapters.sqs.intake import arrived_from_record, submission_to_body
from tickwright.domain.deletions import REFUSED_AS, CallOff, Deletion, PutDeletion
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.outcomes import Code, Refusal
from tickwright.operator.__main__ import main
from tickwright.operator.intake import BEING_DELETED, SOME_LEFT, WAS_DELETED
from tickwright.ports.intake import Submission
from tickwright.wiring.aws import kit_from_env
from tickwright.wiring.intake import intake_from_env
from tickwright.wiring.operator import installed


def a_submission(number: int) -> Submission:
    return Submission(
        tenant_id=TenantId("acme"),
        job_id=JobId(an_id(number)),
        key=f"POST /v1/jobs {number}",
        body_hash="a" * 64,
        asked_at=Instant(1_000 + number),
        body='{"payload": "a secret"}',
    )


def messages(sqs: Any, url: str) -> list[str]:  # noqa: ANN401 - botocore makes its clients at run time
    """All that a queue shows, in no order."""
    found: list[str] = []
    while one := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages"):
        found += [message["Body"] for message in one]
    return found


@pytest.mark.slow
@pytest.mark.sem("SEM-INTAKE-1")
def test_what_an_installation_has_accepted_is_moved_to_the_one_after_it(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whole and once; what was refused, and what is no submission, stays where people look for it."""
    sqs = aws_client("sqs", installation.queue_endpoint)
    old = sqs.create_queue(QueueName="the-stage-before")["QueueUrl"]
    kit = kit_from_env(installation.environment)
    before = intake_from_env({"TICKWRIGHT_QUEUE_INTAKE": old, "TICKWRIGHT_QUEUE_INTAKE_UNDELIVERED": old}, kit)
    assert before is not None
    waiting = [a_submission(number) for number in range(12)]
    for one in waiting:
        assert asyncio.run(before.put(one))
    asyncio.run(before.set_aside(a_submission(50), Refusal(code=Code.NAME_TAKEN, detail="taken")))
    sqs.send_message(QueueUrl=old, MessageBody="{}")

    status = main(["intake", "move", "--stage", STAGE, "--from", old])
    told = json.loads(capsys.readouterr().out)
    again = main(["intake", "move", "--stage", STAGE, "--from", old])

    assert (status, told, again) == (SOME_LEFT, {"moved": 12, "left": 2}, 0)
    arrived = messages(sqs, installation.queues["intake"])
    assert sorted(arrived) == sorted(map(submission_to_body, waiting))
    records = [{"messageId": "m", "receiptHandle": "r", "body": body} for body in arrived]
    assert {one.submission for one in map(arrived_from_record, records) if one is not None} == set(waiting)
    counted = sqs.get_queue_attributes(QueueUrl=old, AttributeNames=["ApproximateNumberOfMessagesNotVisible"])
    assert counted["Attributes"]["ApproximateNumberOfMessagesNotVisible"] == "2"


@pytest.mark.slow
@pytest.mark.sem("SEM-TENANT-2")
def test_what_was_set_aside_lands_after_a_deletion_was_called_off(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not while it is under way, and not for whoever has the name after it; a second time nothing is left of it."""
    sqs = aws_client("sqs", installation.queue_endpoint)
    whole = installed(STAGE).whole
    mine, others = replace(a_submission(70), tenant_id=TenantId("back")), a_submission(71)
    intake = intake_from_env(installation.environment, kit_from_env(installation.environment))
    assert intake is not None
    for one in (mine, others):
        asyncio.run(intake.set_aside(one, Refusal(code=REFUSED_AS, detail="deleted")))
    begun = Deletion(tenant_id=mine.tenant_id, asked_at=Instant(5))
    ended = replace(begun, still_at=Instant(6), removes_at=Instant(7), ended_at=Instant(8))

    def returned() -> tuple[int, str]:
        capsys.readouterr()
        return main(["intake", "return", "--stage", STAGE, "--tenant", "back"]), capsys.readouterr().out

    assert asyncio.run(whole.put_deletion(PutDeletion(deletion=begun, seen=None)))
    assert returned() == (BEING_DELETED, "")
    assert asyncio.run(whole.put_deletion(PutDeletion(deletion=ended, seen=begun)))
    assert returned() == (WAS_DELETED, "")
    again = replace(begun, asked_at=Instant(9))
    assert asyncio.run(whole.put_deletion(PutDeletion(deletion=again, seen=ended)))
    assert asyncio.run(whole.call_off(CallOff(seen=again)))
    assert returned() == (0, '{"returned": 1, "left": 1}\n')
    assert returned() == (0, '{"returned": 0, "left": 1}\n')
    assert submission_to_body(mine) in messages(sqs, installation.queues["intake"])
