"""Compiled files for a layer: they halve the time that a cold start takes to import.

Must not decide what is in the layer. Only the interpreter that will import may compile; without one on this machine the
layer is complete but slower to start, and a line says so.
"""

import logging
import os
import shutil
import subprocess
from pathlib import Path

_LOG = logging.getLogger(__name__)


def compile_for_lambda(python_folder: Path, *, python: str) -> bool:
    """Compile in place with that version; whether it was done."""
    interpreter = interpreter_of(python)
    if interpreter is None:
        _LOG.warning("python%s is not on this machine: the layer ships without compiled files", python)
        return False
    # The archive gives every file the same date, which a checked file would never match: nothing is checked. The path
    # is the one in Lambda.
    subprocess.run(  # noqa: S603 - a fixed argument list
        [
            *(interpreter, "-m", "compileall", "-q"),
            *("-s", str(python_folder), "-p", "/opt/python"),
            *("--invalidation-mode", "unchecked-hash", str(python_folder)),
        ],
        check=True,
    )
    return True


def interpreter_of(python: str) -> str | None:
    """The first interpreter of the version that really starts: a version manager's stand-in may not."""
    for candidate in (shutil.which(f"python{python}"), *map(str, _kept_by_pyenv(python))):
        if candidate is not None and _version(candidate) == python:
            return candidate
    return None


def _kept_by_pyenv(python: str) -> list[Path]:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return sorted(root.glob(f"versions/{python}.*/bin/python{python}"))


def _version(interpreter: str) -> str | None:
    asked = subprocess.run(  # noqa: S603 - a fixed argument list
        [interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        check=False,
        capture_output=True,
        text=True,
    )
    return asked.stdout.strip() if asked.returncode == 0 else None
