"""What attempts have said: their logs are kept and listed, and the job's secrets are taken out of logs and errors.

Used by the worker when an attempt is over, and by the API for workers that report by it. Promises: SEM-LOG-1,
SEM-SECRET-1.
"""

from dataclasses import dataclass, replace

from tickwright.domain.attempts import Failure, Fatal, RetryLater, UserResult
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobSpec
from tickwright.domain.logs import LogTail, Tail
from tickwright.domain.outcomes import Refusal
from tickwright.domain.secrets import scrubbed, without_secrets
from tickwright.domain.stored_logs import SaidBy, StoredLog
from tickwright.ports.faults import Unavailable
from tickwright.ports.store import Listing
from tickwright.services.hidden import hiding_by_now
from tickwright.services.jobs import get_execution
from tickwright.services.kit import Kit
from tickwright.services.payloads import with_own_payload


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLogs:
    """An execution, and a page of its logs."""

    execution: Execution
    page: Listing[StoredLog]


async def keep_log(kit: Kit, execution: Execution, said: Tail, said_by: SaidBy) -> None:
    """Keep what an attempt has said, if it said anything. `execution`: as it was while the attempt ran.

    The attempt is over and reported: what goes wrong here costs the log and nothing else.
    """
    if not said.text:
        return
    try:
        log = await _log(kit, execution, said, said_by)
        if log is not None:
            await kit.store.put_log(log)
    except Unavailable as fault:
        kit.emit(EventName.LOG_NOT_KEPT, executionId=execution.ref.id, fault=type(fault).__name__)


async def _log(kit: Kit, execution: Execution, said: Tail, said_by: SaidBy) -> StoredLog | None:
    """None without the definition: what its secrets are is not known."""
    spec = await _spec_of(kit, execution)
    if spec is None:
        return None
    text, cut = _within_bounds(scrubbed(said.text, spec, is_cut=said.cut > 0))
    now = kit.clock.now()
    return StoredLog(
        ref=execution.ref,
        epoch=execution.lease_epoch,
        said_by=said_by,
        generation=execution.generation,
        attempt=execution.attempt,
        text=text,
        cut=said.cut + cut,
        written_at=now,
        expires_at=Instant(now + 1_000 * kit.retention_s),
    )


def _within_bounds(text: str) -> Tail:
    """The end of a log that its masks may have made longer than what is kept."""
    log = LogTail()
    log.write(text)
    return log.tail()


async def _spec_of(kit: Kit, execution: Execution) -> JobSpec | None:
    """What the execution runs with, and all that is hidden of it by now."""
    definition = await kit.store.definition(execution.job_id, execution.job_version)
    if definition is None:
        return None
    given = await with_own_payload(kit, execution, definition) or definition
    return await hiding_by_now(kit, execution, given.spec)


async def shown_result(kit: Kit, execution: Execution, result: UserResult) -> UserResult:
    """A result as it may be shown: without the job's secrets in its error."""
    if not isinstance(result, Failure | Fatal | RetryLater):
        return result
    spec = await _spec_of(kit, execution)
    return result if spec is None else without_secrets(result, spec)


async def list_logs(
    kit: Kit, tenant_id: TenantId, execution_id: str, *, limit: int, after_key: str | None = None
) -> RunLogs | Refusal:
    """A page of the logs of an execution's attempts, newest first.

    They were kept without what was hidden then; what has been named since is taken out here.
    """
    execution = await get_execution(kit, tenant_id, execution_id)
    if isinstance(execution, Refusal):
        return execution
    page = await kit.store.logs_of(execution.ref, limit=limit, after_key=after_key)
    spec = await _spec_of(kit, execution) if page.items else None
    shown = page.items if spec is None else [_as_shown(log, spec) for log in page.items]
    return RunLogs(execution=execution, page=replace(page, items=shown))


def _as_shown(log: StoredLog, spec: JobSpec) -> StoredLog:
    return replace(log, text=scrubbed(log.text, spec, is_cut=log.cut > 0))
