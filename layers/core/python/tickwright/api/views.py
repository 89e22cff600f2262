"""How a job or an execution looks from outside: the domain's values as the members of an answer.

Must not decide anything. A state is shown as `status`, an instant in RFC 3339 UTC with milliseconds.
Promise: SEM-API-2.
"""

import json
from collections.abc import Collection, Iterable
from typing import cast

from tickwright.api.answers import (
    DiscardedAtJson,
    ErrorSummaryJson,
    ExecutionFieldsJson,
    ExecutionJson,
    ExecutionSummaryJson,
    JobJson,
    JobSummaryJson,
    LintNoteJson,
    LogJson,
    MovingJson,
    PassedOverJson,
    PendingEditJson,
    PreviewJson,
    SpecFieldsJson,
    SpecJson,
    VersionJson,
    ZoneChangeJson,
)
from tickwright.api.checkpoints import checkpoint_json
from tickwright.api.etags import etag_of
from tickwright.api.exchange import as_json
from tickwright.domain.executions import Discarded, ErrorSummary, Execution, PassedOver
from tickwright.domain.hidden import hidden_in
from tickwright.domain.ids import ExecutionRef
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.job_lint import job_lint
from tickwright.domain.job_members import members_but_payload
from tickwright.domain.jobs import Definition, Head, JobSpec
from tickwright.domain.schedules import Cron, LintNote, explain, from_compact, is_hashed, lint
from tickwright.domain.secrets import masked
from tickwright.domain.shown import Shown
from tickwright.domain.stored_logs import StoredLog
from tickwright.services.jobs import JobView
from tickwright.services.preview import Previewed
from tickwright.services.zone_changes import ZoneChange


def job_json(view: JobView, handlers: Collection[str] | None = None) -> JobJson:
    """A job, whole; `handlers`: those that the installation's workers have, where that is known."""
    head, definition = view.head, view.definition
    schedule, hashed = from_compact(head.schedule), is_hashed(definition.spec.source)
    shown: JobJson = {
        **_moving(view),
        **spec_json(definition.spec, view.hidden),
        "explanation": list(explain(schedule)),
        "lint": _notes((*lint(schedule, hashed=hashed), *job_lint(definition.spec, definition.created_at, handlers))),
        "etag": "",
    }
    shown["etag"] = etag_of(as_json(shown), head.version)
    return shown


def version_json(definition: Definition, newest: Definition) -> VersionJson:
    """One version of a job, and since when it stands; `newest`: its job's, which says what is hidden."""
    shown = spec_json(definition.spec, hidden_in(definition.version, newest))
    return {**shown, "definitionVersion": definition.version, "createdAt": to_rfc3339(definition.created_at)}


def job_summary_json(view: JobView) -> JobSummaryJson:
    """A job in a list."""
    return {**_moving(view), **_spec_fields(masked(view.definition.spec, view.hidden))}


def spec_json(spec: JobSpec, hidden: Iterable[str] = ()) -> SpecJson:
    """A job as its tenant wants it, with a mask for each of its secrets, and for what else is hidden of it."""
    return spec_members(masked(spec, hidden))


def spec_members(spec: JobSpec) -> SpecJson:
    """A job as its tenant wants it, to the letter: what a patch is applied to, and never an answer."""
    return {**_spec_fields(spec), "payload": json.loads(spec.payload)}


def execution_json(execution: Shown) -> ExecutionJson:
    """An execution, whole."""
    error = execution.error
    shown: ExecutionJson = {
        **_execution_fields(execution),
        "error": None if error is None else {**_error(error), "trace": error.trace},
        "discarded": None if execution.discarded is None else _discarded(execution.discarded),
        "result": None if execution.result is None else json.loads(execution.result),
        "checkpoint": checkpoint_json(execution.noted),
        "etag": "",
    }
    shown["etag"] = etag_of(as_json(shown))
    return shown


def execution_summary_json(execution: Shown) -> ExecutionSummaryJson:
    """An execution in a list."""
    error = None if execution.error is None else _error(execution.error)
    return {**_execution_fields(execution), "error": error}


def log_json(log: StoredLog) -> LogJson:
    """What one attempt has said."""
    return {
        "attempt": log.attempt,
        "generation": log.generation,
        "leaseEpoch": log.epoch,
        "saidBy": log.said_by.value,
        "text": log.text,
        "cutBytes": log.cut,
        "writtenAt": to_rfc3339(log.written_at),
    }


def preview_json(previewed: Previewed) -> PreviewJson:
    """What a schedule will do."""
    told, differs = previewed.preview, previewed.differs
    return {
        "resolvedCron": list(told.resolved_cron),
        "explanation": list(told.explanation),
        "ticks": [{"at": to_rfc3339(tick.at), "local": tick.local, "note": tick.note} for tick in told.ticks],
        "lint": _notes(told.lint),
        "tzdataVersion": told.tzdata,
        "secondEngine": None if differs is None else {"ours": time_json(differs[0]), "theirs": time_json(differs[1])},
    }


def zone_change_json(change: ZoneChange) -> ZoneChangeJson:
    """A job whose next tick new zone rules have moved."""
    return {
        "jobId": change.head.job_id,
        "name": change.head.listed_as if change.head.has_name else None,
        "was": to_rfc3339(change.was),
        "tzdataVersionWas": change.tzdata_was,
        "nextRunAt": time_json(change.now),
    }


def _notes(notes: Iterable[LintNote]) -> list[LintNoteJson]:
    return [{"code": note.code, "message": note.message} for note in notes]


def time_json(instant: Instant | None) -> str | None:
    """An instant, or null."""
    return None if instant is None else to_rfc3339(instant)


def _moving(view: JobView) -> MovingJson:
    head = view.head
    return {
        "jobId": head.job_id,
        "status": head.status.value,
        "version": head.version,
        "definitionVersion": head.definition_version,
        "createdAt": to_rfc3339(head.created_at),
        "resolvedCron": _resolved_cron(head.schedule),
        "nextRunAt": time_json(head.next_run_at),
        "lastScheduledTime": time_json(head.fired_through),
        "activeExecutionId": None if view.active is None else view.active.id,
        "pendingEdit": _pending_edit(head),
    }


def _pending_edit(head: Head) -> PendingEditJson | None:
    if head.pending_version is None or head.effective_from is None:
        return None
    return {"definitionVersion": head.pending_version, "effectiveFrom": to_rfc3339(head.effective_from)}


def _resolved_cron(schedule: str) -> list[str] | None:
    """What every `H` stands for."""
    kind = from_compact(schedule).kind
    return [expression.text for expression in kind.expressions] if isinstance(kind, Cron) else None


def _spec_fields(spec: JobSpec) -> SpecFieldsJson:
    return cast("SpecFieldsJson", members_but_payload(spec))


def _execution_fields(execution: Execution) -> ExecutionFieldsJson:
    return {
        "executionId": execution.ref.id,
        "jobId": execution.job_id,
        "jobVersion": execution.job_version,
        "status": execution.state.value,
        "reason": None if execution.reason is None else execution.reason.value,
        "cause": execution.cause.value,
        "leaseEpoch": execution.lease_epoch,
        "generation": execution.generation,
        "attempt": execution.attempt,
        "maxAttempts": execution.max_attempts,
        "generationAttempt": execution.of_generation[0],
        "generationMaxAttempts": execution.of_generation[1],
        "scheduledTime": to_rfc3339(execution.scheduled_at),
        "nominalTime": execution.nominal,
        "tzdataVersion": execution.tzdata,
        "createdAt": to_rfc3339(execution.created_at),
        "redrivenAt": time_json(execution.redriven_at),
        "startedAt": time_json(execution.started_at),
        "finishedAt": time_json(execution.finished_at),
        "retryAt": time_json(execution.retry_at),
        "leaseUntil": time_json(execution.lease_until),
        "deadline": time_json(execution.deadline_at),
        "runDeadline": time_json(execution.run_deadline_at),
        "workerId": execution.lease_owner,
        "progress": None if execution.noted is None else execution.noted.progress,
        "priority": execution.lane.value,
        "passedOver": None if execution.passed is None else _passed_over(execution.passed),
        "rerunOf": None if execution.rerun_of is None else ExecutionRef(execution.job_id, execution.rerun_of).id,
    }


def _error(error: ErrorSummary) -> ErrorSummaryJson:
    return {"class": error.error_class, "message": error.message, "fingerprint": error.fingerprint}


def _discarded(discarded: Discarded) -> DiscardedAtJson:
    return {"at": to_rfc3339(discarded.at), "reason": discarded.reason}


def _passed_over(passed: PassedOver) -> PassedOverJson:
    return {
        "first": to_rfc3339(passed.first),
        "last": to_rfc3339(passed.last),
        "count": passed.count,
        "exact": passed.exact,
        "closedBy": passed.by,
    }
