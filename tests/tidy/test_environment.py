"""What is installed on the way to a command says so beside what the command prints, and not within it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import environment


def test_an_installation_says_nothing_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`KEY=$(make -s key ...)` on a fresh checkout has to keep the key alone."""
    outputs = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401 - as subprocess has them
        outputs.append(sys.stdout if "capture_output" not in options and "stdout" not in options else None)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(environment, "VENV", tmp_path)
    monkeypatch.setattr("tools.environment.subprocess.run", run)

    environment.install("run", environment.RUN_LOCKS)

    assert (len(outputs) >= 2, set(outputs)) == (True, {None})
    said = capsys.readouterr()
    assert (said.out, "Installing the locked packages" in said.err) == ("", True)
