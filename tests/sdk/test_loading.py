"""A module that runs its worker when it is imported is refused by whoever loads it, and says so in one line."""

import re
import sys
from pathlib import Path

import pytest

from tests.sdk.pool import a_pool
from tests.sdk.test_worker_says import WORKER, program
from tests.tidy.tree import ROOT
from tickwright.fleet_settings import FleetRefused
from tickwright.wiring.fleet import handlers_at
from tickwright_sdk import WorkerRefused
from tickwright_sdk.handlers import found

RUNS = WORKER.partition("if __name__")[0] + "\nworker.run()\n"
CHILDREN = WORKER.replace('@worker.job("bill")', '@worker.job("bill", process=True)')
KEY = {"TICKWRIGHT_API_KEY": "tw_secret"}


@pytest.mark.sem("SEM-SDK-15")
def test_a_module_that_runs_its_worker_on_import_is_not_served(tmp_path: Path) -> None:
    """One line, status 2, and no claim: it would be served inside of its import, and again after that."""
    with a_pool() as pool:
        ended = program(tmp_path, KEY | {"TICKWRIGHT_URL": pool.server.url}, *SDK, text=RUNS)

        assert pool.told("claim") == []
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "'billing_worker' runs its worker when it is imported" in ended.stderr
    assert "__main__" in ended.stderr


SDK = ("-m", "tickwright_sdk", "billing_worker:worker")


def test_a_child_and_the_fleet_refuse_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that served in its parent's place would never call anything."""
    (tmp_path / "runs_at_once.py").write_text(RUNS)
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(WorkerRefused, match="imported"):
        found("runs_at_once", "bill")
    with pytest.raises(FleetRefused, match="imported"):
        handlers_at("runs_at_once:worker")
    assert "runs_at_once" not in sys.modules


def test_the_sample_of_the_readme_can_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what a newcomer copies."""
    [sample] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "readme_sample.py").write_text(sample)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert handlers_at("readme_sample:worker").names() == ["billing.nightly"]
    assert callable(found("readme_sample", "bill"))
    del sys.modules["readme_sample"]


@pytest.mark.sem("SEM-SDK-15")
def test_a_program_whose_children_could_not_find_a_handler_says_how_to_start_it(tmp_path: Path) -> None:
    """One line and status 2, with the command that works; as a module the same file is well."""
    ended = program(tmp_path, KEY | {"TICKWRIGHT_URL": "http://127.0.0.1:9"}, text=CHILDREN)

    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "python -m tickwright_sdk billing_worker:worker" in ended.stderr
    assert "Traceback" not in ended.stderr
