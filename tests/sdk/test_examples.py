"""The examples, run as their reader runs them."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.emulators.installed import give_up_on, missing_dynamodb_local
from tests.tidy.tree import ROOT

_SECONDS_MAX = 240
_ROOTS = (ROOT, ROOT / "layers" / "core" / "python", ROOT / "layers" / "sdk" / "python")


@pytest.mark.slow
@pytest.mark.sem("SEM-SDK-12", "SEM-FENCE-1")
def test_a_thawed_workers_bill_is_refused_by_every_store_that_has_a_fence() -> None:
    """A worker is frozen past its lease and another finishes; without a fence its bill is overwritten (B121)."""
    found = _shown("examples.billing")

    assert found["ok"] is True
    assert (found["leaseEpoch"], found["attempt"]) == (2, 2)
    assert found["zombieWrites"].pop("unfenced") == "wrote"
    assert found["writtenBy"].pop("unfenced") == "first"
    assert set(found["zombieWrites"].values()) == {"refused"}
    assert set(found["writtenBy"].values()) == {"second"}
    assert "sqlite" in found["zombieWrites"]
    if "dynamodb" not in found["zombieWrites"]:
        give_up_on("DynamoDB Local", missing_dynamodb_local() or "it was left out")


def _shown(module: str) -> Any:  # noqa: ANN401 - JSON
    """The line of JSON that a demonstration ends with."""
    ended = subprocess.run(
        [sys.executable, "-m", module],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, _ROOTS))},
        capture_output=True,
        text=True,
        timeout=_SECONDS_MAX,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])
