"""A chaos run passes as the product is, and fails with each bug that is put in: on both stores, half an hour in all."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.aws_ground import missing
from tests.chaos.faults import Kind, Service
from tests.support.emulators.installed import give_up_on

ROOT = Path(__file__).parents[2]
SECONDS = 300  # of each of three seeds on each of two stores
OF_A_PLANT = {"embedded": 60, "aws": 180}  # zombies are fewer there
BESIDE_S = 240
JOBS = {"embedded": 100, "aws": 34}

pytestmark = pytest.mark.nightly


def chaos(tmp_path: Path, store: str, *, seed: int, seconds: int, plant: str = "") -> tuple[int, dict[str, Any]]:
    """One run: its exit status and its line of figures."""
    if store == "aws" and (lack := missing()) is not None:
        give_up_on("DynamoDB Local and ministack", lack)
    path = f"{ROOT}:{ROOT / 'layers/core/python'}:{ROOT / 'layers/sdk/python'}"
    asked = [f"STORE={store}", f"SEED={seed}", f"SECONDS={seconds}", f"PLANT={plant}"]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.chaos", *asked],
        cwd=ROOT,
        env={"PYTHONPATH": path, "PYTHONTZPATH": "", "TMPDIR": str(tmp_path), "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        timeout=seconds + BESIDE_S,
        check=False,
    )
    return ended.returncode, json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.sem("SEM-TICK-1", "SEM-TICK-2", "SEM-FENCE-1", "SEM-CANCEL-1", "SEM-JOURNAL-1", "SEM-LEASE-2")
@pytest.mark.parametrize("store", ["embedded", "aws"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_promise_is_broken_while_processes_are_killed_and_frozen(tmp_path: Path, store: str, seed: int) -> None:
    """Every due tick has its one execution, no stale result is accepted, and there were zombies to be refused."""
    status, figures = chaos(tmp_path, store, seed=seed, seconds=SECONDS)

    assert (status, figures["violations"]) == (0, 0)
    assert figures["jobs"] == JOBS[store]
    assert min(figures[name] for name in ("kills", "freezes", "zombies", "reaped", "takeovers")) > 0
    assert figures["resultsRefused"] + figures["heartbeatsRefused"] > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sem("SEM-STORE-5", "SEM-QUEUE-1")
def test_no_promise_is_broken_while_calls_are_cut_and_the_queues_are_emptied(tmp_path: Path) -> None:
    """Each kind of fault befell each of the two services, and the ready queues were emptied once."""
    status, figures = chaos(tmp_path, "aws", seed=4, seconds=SECONDS)

    assert (status, figures["violations"]) == (0, 0)
    assert set(figures["callFaults"]) == {f"{service.value}.{kind.value}" for service in Service for kind in Kind}
    assert figures["purges"] == 1


@pytest.mark.parametrize(
    ("store", "plant", "broken"),
    [
        ("embedded", "no-fence", "NoStaleResult"),
        ("embedded", "two-keys", "OneExecutionPerTick"),
        ("embedded", "claim-anyway", "NoDoubleRun"),
        ("embedded", "no-retract", "NoStartAfterCancelAck"),
        ("embedded", "no-journal", "EveryExecutionEnds"),
        ("aws", "no-fence", "NoStaleResult"),
        ("aws", "two-keys", "OneExecutionPerTick"),
    ],
)
def test_each_bug_that_is_put_in_is_found(tmp_path: Path, store: str, plant: str, broken: str) -> None:
    """By the promise that it breaks. On AWS's engines the fence is taken out of the literal expressions."""
    status, figures = chaos(tmp_path, store, seed=5, seconds=OF_A_PLANT[store], plant=plant)

    assert status == 1
    assert figures["byName"][broken] > 0
