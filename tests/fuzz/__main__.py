"""`make fuzz SECONDS=60 [ONLY=cron]`: each fuzzer for so long; the last line is JSON.

Exit status 1 if one of them found something; what it found is printed. A fuzzer that this machine has no package for is
named as left out.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.fuzz.machine import JobsMachine
from tests.fuzz.oracles import ORACLES
from tests.fuzz.served import requested
from tests.fuzz.starts import guided

_LATE_S = 300  # a start, and a last chain of requests
_SEQUENCES = 50  # of operations at a time, until the seconds are over
_MAX_SECONDS = 10_000
Told = dict[str, object]


def main() -> int:
    """Fuzz, print, judge."""
    asked = _asked()
    fuzzers: dict[str, Callable[[int], Told]] = {
        **{name: partial(_guided, name) for name in ORACLES},
        "api": _requests,
        "machine": _operations,
    }
    told = {name: fuzz(asked.seconds) for name, fuzz in fuzzers.items() if asked.only in {"", name}}
    assert told, f"--only {asked.only} is none of {', '.join(fuzzers)}"
    failed = [name for name, one in told.items() if one.get("found")]
    print(json.dumps({"seconds": asked.seconds, "failed": failed, **told}))
    return 1 if failed else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="of each fuzzer (default: %(default)s)")
    parser.add_argument("--only", default="", help="one fuzzer by its name")
    asked = parser.parse_args()
    assert 1 <= asked.seconds <= _MAX_SECONDS
    return asked


def _guided(name: str, seconds: int) -> Told:
    if find_spec("atheris") is None:
        return {"leftOut": "atheris has no wheel for this machine"}
    with tempfile.TemporaryDirectory() as folder:
        run = guided(name, Path(folder), seconds=seconds)
    if run.status:
        print(run.said)
    return {"inputs": run.executed, "covered": run.covered, "found": run.status != 0}


def _requests(seconds: int) -> Told:
    with tempfile.TemporaryDirectory() as folder:
        run = requested(Path(folder), "--max-time", str(seconds), seconds=seconds + _LATE_S)
    found = run.status != 0 or run.generated != run.passed
    if found:
        print(run.said)
    return {"operations": run.operations, "requests": run.generated, "found": found}


def _operations(seconds: int) -> Told:
    """Fresh sequences until the time is over."""
    often = settings(
        max_examples=_SEQUENCES,
        stateful_step_count=30,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    ends, sequences = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        try:
            run_state_machine_as_test(JobsMachine, settings=often)
        except AssertionError as broken:
            print(broken, *getattr(broken, "__notes__", ()), sep="\n")
            return {"sequences": sequences, "found": True}
        sequences += _SEQUENCES
    return {"sequences": sequences, "ticks": JobsMachine.seen["ticks"], "found": False}


if __name__ == "__main__":
    sys.exit(main())
