"""Where Lambda unpacks a function: /var/task, /opt, and its own runtime, read-only, in a mount namespace of its own.

Nothing of this repository, of its environment or of the interpreter's site-packages is on the path there, and nothing
of what is mounted can be seen from outside.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.packaging.assembly import Packed, archive
from tests.support.emulators.installed import HOME

RUNTIME = HOME / "lambda-runtime"
# Root of this machine, or root of a user namespace where the kernel lets anybody have one.
_UNSHARE = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "--mount")
# The second mount takes the first along, so that each may hide where the other came from.
_MOUNT = """
set -e
mount --bind "$RUNTIME" "$ROOT/var/runtime"
mount --bind -o remount,ro,bind "$ROOT/var/runtime"
mount --bind "$OPT" /opt
mount --bind -o remount,ro,bind /opt
mount --rbind "$ROOT/var" /var
mount --bind -o remount,ro,bind /var
cd /var/task
unset RUNTIME ROOT OPT
exec "$@"
"""
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
# The one that virtual environments stand upon: it has no packages of theirs.
INTERPRETER = str(Path(sys.base_prefix, "bin", f"python{_VERSION}").resolve())
LIBRARY = str(Path(os.__file__).resolve().parent)
# As Lambda's images set it. Whoever starts a handler puts its own folder in front.
PATH_OF_LAYERS = f"/opt/python/lib/python{_VERSION}/site-packages:/opt/python:/var/runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """A function and its layers, out of their archives."""

    root: Path
    opt: Path
    handler: str

    def command(self, *arguments: str) -> list[str]:
        """The interpreter, there; without the module `site`, so with the path that it is given and no other."""
        return [*_UNSHARE, "sh", "-c", _MOUNT, "sh", INTERPRETER, "-S", *arguments]

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """What Lambda sets, and the function's own variables."""
        return {
            "PATH": os.environ["PATH"],
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "PYTHONPATH": PATH_OF_LAYERS,
            "LAMBDA_TASK_ROOT": "/var/task",
            "LAMBDA_RUNTIME_DIR": "/var/runtime",
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{_VERSION}",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_FUNCTION_NAME": "packed",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "_HANDLER": self.handler,
            **own,
            "ROOT": str(self.root),
            "OPT": str(self.opt),
            "RUNTIME": str(RUNTIME),
        }


def unpack(function: Packed, folder: Path) -> Unpacked:
    """Through archives, as Lambda gets them; functions with the same layers share what is unpacked of those."""
    opt = folder / "-".join(layer.name.removeprefix("asset.")[:12] for layer in function.layers)
    if not opt.exists():
        (opt / "python").mkdir(parents=True)
        for layer in function.layers:
            _unpack(layer, opt)
    root = folder / function.name
    (root / "var" / "runtime").mkdir(parents=True)
    _unpack(function.code, root / "var" / "task")
    return Unpacked(root=root, opt=opt, handler=function.handler)


def _unpack(content: Path, target: Path) -> None:
    packed = archive(content, target.parent / f"{content.name}.zip")
    with zipfile.ZipFile(packed) as archived:
        archived.extractall(target)
    packed.unlink()


def missing(folder: Path) -> str | None:
    """Say what a function cannot be started for here, or nothing."""
    if not RUNTIME.is_dir():
        return "the client of Lambda's runtime is not installed: make setup-emulators"
    if shutil.which("unshare") is None:
        return "there is no `unshare` here"
    hidden = [at for at in (INTERPRETER, LIBRARY) if at.startswith(("/opt/", "/var/"))]
    if hidden:
        return f"the interpreter is where Lambda unpacks functions: {hidden[0]}"
    (folder / "var" / "runtime").mkdir(parents=True)
    (folder / "var" / "task").mkdir()
    (folder / "opt").mkdir()
    tried = Unpacked(root=folder, opt=folder / "opt", handler="none")
    command: Sequence[str] = tried.command("-c", "pass")
    said = subprocess.run(command, env=tried.environment({}), capture_output=True, text=True, check=False)
    return None if said.returncode == 0 else f"no mount namespace may be made here: {said.stderr.strip()}"
