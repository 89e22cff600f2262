"""How much memory one call may take in a child.

A guard against accidents, not against malice: the code could raise the limit again. Linux alone holds to it; a map
that several programs share is not counted. Must not know who is bounded. Promise: SEM-SDK-8.
"""

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

IS_ENFORCED = sys.platform == "linux"
_AT_REST = re.compile(r"^VmData:\s+(\d+) kB$", re.MULTILINE)


@contextlib.contextmanager
def bounded(memory_mb: int | None) -> Iterator[None]:
    """Let what runs inside take so much more data than there is now; then it meets a MemoryError."""
    if memory_mb is None or not IS_ENFORCED:
        yield
        return
    import resource  # noqa: PLC0415 - not on every system

    # The data segment, and not the address space: a file that is mapped to be read takes none of it.
    was, most = resource.getrlimit(resource.RLIMIT_DATA)
    reserve = [bytearray(1 << 20)]  # what it takes to lift the limit when all else is taken
    resource.setrlimit(resource.RLIMIT_DATA, (_at_rest_bytes() + (memory_mb << 20), most))
    try:
        yield
    finally:
        reserve.clear()
        resource.setrlimit(resource.RLIMIT_DATA, (was, most))


def _at_rest_bytes() -> int:
    found = _AT_REST.search(Path("/proc/self/status").read_text())
    return 0 if found is None else int(found[1]) << 10
