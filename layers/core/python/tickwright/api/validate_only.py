"""What a write would do that is only to be validated: the answer to `validateOnly=true`.

Must not write anything, nor know the rules. Promise: SEM-SCHED-19.
"""

from tickwright.api.answers import LintNoteJson, PreviewJson, ValidatedJson
from tickwright.api.call import Call
from tickwright.api.exchange import Response, json_response
from tickwright.api.job_bodies import WriteQuery
from tickwright.api.problems import Refused, granted
from tickwright.api.views import job_json, preview_json, spec_json
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.job_lint import job_lint
from tickwright.domain.jobs import JobSpec
from tickwright.domain.schedules import from_compact
from tickwright.services.jobs import with_its_run
from tickwright.services.named_calendars import calendars_named
from tickwright.services.pools import pool_refusal
from tickwright.services.preview import Edit, Question, name_refusal, preview_edit, preview_schedule

NO_JOB_YET = JobId("")


def is_asked(call: Call) -> bool:
    """Whether the caller only wants to know."""
    return call.asked(WriteQuery).validate_only == "true"


async def would_create(call: Call, spec: JobSpec) -> Response:
    """POST /v1/jobs?validateOnly=true."""
    refusal = await pool_refusal(call.kit, call.tenant_id, spec)
    refusal = refusal or await name_refusal(call.kit, call.tenant_id, spec.name, None)
    if refusal is not None:
        raise Refused(refusal)
    schedule = from_compact(spec.schedule)
    question = Question(
        tenant_id=call.tenant_id,
        source=spec.source,
        schedule=schedule,
        start=call.kit.clock.now(),
        calendars=granted(await calendars_named(call.kit, call.tenant_id, schedule)),
    )
    previewed = preview_schedule(call.kit, call.api.second_engine, question)
    answer: ValidatedJson = {
        "job": spec_json(spec),
        "preview": _with_job_notes(preview_json(previewed), spec, call),
        "ticksBefore": None,
        "ticksAfter": [to_rfc3339(tick.at) for tick in previewed.preview.ticks],
    }
    return json_response(200, answer)


async def would_edit(call: Call, asked: Edit) -> Response:
    """PUT or PATCH /v1/jobs/{jobId}?validateOnly=true; its ETag is the one that the edit itself may send."""
    spec = asked.spec
    edit = granted(await preview_edit(call.kit, call.api.second_engine, call.tenant_id, asked))
    answer: ValidatedJson = {
        "job": spec_json(spec),
        "preview": _with_job_notes(preview_json(edit.previewed), spec, call),
        "ticksBefore": _times(edit.before),
        "ticksAfter": _times(edit.after),
    }
    etag = job_json(await with_its_run(call.kit, edit.view), call.api.handlers)["etag"]
    return json_response(200, answer, {"ETag": etag})


def _with_job_notes(preview: PreviewJson, spec: JobSpec, call: Call) -> PreviewJson:
    found = job_lint(spec, call.kit.clock.now(), call.api.handlers)
    notes: list[LintNoteJson] = [{"code": note.code, "message": note.message} for note in found]
    return {**preview, "lint": [*preview["lint"], *notes]}


def _times(ticks: tuple[Instant, ...]) -> list[str]:
    return [to_rfc3339(tick) for tick in ticks]
