"""Export a tenant: what is its own and open, record by record, read page by page while it goes on.

Each record is as it stood when it was read: whoever wants all of one instant stops the tenant first. Promise:
SEM-TENANT-4.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from tickwright.domain.exports import (
    CalendarVersion,
    Closing,
    JobExport,
    Opening,
    Record,
    without_secret_values,
)
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.jobs import Head
from tickwright.domain.pools import Pool, standing
from tickwright.domain.schedules import Calendar
from tickwright.services.kit import Kit

_PAGE: Final = 100
_LOOKS_MAX: Final = 10  # of a tenant that goes on making jobs; nobody's rename hides from all of them


async def export_tenant(
    kit: Kit, tenant_id: TenantId, *, with_secrets: bool = False, lost: list[JobId] | None = None
) -> AsyncIterator[Record]:
    """What jobs name comes before them, so that an import finds it there.

    `lost` takes the jobs that are left out because a recovery has left no version of them to run by.
    """
    count = 1
    yield Opening(tenant_id=tenant_id, exported_at=kit.clock.now())
    rotation = await kit.store.webhook_rotation(tenant_id)
    if rotation is not None:
        count += 1
        yield rotation
    async for pool in _pools(kit, tenant_id):
        count += 1
        yield pool
    async for version in _calendars(kit, tenant_id):
        count += 1
        yield version
    async for job in _jobs(kit, tenant_id, [] if lost is None else lost):
        count += 1
        yield job if with_secrets else without_secret_values(job)
    yield Closing(records=count)


async def _pools(kit: Kit, tenant_id: TenantId) -> AsyncIterator[Pool]:
    after_key: str | None = None
    while True:
        page = await kit.store.pools_of(tenant_id, limit=_PAGE, after_key=after_key)
        for pool in page.items:
            if standing(pool) is not None:
                yield pool
        if (after_key := page.next_key) is None:
            return


async def _calendars(kit: Kit, tenant_id: TenantId) -> AsyncIterator[CalendarVersion]:
    after_key: str | None = None
    while True:
        page = await kit.store.calendars_of(tenant_id, limit=_PAGE, after_key=after_key)
        for calendar in page.items:
            async for version in _versions(kit, calendar):
                yield version
        if (after_key := page.next_key) is None:
            return


async def _versions(kit: Kit, calendar: Calendar) -> AsyncIterator[CalendarVersion]:
    """A hundred at a time: each may have 32 KB."""
    for first in range(1, calendar.version, _PAGE):
        numbers = range(first, min(first + _PAGE, calendar.version))
        found = await kit.store.calendar_versions(calendar.tenant_id, calendar.name, numbers)
        for number in sorted(found):
            yield CalendarVersion(calendar=found[number], stands=False)
    yield CalendarVersion(calendar=calendar, stands=True)


async def _jobs(kit: Kit, tenant_id: TenantId, lost: list[JobId]) -> AsyncIterator[JobExport]:
    """A job that is renamed meanwhile may pass from before a look to behind it: looked for until none is new."""
    seen = set[JobId]()
    for _ in range(_LOOKS_MAX):
        count = len(seen)
        async for job_ids in _unseen(kit, tenant_id, seen):
            heads = await kit.store.heads(job_ids)
            for head in [heads[job_id] for job_id in job_ids if job_id in heads and heads[job_id].is_open]:
                if (export := await _job(kit, head)).is_whole:
                    yield export
                else:
                    lost.append(head.job_id)
        if len(seen) == count:
            return


async def _unseen(kit: Kit, tenant_id: TenantId, seen: set[JobId]) -> AsyncIterator[Sequence[JobId]]:
    """By name; what is shown is seen."""
    after_key: str | None = None
    while True:
        page = await kit.store.jobs_eventually(tenant_id, limit=_PAGE, after_key=after_key)
        if new := [job_id for job_id in page.items if job_id not in seen]:
            seen.update(new)
            yield new
        if (after_key := page.next_key) is None:
            return


async def _job(kit: Kit, head: Head) -> JobExport:
    """With all its versions: the newest says what all of them hide."""
    found = [await kit.store.definition(head.job_id, version) for version in range(1, head.newest_version + 1)]
    return JobExport(head=head, definitions=tuple(one for one in found if one is not None))
