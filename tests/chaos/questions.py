"""What owners ask that changes nothing: lists, versions, previews, and requests that must be refused.

Each question looks up what is certain to be there and says what was answered wrongly. Owners' errands of one job come
one after the other, so nobody but the scheduler moves it meanwhile. Must not look at evidence.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.history import Closing, Story
from tests.chaos.jobs import Body, Errand, Plan, Wish, sent
from tickwright.domain.executions import Execution
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.job_rules import read_spec
from tickwright.domain.jobs import Definition, JobSpec
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.schedules import HashIdentity, from_compact, read_calendar
from tickwright.services import calendars, change_job, jobs
from tickwright.services.cancel import cancel_execution
from tickwright.services.jobs import JobView
from tickwright.services.kit import Kit
from tickwright.services.named_calendars import calendars_named
from tickwright.services.preview import Edit, preview_edit
from tickwright.services.redrive import redrive
from tickwright.services.run_now import run_now
from tickwright.services.submit import RequestKey, submit

_PAGE = 2  # so small that every list has several
_NOBODY = TenantId("nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What an owner asks with: the job as planned and as acknowledged, and all others'."""

    kit: Kit
    plan: Plan
    story: Story
    stories: Sequence[Story]
    lag_ms: int

    @property
    def tenant(self) -> TenantId:
        """Whose job it is."""
        return TenantId(self.story.tenant)

    @property
    def job_id(self) -> JobId:
        """Which job it is."""
        return self.story.job_id


async def ask(known: Known, errand: Errand) -> list[str]:
    """What was wrong with the answers. Raises Unavailable: then it is asked anew."""
    wrong = await _QUESTIONS[errand.wish](known, errand)
    return [f"{errand.wish.value} of {known.plan.name}: {told}" for told in wrong]


# --- requests ------------------------------------------------------------------------------------------------------
def spec_of(kit: Kit, plan: Plan, body: Body, version: int) -> JobSpec:
    """A body as it is sent now, read as the product reads it."""
    identity = HashIdentity(plan.tenant, plan.name)
    return read_spec(sent(plan, body, version), identity=identity, now=kit.clock.now())


def request_of(plan: Plan) -> RequestKey:
    """The submit of a job, and every repeat of it."""
    return RequestKey(key=f"POST /v1/jobs {plan.name}", body_hash=json.dumps(plan.body, sort_keys=True))


def calendar_body(closing: Closing) -> Mapping[str, object]:
    """A calendar as the API is sent it."""
    stretches = [
        {"start": to_rfc3339(Instant(start)), "end": to_rfc3339(Instant(end))} for start, end in closing.stretches
    ]
    kind = "exclude" if closing.excludes else "include"
    return {"type": kind, "timezone": "UTC", "days": list(closing.days), "windows": stretches}


async def executions_of(kit: Kit, job_id: JobId) -> list[Execution]:
    """All executions of a job, newest first, strongly read."""
    found: list[Execution] = []
    after_key: str | None = None
    while True:
        page = await kit.store.executions_of(job_id, limit=500, after_key=after_key)
        found += page.items
        if (after_key := page.next_key) is None:
            return found


# --- what must be refused ------------------------------------------------------------------------------------------
def _unless(code: Code, answers: Mapping[str, object]) -> list[str]:
    return [
        f"{name} was answered {answer}"
        for name, answer in answers.items()
        if not isinstance(answer, Refusal) or answer.code is not code
    ]


async def _key_twice(known: Known, _errand: Errand) -> list[str]:
    """Another body under the key of the submit."""
    request = RequestKey(key=request_of(known.plan).key, body_hash="another")
    spec = spec_of(known.kit, known.plan, known.plan.body, 1)
    answer = await submit(known.kit, known.tenant, spec, request)
    return _unless(Code.IDEMPOTENCY_KEY_REUSED, {"submit": answer})


async def _stale(known: Known, _errand: Errand) -> list[str]:
    """Changes of a version that the job has no more, and of one that it does not have yet."""
    kit, tenant, job_id = known.kit, known.tenant, known.job_id
    view = await jobs.get_job(kit, tenant, job_id)
    if isinstance(view, Refusal):
        return [f"the job was answered {view}"]
    spec, old, ahead = view.definition.spec, view.head.version - 1, view.head.version + 3
    answers: dict[str, object] = {
        "edit": await change_job.edit_job(kit, tenant, job_id, spec, old, drops_waiting=True),
        "pause": await change_job.pause_job(kit, tenant, job_id, ahead),
        "resume": await change_job.resume_job(kit, tenant, job_id, ahead),
        "cancel": await change_job.cancel_job(kit, tenant, job_id, ahead),
    }
    for put in known.story.puts[:1]:
        name, content = put.closing.name, read_calendar(calendar_body(put.closing))
        answers["put"] = await calendars.put_calendar(kit, tenant, name, content, 1_000)
    return _unless(Code.VERSION_CONFLICT, answers)


async def _foreign(known: Known, errand: Errand) -> list[str]:
    """Everything that there is to ask of a job and its executions, by a tenant whose they are not."""
    kit, job_id = known.kit, known.job_id
    others = sorted({TenantId(story.tenant) for story in known.stories} - {known.tenant})
    tenant = others[errand.at_ms % len(others)] if others else _NOBODY
    mine = await jobs.get_job(kit, known.tenant, job_id)
    if isinstance(mine, Refusal):
        return [f"the job was answered {mine}"]
    version, request = mine.head.version, RequestKey(key=f"foreign {errand.at_ms}", body_hash="-")
    answers: dict[str, object] = {
        "get": await jobs.get_job(kit, tenant, job_id),
        "version": await jobs.get_version(kit, tenant, job_id, 1),
        "versions": await jobs.list_versions(kit, tenant, job_id, limit=_PAGE),
        "ledger": await jobs.list_executions(kit, tenant, job_id, limit=_PAGE),
        "pause": await change_job.pause_job(kit, tenant, job_id, None),
        "resume": await change_job.resume_job(kit, tenant, job_id, None),
        "cancel": await change_job.cancel_job(kit, tenant, job_id, None),
        "edit": await change_job.edit_job(kit, tenant, job_id, mine.definition.spec, version),
        "run": await run_now(kit, tenant, job_id, request),
    }
    for row in (await executions_of(kit, job_id))[:1]:
        answers["execution"] = await jobs.get_execution(kit, tenant, row.ref.id)
        answers["explanation"] = await jobs.explain_execution(kit, tenant, row.ref.id)
        answers["cancel one"] = await cancel_execution(kit, tenant, row.ref.id)
        answers["redrive"] = await redrive(kit, tenant, row.ref.id, request)
    for put in known.story.puts[:1]:
        answers["calendar"] = await calendars.get_calendar(kit, tenant, put.closing.name)
        answers["retire"] = await calendars.retire_calendar(kit, tenant, put.closing.name, None)
    return _unless(Code.NOT_FOUND, answers)


async def _retire(known: Known, _errand: Errand) -> list[str]:
    """A retired calendar goes on closing its jobs, and no other job may name it."""
    if not known.story.puts:
        return []
    kit, name = known.kit, known.story.puts[0].closing.name
    gone = await calendars.retire_calendar(kit, known.tenant, name, None)
    spec = spec_of(kit, known.plan, known.plan.body, 1)
    schedule = from_compact(spec.schedule)
    answer = await calendars_named(kit, known.tenant, schedule)
    kept = await calendars_named(kit, known.tenant, schedule, kept=schedule.calendars)
    listed = await calendars.list_calendars(kit, known.tenant, limit=100)
    wrong = [f"{name} is retired and listed"] if name in {one.name for one in listed.items} else []
    again = isinstance(gone, Refusal) and gone.code is Code.NOT_FOUND  # it was asked for twice
    wrong += [f"the retire was answered {gone}"] if isinstance(gone, Refusal) and not again else []
    wrong += [f"the names that it keeps were answered {kept}"] if isinstance(kept, Refusal) else []
    return wrong + _unless(Code.INVALID, {f"naming {name}": answer})


# --- lists ---------------------------------------------------------------------------------------------------------
async def _list_jobs(known: Known, _errand: Errand) -> list[str]:
    """Each job of the tenant that was acknowledged is on the list once, and no other tenant's is."""
    mine = [story for story in known.stories if story.tenant == known.tenant]
    begun_ms = known.kit.clock.now() - known.lag_ms
    due = {story.job_id for story in mine if story.changes[0].acked_ms <= begun_ms}
    found: list[JobView] = []
    after_key: str | None = None
    while True:
        page = await jobs.list_jobs(known.kit, known.tenant, limit=_PAGE, after_key=after_key)
        found += page.items
        if (after_key := page.next_key) is None:
            break
    ids = [view.head.job_id for view in found]
    wrong = [f"{job_id} is not on the list" for job_id in sorted(due - set(ids))]
    wrong += [f"the list has a job twice: {ids}"] if len(ids) != len(set(ids)) else []
    return wrong + [f"{view.head.job_id} is another's" for view in found if view.head.tenant_id != known.tenant]


async def _ledger(known: Known, _errand: Errand) -> list[str]:
    """What stood in the ledger before is found page by page, newest first, and each says what it waits for."""
    kit = known.kit
    before = {row.key for row in await executions_of(kit, known.job_id)} | known.story.manual
    found: list[Execution] = []
    after_key: str | None = None
    while True:
        page = await jobs.list_executions(kit, known.tenant, known.job_id, limit=_PAGE, after_key=after_key)
        if isinstance(page, Refusal):
            return [f"a page was answered {page}"]
        found += page.items
        if (after_key := page.next_key) is None:
            break
    keys = [row.key for row in found]
    wrong = [f"{key} is not in the ledger" for key in sorted(before - set(keys))]
    wrong += [f"the ledger is out of order: {keys}"] if keys != sorted(set(keys), reverse=True) else []
    for row in found[:_PAGE]:
        told = await jobs.explain_execution(kit, known.tenant, row.ref.id)
        wrong += [f"{row.key} was explained with {told}"] if isinstance(told, Refusal) or not told.waits_for else []
    return wrong


async def _versions(known: Known, _errand: Errand) -> list[str]:
    """Every version of the job, the waiting one too, newest first; and every version of its calendars."""
    view = await jobs.get_job(known.kit, known.tenant, known.job_id)
    if isinstance(view, Refusal):
        return [f"the job was answered {view}"]
    newest = _newest(view)
    found = await _all_versions(known)
    numbers = [definition.version for definition in found]
    wrong = [] if numbers == list(range(newest, 0, -1)) else [f"of {newest} versions there are {numbers}"]
    wrong += [
        f"version {definition.version} has the payload of another"
        for definition in found
        if json.loads(definition.spec.payload)["version"] != definition.version
    ]
    beyond = await jobs.get_version(known.kit, known.tenant, known.job_id, newest + 1)
    return wrong + _unless(Code.NOT_FOUND, {"a version to come": beyond}) + await _calendar_versions(known)


async def _all_versions(known: Known) -> list[Definition]:
    found: list[Definition] = []
    before: int | None = None
    while True:
        page = await jobs.list_versions(known.kit, known.tenant, known.job_id, limit=_PAGE, before=before)
        assert not isinstance(page, Refusal), page
        found += page.items
        if page.next_key is None:
            return found
        before = int(page.next_key)


async def _calendar_versions(known: Known) -> list[str]:
    wrong = []
    for put in known.story.puts:
        kept = await calendars.get_version(known.kit, known.tenant, put.closing.name, put.version)
        content = read_calendar(calendar_body(put.closing))
        if isinstance(kept, Refusal) or kept.content != content:
            wrong.append(f"version {put.version} of {put.closing.name} was answered {kept}")
    return wrong


async def _attention(known: Known, _errand: Errand) -> list[str]:
    """What of the tenant's is dead, and nothing of another's."""
    page = await jobs.list_attention(known.kit, known.tenant, limit=100)
    return [f"{row.ref.id} is another's" for row in page.items if row.tenant_id != known.tenant]


async def _preview(known: Known, errand: Errand) -> list[str]:
    """What an edit to the first body would do; the job is as before."""
    kit, tenant = known.kit, known.tenant
    view = await jobs.get_job(kit, tenant, known.job_id)
    if isinstance(view, Refusal):
        return [f"the job was answered {view}"]
    spec = spec_of(kit, known.plan, known.plan.body, 1)
    at = Instant(kit.clock.now() + errand.at_ms % 3_000)
    edit = Edit(job_id=known.job_id, spec=spec, if_match=view.head.version, effective_from=at, drops_waiting=True)
    answer = await preview_edit(kit, None, tenant, edit)
    if isinstance(answer, Refusal):
        fine = {Code.JOB_OVER, Code.VERSION_CONFLICT, Code.INVALID}  # over, moved on by an edit that waited, or no tick
        return [] if answer.code in fine else [f"it was answered {answer}"]
    ordered = all(list(ticks) == sorted(set(ticks)) for ticks in (answer.before, answer.after))
    wrong = [] if ordered else [f"its ticks are {answer.before} and {answer.after}"]
    after = await _all_versions(known)
    return wrong if max(one.version for one in after) <= _newest(view) else [*wrong, "it made a version"]


def _newest(view: JobView) -> int:
    return max(view.head.definition_version, view.head.pending_version or 0)


_QUESTIONS: Mapping[Wish, Callable[[Known, Errand], Awaitable[list[str]]]] = {
    Wish.KEY_TWICE: _key_twice,
    Wish.STALE: _stale,
    Wish.FOREIGN: _foreign,
    Wish.RETIRE: _retire,
    Wish.LIST_JOBS: _list_jobs,
    Wish.LEDGER: _ledger,
    Wish.VERSIONS: _versions,
    Wish.ATTENTION: _attention,
    Wish.PREVIEW: _preview,
}
