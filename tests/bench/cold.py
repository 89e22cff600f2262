"""What a cold start costs before the first event: CPU and wall time of each handler's import, its clients made.

`python -m tests.bench.cold [--rounds 7] [--enforce]` prints one JSON line a handler: medians of fresh processes, each
on the packed layers with their compiled files, where Lambda has them. `startMs` is the interpreter's own start, not
counted in the others. `unitMs` is the CPU time of a fixed piece of work in the same process: a machine that others
use as well is slower, and shows it there. With --enforce the status is 1 where a target is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from tests.packaging.assembly import functions_of
from tests.packaging.layout import Unpacked, missing, unpack
from tests.packaging.nowhere import environment_of_nothing

TARGETS_MS: Mapping[str, int] = {"api": 550}
TARGET_OF_OTHERS_MS = 400

PROBE = """
import time
start = time.process_time_ns()
import importlib, sys
sys.path.insert(0, "/var/task")
name = sys.argv[1].rpartition(".")[0]
cpu, wall = time.process_time_ns(), time.perf_counter_ns()
importlib.import_module(name)
cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
unit = time.process_time_ns()
sum(range(1_000_000))
unit = time.process_time_ns() - unit
modules = len(sys.modules)
print(cpu / 1e6, wall / 1e6, start / 1e6, unit / 1e6, modules)
"""


def measured(function: Unpacked, rounds: int) -> dict[str, float]:
    """Medians of so many fresh processes; the first warms the machine's own caches and does not count."""
    environment = function.environment(environment_of_nothing())
    command = function.command("-c", PROBE, function.handler)
    samples = []
    for _ in range(rounds + 1):
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        samples.append([float(figure) for figure in said.stdout.split()])
    names = ("cpuMs", "wallMs", "startMs", "unitMs", "modules")
    return {name: round(median(values), 1) for name, values in zip(names, zip(*samples[1:], strict=True), strict=True)}


def main() -> int:
    """Print a line a handler; the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--enforce", action="store_true")
    asked = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, function in sorted(unpacked(Path(folder)).items()):
            target_ms = TARGETS_MS.get(name, TARGET_OF_OTHERS_MS)
            figures = measured(function, asked.rounds)
            is_within = figures["cpuMs"] <= target_ms
            missed += not is_within
            print(json.dumps({"handler": name, **figures, "targetMs": target_ms, "isWithin": is_within}), flush=True)
    return 1 if asked.enforce and missed else 0


def unpacked(folder: Path) -> Mapping[str, Unpacked]:
    """Every function, packed for this machine. In a process of its own: CDK's memory would slow what is measured."""
    if (reason := missing(folder / "tried")) is not None:
        sys.exit(f"It cannot be measured here: {reason}")
    assembly = folder / "assembly"
    command = [sys.executable, "-m", "tests.packaging.assembly", str(assembly)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "CDK_VALIDATION": "false"})
    return {name: unpack(function, folder / "unpacked") for name, function in functions_of(assembly).items()}


if __name__ == "__main__":
    sys.exit(main())
