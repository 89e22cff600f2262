"""`make run`, from outside: what it refuses in one line, and what a kill -9 leaves."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tickwright.adapters.clock_system import SystemClock
from tickwright.domain.instants import Instant, to_rfc3339

_START_S = 30
_PATHS = [str(Path(__file__).parents[2] / "layers" / part / "python") for part in ("core", "sdk")]
_ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(_PATHS), "PYTHONTZPATH": ""}


def _command(folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "tickwright.local", "--port", "0", "--data", str(folder), *more]


def _refusal(folder: Path, *more: str, status: int = 2) -> str:
    """What a start that must fail prints: one line, on the standard error."""
    ended = subprocess.run(
        _command(folder, "--seconds", "5", *more),
        capture_output=True,
        text=True,
        timeout=_START_S,
        check=False,
        env=_ENVIRONMENT,
    )
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr
    return ended.stderr


@contextmanager
def _running(folder: Path, *more: str) -> Iterator[tuple["subprocess.Popen[str]", str, str]]:
    """The program, where it answers, and its demo key; killed at the end if it still runs."""
    program = subprocess.Popen(_command(folder, *more), stdout=subprocess.PIPE, text=True, env=_ENVIRONMENT)
    try:
        assert program.stdout is not None
        first = program.stdout.readline()
        key = program.stdout.readline().rpartition(" ")[2].strip()
        yield program, first.split()[3].rstrip(","), key
    finally:
        program.kill()
        program.wait(timeout=_START_S)
        assert program.stdout is not None
        program.stdout.close()


def _call(url: str, key: str, method: str = "GET", body: object = None, **headers: str) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310 - a loopback address of ours
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
        found: dict[str, Any] = json.load(answer)
    return found


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    """The line names the address and the reason."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        said = _refusal(tmp_path, "--port", port)

    assert f"127.0.0.1:{port} cannot be used" in said


def test_a_second_program_on_a_folder_is_told_of_the_first(tmp_path: Path) -> None:
    """It does not join in silence: it names the folder and the other, which goes on; after a kill -9 one may start."""
    with _running(tmp_path, "--no-demo") as (program, url, key):
        said = _refusal(tmp_path, status=1)
        jobs = _call(f"{url}/v1/jobs", key)["jobs"]
    with _running(tmp_path, "--no-demo") as (again, _, _):
        said_again = _refusal(tmp_path, status=1)

    assert said == (
        f"tickwright: another Tickwright, process {program.pid}, runs on the data in {tmp_path}; stop it, or give this "
        "one a folder of its own with --data\n"
    )
    assert jobs == []
    assert f"process {again.pid}," in said_again


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    """Here the folder's parent is a file, which not even root can write into."""
    (tmp_path / "file").write_text("not a folder")

    said = _refusal(tmp_path / "file" / "data")

    assert "cannot be used" in said


def test_a_file_of_a_newer_version_is_one_clear_line(tmp_path: Path) -> None:
    """It is left as it is."""
    with _running(tmp_path, "--no-demo") as (program, _, _):
        program.terminate()
        program.wait(timeout=_START_S)
    with sqlite3.connect(tmp_path / "tickwright.db") as file:
        file.execute("PRAGMA user_version = 9999")

    said = _refusal(tmp_path)

    assert "newer" in said


@pytest.mark.parametrize("scale", ["0", "1.5", "nan", "fast"])
def test_a_scale_that_no_lease_can_keep_is_refused(tmp_path: Path, scale: str) -> None:
    """A lease shorter than a machine's pauses would be lost by everybody, always."""
    ended = subprocess.run(
        _command(tmp_path, "--scale", scale),
        capture_output=True,
        text=True,
        timeout=_START_S,
        check=False,
        env=_ENVIRONMENT,
    )

    assert ended.returncode == 2
    assert "argument --scale" in ended.stderr


def test_sigterm_ends_it_in_time_with_status_zero(tmp_path: Path) -> None:
    """It stops taking, finishes what runs and gives its buckets up."""
    with _running(tmp_path, "--no-demo") as (program, _, _):
        program.send_signal(signal.SIGTERM)

        assert program.wait(timeout=10) == 0


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill_and_runs_once(tmp_path: Path) -> None:
    """Jobs are submitted, the program is killed at once, and a second one runs each of them, one execution a tick."""
    run_at = to_rfc3339(Instant(SystemClock().now() + 3_000))
    body = {"schedule": {"runAt": run_at}, "target": {"type": "python", "handler": "demo.greet"}, "payload": 1}
    with _running(tmp_path, "--no-demo") as (program, url, key):
        jobs = [_call(f"{url}/v1/jobs", key, "POST", body, **{"Idempotency-Key": f"k{n}"})["jobId"] for n in range(10)]
        os.kill(program.pid, signal.SIGKILL)
        program.wait(timeout=_START_S)

    with _running(tmp_path, "--no-demo") as (_, url, key):
        ends = [_wait_for_end(url, key, job) for job in jobs]

    assert ends == [[("SUCCEEDED", 1)]] * len(jobs)


def _wait_for_end(url: str, key: str, job: str) -> list[tuple[str, int]]:
    found: list[dict[str, Any]] = []
    for _ in range(_START_S * 10):
        found = _call(f"{url}/v1/jobs/{job}/executions", key)["executions"]
        if found and all(one["status"] in {"SUCCEEDED", "DEAD"} for one in found):
            return [(one["status"], one["attempt"]) for one in found]
        threading.Event().wait(0.1)  # another process's progress is only to be polled
    raise AssertionError(f"{job} has not ended: {found}")
