"""Reading: a tenant's jobs, a job's executions, and what an execution waits for.

Another tenant's id does not exist here.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tickwright.domain.dead_letters import stands
from tickwright.domain.executions import Execution, key_of_occupant
from tickwright.domain.explanations import Explanation, explain
from tickwright.domain.hidden import hidden_in
from tickwright.domain.ids import ExecutionRef, JobId, TenantId, is_job_id, parse_execution_id
from tickwright.domain.jobs import Definition, Head, JobStatus
from tickwright.domain.outcomes import (
    LACKS_SECRETS,
    NO_SUCH_EXECUTION,
    NO_SUCH_JOB,
    NO_SUCH_VERSION,
    VERSION_LOST,
    Refusal,
)
from tickwright.domain.secrets import lacks_a_value
from tickwright.ports.store import Listing
from tickwright.services.hidden import newest_of
from tickwright.services.kit import Kit
from tickwright.services.shown import as_shown


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job: its moving head and its newest definition.

    `active`: its run that is unfinished, where it lets none beside it and that was looked for. `hidden`: the pointers
    to what is not shown of it, those of an edit that waits too.
    """

    head: Head
    definition: Definition
    active: ExecutionRef | None = None
    hidden: tuple[str, ...] = ()


async def head_of(kit: Kit, tenant_id: TenantId, job_id: str) -> Head | Refusal:
    """The tenant's own head of this id."""
    head = await kit.store.head(JobId(job_id)) if is_job_id(job_id) else None
    return NO_SUCH_JOB if head is None or head.tenant_id != tenant_id else head


async def get_job(kit: Kit, tenant_id: TenantId, job_id: str) -> JobView | Refusal:
    """One job."""
    head = await head_of(kit, tenant_id, job_id)
    return head if isinstance(head, Refusal) else await view_of(kit, head)


async def view_of(kit: Kit, head: Head) -> JobView | Refusal:
    """A head with its definition, which was written in the same transaction, but may be missing in a Region's copy."""
    definition = await kit.store.definition(head.job_id, head.definition_version)
    newest = definition if head.pending_version is None else await newest_of(kit, head)
    if definition is None or newest is None or isinstance(newest, Refusal):
        return VERSION_LOST
    return JobView(head=head, definition=definition, hidden=hidden_in(definition.version, newest))


async def unable_to_run(kit: Kit, head: Head, versions: Collection[int]) -> Refusal | None:
    """Why a job cannot run by these versions: one has masks for what it or a later one hides, or did not arrive."""
    newest = await newest_of(kit, head)
    if isinstance(newest, Refusal):
        return newest
    for version in versions:
        given = newest if version == newest.version else await kit.store.definition(head.job_id, version)
        if given is None:
            return VERSION_LOST
        if lacks_a_value(replace(given.spec, secrets=hidden_in(version, newest))):
            return LACKS_SECRETS
    return None


async def with_runs(kit: Kit, views: Sequence[JobView]) -> list[JobView]:
    """The jobs with their runs that are unfinished: whoever only changes a job need not know.

    A head names the last run until the next, so each is looked at.
    """
    heads = [view.head for view in views]
    refs = [ExecutionRef(head.job_id, key_of_occupant(head.active)) for head in heads if head.active is not None]
    found = await kit.store.executions(refs) if refs else {}
    active = {ref.job_id: ref for ref, execution in found.items() if not execution.is_terminal}
    return [replace(view, active=active.get(view.head.job_id)) for view in views]


async def with_its_run(kit: Kit, view: JobView) -> JobView:
    """The same for one."""
    (seen,) = await with_runs(kit, [view])
    return seen


async def get_newest(kit: Kit, tenant_id: TenantId, job_id: str) -> Definition | Refusal:
    """The version of a job that was written last."""
    head = await head_of(kit, tenant_id, job_id)
    return head if isinstance(head, Refusal) else await newest_of(kit, head)


async def get_version(kit: Kit, tenant_id: TenantId, job_id: str, version: int) -> Definition | Refusal:
    """One version of a job, an edit that waits too."""
    head = await head_of(kit, tenant_id, job_id)
    if isinstance(head, Refusal):
        return head
    found = await kit.store.definition(head.job_id, version) if version <= head.newest_version else None
    return found or NO_SUCH_VERSION


async def list_versions(
    kit: Kit, tenant_id: TenantId, job_id: str, *, limit: int, before: int | None = None
) -> Listing[Definition] | Refusal:
    """A page of a job's versions, newest first; one that waited and was dropped is among them."""
    head = await head_of(kit, tenant_id, job_id)
    if isinstance(head, Refusal):
        return head
    newest = head.newest_version if before is None else min(head.newest_version, before - 1)
    numbers = range(newest, max(0, newest - limit), -1)
    found = [await kit.store.definition(head.job_id, number) for number in numbers]
    more = newest - limit >= 1
    return Listing(
        items=[definition for definition in found if definition is not None],
        next_key=str(numbers[-1]) if more else None,
    )


async def list_jobs(  # noqa: PLR0913 - a list takes its filters
    kit: Kit,
    tenant_id: TenantId,
    *,
    limit: int,
    prefix: str = "",
    after_key: str | None = None,
    status: JobStatus | None = None,
    tag: str | None = None,
) -> Listing[JobView]:
    """A page of a tenant's jobs in the order of their names; filters may leave a page short, with a next one (B164).

    A job whose definition was lost is in no list: asked for by its id, it says so.
    """
    page = await kit.store.jobs_eventually(tenant_id, limit=limit, prefix=prefix, after_key=after_key)
    heads = await kit.store.heads(page.items)
    mine = [head for job_id in page.items if (head := heads.get(job_id)) is not None and head.tenant_id == tenant_id]
    found = [await view_of(kit, head) for head in mine if status is None or head.status is status]
    views = [_light(view) for view in found if isinstance(view, JobView)]
    return Listing(items=[v for v in views if tag is None or tag in v.definition.spec.tags], next_key=page.next_key)


def _light(view: JobView) -> JobView:
    """Without its payload: a thousand of the largest would not fit into a function's memory, and no list shows them."""
    definition = view.definition
    return replace(view, definition=replace(definition, spec=replace(definition.spec, payload="null")))


async def list_executions(
    kit: Kit, tenant_id: TenantId, job_id: str, *, limit: int, after_key: str | None = None
) -> Listing[Execution] | Refusal:
    """A page of a job's ledger, newest first."""
    head = await head_of(kit, tenant_id, job_id)
    if isinstance(head, Refusal):
        return head
    return await kit.store.executions_of(head.job_id, limit=limit, after_key=after_key)


async def get_execution(kit: Kit, tenant_id: TenantId, execution_id: str) -> Execution | Refusal:
    """One execution; its id says where it is, and the tenant is checked on it."""
    ref = parse_execution_id(execution_id)
    execution = None if ref is None else await kit.store.execution(ref)
    return NO_SUCH_EXECUTION if execution is None or execution.tenant_id != tenant_id else execution


async def list_attention(
    kit: Kit, tenant_id: TenantId, *, limit: int, after_key: str | None = None
) -> Listing[Execution]:
    """A page of the executions that a person must see, newest first."""
    page = await kit.store.attention_eventually(tenant_id, limit=limit, after_key=after_key)
    found = await kit.store.executions(page.items)
    mine = [found[ref] for ref in page.items if ref in found and found[ref].tenant_id == tenant_id]
    return Listing(items=[execution for execution in mine if stands(execution)], next_key=page.next_key)


async def explain_execution(kit: Kit, tenant_id: TenantId, execution_id: str) -> Explanation | Refusal:
    """Why an execution is where it is."""
    execution = await get_execution(kit, tenant_id, execution_id)
    if isinstance(execution, Refusal):
        return execution
    return explain(await as_shown(kit, execution), kit.clock.now(), lease_ms=kit.durations.lease_ms)
