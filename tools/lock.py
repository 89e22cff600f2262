"""Compile requirements/*.in and layers/deps/requirements.in into hashed locks: `python tools/lock.py [--upgrade]`.

One resolution serves all: dev.lock is compiled first and constrains the others, so a version is the same in the Lambda
layer, in `make run` and in the tests. ministack.lock stands apart because ministack pins its own botocore. A lock
holds versions and hashes, and no addresses.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEV = "requirements/dev"
CONSTRAINED = (
    "layers/deps/requirements",
    "requirements/aws",
    "requirements/local",
    "requirements/infra",
    "requirements/bootstrap",
    "requirements/node",
    "requirements/lambda",
)
APART = ("requirements/ministack", "requirements/models")
# The lowest Python that Tickwright runs on; --universal covers the newer ones (Lambda's among them) and every platform.
PYTHON = "3.11"


def main() -> int:
    extra = sys.argv[1:]
    compile_lock(DEV, extra)
    for name in CONSTRAINED:
        compile_lock(name, [*extra, "--constraint", f"{DEV}.lock"])
    for name in APART:
        compile_lock(name, extra)
    return 0


def compile_lock(name: str, extra: list[str]) -> None:
    options = ["--universal", "--generate-hashes", "--no-emit-index-url", "--no-annotate", "--no-header", "--quiet"]
    command = [
        str(ROOT / ".venv" / "bin" / "uv"), "pip", "compile", f"{name}.in", "--output-file", f"{name}.lock",
        "--python-version", PYTHON, *options, *extra,
    ]  # fmt: skip
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
