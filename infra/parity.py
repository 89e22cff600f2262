"""Whether `python app.py` and `cdk synth` make the same templates: `python -m infra.parity`.

Must not know what is in them: bytes are compared. CI builds without CDK's command-line tool and a person deploys with
it, so a difference would mean that something untested is deployed.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.bundling.core_layer import core_key
from infra.context import ROOT, WITHOUT_PACKAGING
from infra.packaging_settings import LAMBDA


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The files compared and those that differ; `skipped` says why nothing was."""

    compared: int = 0
    different: tuple[str, ...] = ()
    skipped: str | None = None


def main() -> int:
    """Print the comparison as one line of JSON."""
    result = compare(os.environ.get("TICKWRIGHT_STAGE", "dev"))
    line = json.dumps({"compared": result.compared, "different": result.different, "skipped": result.skipped})
    sys.stdout.write(f"{line}\n")
    return 1 if result.different else 0


def compare(stage: str) -> Comparison:
    """Synthesise a stage both ways and compare every template."""
    tool = _tool()
    if tool is None:
        return Comparison(skipped="CDK's command-line tool is not here; `npm ci` installs it")
    before = core_key(LAMBDA)
    with tempfile.TemporaryDirectory() as folder:
        plain, by_tool = Path(folder, "plain"), Path(folder, "tool")
        switches = {"TICKWRIGHT_STAGE": stage, "CDK_VALIDATION": "false"}
        # Packaging changes no template, and the tool has no switch for it.
        without = {"CDK_OUTDIR": str(plain), "CDK_CONTEXT_JSON": json.dumps(dict(WITHOUT_PACKAGING))}
        _run([sys.executable, "app.py"], switches | without)
        _run([tool, "synth", "--quiet", "--app", f"{sys.executable} app.py", "--output", str(by_tool)], switches)
        difference = _difference(plain, by_tool)
    # Two builds of different sources say nothing about the two ways to build.
    return (
        difference if core_key(LAMBDA) == before else Comparison(skipped="the sources changed while they were compared")
    )


def _tool() -> str | None:
    own = ROOT / "node_modules" / ".bin" / "cdk"
    return str(own) if own.exists() else shutil.which("cdk")


def _run(command: list[str], switches: Mapping[str, str]) -> None:
    ran = subprocess.run(  # noqa: S603 - a fixed argument list
        command, cwd=ROOT, env=os.environ | dict(switches), check=False, capture_output=True, text=True
    )
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{ran.stdout}\n{ran.stderr}")


def _difference(plain: Path, by_tool: Path) -> Comparison:
    names = sorted({path.name for folder in (plain, by_tool) for path in folder.glob("*.template.json")})
    return Comparison(
        compared=len(names),
        different=tuple(name for name in names if _bytes(plain / name) != _bytes(by_tool / name)),
    )


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
