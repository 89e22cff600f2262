"""The scheduler loop of one slot: a minute rule starts it, and it ticks until the next one is there.

If none comes, for a little over two minutes.
"""

import asyncio
import os
from typing import Protocol, TypedDict

from tickwright.loops.census import PulseLoop
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.services.buckets import serving_all
from tickwright.wiring.aws import scheduler_kit_from_env

_KIT = scheduler_kit_from_env(os.environ)
_RUNNER = asyncio.Runner()

LOOP_MS = 130_000  # minutes may be 119 s apart, since each may come anywhere in its minute
HAND_OVER_MS = 20_000  # kept for the step that is under way and for giving the buckets up


class Slot(TypedDict):
    """Which of the slots this is."""

    slot: int
    slots: int


class Context(Protocol):
    """What Lambda says of the invocation."""

    def get_remaining_time_in_millis(self) -> int:
        """How long it may still take."""
        ...


def lambda_handler(event: Slot, context: Context) -> None:
    """Tick until it is time to hand over."""
    _RUNNER.run(_loop(event, min(LOOP_MS, context.get_remaining_time_in_millis() - HAND_OVER_MS)))


async def _loop(event: Slot, duration_ms: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(duration_ms / 1_000, stop.set)
    # Fresh for each invocation, also for a second delivery of the same minute.
    crew = f"scheduler-{event['slot']}-"
    kit, owner = await serving_all(_KIT), f"{crew}{_KIT.entropy.token()}"
    scheduler = SchedulerLoop(kit, owner=owner, slot=event["slot"], slots=event["slots"], crew=crew)
    pulse = PulseLoop(_KIT, served=lambda: scheduler.served, held=lambda: len(scheduler.leases.mine))
    await asyncio.gather(_tick(scheduler, stop), pulse.run(stop))


async def _tick(scheduler: SchedulerLoop, stop: asyncio.Event) -> None:
    """And let its pulse end with it."""
    try:
        await scheduler.run(stop)
    finally:
        stop.set()
