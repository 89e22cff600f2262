"""The herd map: read a tenant's heads, and count when their ticks fall together.

The read is of a list that may be stale by moments, and bounded; what was left out is told. Promise: SEM-SCHED-20.
"""

from collections.abc import Sequence
from dataclasses import replace

from tickwright.domain.herd import Herd, herd_of
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.schedules import Calendar, from_compact
from tickwright.services.kit import Kit

_PAGE = 100  # the most that one batch of reads takes
JOBS_MAX = 2_000  # twenty pages: about a second of reading


async def herd_map(kit: Kit, tenant_id: TenantId, since: Instant, until: Instant, *, jobs_max: int = JOBS_MAX) -> Herd:
    """A tenant's ticks a minute."""
    heads, whole = await _heads(kit, tenant_id, jobs_max)
    found = herd_of(heads, since, until, calendars=await _calendars(kit, tenant_id, heads))
    return found if whole else replace(found, truncated=True)


async def _heads(kit: Kit, tenant_id: TenantId, jobs_max: int) -> tuple[list[Head], bool]:
    """The tenant's heads, and whether they are all."""
    heads: list[Head] = []
    after_key: str | None = None
    for _ in range(0, jobs_max, _PAGE):
        page = await kit.store.jobs_eventually(tenant_id, limit=min(_PAGE, jobs_max), after_key=after_key)
        found = await kit.store.heads(page.items)
        heads += [head for head in found.values() if head.tenant_id == tenant_id]
        after_key = page.next_key
        if after_key is None:
            return heads, True
    return heads, False


async def _calendars(kit: Kit, tenant_id: TenantId, heads: Sequence[Head]) -> dict[str, Calendar]:
    """Those of the tenant's calendars that any of the jobs names."""
    names = {name for head in heads for name in from_compact(head.schedule).calendars}
    return await kit.store.calendars(tenant_id, sorted(names)) if names else {}
