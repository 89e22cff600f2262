"""Does a landing refuse to read a body that may say more than it knows?"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.builders import a_job_id
from tickwright.adapters.sqs import intake
from tickwright.api.job_bodies import JobBody
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.ports.intake import Submission

OF_VERSION = Path(__file__).parents[3] / "data" / "intake"


def members_of(schema: Mapping[str, Any], of: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Every member that a schema allows, and what kinds and values it names."""
    if "$ref" in schema:
        yield from members_of(of[schema["$ref"].rpartition("/")[2]], of, at)
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from members_of(branch, of, at)
    yield from (f"{at} = {value}" for value in schema.get("enum", ()))
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from members_of(inner, of, f"{at}/*")
    kind = schema.get("properties", {}).get("type", {}).get("const")
    for name, member in schema.get("properties", {}).items():
        place = f"{at}({kind})/{name}" if kind else f"{at}/{name}"
        yield place
        yield from members_of(member, of, place)


@pytest.mark.sem("SEM-INTAKE-1")
def test_a_body_says_what_the_version_of_its_message_allows() -> None:
    """A landing judges no shape: one of an older deployment would pass over what it does not know.

    A member or a value that is new here is a new version: raise it in adapters/sqs/intake.py, and write what that
    version allows beside the others.
    """
    schema = JobBody.model_json_schema()
    allowed = sorted(set(members_of(schema, schema["$defs"])))
    known = (OF_VERSION / f"{intake.VERSION}.txt").read_text(encoding="utf-8").splitlines()

    assert allowed == known


@pytest.mark.sem("SEM-INTAKE-1")
def test_a_submission_of_a_newer_version_is_left_where_it_is() -> None:
    """It goes where people look, whole; it is not landed by guess. One of an older version lands."""
    submission = Submission(
        tenant_id=TenantId("acme"),
        job_id=a_job_id(),
        key="POST /v1/jobs a",
        body_hash="",
        asked_at=Instant(1),
        body="{}",
    )
    message = json.loads(intake.submission_to_body(submission))

    def read(version: int) -> object:
        body = json.dumps({**message, "v": version})
        return intake.arrived_from_record({"messageId": "1", "receiptHandle": "r", "body": body})

    assert [read(version) is not None for version in range(intake.VERSION + 2)] == [
        False,
        *[True] * intake.VERSION,
        False,
    ]
