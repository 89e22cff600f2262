"""After the zone rules have changed: every head of a bucket is looked at once and aimed by the new ones.

A tick that is due anyway is aimed before it is decided (renew.py); this finds those that the new rules make due
earlier than the index says. Dying at any point loses nothing: the next owner begins anew. Promise: SEM-TZ-1.
"""

from dataclasses import dataclass
from typing import Final

from tickwright.domain.events import EventName
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.lanes import LANES
from tickwright.domain.pending import is_switch_due
from tickwright.ports.faults import Unavailable
from tickwright.services.kit import Kit
from tickwright.services.renew import renewed

_HEADS_A_LOOK: Final = 200
_ALL: Final = Instant((1 << 53) - 1)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a bucket has been aimed: which lane, and after which head of it."""

    lane: int
    after_key: str | None


FROM_THE_FIRST: Final = Progress(0, None)


async def aim_some(kit: Kit, bucket: int, progress: Progress) -> Progress | None:
    """Aim the next heads of a bucket; where to go on, or None when all have been looked at."""
    after_key, left = progress.after_key, _HEADS_A_LOOK
    for number in range(progress.lane, len(LANES)):
        page = await kit.store.due_eventually(bucket, LANES[number], until=_ALL, limit=left, after_key=after_key)
        for head in page.items:
            await _aim(kit, head)
        left -= len(page.items)
        after_key = page.next_key
        if after_key is not None or left <= 0:
            return Progress(number, after_key) if after_key is not None else Progress(number + 1, None)
    return None


async def _aim(kit: Kit, head: Head) -> None:
    try:
        if not is_switch_due(head):
            await renewed(kit, head)
    except Unavailable:
        raise
    except Exception as fault:  # noqa: BLE001 - one job whose zone is gone must not stop the others (B094)
        kit.emit(EventName.TICK_POISONED, jobId=head.job_id, fault=type(fault).__name__)
