"""The methods of the library's dataclasses, compiled when the layer is packed (tickwright.ready_made reads them).

Must not know a class: every module of the library is imported once, by the interpreter that the layer is for, and what
dataclasses compile is written down. Third-party packages are stood in for: they may be for another machine, and what a
class compiles depends on the names of its fields alone.
"""

import logging
import subprocess
from pathlib import Path

_LOG = logging.getLogger(__name__)
_RECORD = Path(__file__).with_name("record_dataclasses.py")


def bring_ready_made(library: Path, *, interpreter: str) -> None:
    """Write the file into the package `tickwright` of a folder."""
    said = subprocess.run(  # noqa: S603 - a fixed argument list
        # Alone with the folder: neither this machine's packages nor its environment have a say.
        [interpreter, "-I", "-S", "-B", str(_RECORD), str(library)],
        check=True,
        capture_output=True,
        text=True,
    )
    if said.stdout:
        _LOG.warning("not recorded, and so compiled at each cold start: %s", said.stdout.strip())
