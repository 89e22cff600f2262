"""Handlers that are called in a child, one for each thing that may happen there."""

import os
import signal
import subprocess
import sys
import time
from typing import Any

from pydantic import BaseModel

from tickwright_sdk import Context, Fatal, Registry, RetryLater

registry = Registry()


class Sum(BaseModel):
    """A payload with a type of its own."""

    up_to: int


@registry.job("sum", process=True)
def add_up(payload: Sum, _ctx: Context) -> dict[str, int]:
    """Compute."""
    return {"sum": sum(range(payload.up_to)), "pid": os.getpid()}


@registry.job("where")
def where(payload: str | None, _ctx: Context) -> int:
    """Say in which process, or end it."""
    if payload == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


@registry.job("where-async")
async def where_async(payload: str | None, ctx: Context) -> int:
    """The same on a loop."""
    return where(payload, ctx)


@registry.job("awaits", process=True)
async def awaits(payload: str, ctx: Context) -> str:
    """An async one has a loop of its own."""
    await ctx.sleep_async(0.001)
    return payload + ctx.execution_id


@registry.job("ends", process=True)
def ends(payload: str, _ctx: Context) -> None:
    """End in some way."""
    match payload:
        case "fatal":
            raise Fatal("closed")
        case "later":
            raise RetryLater(30, "closed")
        case "exit":
            os._exit(7)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "SystemExit":
            sys.exit(3)
        case _:
            raise ValueError(payload)


@registry.job("environment", process=True)
def environment(_payload: object, _ctx: Context) -> list[str]:
    """What it has of the platform's names."""
    return sorted(name for name in os.environ if name.startswith("TICKWRIGHT_"))


@registry.job("notes", process=True)
def notes(_payload: object, ctx: Context) -> object:
    """Say much, and stop when told."""
    ctx.heartbeat(progress=0.5, checkpoint={"row": 1})
    ctx.log.warning("row %s", 1)
    print("printed")  # noqa: T201 - user code prints
    while not ctx.sleep(0.01):
        continue
    return ctx.cancel_reason


@registry.job("spins", process=True)
def spins(payload: str, _ctx: Context) -> None:
    """Compute for ever, with a child of its own that keeps the pipe open, and tell where."""
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], close_fds=False)
    with open(payload, "w") as file:  # noqa: PTH123 - short
        file.write(f"{os.getpid()} {started.pid}")
    while True:
        pass


@registry.job("grows", process=True, memory_mb=100)
def grows(payload: str, _ctx: Context) -> object:
    """Take memory without end, or a little."""
    if payload == "a little":
        return len(bytearray(40 << 20))
    kept: list[Any] = []
    while True:
        kept.append(bytearray(4 << 20) if payload == "blocks" else [object() for _ in range(1_000)])


@registry.job("hoards", process=True, memory_mb=60)
def hoards(_payload: object, _ctx: Context) -> None:
    """Keep what it takes where no frame holds it."""
    while True:
        HOARD.append(bytearray(1 << 20))


HOARD: list[bytearray] = []


@registry.job("waits", process=True)
def waits(payload: float, _ctx: Context) -> int:
    """Hear nothing."""
    time.sleep(payload)
    return os.getpid()
