"""The calendars that a schedule names, as they stand now; refused where a new name is of none, or of a retired one.

A job keeps the names that it has, so that nothing begins to fire because a list was taken away. Promise: SEM-CAL-5.
"""

from collections.abc import Collection

from tickwright.domain.calendar_rules import unknown_refusal
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Refusal
from tickwright.domain.schedules import Calendar, Schedule, from_compact
from tickwright.services.jobs import head_of
from tickwright.services.kit import Kit


async def calendars_named(
    kit: Kit, tenant_id: TenantId, schedule: Schedule, *, kept: Collection[str] = ()
) -> dict[str, Calendar] | Refusal:
    """The calendars of a schedule that is to be, by name."""
    if not schedule.calendars:
        return {}
    found = await kit.store.calendars(tenant_id, schedule.calendars)
    return unknown_refusal(schedule.calendars, found, kept) or found


async def calendars_of_edit(
    kit: Kit, tenant_id: TenantId, job_id: str, schedule: Schedule
) -> dict[str, Calendar] | Refusal:
    """Those of the schedule that a job is to have, and of the one that it has, by name."""
    head = await head_of(kit, tenant_id, job_id)
    if isinstance(head, Refusal):
        return head
    had = from_compact(head.schedule).calendars
    found = await calendars_named(kit, tenant_id, schedule, kept=had)
    if isinstance(found, Refusal) or not had:
        return found
    return {**await kit.store.calendars(tenant_id, had), **found}
