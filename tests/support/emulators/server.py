"""One server that the tests start on a free loopback port, and that never outlives them."""

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

KEEPER = Path(__file__).with_name("keeper.py")
POLL_INTERVAL_S = 0.05
PORTS_MAX = 3
STOP_WAIT_S = 10
LOG = "log"
LOG_TAIL_BYTES = 4_000


class EmulatorFailedError(Exception):
    """The server did not come up; the message ends with what it printed."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to start, once its port is known."""

    command: Sequence[str]
    environment: Mapping[str, str]


@dataclass(slots=True)
class Emulator:
    """A running engine: its address, and the way to stop it. Stopping twice is harmless."""

    name: str
    endpoint: str
    folder: Path
    _keeper: subprocess.Popen[bytes] = field(repr=False)

    def stop(self) -> None:
        """End the server and everything it started, and remove its folder."""
        assert self._keeper.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._keeper.stdin.close()
        self._keeper.wait(timeout=STOP_WAIT_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def printed(self) -> str:
        """Return the last lines that the server wrote."""
        return (self.folder / LOG).read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")

    def has_ended(self) -> bool:
        return self._keeper.poll() is not None


def start(
    name: str,
    on_port: Callable[[int], Program],
    *,
    answers: Callable[[str], bool],
    start_s_max: float,
) -> Emulator:
    """Start the program and return once it answers; another port is tried when somebody took the first one."""
    printed = ""
    for _ in range(PORTS_MAX):
        port = _free_port()
        emulator = _launch(name, on_port(port), port)
        if _came_up(emulator, answers, start_s_max):
            return emulator
        printed = emulator.printed()
        emulator.stop()
        if "address already in use" not in printed.lower():
            break
    raise EmulatorFailedError(f"{name} did not come up within {start_s_max:.0f} s. It printed:\n{printed}")


def _launch(name: str, program: Program, port: int) -> Emulator:
    folder = Path(tempfile.mkdtemp(prefix=f"tickwright-{name}-"))
    with (folder / LOG).open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-S", str(KEEPER), *program.command],
            cwd=folder,
            env=dict(program.environment),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Emulator(name=name, endpoint=f"http://127.0.0.1:{port}", folder=folder, _keeper=keeper)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _came_up(emulator: Emulator, answers: Callable[[str], bool], start_s_max: float) -> bool:
    give_up_at = time.monotonic() + start_s_max
    while time.monotonic() < give_up_at and not emulator.has_ended():
        if answers(emulator.endpoint):
            return True
        time.sleep(POLL_INTERVAL_S)
    return False
