"""The programs of the demonstration, each started on a free loopback port and ended with it."""

import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
JAR = ROOT / ".emulators" / "dynamodb-local" / "DynamoDBLocal.jar"
PATIENCE_S = 120.0  # a busy machine starts an interpreter in seconds; past this something is broken


class Missing(Exception):  # noqa: N818 - says what is the matter
    """What a program needs is not on this machine."""


class Stuck(Exception):  # noqa: N818 - says what is the matter
    """What was waited for did not come."""


@dataclass(slots=True)
class Program:
    """A program that runs, and the lines that it prints."""

    name: str
    started: "subprocess.Popen[str]"
    said: "queue.Queue[str]" = field(default_factory=queue.Queue)

    @classmethod
    def start(
        cls, name: str, command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
    ) -> Self:
        """Start it, in a folder of its own where it leaves files about; what it prints is gathered in a thread."""
        started = subprocess.Popen(  # noqa: S603 - commands of ours
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | dict(environment),
            cwd=folder,
        )
        program = cls(name, started)
        threading.Thread(target=program._gather, daemon=True).start()
        return program

    def _gather(self) -> None:
        assert self.started.stdout is not None
        for line in self.started.stdout:
            self.said.put(line.rstrip())

    def line(self) -> str:
        """The next line. Raises Stuck."""
        try:
            return self.said.get(timeout=PATIENCE_S)
        except queue.Empty:
            raise Stuck(f"{self.name} says nothing more") from None

    def event(self) -> dict[str, Any]:
        """The next thing that a worker says. Raises Stuck."""
        said: dict[str, Any] = json.loads(self.line())
        return said

    def freeze(self) -> None:
        """Stop it where it is: not a thread of it takes a step."""
        self.started.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on; to itself no time has passed."""
        self.started.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Kill it, frozen or not."""
        self.started.kill()
        self.started.wait(timeout=PATIENCE_S)


def start_tickwright(folder: Path, *, scale: float) -> tuple[Program, str, str]:
    """The whole product in one program; where it is, and its demo tenant's key."""
    options = ["--port", "0", "--data", str(folder / "tickwright"), "--no-demo", "--scale", str(scale)]
    program = Program.start("tickwright", [sys.executable, "-m", "tickwright.local", *options], _paths())
    url = program.line().split()[3].rstrip(",")
    return program, url, program.line().rpartition(" ")[2]


def start_worker(name: str, environment: Mapping[str, str]) -> Program:
    """One worker."""
    command = [sys.executable, "-m", "examples.billing.worker"]
    return Program.start(name, command, {**_paths(), **environment, "BILLING_WORKER": name})


def start_dynamodb() -> tuple[Program, str]:
    """DynamoDB Local, in memory; where it is. Raises Missing."""
    java = shutil.which("java")
    if java is None:
        raise Missing("Java is not installed")
    if not JAR.is_file():
        raise Missing("DynamoDB Local is not installed: make setup-emulators")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)]
    libraries = f"-Djava.library.path={JAR.parent / 'DynamoDBLocal_lib'}"
    command = [java, "-Xmx512m", "-XX:TieredStopAtLevel=1", libraries, "-jar", str(JAR), *options]
    program, endpoint = Program.start("dynamodb", command, {}, JAR.parent), f"http://127.0.0.1:{port}"
    until(lambda: _answers(endpoint), "DynamoDB Local answers")
    return program, endpoint


def until(true: Callable[[], object], what: str) -> None:
    """Wait until something is so. Raises Stuck."""
    end_s = time.monotonic() + PATIENCE_S  # noqa: TID251 - the demonstration is no part of the product
    while not true():
        if time.monotonic() > end_s:  # noqa: TID251 - as above
            raise Stuck(f"waited in vain until {what}")
        threading.Event().wait(0.1)


def _answers(endpoint: str) -> bool:
    try:
        urllib.request.urlopen(endpoint, timeout=2).close()  # noqa: S310 - a loopback address of ours
    except urllib.error.HTTPError:
        return True  # it refuses an empty request, in its own words
    except OSError:
        return False
    return True


def _paths() -> dict[str, str]:
    roots = (ROOT, ROOT / "layers" / "core" / "python", ROOT / "layers" / "sdk" / "python")
    return {"PYTHONPATH": os.pathsep.join(map(str, roots)), "PYTHONTZPATH": ""}
