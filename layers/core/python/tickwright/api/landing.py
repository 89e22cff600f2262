"""How a submission that was accepted while the store did not answer becomes a job: by the same rules, as of its time.

Must not know where it waited. Landing twice is landing once: the job's id and the request's record say so.
Promises: SEM-INTAKE-1, SEM-INTAKE-2.
"""

import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from tickwright.api.call import Api, Call
from tickwright.api.creation import Asked, submit_once
from tickwright.api.exchange import Caller, Request
from tickwright.api.idempotency import another_job_id
from tickwright.api.problems import Refused
from tickwright.domain import limits
from tickwright.domain.deletions import REFUSED_AS, Deletion
from tickwright.domain.events import EventName
from tickwright.domain.ids import JobId, TenantId
from tickwright.domain.instants import to_rfc3339
from tickwright.domain.jobs import Head
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.tenants import Scope
from tickwright.ports.faults import Unavailable
from tickwright.ports.intake import Arrived, Intake, Submission
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey

DeletionOf = Callable[[TenantId], Awaitable[Deletion | None]]


async def settle_arrival(api: Api, intake: Intake, arrived: Arrived, *, deletion_of: DeletionOf | None = None) -> bool:
    """Land what has arrived, or set it aside where it is refused; whether it is done with, and need not come again.

    Dying anywhere in here loses nothing: the message comes again, and finds the job, or is refused as before.
    `deletion_of`: tells how far the deletion of a tenant has come; without it none is taken for deleted.
    """
    try:
        refusal = await land(api, arrived.submission, deletion_of=deletion_of)
        if refusal is None:
            return True
        if not refusal.retryable:
            await intake.set_aside(arrived.submission, refusal)
            return True
    except Unavailable as fault:
        api.kit.emit(EventName.STORE_FAULT, jobId=arrived.submission.job_id, fault=type(fault).__name__)
    except Exception as fault:  # noqa: BLE001 - a bug of ours, or a right that lacks: the others of the batch land
        job_id, name = arrived.submission.job_id, type(fault).__name__
        api.kit.emit(EventName.LOOP_BROKE, jobId=job_id, fault=name, detail=str(fault)[:500])
    _note_wait(api.kit, arrived.submission)
    with contextlib.suppress(Unavailable):  # then it comes when its visibility ends
        await intake.show_again(arrived, after_ms=limits.LANDING_AGAIN_MS)
    return False


async def land(api: Api, submission: Submission, *, deletion_of: DeletionOf | None = None) -> Refusal | None:
    """Make it a job, if it is none yet; the refusal, where it is refused.

    It has to come again after a refusal that is retryable, and after what this raises: the store does not answer.
    """
    there = await api.kit.store.head(submission.job_id)
    told_anothers = there is not None and _is_forgotten(there, submission)
    if told_anothers:
        submission = replace(submission, job_id=another_job_id(submission.job_id, submission.asked_at))
        there = await api.kit.store.head(submission.job_id)
    if there is not None:
        assert there.tenant_id == submission.tenant_id, "ids of jobs are made from their tenants"
        _note(api.kit, submission, "before")
        return None
    try:
        _check_age(api.kit, submission)
        await _check_tenant(submission, deletion_of)
        await _land(api, submission, told_anothers=told_anothers)
    except Refused as refused:
        if not refused.refusal.retryable:
            code = refused.refusal.code.value
            api.kit.emit(
                EventName.SUBMISSION_REFUSED, jobId=submission.job_id, tenantId=submission.tenant_id, code=code
            )
        return refused.refusal
    return None


def _check_age(kit: Kit, submission: Submission) -> None:
    """Refuse what comes so late that the record of its request may be gone: it might make a second job."""
    days = limits.SUBMISSION_LANDS_S_MAX // 86_400
    if kit.clock.now() - submission.asked_at <= limits.SUBMISSION_LANDS_S_MAX * 1_000:
        return
    detail = (
        f"It was accepted at {to_rfc3339(submission.asked_at)}, over {days} days ago: whether the same request has "
        "made a job since cannot be told any more. Look for that job; where there is none, submit it with a fresh key."
    )
    raise Refused(Refusal(code=Code.DEADLINE, detail=detail))


async def _check_tenant(submission: Submission, deletion_of: DeletionOf | None) -> None:
    """Refuse what was asked before its tenant was gone: that has no more jobs, and one of that name is another.

    A deletion that begins after this look rests for longer than a landing takes, and then stops what has landed.
    """
    deletion = None if deletion_of is None else await deletion_of(submission.tenant_id)
    if deletion is None:
        return
    if deletion.ended_at is None or submission.asked_at <= deletion.ended_at:
        detail = f"The tenant {submission.tenant_id} was deleted, by a request of {to_rfc3339(deletion.asked_at)}."
        raise Refused(Refusal(code=REFUSED_AS, detail=detail))


def _of_another_id(told: JobId, made: JobId) -> Refusal:
    """The request had made its job before, under an id that was not made from it: whoever was told this one is told."""
    detail = f"The same request has created job {made} before; no job has the id {told}, which was told for it."
    return Refusal(code=Code.IDEMPOTENCY_KEY_REUSED, detail=detail)


def _is_forgotten(there: Head, submission: Submission) -> bool:
    """Whether the job is of a request so long before that the same one, sent again, is a new one and its job another.

    Had it been answered, it would have made one: the id that was told is the old job's, and this one gets its own.
    """
    return there.created_at < submission.asked_at - limits.IDEMPOTENCY_S * 1_000


async def _land(api: Api, submission: Submission, *, told_anothers: bool) -> None:
    call = _call(api, submission)
    request = RequestKey(key=submission.key, body_hash=submission.body_hash, asked_at=submission.asked_at)
    asked = Asked(members=_members(submission), request=request, job_id=submission.job_id, at=submission.asked_at)
    submitted = await submit_once(call, asked)
    if submitted.head.job_id != submission.job_id and not told_anothers:
        raise Refused(_of_another_id(submission.job_id, submitted.head.job_id))
    submission = replace(submission, job_id=submitted.head.job_id)
    _note(api.kit, submission, "repeated" if submitted.replayed else "now")


def _call(api: Api, submission: Submission) -> Call:
    """The request as it was made; its key opened the door then."""
    return Call(
        api=api,
        request=Request(method="POST", path="/v1/jobs"),
        request_id=submission.job_id,
        params={},
        query=None,
        body=None,
        value=None,
        maybe_caller=Caller(tenant_id=submission.tenant_id, scopes=frozenset({Scope.JOBS_WRITE})),
    )


def _members(submission: Submission) -> Mapping[str, object]:
    """What was sent. Its shape was judged before it was accepted, by a version that this one understands."""
    members = json.loads(submission.body)
    assert isinstance(members, dict), "what is accepted is a job"
    return members


def _note(kit: Kit, submission: Submission, how: str) -> None:
    about = {"jobId": submission.job_id, "tenantId": submission.tenant_id, "how": how}
    kit.emit(EventName.SUBMISSION_LANDED, measured=_waited(kit, submission), **about)


def _note_wait(kit: Kit, submission: Submission) -> None:
    about = {"jobId": submission.job_id, "tenantId": submission.tenant_id}
    kit.emit(EventName.SUBMISSION_WAITS, measured=_waited(kit, submission), **about)


def _waited(kit: Kit, submission: Submission) -> dict[str, float]:
    return {"waitedMs": float(max(0, kit.clock.now() - submission.asked_at))}
