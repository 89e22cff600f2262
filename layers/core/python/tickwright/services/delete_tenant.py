"""Delete a tenant: nobody may ask any more, everything stops, a rest, and then all that was its own goes.

Each pass looks at all of it anew and does what it finds, so dying anywhere loses no more than the pass; what was found
to move starts the rest again. Whoever goes on names the deletion that it carries out: once that is over, the name may
be another tenant's. Backups of the tables keep what they have. Promises: SEM-TENANT-2, SEM-TENANT-3.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Final, TypeVar

from tickwright.domain.deletions import Deletion, PutDeletion, looked_at
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, JobStatus
from tickwright.ports.store import Listing
from tickwright.ports.whole import Whole
from tickwright.services.keys import key_id, keys_of, revoke_key
from tickwright.services.kit import Kit
from tickwright.services.stop_tenant import jobs_of, stop_all

FoundT = TypeVar("FoundT")
_ROWS_A_PAGE: Final = 100
_RECORDS_A_STEP: Final = 100


class Stage(Enum):
    """Where a deletion is."""

    STOPPING = "stopping"
    RESTING = "resting"
    REMOVING = "removing"
    GONE = "gone"
    OVER = "over: somebody else has ended it, or called it off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What this call has done so far. `until`: nothing is left to do before, and then it is to be called again.

    `asked_at` names the deletion that it is of, for whoever calls again.
    """

    stage: Stage
    asked_at: Instant | None = None
    keys: int = 0  # revoked
    jobs: int = 0  # that were open, or had runs that were not over
    rows: int = 0  # executions removed
    jobs_removed: int = 0
    records: int = 0  # removed
    until: Instant | None = None


async def delete_tenant(
    kit: Kit, whole: Whole, tenant_id: TenantId, *, asked_at: Instant | None = None, again: bool = False
) -> AsyncIterator[Progress]:
    """Go on with it, from one bounded step to the next, to the end or to where it has to be waited for.

    Without `asked_at` one is begun, or the one under way is joined. `again`: the name was a deleted tenant's, and
    whoever has it since is to be deleted too.
    """
    if asked_at is None:
        deletion = await _begun(kit, whole, tenant_id, again=again)
    else:
        deletion = await _taken(whole, tenant_id, asked_at)
    if deletion is None:
        yield Progress(stage=Stage.OVER, asked_at=asked_at)
        return
    progress = Progress(stage=Stage.STOPPING, asked_at=deletion.asked_at, keys=await _revoke_keys(kit, tenant_id))
    async for stopped in stop_all(kit, tenant_id):
        progress = replace(progress, jobs=progress.jobs + stopped)
        yield progress
        if await _taken(whole, tenant_id, deletion.asked_at) is None:
            yield replace(progress, stage=Stage.OVER)
            return
    async for further in _rested(kit, whole, deletion, progress):
        yield further


async def _rested(kit: Kit, whole: Whole, deletion: Deletion, progress: Progress) -> AsyncIterator[Progress]:
    """After a look at everything: the rest, or, when that is over, the removal."""
    now = kit.clock.now()
    looked = looked_at(deletion, moves=progress.keys + progress.jobs > 0, now=now)
    soon = Instant(now + kit.durations.heartbeat_ms)
    if not await _noted(whole, looked, deletion):
        yield replace(progress, stage=Stage.RESTING, until=soon)
    elif not looked.may_remove(now):
        yield replace(progress, stage=Stage.RESTING, until=looked.removes_from or soon)
    else:
        async for further in _removed(kit, whole, looked, progress):
            yield further


async def _removed(kit: Kit, whole: Whole, looked: Deletion, progress: Progress) -> AsyncIterator[Progress]:
    deletion = replace(looked, removes_at=looked.removes_at or kit.clock.now())
    # Written also where nothing changes: somebody else may have found something that moves, and begun the rest anew.
    if not await whole.put_deletion(PutDeletion(deletion=deletion, seen=looked)):
        yield replace(progress, stage=Stage.RESTING, until=kit.clock.now())
        return
    async for removed in _remove(kit, whole, deletion.tenant_id):
        progress = replace(removed, keys=progress.keys, asked_at=deletion.asked_at)
        yield progress
        if await _taken(whole, deletion.tenant_id, deletion.asked_at) is None:
            yield replace(progress, stage=Stage.OVER, until=None)
            return
    if progress.until is not None:
        await _noted(whole, replace(deletion, still_at=None), deletion)
        return
    has_ended = await _noted(whole, replace(deletion, ended_at=kit.clock.now()), deletion)
    yield replace(
        progress, stage=Stage.GONE if has_ended else Stage.RESTING, until=None if has_ended else kit.clock.now()
    )


async def _begun(kit: Kit, whole: Whole, tenant_id: TenantId, *, again: bool) -> Deletion | None:
    """The one that is under way, or a new one; one that has ended says nothing of whoever has the name since."""
    seen = await whole.deletion(tenant_id)
    if seen is not None and (seen.stands or not again):
        return seen if seen.stands else None
    deletion = Deletion(tenant_id=tenant_id, asked_at=kit.clock.now())
    is_mine = await whole.put_deletion(PutDeletion(deletion=deletion, seen=seen))
    return deletion if is_mine else await _begun(kit, whole, tenant_id, again=False)


async def _taken(whole: Whole, tenant_id: TenantId, asked_at: Instant) -> Deletion | None:
    """The one that was asked for then, while it stands."""
    found = await whole.deletion(tenant_id)
    return found if found is not None and found.stands and found.asked_at == asked_at else None


async def _noted(whole: Whole, deletion: Deletion, seen: Deletion) -> bool:
    """Whether it stands as it is to be: refused, somebody else goes on with it, and all is looked at again."""
    return deletion == seen or await whole.put_deletion(PutDeletion(deletion=deletion, seen=seen))


async def _revoke_keys(kit: Kit, tenant_id: TenantId) -> int:
    open_yet = [key for key in await keys_of(kit, tenant_id) if not key.revoked]
    for key in open_yet:
        await revoke_key(kit, tenant_id, key_id(key))
    return len(open_yet)


# --- removing ----------------------------------------------------------------------------------------------------
async def _remove(kit: Kit, whole: Whole, tenant_id: TenantId) -> AsyncIterator[Progress]:
    """Executions before their job, whose head leads to them; then what no head leads to; then what lies under the name.

    A job or a key that came meanwhile ends it: all is to be stopped once more, and to rest. A job may lie before those
    that are removed by now, so nothing under the tenant goes before a look that finds none.
    """
    progress = Progress(stage=Stage.REMOVING)
    for part in (_remove_jobs, _remove_left_over, _remove_records):
        async for further in part(kit, whole, tenant_id, progress):
            progress = further
            yield progress
        if progress.until is not None:
            return


async def _remove_jobs(kit: Kit, whole: Whole, tenant_id: TenantId, progress: Progress) -> AsyncIterator[Progress]:
    while heads := await _first_jobs_of(kit, tenant_id):
        if any(head.status is not JobStatus.CANCELLED for head in heads):
            yield replace(progress, stage=Stage.STOPPING, until=kit.clock.now())
            return
        for head in heads:
            async for rows in _remove_rows(kit, whole, head):
                progress = replace(progress, rows=progress.rows + rows)
                yield progress
            await whole.forget_job(tenant_id, head.job_id)
            progress = replace(progress, jobs_removed=progress.jobs_removed + 1)
            yield progress


async def _remove_records(kit: Kit, whole: Whole, tenant_id: TenantId, progress: Progress) -> AsyncIterator[Progress]:
    if not await _has_come(kit, tenant_id):
        while removed := await whole.forget_records(tenant_id, limit=_RECORDS_A_STEP):
            progress = replace(progress, records=progress.records + removed)
            yield progress
    if await _has_come(kit, tenant_id):
        yield replace(progress, stage=Stage.STOPPING, until=kit.clock.now())


async def _has_come(kit: Kit, tenant_id: TenantId) -> bool:
    """Whether a key opens the door again, or a job is there: whoever let them in did not look for the deletion."""
    is_open = any(not key.revoked for key in await keys_of(kit, tenant_id))
    return is_open or bool(await _first_jobs_of(kit, tenant_id))


async def _remove_left_over(kit: Kit, whole: Whole, tenant_id: TenantId, progress: Progress) -> AsyncIterator[Progress]:
    """What no head leads to: versions of an import that was cut off, rows of a job that no copy of tables has."""
    async for job_ids in _paged(partial(whole.jobs_kept_of_eventually, tenant_id)):
        heads = await kit.store.heads(job_ids) if job_ids else {}
        if any(head.tenant_id == tenant_id and head.status is not JobStatus.CANCELLED for head in heads.values()):
            yield replace(progress, stage=Stage.STOPPING, until=kit.clock.now())
            return
        for job_id in job_ids:
            await whole.forget_job(tenant_id, job_id)
        yield progress
    async for refs in _paged(partial(whole.executions_kept_of_eventually, tenant_id)):
        await whole.forget_executions(refs)
        progress = replace(progress, rows=progress.rows + len(refs))
        yield progress


async def _paged(read: Callable[..., Awaitable[Listing[FoundT]]]) -> AsyncIterator[Sequence[FoundT]]:
    after_key: str | None = None
    while True:
        page = await read(limit=_ROWS_A_PAGE, after_key=after_key)
        yield page.items
        if (after_key := page.next_key) is None:
            return


async def _first_jobs_of(kit: Kit, tenant_id: TenantId) -> Sequence[Head]:
    """A page of those that are there; an index may go on for a moment to name what is gone."""
    async for heads in jobs_of(kit, tenant_id):
        if heads:
            return heads
    return ()


async def _remove_rows(kit: Kit, whole: Whole, head: Head) -> AsyncIterator[int]:
    while rows := (await kit.store.executions_of(head.job_id, limit=_ROWS_A_PAGE)).items:
        await whole.forget_executions([row.ref for row in rows])
        yield len(rows)
