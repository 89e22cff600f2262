"""Brings up the processes of a run by forking itself.

A process that is killed is back within milliseconds, whatever the machine does. `python -m tests.chaos.nursery` takes
orders as lines of JSON on stdin and says on stdout what becomes of its children: started, frozen, thawed, ended. When
its own parent is gone it kills them all. Must not know why anybody is struck.
"""

import asyncio
import gc
import json
import os
import select
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from tests.chaos.child import Settings, main

_LOOK_S = 0.01
_LOOKS = os.WNOHANG | os.WUNTRACED | os.WCONTINUED


class Nursery:
    """The children by their pids."""

    def __init__(self) -> None:
        """None yet."""
        self._members: dict[int, str] = {}

    def serve(self) -> None:
        """Take orders until stdin ends."""
        waiting = b""
        try:
            while True:
                self._look()
                if not select.select([0], [], [], _LOOK_S)[0]:
                    continue
                if not (read := os.read(0, 65_536)):
                    return
                *lines, waiting = (waiting + read).split(b"\n")
                for line in lines:
                    self._obey(json.loads(line))
        finally:
            for pid in self._members:
                os.kill(pid, signal.SIGKILL)

    def _obey(self, order: dict[str, Any]) -> None:
        if "start" in order:
            self._start(Settings.load(order["start"]))
            return
        for pid, member in self._members.items():
            if member == order["member"]:
                with suppress(ProcessLookupError):
                    os.kill(pid, order["signal"])

    def _start(self, settings: Settings) -> None:
        if (pid := os.fork()) == 0:
            _live(settings)
        self._members[pid] = settings.member
        _say(settings.member, "started")

    def _look(self) -> None:
        """What has become of whom since the last look."""
        while self._members:
            pid, status = os.waitpid(-1, _LOOKS)
            if pid == 0:
                return
            member = self._members[pid]
            if os.WIFSTOPPED(status):
                _say(member, "frozen")
            elif os.WIFCONTINUED(status):
                _say(member, "thawed")
            else:
                del self._members[pid]
                _say(member, "ended", os.waitstatus_to_exitcode(status))


def _say(member: str, what: str, status: int = 0) -> None:
    os.write(1, json.dumps({"member": member, "what": what, "status": status}).encode() + b"\n")


def _live(settings: Settings) -> NoReturn:
    """What a child does: its own files, then its loops."""
    status = 1
    try:
        _own_files(settings.folder / f"{settings.member}.stderr")
        status = asyncio.run(main(settings))
    except BaseException:  # noqa: BLE001 - a child never returns into the loop of its parent; the supervisor reads why
        traceback.print_exc()
    finally:
        os._exit(status)


def _own_files(errors: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(os.open(errors, os.O_CREAT | os.O_WRONLY | os.O_APPEND), 2)


if __name__ == "__main__":
    gc.collect()
    gc.freeze()  # what is shared with the children stays shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the parent, which ends everybody
    Nursery().serve()
    sys.exit(0)
