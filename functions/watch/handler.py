"""The watch: a minute rule starts it, it looks after what a dead process has left, and for ticks that nobody decides.

It ends early when nothing comes due before the next minute's is there.
"""

import asyncio
import os
from typing import Protocol

from tickwright.loops.ticks import TicksLoop
from tickwright.loops.watch import WatchLoop
from tickwright.services.buckets import serving_all
from tickwright.wiring.aws import kit_from_env

WOKEN_MS = 120_000  # minutes may be 119 s apart, since each may come anywhere in its minute
_KIT = kit_from_env(os.environ)
# It knows which order it moved on last: the next invocation begins behind that.
_LOOP = WatchLoop(_KIT, woken_ms=WOKEN_MS)
_RUNNER = asyncio.Runner()

LAST_LOOK_MS = 20_000  # kept for the look that is under way


class Context(Protocol):
    """What Lambda says of the invocation."""

    def get_remaining_time_in_millis(self) -> int:
        """How long it may still take."""
        ...


def lambda_handler(_event: object, context: Context) -> None:
    """Look until the time is nearly up; the next minute's is there by then."""
    _RUNNER.run(_loop(context.get_remaining_time_in_millis() - LAST_LOOK_MS))


async def _loop(duration_ms: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(duration_ms / 1_000, stop.set)
    _LOOP.kit = await serving_all(_KIT)
    await asyncio.gather(_LOOP.run(stop), TicksLoop(_LOOP.kit).look(stop))
