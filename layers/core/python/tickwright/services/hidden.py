"""What a job hides in one of its versions: asked of its newest, which tells of all. Promise: SEM-SECRET-2."""

from dataclasses import replace

from tickwright.domain.executions import Execution
from tickwright.domain.hidden import hidden_in
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition, Head, JobSpec
from tickwright.domain.outcomes import VERSION_LOST, Refusal
from tickwright.ports.faults import Unavailable
from tickwright.services.kit import Kit
from tickwright.services.payloads import both


async def newest_of(kit: Kit, head: Head) -> Definition | Refusal:
    """The version that was written last, in the transaction of its edit; what a Region's copy lacks is lost."""
    return await kit.store.definition(head.job_id, head.newest_version) or VERSION_LOST


async def hidden_by_now(kit: Kit, job_id: JobId, version: int) -> tuple[str, ...]:
    """The pointers that hide something in this version, by what the job names until now."""
    head = await kit.store.head(job_id)
    newest = VERSION_LOST if head is None else await newest_of(kit, head)
    return () if isinstance(newest, Refusal) else hidden_in(version, newest)


async def hiding_by_now(kit: Kit, execution: Execution, spec: JobSpec) -> JobSpec:
    """What an execution was given, with all that is hidden of it by now."""
    also = await hidden_by_now(kit, execution.job_id, execution.job_version)
    return replace(spec, secrets=both(spec.secrets, also))


async def hiding_since(kit: Kit, execution: Execution, given: Definition, known_at: Instant) -> Definition:
    """What an attempt is given, with all that is hidden of it by now, unless that was known a moment ago.

    A plain run, claimed as soon as it is due, costs no read for it.
    """
    if kit.clock.now() - known_at <= 2 * kit.durations.lookahead_ms:
        return given
    try:
        return replace(given, spec=await hiding_by_now(kit, execution, given.spec))
    except Unavailable:  # no run is lost for it: what is shown of it is looked through again
        return given
