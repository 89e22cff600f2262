"""The handlers that the tests' machine of the fleet brings: they note that they began, in a folder of the test."""

import asyncio
import os
import threading
from pathlib import Path

from tickwright_sdk.context import Context
from tickwright_sdk.handlers import Registry

FOLDER = "TESTS_FLEET_FOLDER"
worker = Registry()


def begun(ctx: Context) -> int:
    """Note a beginning; how many there have been of this execution, this one among them."""
    folder = Path(os.environ[FOLDER])
    (folder / f"{ctx.execution_id}.{ctx.lease_epoch}").touch()
    return len(list(folder.glob(f"{ctx.execution_id}.*")))


@worker.job("quick")
def quick(payload: object, ctx: Context) -> object:
    """Ends at once."""
    begun(ctx)
    return payload


@worker.job("slow")
async def slow(payload: float, ctx: Context) -> float:
    """Ends after so many seconds."""
    begun(ctx)
    await asyncio.wait({asyncio.get_running_loop().create_future()}, timeout=payload)
    return payload


@worker.job("deaf")
def deaf(payload: object, ctx: Context) -> object:
    """Hears no wish to stop the first time, and never ends then; the second time it ends at once."""
    if begun(ctx) == 1:
        threading.Event().wait()
    return payload
