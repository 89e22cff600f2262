"""Starts a fuzzer in a process of its own, in a folder of its own, and reads what it says at its end."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.oracles import SEEDS, TOKENS

ROOT = Path(__file__).parents[2]
_EXECUTED = re.compile(r"number_of_executed_units:\s+(\d+)")
_COVERED = re.compile(r"cov: (\d+)")
_SAID_MAX = 8_000
_LATE_S = 60  # for the start, and the input that is under way


@dataclass(frozen=True, slots=True, kw_only=True)
class Guided:
    """What a guided run came to."""

    status: int
    executed: int
    covered: int
    said: str


def guided(name: str, folder: Path, *, seconds: int) -> Guided:
    """One oracle for so long, from its seeds on."""
    corpus = folder / name
    corpus.mkdir()
    for number, text in enumerate(SEEDS[name]):
        (corpus / f"seed-{number}").write_text(text)
    words = folder / "words"
    words.write_text("".join(f"{_quoted(token)}\n" for token in TOKENS[name]))
    limits = [
        f"-dict={words}",
        f"-max_total_time={seconds}",
        "-max_len=400",
        f"-timeout={2 * (seconds + _LATE_S)}",
        "-seed=7",
        "-print_final_stats=1",
    ]
    paths = [str(ROOT), *(str(ROOT / "layers" / part / "python") for part in ("core", "sdk"))]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.guided", name, str(corpus), f"-artifact_prefix={folder}/", *limits],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds + _LATE_S,
        check=False,
    )
    said = ended.stderr + ended.stdout  # the exception comes with the second
    executed, covered = _EXECUTED.search(said), _COVERED.findall(said)
    return Guided(
        status=ended.returncode,
        executed=0 if executed is None else int(executed[1]),
        covered=int(covered[-1]) if covered else 0,
        said=said[-_SAID_MAX:],
    )


def _quoted(token: str) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in token.encode()) + '"'
