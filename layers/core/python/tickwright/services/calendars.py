"""Put, retire, read and list a tenant's calendars; every version is kept.

A write is of what was read: where another came between, it is read again. Dying after the transaction loses nothing.
Another tenant's calendar does not exist here. Promise: SEM-CAL-4.
"""

from dataclasses import dataclass, replace

from tickwright.domain import calendar_rules as rules
from tickwright.domain.calendar_rules import CALENDARS_OF_TENANT_MAX, CHANGED_MEANWHILE, NO_SUCH_CALENDAR, Presence
from tickwright.domain.changes.calendars import PutCalendar, PutCalendarVersion
from tickwright.domain.ids import TenantId
from tickwright.domain.outcomes import Refusal
from tickwright.domain.schedules import Calendar, CalendarContent, is_calendar_name
from tickwright.ports.store import AnyChange, Applied, Listing
from tickwright.services.kit import Kit

_TRIES = 4  # of one write against others of the same calendar
_VERSIONS_A_PAGE = 100  # of 32 KB at most: some megabytes
_PAGES_COUNTED = 10  # a page has a megabyte, so a hundred calendars fill four


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """The calendar as it stands after a put; whether there was none before."""

    calendar: Calendar
    is_new: bool


async def put_calendar(
    kit: Kit, tenant_id: TenantId, name: str, content: CalendarContent, demanded: int | Presence | None
) -> Put | Refusal:
    """Give a calendar this content; equal content makes no version."""
    before: Calendar | None = None
    past = 0
    for tried in range(_TRIES):
        seen = await _seen(kit, tenant_id, name)
        refusal = rules.put_refusal(seen, name, demanded)
        if refusal is None and seen is None and await has_all_it_may(kit, tenant_id):
            refusal = rules.TOO_MANY
        if refusal is not None:
            return refusal
        now, token = kit.clock.now(), kit.entropy.token()
        # Refused by one that has not changed: a copy of the tables has a version of that number alone.
        past = past + 1 if tried and seen == before else 0
        before = seen
        if seen is None:
            new = rules.first_version(tenant_id, name, content, now=now, token=token)
        else:
            new = rules.put_over(seen, content, now=now, token=token)
        if seen is None or new.version != seen.version:
            new = replace(new, version=new.version + past)
        if new == seen or await _written(kit, seen, new):
            return Put(calendar=new, is_new=seen is None or seen.retired)
    return CHANGED_MEANWHILE


async def retire_calendar(kit: Kit, tenant_id: TenantId, name: str, if_match: int | None) -> Calendar | Refusal:
    """Take a calendar off the list; jobs that name it go on being judged by it."""
    for _ in range(_TRIES):
        seen = await _seen(kit, tenant_id, name)
        refusal = rules.retire_refusal(seen, if_match)
        if refusal is not None:
            return refusal
        assert seen is not None
        new = rules.retired(seen, token=kit.entropy.token())
        if await _written(kit, seen, new):
            return new
    return CHANGED_MEANWHILE


async def get_calendar(kit: Kit, tenant_id: TenantId, name: str) -> Calendar | Refusal:
    """One calendar as it stands now, a retired one too."""
    return await _seen(kit, tenant_id, name) or NO_SUCH_CALENDAR


async def get_version(kit: Kit, tenant_id: TenantId, name: str, version: int) -> Calendar | Refusal:
    """One version of a calendar."""
    found = await kit.store.calendar_versions(tenant_id, name, [version]) if is_calendar_name(name) else {}
    return found.get(version, rules.NO_SUCH_VERSION)


async def list_calendars(
    kit: Kit, tenant_id: TenantId, *, limit: int, after_key: str | None = None
) -> Listing[Calendar]:
    """A page of a tenant's calendars by name, without the retired; it may be short and have a next one."""
    page = await kit.store.calendars_of(tenant_id, limit=limit, after_key=after_key)
    return Listing(items=[one for one in page.items if not one.retired], next_key=page.next_key)


async def list_versions(
    kit: Kit, tenant_id: TenantId, name: str, *, limit: int, after_key: str | None = None
) -> Listing[Calendar] | Refusal:
    """A page of a calendar's versions, newest first; `after_key` is the last version of the page before."""
    current = await _seen(kit, tenant_id, name)
    if current is None:
        return NO_SUCH_CALENDAR
    newest = current.version if after_key is None else int(after_key) - 1
    oldest = max(1, newest - min(limit, _VERSIONS_A_PAGE) + 1)
    found = await kit.store.calendar_versions(tenant_id, name, range(newest, oldest - 1, -1))
    items = [found[version] for version in sorted(found, reverse=True)]
    return Listing(items=items, next_key=str(oldest) if oldest > 1 else None)


async def _seen(kit: Kit, tenant_id: TenantId, name: str) -> Calendar | None:
    found = await kit.store.calendars(tenant_id, [name]) if is_calendar_name(name) else {}
    return found.get(name)


async def has_all_it_may(kit: Kit, tenant_id: TenantId) -> bool:
    """Retired ones count. Two that are put at once may both find room for one, and it is not worth a write to each."""
    count = 0
    after_key: str | None = None
    for _ in range(_PAGES_COUNTED):
        page = await kit.store.calendars_of(tenant_id, limit=CALENDARS_OF_TENANT_MAX - count, after_key=after_key)
        count, after_key = count + len(page.items), page.next_key
        if after_key is None or count >= CALENDARS_OF_TENANT_MAX:
            break
    return count >= CALENDARS_OF_TENANT_MAX


async def _written(kit: Kit, seen: Calendar | None, new: Calendar) -> bool:
    writes: list[AnyChange] = [PutCalendar(calendar=new, seen_token=None if seen is None else seen.write_token)]
    if seen is None or seen.version != new.version:
        writes.append(PutCalendarVersion(calendar=new))
    return all(isinstance(outcome, Applied) for outcome in await kit.store.write_together(writes))
