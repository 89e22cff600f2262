"""What the scheduler does to a head before a decision: the edit whose time has come, and the aim by new zone rules.

Both write the head under its version and last decision, as the API does, so any number of processes may try: one wins,
and an older plan of anybody is refused. Dying before the write leaves the head due as it was; after it, as it now is.
Promises: SEM-EDIT-2, SEM-TZ-1.
"""

from collections.abc import Sequence
from dataclasses import replace

from tickwright.domain.changes.heads import Rewrite
from tickwright.domain.events import EventName
from tickwright.domain.instants import to_rfc3339
from tickwright.domain.jobs import Head
from tickwright.domain.outcomes import VERSION_LOST, Refusal
from tickwright.domain.pending import aim_of, aimed_anew, is_switch_due, switched
from tickwright.ports.store import AnyChange, Applied
from tickwright.services.kit import Kit


async def renewed(kit: Kit, head: Head) -> Head | None:
    """The head as it is to be decided on: itself, or what came of it; None if somebody else has changed it."""
    if is_switch_due(head):
        return _unless_lost(kit, head, await switch(kit, head))
    moved = aimed_anew(head, buckets=kit.buckets)
    if moved is None:
        return head
    written = await _write(kit, head, moved)
    if written is not None and written.aimed_from is not None:
        became = "" if written.next_run_at is None else to_rfc3339(written.next_run_at)
        kit.emit(EventName.JOB_AIMED_ANEW, jobId=head.job_id, was=to_rfc3339(written.aimed_from.was), now=became)
    return written


def aimed(kit: Kit, head: Head) -> Head:
    """The head where today's zone rules want it, for a change of the job: what is due by those is kept or held back.

    Kept where older rules had it, a local time would come twice. Where its schedule cannot be evaluated any more it is
    due as it stands, and an edit is what mends it.
    """
    try:
        return replace(head, next_run_at=aim_of(head))
    except Exception as fault:  # noqa: BLE001 - whatever a schedule without its zone raises (B094)
        kit.emit(EventName.TICK_POISONED, jobId=head.job_id, fault=type(fault).__name__)
        return head


def _unless_lost(kit: Kit, head: Head, changed: Head | Refusal | None) -> Head | None:
    """The head, unless a copy of the tables lacks the version: then the job stops, and is told of at each look."""
    if isinstance(changed, Refusal):
        kit.emit(EventName.TICK_POISONED, jobId=head.job_id, fault="DefinitionMissing")
        return None
    return changed


async def switch(kit: Kit, head: Head, beside: Sequence[AnyChange] = ()) -> Head | Refusal | None:
    """Carry out the edit that waits; the head after it, None if somebody else has changed it.

    `beside`: what belongs into the same transaction. VERSION_LOST: the edit was acknowledged, and its version did not
    arrive in this copy of the tables; the old schedule is over, and nobody knows the new one.
    """
    assert head.pending_version is not None
    definition = await kit.store.definition(head.job_id, head.pending_version)
    if definition is None:
        return VERSION_LOST
    written = await _write(kit, head, switched(head, definition, buckets=kit.buckets), beside)
    if written is not None:
        kit.emit(EventName.JOB_CHANGED, jobId=head.job_id, tenantId=head.tenant_id, change="edit took effect")
    return written


async def _write(kit: Kit, head: Head, new: Head, beside: Sequence[AnyChange] = ()) -> Head | None:
    raised = replace(new, version=head.version + 1, write_token=kit.entropy.token())
    rewrite = Rewrite(new=raised, seen_version=head.version, seen_next_run_at=head.next_run_at, pins_decision=True)
    if not beside:
        outcome = await kit.store.write(rewrite)
        return outcome.new if isinstance(outcome, Applied) else None
    together, *_ = await kit.store.write_together([rewrite, *beside])
    return together.new if isinstance(together, Applied) and isinstance(together.new, Head) else None
