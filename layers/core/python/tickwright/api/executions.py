"""The endpoints of executions: list, look at, explain, cancel, redrive; and what a worker reports of its attempt.

Must not know the rules: the services decide, here their outcomes become answers. Promises: SEM-API-3, SEM-FENCE-1.
"""

from tickwright.api.answers import ExecutionsJson, ExplanationJson, ExtendedJson, LogsJson
from tickwright.api.bodies import Query
from tickwright.api.call import Call, shown
from tickwright.api.exchange import Response, as_json, json_response
from tickwright.api.execution_bodies import AttentionQuery, CompleteBody, FailBody, HeartbeatBody
from tickwright.api.idempotency import optional_key
from tickwright.api.problems import granted, invalid
from tickwright.api.views import execution_json, execution_summary_json, log_json, time_json
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Fatal, NotRun, RetryLater, a_note, an_error
from tickwright.domain.executions import Execution, Noted
from tickwright.domain.ids import Epoch, JobId
from tickwright.domain.instants import to_rfc3339
from tickwright.domain.logs import LogTail, Tail
from tickwright.domain.outcomes import Refusal
from tickwright.ports.store import Listing
from tickwright.services.cancel import cancel_execution
from tickwright.services.jobs import explain_execution, get_execution, list_attention, list_executions
from tickwright.services.redrive import redrive as redrive_execution
from tickwright.services.report import report_failure, report_heartbeat, report_success
from tickwright.services.run_logs import list_logs
from tickwright.services.shown import as_listed, as_shown

# One that has ended changes only by a redrive; one that has not may change within a second. A poller that is offline
# for a while may show what it had.
_CACHE_ENDED = "private, max-age=30, stale-if-error=86400"
_CACHE_OPEN = "private, max-age=1, stale-if-error=60"
_LOGS_A_PAGE = 20  # of 16 KB each, more where JSON escapes them: a function's answer may have 6 MB


async def list_of_job(call: Call) -> Response:
    """GET /v1/jobs/{jobId}/executions."""
    query = call.asked(Query)
    after_key = call.after_key(query.next_token)
    job_id = JobId(call.params["jobId"])
    page = await list_executions(call.kit, call.tenant_id, job_id, limit=query.limit, after_key=after_key)
    return await _page(call, granted(page))


async def list_those_that_need_attention(call: Call) -> Response:
    """GET /v1/executions?attention=true."""
    query = call.asked(AttentionQuery)
    after_key = call.after_key(query.next_token)
    return await _page(call, await list_attention(call.kit, call.tenant_id, limit=query.limit, after_key=after_key))


async def _page(call: Call, page: Listing[Execution]) -> Response:
    answer: ExecutionsJson = {
        "executions": [execution_summary_json(execution) for execution in await as_listed(call.kit, page.items)],
        "nextToken": call.next_token(page.next_key),
    }
    return json_response(200, answer)


async def get(call: Call) -> Response:
    """GET /v1/executions/{executionId}."""
    return await _shown(call, await get_execution(call.kit, call.tenant_id, _id(call)))


async def explain(call: Call) -> Response:
    """GET /v1/executions/{executionId}/explanation."""
    explanation = granted(await explain_execution(call.kit, call.tenant_id, _id(call)))
    answer: ExplanationJson = {
        "executionId": _id(call),
        "waitsFor": explanation.waits_for,
        "since": to_rfc3339(explanation.since),
        "startsAt": time_json(explanation.starts_at),
    }
    return json_response(200, answer)


async def logs(call: Call) -> Response:
    """GET /v1/executions/{executionId}/logs."""
    query = call.asked(Query)
    after_key, limit = call.after_key(query.next_token), min(query.limit, _LOGS_A_PAGE)
    found = granted(await list_logs(call.kit, call.tenant_id, _id(call), limit=limit, after_key=after_key))
    answer: LogsJson = {
        "executionId": found.execution.ref.id,
        "logs": [log_json(log) for log in found.page.items],
        "cloudWatch": call.api.log_link(found.execution),
        "nextToken": call.next_token(found.page.next_key),
    }
    return json_response(200, answer)


async def cancel(call: Call) -> Response:
    """POST /v1/executions/{executionId}/cancel."""
    return await _shown(call, await cancel_execution(call.kit, call.tenant_id, _id(call)))


async def redrive(call: Call) -> Response:
    """POST /v1/executions/{executionId}/redrive."""
    request = optional_key(call.request, call.value)
    return await _shown(call, await redrive_execution(call.kit, call.tenant_id, _id(call), request))


async def heartbeat(call: Call) -> Response:
    """POST /v1/executions/{executionId}/heartbeat."""
    body = call.read(HeartbeatBody)
    epoch, noted = Epoch(body.lease_epoch), _noted(body)
    extended = granted(
        await report_heartbeat(call.kit, call.tenant_id, _id(call), epoch=epoch, worker=body.worker_id, noted=noted)
    )
    answer: ExtendedJson = {"extendUntil": to_rfc3339(extended.until)}
    return json_response(200, answer)


async def complete(call: Call) -> Response:
    """POST /v1/executions/{executionId}/complete."""
    body = call.read(CompleteBody)
    result = _result(body)
    epoch = Epoch(body.lease_epoch)
    said = _said(body)
    return await _shown(
        call, await report_success(call.kit, call.tenant_id, _id(call), epoch=epoch, result=result, said=said)
    )


async def fail(call: Call) -> Response:
    """POST /v1/executions/{executionId}/fail."""
    body = call.read(FailBody)
    epoch = Epoch(body.lease_epoch)
    failed, said = _failed(body), _said(body)
    return await _shown(
        call, await report_failure(call.kit, call.tenant_id, _id(call), epoch=epoch, failed=failed, said=said)
    )


def _said(body: CompleteBody | FailBody) -> Tail:
    """What the attempt has said, cut to what is kept."""
    log = LogTail()
    log.write(body.log)
    text, cut = log.tail()
    return Tail(text=text, cut=cut + body.log_cut)


def _noted(body: HeartbeatBody) -> Noted | None:
    if body.progress is None and body.checkpoint is None:
        return None
    checkpoint = _kept("/checkpoint", body.checkpoint, limits.CHECKPOINT_BYTES_MAX)
    return a_note(body.progress, checkpoint)


def _result(body: CompleteBody) -> str | None:
    return _kept("/result", body.result, limits.RESULT_BYTES_MAX)


def _kept(pointer: str, value: object, bytes_max: int) -> str | None:
    """The JSON text that is kept of a member."""
    if value is None:
        return None
    text = as_json(value)
    if len(text) > bytes_max:
        remedy = f"It has {len(text)} bytes and may have {bytes_max}; store it and send where it is."
        raise invalid(pointer, "too_large", remedy)
    return text.decode()


def _failed(body: FailBody) -> Failure | Fatal | RetryLater | NotRun:
    said = body.error
    error = None if said is None else an_error(said.error_class, said.message, said.trace)
    if body.kind == "notRun":
        return NotRun(after_s=body.after_sec or 0.0)
    if body.kind == "retryLater":
        if body.after_sec is None:
            raise invalid("/afterSec", "missing", "It is required beside retryLater; say how long to wait.")
        return RetryLater(after_s=body.after_sec, error=error)
    if error is None:
        raise invalid("/error", "missing", "It is required; say what went wrong, or send another kind.")
    return Fatal(error=error) if body.kind == "fatal" else Failure(error=error, after_s=body.after_sec)


def _id(call: Call) -> str:
    return call.params["executionId"]


async def _shown(call: Call, outcome: Execution | Refusal) -> Response:
    execution = await as_shown(call.kit, granted(outcome))
    return shown(execution_json(execution), _CACHE_ENDED if execution.is_terminal else _CACHE_OPEN)
