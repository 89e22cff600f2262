"""The look for ticks that nobody decides: once a minute, in every bucket, whoever serves it.

A shell around services/undecided.py: it only reads, so any number may look, and none needs a lease. Promise:
SEM-BUCKET-5.
"""

import asyncio
from dataclasses import dataclass, field

from tickwright.domain.events import EventName
from tickwright.loops.waiting import sleep_or_stop
from tickwright.ports.faults import Unavailable
from tickwright.services.kit import Kit
from tickwright.services.undecided import tell_of_ticks_left

_AT_ONCE = 16  # buckets: as many as are usual are asked together, so that whoever is woken for it is soon done


@dataclass(slots=True)
class TicksLoop:
    """One who looks. Each look costs a query for each lane of each bucket."""

    kit: Kit
    _permits: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def run(self, stop: asyncio.Event) -> None:
        """Look each minute until `stop` is set."""
        while not stop.is_set():
            await self.look(stop)
            await sleep_or_stop(self.kit, stop, self.kit.durations.undecided_ms)

    async def look(self, stop: asyncio.Event) -> None:
        """Ask every bucket once, until `stop` is set. A sick store costs a look at a bucket, never the loop."""
        await asyncio.gather(*(self._look_at(bucket, stop) for bucket in range(self.kit.buckets_read)))

    async def _look_at(self, bucket: int, stop: asyncio.Event) -> None:
        async with self._permits:
            if stop.is_set():
                return
            try:
                await tell_of_ticks_left(self.kit, bucket)
            except Unavailable as fault:
                self.kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, bucket=str(bucket))
            except Exception as fault:  # noqa: BLE001 - it is announced, and the other buckets are looked at
                name, detail = type(fault).__name__, str(fault)[:500]
                self.kit.emit(EventName.LOOP_BROKE, bucket=str(bucket), fault=name, detail=detail)
