"""Which epochs are handed out where a setting was lowered: those of the highest base that a scheduler has served with.

A process asks once, before its first claim: the record of the first bucket's lease says it, which some scheduler always
takes. Promise: SEM-EPOCH-3.
"""

from dataclasses import replace
from typing import Final, TypeVar

from tickwright.domain.epochs import Era
from tickwright.domain.events import EventName
from tickwright.domain.ids import Epoch
from tickwright.services.kit import Kit

KitT = TypeVar("KitT", bound=Kit)
_FIRST: Final = 0  # there is no installation without this bucket


async def in_force(kit: KitT) -> KitT:
    """The kit with the era that its installation has come to; raises StoreUnavailable: then nobody may claim."""
    if kit.noted is None:
        return kit
    if kit.noted.base is None:
        kit.noted.base = await _learnt(kit)
    return kit if kit.noted.base <= kit.era.base else replace(kit, era=Era(base=kit.noted.base))


async def _learnt(kit: Kit) -> Epoch:
    record = await kit.store.lease(_FIRST)
    noted = Epoch(0) if record is None else record.epoch_base
    if noted > kit.era.base:
        kit.emit(EventName.BASE_LOWERED, ours=str(kit.era.base), noted=str(noted))
    return noted
