"""Run one server for as long as somebody holds the other end of standard input: `keeper.py PROGRAM ARGUMENTS...`.

The tests start this instead of the server. When they end, in whatever way (also by SIGKILL, where no exit handler
runs), the pipe closes, and the server's whole process group goes, and the folder it ran in. Standard library only.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

STOP_GRACE_S = 5


def main() -> int:
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    parent_is_gone = threading.Event()
    watcher = threading.Thread(target=_stop_with_the_parent, args=(server, parent_is_gone), daemon=True)
    watcher.start()
    status = server.wait()
    if parent_is_gone.is_set():
        watcher.join()
        shutil.rmtree(Path.cwd(), ignore_errors=True)
    return status


def _stop_with_the_parent(server: subprocess.Popen[bytes], parent_is_gone: threading.Event) -> None:
    sys.stdin.buffer.read()
    parent_is_gone.set()
    _signal_group(server.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(timeout=STOP_GRACE_S)
    _signal_group(server.pid, signal.SIGKILL)


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main())
