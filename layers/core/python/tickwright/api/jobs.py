"""The endpoints of jobs: create, list, look at, change, end, pause, resume, run.

Must not know the rules: the services decide, here their outcomes become answers. Promises: SEM-IDEM-1, SEM-API-3,
SEM-API-4.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from tickwright.api import validate_only
from tickwright.api.answers import BatchJson, JobsJson, OutcomeJson, VersionsJson
from tickwright.api.bodies import Query
from tickwright.api.call import Call, created, shown
from tickwright.api.creation import check_pool, create_once, fire_new
from tickwright.api.etags import require_if_match, version_demanded
from tickwright.api.exchange import Response, json_response
from tickwright.api.idempotency import optional_key, part_of, required_key
from tickwright.api.job_bodies import BatchBody, EditQuery, JobBody, JobsQuery
from tickwright.api.merge_patch import merged
from tickwright.api.problems import Refused, granted, invalid, invalid_fields, problem
from tickwright.api.shapes import shaped
from tickwright.api.specs import check_target, read_members, read_moment
from tickwright.api.submissions import accepted, any_job, insisting_on_each, own, submit_or_accept
from tickwright.api.views import execution_json, job_json, job_summary_json, spec_members, version_json
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.limits import EFFECTIVE_AHEAD_S_MAX, STANDARD
from tickwright.domain.outcomes import Refusal
from tickwright.domain.schedules import from_compact
from tickwright.ports.intake import Submission
from tickwright.services.change_job import cancel_job, edit_job, pause_job, resume_job, secrets_problems
from tickwright.services.hidden import hidden_by_now
from tickwright.services.jobs import (
    JobView,
    get_job,
    get_newest,
    get_version,
    list_jobs,
    list_versions,
    with_its_run,
    with_runs,
)
from tickwright.services.named_calendars import calendars_of_edit
from tickwright.services.preview import Edit
from tickwright.services.run_now import run_now
from tickwright.services.shown import as_shown
from tickwright.services.submit import RequestKey, Submitted

REPLAYED = {"Idempotent-Replayed": "true"}
_VERSIONS_A_PAGE = 20  # each is one read, and may hold a payload of a quarter megabyte
_VERSION_DIGITS = 9

Change = Callable[..., Awaitable[JobView | Refusal]]


async def create(call: Call) -> Response:
    """POST /v1/jobs."""
    if validate_only.is_asked(call):
        spec = read_members(call, call.read(JobBody).members(), validate_only.NO_JOB_YET, call.kit.clock.now())
        check_target(call, spec)
        return await validate_only.would_create(call, spec)
    submitted = await submit_or_accept(call, call.read(JobBody), required_key(call.request, call.value))
    if isinstance(submitted, Submission):
        return accepted(submitted)
    shown_job = job_json(await _seen(call, submitted), call.api.handlers)
    location = f"/v1/jobs/{submitted.head.job_id}"
    return created(location, shown_job, REPLAYED if submitted.replayed else None)


async def create_batch(call: Call) -> Response:
    """POST /v1/jobs/batch."""
    whole = required_key(call.request, call.value)
    parts = [(value, part_of(whole, index, value)) for index, value in enumerate(call.read(BatchBody).jobs)]
    made = await insisting_on_each(call, [_part(call, value, request) for value, request in parts])
    await fire_new(call, [one.submitted for one in made if isinstance(one, _Made)])
    answer: BatchJson = {"outcomes": [_outcome(call, one) for one in made]}
    return json_response(200, answer)


@dataclass(frozen=True, slots=True)
class _Made:
    """A job of a batch, and how it is shown."""

    submitted: Submitted
    view: JobView


def _part(call: Call, value: object, request: RequestKey) -> Callable[[], Awaitable[_Made | Refused]]:
    """One job of a batch: asked for as often as it takes, as of now."""
    try:
        asked = any_job(call, shaped(JobBody, value), request)
    except Refused as refused:
        return partial(_refused, refused)

    async def made() -> _Made | Refused:
        try:
            submitted = own(asked, await create_once(call, asked))
        except Refused as refused:
            return refused
        return _Made(submitted, await _seen(call, submitted))

    return made


async def _refused(refused: Refused) -> Refused:
    return refused


def _outcome(call: Call, made: _Made | Refused) -> OutcomeJson:
    if isinstance(made, Refused):
        refusal = problem(made.refusal, call.request_id)
        return {"status": refusal["status"], "replayed": False, "problem": refusal}
    return {"status": 201, "replayed": made.submitted.replayed, "job": job_json(made.view, call.api.handlers)}


async def _seen(call: Call, submitted: Submitted) -> JobView:
    """The job as a GET would show it: it may have fired already, and hide by now what it did not when it was new."""
    head, definition = submitted.head, submitted.definition
    hidden = await hidden_by_now(call.kit, head.job_id, definition.version) if submitted.replayed else ()
    return await with_its_run(call.kit, JobView(head=head, definition=definition, hidden=hidden))


async def list_all(call: Call) -> Response:
    """GET /v1/jobs."""
    query = call.asked(JobsQuery)
    page = await list_jobs(
        call.kit,
        call.tenant_id,
        limit=query.limit,
        prefix=query.prefix,
        after_key=call.after_key(query.next_token),
        status=query.status,
        tag=query.tag,
    )
    answer: JobsJson = {
        "jobs": [job_summary_json(view) for view in await with_runs(call.kit, page.items)],
        "nextToken": call.next_token(page.next_key),
    }
    return json_response(200, answer)


async def get(call: Call) -> Response:
    """GET /v1/jobs/{jobId}."""
    return await _shown(call, await get_job(call.kit, call.tenant_id, _id(call)))


async def replace(call: Call) -> Response:
    """PUT /v1/jobs/{jobId}: the whole job anew."""
    require_if_match(call.request)
    view = granted(await get_job(call.kit, call.tenant_id, _id(call)))
    return await _edit(call, call.read(JobBody), view)


async def patch(call: Call) -> Response:
    """PATCH /v1/jobs/{jobId}: a JSON merge patch (RFC 7396) on the job as it is."""
    require_if_match(call.request)
    if not isinstance(call.value, Mapping):
        raise invalid("", "bad_type", "A merge patch of a job is an object; send the members that change.")
    view = granted(await get_job(call.kit, call.tenant_id, _id(call)))
    whole = _without_nulls(spec_members(view.definition.spec))
    return await _edit(call, shaped(JobBody, merged(whole, call.value)), view)


def _without_nulls(spec: Mapping[str, object]) -> dict[str, object]:
    """A member that was never set is absent; a payload may be null on purpose, and is null where it is absent."""
    return {name: value for name, value in spec.items() if value is not None}


async def _edit(call: Call, body: JobBody, view: JobView) -> Response:
    """Put the body in place of the job that was seen; an If-Match of `*` is for whichever version that is."""
    if_match = version_demanded(call.request) or view.head.version
    spec = read_members(call, body.members(), _id(call), call.kit.clock.now())
    if problems := await secrets_problems(call.kit, view, spec):
        raise invalid_fields(problems)
    check_target(call, spec)
    granted(await calendars_of_edit(call.kit, call.tenant_id, _id(call), from_compact(spec.schedule)))
    await check_pool(call, spec)
    effective_from = _effective_from(call)
    drops = call.asked(EditQuery).drop_waiting == "true"
    if validate_only.is_asked(call):
        edit = Edit(job_id=_id(call), spec=spec, if_match=if_match, effective_from=effective_from, drops_waiting=drops)
        return await validate_only.would_edit(call, edit)
    return await _shown(
        call, await edit_job(call.kit, call.tenant_id, _id(call), spec, if_match, effective_from, drops_waiting=drops)
    )


def _effective_from(call: Call) -> Instant | None:
    """When the edit shall count, if not now; at most a year ahead."""
    text = call.asked(EditQuery).effective_from
    if text is None:
        return None
    at, now = read_moment(text, "query:effectiveFrom"), call.kit.clock.now()
    if at < now - STANDARD.missed_after_ms:
        raise invalid("query:effectiveFrom", "in_the_past", "It is over; write a later instant, or leave it out.")
    if at > now + EFFECTIVE_AHEAD_S_MAX * 1_000:
        raise invalid("query:effectiveFrom", "out_of_range", "It is over 366 days ahead; write an earlier one.")
    return at


async def list_of_versions(call: Call) -> Response:
    """GET /v1/jobs/{jobId}/versions."""
    query = call.asked(Query)
    before = call.after_key(query.next_token)
    limit = min(query.limit, _VERSIONS_A_PAGE)
    newest = granted(await get_newest(call.kit, call.tenant_id, _id(call)))
    page = granted(
        await list_versions(
            call.kit, call.tenant_id, _id(call), limit=limit, before=None if before is None else int(before)
        )
    )
    answer: VersionsJson = {
        "versions": [version_json(definition, newest) for definition in page.items],
        "nextToken": call.next_token(page.next_key),
    }
    return json_response(200, answer)


async def get_one_version(call: Call) -> Response:
    """GET /v1/jobs/{jobId}/versions/{version}."""
    text = call.params["version"]
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= _VERSION_DIGITS else 0
    newest = granted(await get_newest(call.kit, call.tenant_id, _id(call)))
    version = granted(await get_version(call.kit, call.tenant_id, _id(call), number))
    return json_response(200, version_json(version, newest))


async def end(call: Call) -> Response:
    """DELETE /v1/jobs/{jobId}: cancel what is unfinished, and end the job."""
    return await _change(call, cancel_job)


async def pause(call: Call) -> Response:
    """POST /v1/jobs/{jobId}/pause."""
    return await _change(call, pause_job)


async def resume(call: Call) -> Response:
    """POST /v1/jobs/{jobId}/resume."""
    return await _change(call, resume_job)


async def _change(call: Call, change: Change) -> Response:
    return await _shown(call, await change(call.kit, call.tenant_id, _id(call), version_demanded(call.request)))


async def run(call: Call) -> Response:
    """POST /v1/jobs/{jobId}/run."""
    request = optional_key(call.request, call.value)
    execution = granted(await run_now(call.kit, call.tenant_id, _id(call), request))
    return created(f"/v1/executions/{execution.ref.id}", execution_json(await as_shown(call.kit, execution)))


def _id(call: Call) -> JobId:
    return JobId(call.params["jobId"])


async def _shown(call: Call, outcome: JobView | Refusal) -> Response:
    return shown(job_json(await with_its_run(call.kit, granted(outcome)), call.api.handlers))
