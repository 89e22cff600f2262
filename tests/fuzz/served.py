"""Schemathesis at the local program: requests made up from its own OpenAPI, each answer judged by it.

The program and the fuzzer are processes of their own, on a free loopback port. Must not know an endpoint.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.starts import ROOT

# No answer of 5xx, no status, header, type or body that the document does not name.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
_GENERATED = re.compile(r"(\d+) generated, (\d+) passed")
_TESTED = re.compile(r"Tested: (\d+)")
_START_S = 60
_SAID_MAX = 8_000
_PATHS = [str(ROOT / "layers" / part / "python") for part in ("core", "sdk")]
_ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(_PATHS), "PYTHONTZPATH": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """What a run of made-up requests came to."""

    status: int
    operations: int
    generated: int
    passed: int
    said: str


@contextmanager
def program(folder: Path) -> Iterator[tuple[str, str]]:
    """The local program: where it answers, and its demo key."""
    command = [sys.executable, "-m", "tickwright.local", "--port", "0", "--data", str(folder)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | _ENVIRONMENT)
    try:
        assert running.stdout is not None
        first = running.stdout.readline()
        yield first.split()[3].rstrip(","), running.stdout.readline().rpartition(" ")[2].strip()
    finally:
        running.kill()
        running.wait(timeout=_START_S)
        assert running.stdout is not None
        running.stdout.close()


def requested(folder: Path, *how: str, seconds: int) -> Requested:
    """Make requests in the given way, at most so long."""
    with program(folder / "data") as (url, key):
        ended = subprocess.run(
            [*_command(url, key), *how],
            cwd=folder,
            env=os.environ | _ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    said = ended.stdout + ended.stderr
    generated, tested = _GENERATED.search(said), _TESTED.search(said)
    return Requested(
        status=ended.returncode,
        operations=0 if tested is None else int(tested[1]),
        generated=0 if generated is None else int(generated[1]),
        passed=0 if generated is None else int(generated[2]),
        said=said[-_SAID_MAX:],
    )


def _command(url: str, key: str) -> Sequence[str]:
    options = ("--checks", ",".join(CHECKS), "--no-color", "--continue-on-failure", "--generation-database", "none")
    document = f"{url}/v1/openapi.json"
    return [sys.executable, "-m", "schemathesis.cli", "run", document, "-H", f"Authorization: Bearer {key}", *options]
