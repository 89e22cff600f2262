"""Where an installation is deployed: a local AWS of its own, a folder of its own, and the programs started in it.

Whatever ends this program (also a signal, also SIGKILL) ends what it has started. Must not know what is deployed.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TypeVar

from tests.deploy.app import REGION
from tests.support.emulators.engines import start_ministack
from tests.support.emulators.server import Emulator

ROOT = Path(__file__).resolve().parents[2]
_NOT_OURS = ("AWS_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "PYTHON", "TICKWRIGHT_", "CDK_", "PYTEST_", "MAKE")
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_STOP_S = 5
_POLL_S = 0.3
_TAIL = 3_000

AnswerT = TypeVar("AnswerT")


class Missed(Exception):  # noqa: N818 - says what happened
    """Something that was expected has not come, or is not as expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The local AWS, and the folder in which everything of this test lies."""

    aws: Emulator
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """For programs that are to see this AWS alone: invented credentials, and nothing of the user's."""
        kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(_NOT_OURS)}
        return kept | {
            "AWS_ENDPOINT_URL": self.aws.endpoint,
            "AWS_ENDPOINT_URL_S3": self.aws.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1,localhost",
            "TMPDIR": str(self.folder / "tmp"),
            "PYTHONTZPATH": "",
        }


@contextmanager
def a_ground() -> Iterator[Ground]:
    """A local AWS in a folder; both are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="tickwright-deploy-"))
    temporary = folder / "tmp"
    temporary.mkdir()
    # ministack leaves the functions' code behind in its temporary folder: here it goes with the rest.
    os.environ["TMPDIR"] = str(temporary)
    try:
        aws = start_ministack()
        try:
            yield Ground(aws=aws, folder=folder)
        finally:
            # From here on nothing is to be done but to clean up, which a signal must not cut off.
            heed(signal.SIG_IGN)
            aws.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def heed(answer: Callable[[int, FrameType | None], object] | signal.Handlers) -> None:
    """What becomes of a signal to end."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, answer)


@contextmanager
def program(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A program with all that it starts, for as long as it is needed; what it prints goes to the log."""
    with log.open("ab") as printed:
        started = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_the_parent,  # noqa: PLW1509 - the one thread that forks here holds nothing
        )
        try:
            yield started
        finally:
            end(started)


def end(started: subprocess.Popen[bytes]) -> None:
    """Ask the program's group to end, and make it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if started.poll() is not None:
            break
        os.killpg(started.pid, number)
        try:
            started.wait(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            continue


def done(command: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path, within_s: float) -> None:
    """Let a program do its work; raises Missed, which names its log, if it fails or takes too long."""
    with program(command, cwd=cwd, env=env, log=log) as started:
        try:
            status = started.wait(timeout=within_s)
        except subprocess.TimeoutExpired as late:
            raise Missed(f"{Path(command[0]).name} took over {within_s:.0f} s: {log.name}") from late
    if status != 0:
        raise Missed(f"{Path(command[0]).name} {command[1]} ended with {status}: {log.name}")


def tail(log: Path) -> str:
    """The end of a log."""
    return log.read_bytes()[-_TAIL:].decode(errors="replace") if log.is_file() else "(nothing)"


def until(what: str, ask: Callable[[], AnswerT | None], *, within_s: float) -> AnswerT:
    """Ask until there is an answer; raises Missed, with what is not there, after so long."""
    give_up_at = time.monotonic() + within_s
    while True:
        if answer := ask():
            return answer
        if time.monotonic() > give_up_at:
            raise Missed(f"not within {within_s:.0f} s: {what}")
        time.sleep(_POLL_S)


def expect(claim: str, found: object, expected: object) -> None:
    """What is found has to be what was expected."""
    if found != expected:
        raise Missed(f"{claim}: expected {expected!r}, found {found!r}")


def _die_with_the_parent() -> None:
    """Linux ends the child when whoever started it is gone, in whatever way."""
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
