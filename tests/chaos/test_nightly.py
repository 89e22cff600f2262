"""A chaos run passes as the product is, and fails with each bug that is put in."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_S = 240

pytestmark = pytest.mark.nightly


def chaos(tmp_path: Path, *, seed: int, plant: str = "") -> tuple[int, dict[str, Any]]:
    """One run of a minute: its exit status and its line of figures."""
    path = f"{ROOT}:{ROOT / 'layers/core/python'}"
    ended = subprocess.run(
        [sys.executable, "-m", "tests.chaos", f"SEED={seed}", "SECONDS=54", f"PLANT={plant}"],
        cwd=ROOT,
        env={"PYTHONPATH": path, "PYTHONTZPATH": "", "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        timeout=LONGEST_S,
        check=False,
    )
    return ended.returncode, json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.sem("SEM-TICK-1", "SEM-TICK-2", "SEM-FENCE-1", "SEM-CANCEL-1", "SEM-JOURNAL-1", "SEM-LEASE-2")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_promise_is_broken_while_processes_are_killed_and_frozen(tmp_path: Path, seed: int) -> None:
    """Every due tick has its one execution, no stale result is accepted, and there were zombies to be refused."""
    status, figures = chaos(tmp_path, seed=seed)

    assert (status, figures["violations"]) == (0, 0)
    assert figures["jobs"] == 100
    assert min(figures[name] for name in ("kills", "freezes", "zombies", "resultsRefused", "reaped", "takeovers")) > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("plant", "broken"),
    [
        ("no-fence", "NoStaleResult"),
        ("two-keys", "OneExecutionPerTick"),
        ("claim-anyway", "NoDoubleRun"),
        ("no-retract", "NoStartAfterCancelAck"),
        ("no-journal", "EveryExecutionEnds"),
    ],
)
def test_each_bug_that_is_put_in_is_found(tmp_path: Path, plant: str, broken: str) -> None:
    """By the promise that it breaks."""
    status, figures = chaos(tmp_path, seed=5, plant=plant)

    assert status == 1
    assert figures["byName"][broken] > 0
