"""A worker as a program: it calls what its argument names, says so, and is then told to stop.

python -m tests.sdk.stopping deaf|spins|quick <file that says that it is at work> <seconds of grace>
"""

import asyncio
import sys
import time
from pathlib import Path

from tests.sdk.links import a_context
from tickwright_sdk import Context, Worker
from tickwright_sdk.worker import Shift

worker = Worker(grace_s=float(sys.argv[3]))


def _at_work() -> None:
    Path(sys.argv[2]).write_text("at work")


@worker.job("deaf")
def deaf(_payload: object, _ctx: Context) -> None:
    """Hear nothing, for ever."""
    _at_work()
    while True:
        time.sleep(60)


@worker.job("spins")
async def spins(_payload: object, _ctx: Context) -> None:
    """Hold up the loop of all async handlers, for ever."""
    _at_work()
    while True:
        time.sleep(60)  # noqa: ASYNC251 - what is not to be done


@worker.job("quick")
def quick(_payload: object, ctx: Context) -> None:
    """End once told."""
    _at_work()
    while not ctx.sleep(0.01):
        continue


async def transport(shift: Shift) -> None:
    """One call, which is let go of at the end of the grace."""
    job = shift.registry.named(sys.argv[1])
    assert job is not None
    running = asyncio.ensure_future(shift.hands.call(job, "null", a_context()))
    await shift.stop.wait()
    stopping = asyncio.ensure_future(shift.hurry.wait())
    await asyncio.wait({running, stopping}, timeout=shift.worker.grace_s, return_when=asyncio.FIRST_COMPLETED)
    print(  # noqa: T201 - a program's output
        "hurried" if shift.hurry.is_set() else "waited", flush=True
    )
    stopping.cancel()
    running.cancel()
    await asyncio.wait({running}, timeout=0.1)


if __name__ == "__main__":
    worker.run(transport)
