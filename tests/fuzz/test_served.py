"""A few requests to every operation of the running program, made up from its OpenAPI."""

import json
from pathlib import Path

import pytest

from tests.fuzz.served import requested
from tests.fuzz.starts import ROOT

_METHODS = {"get", "put", "post", "patch", "delete"}
_DOCUMENT = json.loads((ROOT / "docs" / "api" / "openapi.json").read_text())
# All but the one that answers the document, which the fuzzer asks to begin with.
OPERATIONS = sum(
    len(_METHODS & operations.keys()) for path, operations in _DOCUMENT["paths"].items() if path != "/v1/openapi.json"
)


@pytest.mark.slow
@pytest.mark.sem("SEM-API-1")
def test_every_operation_answers_as_the_document_says(tmp_path: Path) -> None:
    """No 5xx, and no status, header, type or body that the document does not name; `make fuzz` goes on for longer."""
    run = requested(tmp_path, "--phases", "fuzzing", "-n", "2", "--seed", "7", "--no-shrink", seconds=300)

    assert run.status == 0, run.said
    assert run.operations == OPERATIONS, run.said
    assert run.generated == run.passed >= OPERATIONS, run.said


@pytest.mark.nightly
@pytest.mark.sem("SEM-API-1")
def test_all_phases_answer_as_the_document_says(tmp_path: Path) -> None:
    """Examples, every branch of every schema, random requests and chains of them, for ten minutes."""
    run = requested(tmp_path, "--max-time", "600", seconds=900)

    assert run.status == 0, run.said
    assert run.generated == run.passed > 500, run.said
