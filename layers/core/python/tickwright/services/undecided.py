"""Finds the ticks of a bucket that are due, could be decided, and are not: whatever the cause, they are told of.

The due index says where to look, a strong read whether it is so. Must not know who serves the bucket, nor whether
anybody does. Promise: SEM-BUCKET-5.
"""

from collections.abc import Sequence

from tickwright.domain.events import EventName
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.lanes import LANES, Lane
from tickwright.domain.pending import is_switch_due
from tickwright.domain.schedules import Calendar, from_compact
from tickwright.domain.undecided import could_be_decided, left_since
from tickwright.ports.faults import Unavailable
from tickwright.services.kit import Kit

# Past heads that nobody can decide, or not yet at their rate: they must not hide those behind them. So many of a lane.
_PAGE, _PAGES_A_LOOK = 25, 20


async def tell_of_ticks_left(kit: Kit, bucket: int) -> int:
    """One event of a bucket that has any, with how long one is left: the first in each lane, of these the longest.

    In how many lanes there are such.
    """
    now = kit.clock.now()
    since = Instant(now - kit.durations.undecided_ms)
    left = [head for lane in LANES if (head := await _first_left(kit, bucket, lane, since)) is not None]
    if left:
        longest = min(left, key=left_since)
        waited_ms = now - left_since(longest)
        kit.emit(EventName.TICK_WAITS, measured={"waitedMs": waited_ms}, bucket=str(bucket), jobId=longest.job_id)
    return len(left)


async def _first_left(kit: Kit, bucket: int, lane: Lane, since: Instant) -> Head | None:
    after_key: str | None = None
    for _ in range(_PAGES_A_LOOK):
        page = await kit.store.due_eventually(bucket, lane, until=since, limit=_PAGE, after_key=after_key)
        for head in await _as_they_are(kit, page.items, since):
            if await _is_left(kit, head, since):
                return head
        if (after_key := page.next_key) is None:
            break
    return None


async def _as_they_are(kit: Kit, shown: Sequence[Head], since: Instant) -> Sequence[Head]:
    """Those that the index shows as left, and that still are due: it may lag behind their decisions."""
    found = [head.job_id for head in shown if left_since(head) <= since]
    heads = await kit.store.heads(found) if found else {}
    return [head for job_id in found if (head := heads.get(job_id)) is not None and head.next_run_at is not None]


async def _is_left(kit: Kit, head: Head, since: Instant) -> bool:
    if left_since(head) > since:
        return False
    try:
        if is_switch_due(head):
            return await _knows_its_edit(kit, head)
        calendars = await _calendars(kit, head)
        return could_be_decided(head, at=since, missed_after_ms=kit.durations.missed_after_ms, calendars=calendars)
    except Unavailable:
        raise
    except Exception:  # noqa: BLE001 - whoever serves the bucket meets it too, and announces it: nobody can decide it
        return False


async def _knows_its_edit(kit: Kit, head: Head) -> bool:
    """In a copy of the tables the version may lack for which the job waits: it stops there."""
    assert head.pending_version is not None
    return await kit.store.definition(head.job_id, head.pending_version) is not None


async def _calendars(kit: Kit, head: Head) -> Sequence[Calendar]:
    names = from_compact(head.schedule).calendars
    found = await kit.store.calendars(head.tenant_id, names) if names else {}
    return [found[name] for name in names]
