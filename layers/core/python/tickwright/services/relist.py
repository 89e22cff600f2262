"""Relist: put on the journal again whatever a copy of the tables has unfinished, and make the queues that it names.

For an installation on tables that were restored or that followed another Region: queues are empty there, and what was
written of one step may be of different instants. Reads everything once and writes pages only, so it may be done at any
time, beside the loops, and again; dying anywhere costs what was done. Promise: SEM-RECOVERY-1.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tickwright.domain import limits
from tickwright.domain.executions import Execution
from tickwright.domain.ids import Epoch, JobId, TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.journal import Entry, Page
from tickwright.domain.lanes import bucket_of
from tickwright.domain.pools import queue_key, standing
from tickwright.ports.whole import Whole
from tickwright.services.kit import Kit

_PAGE: Final = 1_000
_AT_ONCE: Final = 32  # versions read side by side


@dataclass(slots=True)
class Relisted:
    """What was found. `highest_epoch` is that of any execution: above the installation's base, that is too low."""

    executions: int = 0
    unfinished: int = 0
    heads: int = 0
    decided: int = 0  # ticks that were decided and have no execution
    incomplete: list[JobId] = field(default_factory=list)  # jobs whose newest version is not there: their runs die
    unreadable: list[str] = field(default_factory=list)  # places of rows that were passed over
    pools: int = 0
    pages: int = 0
    highest_epoch: Epoch = Epoch(0)  # noqa: RUF009 - a NewType over int is an immutable default
    tenants: set[TenantId] = field(default_factory=set)


async def relist(kit: Kit, whole: Whole, point: Instant) -> Relisted:
    """Look through all of it. `point`: the instant that the copy is of, as far as is known."""
    done = Relisted()
    await _relist_executions(kit, whole, done)
    await _relist_heads(kit, whole, done, Instant(point - limits.COPY_SKEW_MS))
    await _find_tenants(whole, done.tenants)
    for tenant_id in sorted(done.tenants):
        done.pools += await _prepare_pools(kit, tenant_id)
    return done


async def deleted_since(whole: Whole, old: Whole) -> Sequence[TenantId]:
    """Tenants of a copy whose deletion was begun, or went on, in the tables that it was made of.

    By its record, which stays for a month: one that is the same here was over when the copy was made.
    """
    tenants = set[TenantId]()
    await _find_tenants(whole, tenants)
    found = [(tenant_id, await old.deletion(tenant_id)) for tenant_id in sorted(tenants)]
    return [
        tenant_id
        for tenant_id, deletion in found
        if deletion is not None and deletion != await whole.deletion(tenant_id)
    ]


async def _find_tenants(whole: Whole, tenants: set[TenantId]) -> None:
    """Those too that have keys and pools and no job."""
    after_key: str | None = None
    while True:
        page = await whole.every_sign_eventually(limit=_PAGE, after_key=after_key)
        tenants |= {sign.tenant_id for sign in page.items if sign.deletion is None}
        if (after_key := page.next_key) is None:
            return


async def _relist_executions(kit: Kit, whole: Whole, done: Relisted) -> None:
    after_key: str | None = None
    while True:
        page = await whole.every_execution_eventually(limit=_PAGE, after_key=after_key)
        open_ones = [row for row in page.items if row.owed or not row.is_terminal]
        done.unreadable += page.unreadable
        done.executions += len(page.items)
        done.unfinished += len(open_ones)
        done.highest_epoch = max([done.highest_epoch, *(row.lease_epoch for row in page.items)])
        done.tenants |= {row.tenant_id for row in page.items}
        done.pages += await _put(kit, map(_entry_of, open_ones))
        if (after_key := page.next_key) is None:
            return


async def _relist_heads(kit: Kit, whole: Whole, done: Relisted, since: Instant) -> None:
    """Those that decided a tick shortly before the copy, or after it by the copy of another table."""
    after_key: str | None = None
    while True:
        page = await whole.every_head_eventually(limit=_PAGE, after_key=after_key)
        done.unreadable += page.unreadable
        done.heads += len(page.items)
        done.tenants |= {head.tenant_id for head in page.items}
        done.incomplete += await _without_their_version(kit, page.items)
        late = [head for head in page.items if (head.fired_at or 0) >= since]
        missing = await _without_their_last(kit, [head for head in late if not _is_passed_over(head, done)])
        done.decided += len(missing)
        done.pages += await _put(kit, missing)
        if (after_key := page.next_key) is None:
            return


def _is_passed_over(head: Head, done: Relisted) -> bool:
    """Whether its last execution is there and cannot be read."""
    return head.last_ref is not None and " ".join(head.last_ref) in done.unreadable


async def _without_their_last(kit: Kit, heads: Sequence[Head]) -> Sequence[Entry]:
    last = {head.last_ref: head for head in heads if head.last_ref is not None}
    there = await kit.store.executions(sorted(last)) if last else {}
    return [
        Entry(job_id=ref.job_id, key=ref.key, version=head.version) for ref, head in last.items() if ref not in there
    ]


async def _without_their_version(kit: Kit, heads: Sequence[Head]) -> list[JobId]:
    found: list[JobId] = []
    for start in range(0, len(heads), _AT_ONCE):
        some = heads[start : start + _AT_ONCE]
        versions = await asyncio.gather(*(kit.store.definition(one.job_id, one.newest_version) for one in some))
        found += [head.job_id for head, version in zip(some, versions, strict=True) if version is None]
    return found


def _entry_of(execution: Execution) -> Entry:
    return Entry(job_id=execution.job_id, key=execution.key, version=execution.job_version)


async def _put(kit: Kit, entries: Iterable[Entry]) -> int:
    """Pages that are looked at at once: their first look tells the workers."""
    by_bucket: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_bucket[bucket_of(entry.job_id, kit.buckets)].append(entry)
    now, pages = kit.clock.now(), 0
    for bucket, together in by_bucket.items():
        for start in range(0, len(together), limits.PAGE_ENTRIES_MAX):
            part = tuple(together[start : start + limits.PAGE_ENTRIES_MAX])
            await kit.store.put_page(Page(bucket=bucket, check_at=now, writer=kit.entropy.token(), entries=part))
            pages += 1
    return pages


async def _prepare_pools(kit: Kit, tenant_id: TenantId) -> int:
    """The queues of a tenant's pools: a copy of the tables has none."""
    count, after_key = 0, None
    while True:
        page = await kit.store.pools_of(tenant_id, limit=limits.LIST_PAGE_MAX, after_key=after_key)
        for pool in page.items:
            if standing(pool) is not None:
                await kit.queue.prepare(queue_key(pool.name, tenant_id))
                count += 1
        if (after_key := page.next_key) is None:
            return count
