"""Which of a tenant's next ticks new zone rules have moved, or will move when the scheduler comes by.

Read from the heads alone, a page at a time: what a head was due at before is kept on it until its next change.
Promise: SEM-TZ-2.
"""

from dataclasses import dataclass

from tickwright.domain.events import EventName
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.pending import aim_of
from tickwright.domain.schedules import tzdata_version
from tickwright.ports.store import Listing
from tickwright.services.kit import Kit


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneChange:
    """One job's next tick, before and under today's rules."""

    head: Head
    was: Instant
    tzdata_was: str
    now: Instant | None


async def zone_changes(
    kit: Kit, tenant_id: TenantId, *, limit: int, after_key: str | None = None
) -> Listing[ZoneChange]:
    """The changes among a tenant's next so many jobs; a page may be empty and have a next one."""
    page = await kit.store.jobs_eventually(tenant_id, limit=limit, after_key=after_key)
    heads = await kit.store.heads(page.items)
    mine = [head for job_id in page.items if (head := heads.get(job_id)) is not None and head.tenant_id == tenant_id]
    return Listing(items=[found for head in mine if (found := _change_of(kit, head))], next_key=page.next_key)


def _change_of(kit: Kit, head: Head) -> ZoneChange | None:
    try:
        return change_of(head)
    except Exception as fault:  # noqa: BLE001 - one job whose zone is gone must not hide the others (B094)
        kit.emit(EventName.TICK_POISONED, jobId=head.job_id, fault=type(fault).__name__)
        return None


def change_of(head: Head) -> ZoneChange | None:
    """What today's rules change about a job, done or still to be done; None where they change nothing."""
    aim = aim_of(head)
    if head.next_run_at is not None and aim != head.next_run_at:
        return ZoneChange(head=head, was=head.next_run_at, tzdata_was=head.tzdata, now=aim)
    moved = head.aimed_from
    if moved is None or head.tzdata != tzdata_version():
        return None
    return ZoneChange(head=head, was=moved.was, tzdata_was=moved.tzdata, now=head.next_run_at)
