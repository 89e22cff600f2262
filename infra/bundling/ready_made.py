"""What Python would compile at each start, compiled when a layer is packed (tickwright.ready_made reads it).

Must not know a class or a pattern: modules are imported once, by the interpreter that the layer is for, and what is
compiled is written down. For the library's dataclasses third-party packages are stood in for: they may be for another
machine, and what a class compiles depends on the names of its fields alone.
"""

import logging
import subprocess
from pathlib import Path

_LOG = logging.getLogger(__name__)
_DATACLASSES = Path(__file__).with_name("record_dataclasses.py")
_PATTERNS = Path(__file__).with_name("record_patterns.py")


def bring_dataclasses(library: Path, *, interpreter: str) -> None:
    """Write the methods of dataclasses into the package `tickwright` of a folder."""
    if missing := _run(_DATACLASSES, library, interpreter):
        _LOG.warning("not recorded, and so compiled at each cold start: %s", missing)


def bring_patterns(packages: Path, *, interpreter: str) -> None:
    """Write the regular expressions of the AWS client into a folder of packages."""
    _run(_PATTERNS, packages, interpreter)


def _run(script: Path, folder: Path, interpreter: str) -> str:
    said = subprocess.run(  # noqa: S603 - a fixed argument list
        # Alone with the folder: neither this machine's packages nor its environment have a say.
        [interpreter, "-I", "-S", "-B", str(script), str(folder)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return said.stdout.strip()
