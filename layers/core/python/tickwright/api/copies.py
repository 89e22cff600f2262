"""What is answered for a job's or an execution's status while the store does not answer: a copy, marked as stale.

Copies are made of what was answered, after its secrets were taken out, and by successful requests alone. A stale answer
has no ETag that an edit could be made from. Promises: SEM-STALE-1, SEM-STALE-2, SEM-STALE-3.
"""

import json
from typing import Final

from tickwright.api.answers import ExecutionJson, ExecutionShownJson, JobJson, JobShownJson
from tickwright.api.call import Call
from tickwright.api.exchange import Response, json_response
from tickwright.api.kept import copy_at, keep_copy, path_of_accepted
from tickwright.api.problems import Refused
from tickwright.api.route import Route
from tickwright.domain.events import EventName
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.outcomes import JOB_PENDING, Code
from tickwright.ports.faults import Unavailable
from tickwright.ports.status_cache import Copy

# If-Match compares strongly (RFC 9110): a weak tag matches nothing.
NO_EDIT_FROM_THIS: Final = 'W/"stale"'
_SHOWN_WHOLE: Final = (JobJson, JobShownJson, ExecutionJson, ExecutionShownJson)
_OK: Final = (200, 201)


async def answered(call: Call, route: Route) -> Response:
    """The endpoint's answer, of which a copy is kept; or that copy, where the store does not answer."""
    if call.api.copies is None or (route.answer not in _SHOWN_WHOLE and "jobId" not in call.params):
        return await route.endpoint(call)
    try:
        return await _answered(call, route)
    except Refused as refused:
        if refused.refusal.code is Code.NOT_FOUND and await _was_accepted(call):
            raise Refused(JOB_PENDING) from refused
        raise
    except Unavailable as fault:
        if route.answer is JobShownJson and await _was_accepted(call):
            raise Refused(JOB_PENDING) from fault
        raise


async def _was_accepted(call: Call) -> bool:
    """Whether it is about what was accepted lately, by this process or by one that shares its cache."""
    job_id = call.params.get("jobId")
    return job_id is not None and await copy_at(call, path_of_accepted(job_id)) is not None


async def _answered(call: Call, route: Route) -> Response:
    async def asked() -> Response:
        asked_at = call.kit.clock.now()
        response = await route.endpoint(call)
        if route.answer in _SHOWN_WHOLE:
            await _keep(call, response, asked_at)
        return response

    async def instead() -> Response | None:
        return await _stale(call)

    if route.method != "GET" or route.answer not in _SHOWN_WHOLE:
        return await asked()
    return await call.api.known_keys.silence.or_instead(call.kit.clock, asked, instead)


async def _keep(call: Call, response: Response, asked_at: Instant) -> None:
    """A copy of what a GET would have shown: a replay shows what was, and validateOnly what would be."""
    shown_as_it_is = "Idempotent-Replayed" not in response.headers and "ETag" in response.headers
    if response.status not in _OK or not shown_as_it_is or ("validateOnly", "true") in call.request.query:
        return
    path = response.headers.get("Location") or _path(call)
    await keep_copy(call, path, Copy(body=response.body, as_of=asked_at))


async def _stale(call: Call) -> Response | None:
    copy = await copy_at(call, _path(call))
    if copy is None:
        return None
    age_ms = max(0, call.kit.clock.now() - copy.as_of)
    call.kit.emit(EventName.COPY_SHOWN, measured={"ageMs": float(age_ms)}, tenantId=call.tenant_id)
    marks = {"etag": NO_EDIT_FROM_THIS, "stale": True, "asOf": to_rfc3339(copy.as_of)}
    headers = {
        "Age": str(age_ms // 1_000),
        "Warning": '110 - "Response is Stale"',
        "ETag": NO_EDIT_FROM_THIS,
        "Cache-Control": "no-store",
    }
    return json_response(200, {**json.loads(copy.body), **marks}, headers)


def _path(call: Call) -> str:
    """Where GET shows what the call is about."""
    if "jobId" in call.params:
        return f"/v1/jobs/{call.params['jobId']}"
    return f"/v1/executions/{call.params['executionId']}"
