"""Import a tenant that was exported: each record is put where there is none, so an import may be repeated or go on.

What is there already stays as it is, whatever the record says. A job is there with its head: its versions are written
before it, and its name with it. Promise: SEM-TENANT-4.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import assert_never

from tickwright.domain.changes.calendars import PutCalendar, PutCalendarVersion
from tickwright.domain.changes.heads import PutDefinition, PutHead
from tickwright.domain.exports import (
    CalendarVersion,
    Closing,
    JobExport,
    Opening,
    Record,
    without_secret_values,
)
from tickwright.domain.ids import TenantId
from tickwright.domain.imports import imported_head, misfit, unfit
from tickwright.domain.jobs import Definition, Head
from tickwright.domain.outcomes import Refusal
from tickwright.domain.pools import Pool, standing
from tickwright.domain.tenants import NameRecord, PutName
from tickwright.domain.webhooks import FIRST, PutRotation, Rotation
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.store import Applied, Unknown
from tickwright.services.calendars import has_all_it_may
from tickwright.services.kit import Kit
from tickwright.services.pools import put_pool


class Imported(Enum):
    """What came of a record."""

    MADE = "made"
    THERE = "there already"
    PAUSED = "made, and paused: it lacks its secrets"
    NAME_TAKEN = "not made: another job has its name"
    ANOTHERS = "not made: another tenant has a job of its id"
    REFUSED = "not made"
    DIFFERS = "not made: other versions of it stand there, of an import that was cut off; finish that one"
    FOREIGN = "not made: it is not of this tenant, or does not hold together"
    UNFIT = "not made: the API would refuse it"


async def import_record(kit: Kit, tenant_id: TenantId, record: Record) -> Imported | None:
    """One record of this tenant, in the order of the export; None of those that stand for nothing."""
    if misfit(record, tenant_id) is not None:
        return Imported.FOREIGN
    if unfit(record) is not None:
        return Imported.UNFIT
    match record:
        case Opening() | Closing():
            return None
        case Rotation():
            return await _rotation(kit, record)
        case Pool():
            return await _pool(kit, record)
        case CalendarVersion():
            return await _calendar(kit, record)
        case JobExport():
            return await _job(kit, record)
        case _:
            assert_never(record)


async def _rotation(kit: Kit, exported: Rotation) -> Imported:
    """Secrets follow from the number and the key."""
    seen = await kit.store.webhook_rotation(exported.tenant_id)
    first = FIRST if seen is None else seen.number
    if exported.number <= first:
        return Imported.THERE
    outcome = await kit.store.write(PutRotation(rotation=exported, over=first))
    return Imported.MADE if isinstance(outcome, Applied) else Imported.THERE


async def _pool(kit: Kit, pool: Pool) -> Imported:
    there = await kit.store.pool(pool.tenant_id, pool.name)
    if standing(there) is not None:
        return Imported.THERE
    put = await put_pool(kit, pool.tenant_id, pool.name, pool.description)
    return Imported.REFUSED if isinstance(put, Refusal) else Imported.MADE


async def _calendar(kit: Kit, version: CalendarVersion) -> Imported:
    """The version, and then that it is the one that stands: cut off between the two, the second is put next time.

    Of one that stands, the next versions are its tenant's to write: none comes from elsewhere.
    """
    calendar = version.calendar
    if calendar.name in await kit.store.calendars(calendar.tenant_id, [calendar.name]):
        return Imported.THERE
    kept = await kit.store.calendar_versions(calendar.tenant_id, calendar.name, [calendar.version])
    await kit.store.write(PutCalendarVersion(calendar=calendar))
    if version.stands:
        if await has_all_it_may(kit, calendar.tenant_id):
            return Imported.REFUSED
        await kit.store.write(PutCalendar(calendar=calendar))
    return Imported.THERE if kept else Imported.MADE


async def _job(kit: Kit, exported: JobExport) -> Imported:
    """The versions, and then the head with its name: until that is there, the job is not."""
    head = imported_head(exported, buckets=kit.buckets)
    if (there := await _there(kit, head)) is not None:
        return there
    name = NameRecord(tenant_id=head.tenant_id, name=head.listed_as, job_id=head.job_id) if head.has_name else None
    if name is not None and PutName(record=name).decide(await kit.store.named(name.tenant_id, name.name)) is None:
        return Imported.NAME_TAKEN
    export = await _as_it_stands(kit, exported)
    if export is None:
        return Imported.DIFFERS
    head = imported_head(export, buckets=kit.buckets)
    named = [] if name is None else [PutName(record=name)]
    outcomes = await kit.store.write_together([PutHead(head=head), *named])
    if not all(isinstance(outcome, Applied) for outcome in outcomes):
        return await _there(kit, head) or Imported.NAME_TAKEN
    return Imported.PAUSED if export.lacks_secrets else Imported.MADE


async def _there(kit: Kit, head: Head) -> Imported | None:
    """Whether a job of this id is there, and whose."""
    there = await kit.store.head(head.job_id)
    if there is None:
        return None
    return Imported.THERE if there.tenant_id == head.tenant_id else Imported.ANOTHERS


async def _as_it_stands(kit: Kit, export: JobExport) -> JobExport | None:
    """Write its versions. Those of an import that was cut off stand already, and count; None if they are not its own.

    That import may have brought masks, or this one: then the job lacks its secrets.
    """
    stand = await _definitions(kit, export.definitions)
    if stand == export.definitions:
        return export
    standing = replace(export, definitions=stand, lacks_secrets=True)
    shown = [without_secret_values(one).definitions for one in (standing, export)]
    return standing if shown[0] == shown[1] else None


async def _definitions(kit: Kit, definitions: Sequence[Definition]) -> tuple[Definition, ...]:
    """Put each where there is none; what stands now."""
    outcomes = await kit.store.write_each([PutDefinition(definition=one) for one in definitions])
    if any(isinstance(outcome, Unknown) for outcome in outcomes):
        raise StoreUnavailable("not every version of a job is known to be written")
    stand = [await kit.store.definition(one.job_id, one.version) for one in definitions]
    return tuple(one for one in stand if one is not None)
