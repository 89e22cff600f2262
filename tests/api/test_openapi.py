"""Is the document that is checked in the one that the code makes, and one that clients can be made from?"""

import json
import re
from pathlib import Path

import pytest

from tickwright.api.openapi import document, document_text, main
from tickwright.api.routes import ROUTES
from tickwright.domain.executions import Reason
from tickwright.domain.jobs import JobStatus
from tickwright.domain.transitions import State

CHECKED_IN = Path(__file__).parents[2] / "docs" / "api" / "openapi.json"


def test_the_document_that_is_checked_in_is_current() -> None:
    """`python -m tickwright.api.openapi write docs/api/openapi.json` makes it so."""
    assert CHECKED_IN.read_text(encoding="utf-8") == document_text()


def test_every_reference_points_at_a_schema() -> None:
    """And every schema is pointed at: no leftovers."""
    text = document_text()
    pointed = set(re.findall(r'"#/components/schemas/(\w+)"', text))

    assert pointed == set(document()["components"]["schemas"])


def test_every_operation_has_a_name_of_its_own() -> None:
    """A client's methods are called by them."""
    operations = [operation for path in document()["paths"].values() for operation in path.values()]
    names = [operation["operationId"] for operation in operations]

    assert len(names) == len(set(names)) == len(ROUTES)
    assert all(operation["summary"] for operation in operations)


@pytest.mark.sem("SEM-API-2")
def test_every_object_that_is_sent_is_closed() -> None:
    """What the API refuses as unknown, a client's own check refuses before."""
    schemas = document()["components"]["schemas"]
    sent = {name: schema for name, schema in schemas.items() if name.endswith(("Request", "Target", "Policy"))}

    assert {"JobRequest", "BatchRequest", "HttpTarget", "PythonTarget", "RetryPolicy", "FailRequest"} <= set(sent)
    assert all(schema["additionalProperties"] is False for schema in sent.values())
    assert schemas["JobRequest"]["properties"]["schedule"]["additionalProperties"] is False


@pytest.mark.sem("SEM-API-2", "SEM-REASON-1")
def test_states_and_reasons_are_listed_in_full() -> None:
    """A client can be made that knows each of them."""
    schemas = document()["components"]["schemas"]
    execution, job = schemas["ExecutionSummary"]["properties"], schemas["Job"]["properties"]

    assert execution["status"]["enum"] == [state.value for state in State]
    assert execution["reason"]["anyOf"][0]["enum"] == [reason.value for reason in Reason]
    assert job["status"]["enum"] == [status.value for status in JobStatus]


def test_write_and_check_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A document that was changed by hand is found, and the remedy named."""
    path = tmp_path / "api" / "openapi.json"

    assert main(["check", str(path)]) == 1
    assert main(["write", str(path)]) == 0
    assert main(["check", str(path)]) == 0
    path.write_text(json.dumps({}))
    assert main(["check", str(path)]) == 1
    assert "openapi write" in capsys.readouterr().err
    assert main(["frobnicate"]) == 2
