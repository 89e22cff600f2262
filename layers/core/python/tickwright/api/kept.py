"""How the API asks its cache: for the caller's tenant alone, and an ill cache costs nothing but its copies.

Must not know when a copy may be shown (copies.py does). Promise: SEM-STALE-2.
"""

from tickwright.api.call import Call
from tickwright.domain.events import EventName
from tickwright.ports.faults import CacheUnavailable
from tickwright.ports.status_cache import Copy, Place


def path_of_accepted(job_id: str) -> str:
    """Where it is noted that a job of this id was accepted."""
    return f"accepted:{job_id}"  # what is shown is kept under paths, and no path of a request begins like this


async def keep_copy(call: Call, path: str, copy: Copy) -> None:
    """Keep it, where there is a cache and it is well."""
    if call.api.copies is None:
        return
    try:
        await call.api.copies.put(Place(tenant_id=call.tenant_id, path=path), copy)
    except CacheUnavailable as fault:
        _note(call, fault)


async def copy_at(call: Call, path: str) -> Copy | None:
    """The copy of the caller's own tenant, if there is one to be had."""
    if call.api.copies is None:
        return None
    try:
        return await call.api.copies.get(Place(tenant_id=call.tenant_id, path=path))
    except CacheUnavailable as fault:
        _note(call, fault)
        return None


def _note(call: Call, fault: CacheUnavailable) -> None:
    call.kit.emit(EventName.CACHE_FAULT, fault=type(fault).__name__, detail=str(fault)[:200])
