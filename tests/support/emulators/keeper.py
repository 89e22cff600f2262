"""Run one server for as long as somebody holds the other end of standard input: `keeper.py PROGRAM ARGUMENTS...`.

The tests start this instead of the server. When they end, in whatever way (also by SIGKILL, where no exit handler
runs), the pipe closes, and the server's whole process group goes with it. Standard library only.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading

STOP_GRACE_S = 5


def main() -> int:
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=_stop_with_the_parent, args=(server,), daemon=True).start()
    return server.wait()


def _stop_with_the_parent(server: subprocess.Popen[bytes]) -> None:
    sys.stdin.buffer.read()
    _signal_group(server.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(timeout=STOP_GRACE_S)
    _signal_group(server.pid, signal.SIGKILL)
    os._exit(0)


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main())
