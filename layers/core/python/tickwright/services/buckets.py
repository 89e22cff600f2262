"""How many buckets are looked at: no fewer than any loop of this installation ever has had.

Each loop takes all buckets that it knows of, and the records of their leases stay: where the count was lowered, or
belongs to older code beside newer, what lies in the buckets beyond it is served all the same. Promise: SEM-BUCKET-3.
"""

import asyncio
from dataclasses import replace
from typing import Final, TypeVar

from tickwright.domain import limits
from tickwright.domain.events import EventName
from tickwright.ports.faults import Unavailable
from tickwright.services.kit import Kit

KitT = TypeVar("KitT", bound=Kit)
_AT_ONCE: Final = 16  # records read together: where the count stands as it was, these are all


async def serving_all(kit: KitT) -> KitT:
    """The kit for a loop that begins: with every bucket beyond its own count that a loop has served.

    A store that does not answer costs this beginning the buckets beyond, and never the loop.
    """
    try:
        return replace(kit, served=await ever_served(kit))
    except Unavailable as fault:
        kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, detail=str(fault)[:200])
        return kit


async def ever_served(kit: Kit) -> int:
    """How many buckets there are: those of the count, and those beyond it that a loop has had."""
    served = kit.buckets_read
    for start in range(kit.buckets_read, limits.BUCKETS_MAX, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, limits.BUCKETS_MAX))
        records = await asyncio.gather(*(kit.store.lease(number) for number in numbers))
        known = [record.bucket for record in records if record is not None]
        if not known:
            break
        served = max(known) + 1
    return served
