"""How a job is submitted, also while the store does not answer: asked again within the request, then accepted.

Must not know what the rules refuse. The id of a job that may have to wait in the intake is made from its request, so
that a repeat, an attempt whose answer was lost and the landing all mean one job. Promises: SEM-IDEM-1, SEM-INTAKE-1.
"""

import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tickwright.api.answers import AcceptedJson
from tickwright.api.call import Call
from tickwright.api.creation import Asked, create_once, few_at_once, fire_new
from tickwright.api.exchange import Response, json_response
from tickwright.api.idempotency import job_id_of
from tickwright.api.job_bodies import JobBody
from tickwright.api.kept import keep_copy, path_of_accepted
from tickwright.api.problems import RETRY_AFTER_S, Refused
from tickwright.api.specs import check_target, read_members
from tickwright.domain import limits
from tickwright.domain.events import EventName
from tickwright.domain.ids import JobId
from tickwright.domain.instants import to_rfc3339
from tickwright.ports.faults import Unavailable
from tickwright.ports.intake import Intake, Submission
from tickwright.ports.status_cache import Copy
from tickwright.services.silence import insist
from tickwright.services.submit import RequestKey, Submitted

AnswerT = TypeVar("AnswerT")


async def submit_or_accept(call: Call, body: JobBody, request: RequestKey) -> Submitted | Submission:
    """The job; or, where the store does not answer for a while and there is an intake, what waits in it."""
    submitted = await _submit_or_accept(call, body, request)
    if isinstance(submitted, Submitted):
        await fire_new(call, [submitted])
    return submitted


async def _submit_or_accept(call: Call, body: JobBody, request: RequestKey) -> Submitted | Submission:
    intake = call.api.intake
    if intake is None:
        asked = any_job(call, body, request)
        return own(asked, await insisting(call, lambda: create_once(call, asked), for_ms=call.api.insists_ms))
    job_id = job_id_of(call.page_secret, call.tenant_id, request)
    asked = Asked(members=body.members(), request=request, job_id=job_id, at=call.kit.clock.now())
    if call.api.known_keys.silence.lasts(call.kit.clock):
        with contextlib.suppress(Unavailable):  # then the store is asked: it may be back, and the queue is not
            if (kept := await _put(call, intake, asked)) is not None:
                return kept
    try:
        return await insisting(call, lambda: create_once(call, asked), for_ms=call.api.insists_ms)
    except Unavailable:
        submission = await _put(call, intake, asked)
        if submission is None:
            raise
        return submission


def any_job(call: Call, body: JobBody, request: RequestKey) -> Asked:
    """A job under an id that means nothing."""
    return Asked(
        members=body.members(), request=request, job_id=JobId(call.kit.entropy.token()), at=call.kit.clock.now()
    )


def own(asked: Asked, submitted: Submitted) -> Submitted:
    """What came of it; no replay where this very request made the job, and was not told so the first time."""
    return replace(submitted, replayed=submitted.replayed and submitted.head.job_id != asked.job_id)


async def insisting(
    call: Call, attempt: Callable[[], Awaitable[AnswerT]], *, for_ms: int = limits.SUBMIT_INSISTS_MS
) -> AnswerT:
    """What may be done twice and counts once, asked again for so long, in a program that insists.

    In a silence that lasts it is asked for two seconds: else all places of the API would soon be taken by who asks.
    """
    silence, clock = call.api.known_keys.silence, call.kit.clock
    if not call.api.insists_ms:
        return await attempt()
    for_ms = limits.STORE_PATIENCE_MS if silence.lasts(clock) else for_ms
    try:
        answer = await insist(call.kit, attempt, for_ms=for_ms)
    except Unavailable as fault:
        silence.hears(clock, fault)
        raise
    silence.ends()
    return answer


async def insisting_on_each(call: Call, attempts: Sequence[Callable[[], Awaitable[AnswerT]]]) -> Sequence[AnswerT]:
    """The answers of all, in their order: those alone that were not answered are asked again, for as long as one is."""
    answered: dict[int, AnswerT] = {}

    async def ask_the_others() -> None:
        faults: list[Unavailable] = []

        async def ask(number: int) -> None:
            if faults:  # the next round asks for it: what is under way is waited for, and keeps its answer
                return
            try:
                answered[number] = await attempts[number]()
            except Unavailable as fault:
                faults.append(fault)

        left = [number for number in range(len(attempts)) if number not in answered]
        await few_at_once([partial(ask, number) for number in left])
        if faults:
            raise faults[0]

    await insisting(call, ask_the_others)
    return [answered[number] for number in range(len(attempts))]


async def _put(call: Call, intake: Intake, asked: Asked) -> Submission | None:
    """Into the intake; None where this cannot be accepted.

    What the body alone says is checked now; what only the store knows (names, calendars, pools) when it lands.
    """
    try:
        check_target(call, read_members(call, asked.members, asked.job_id, asked.at))
    except Refused:  # a repeat of one that was accepted, it may be: whether it is, the store knows
        return None
    submission = Submission(
        tenant_id=call.tenant_id,
        job_id=asked.job_id,
        key=asked.request.key,
        body_hash=asked.request.body_hash,
        asked_at=asked.at,
        body=json.dumps(call.value, separators=(",", ":")),
    )
    if not await intake.put(submission):
        return None
    await keep_copy(call, path_of_accepted(asked.job_id), Copy(body=b"", as_of=asked.at))
    call.kit.emit(EventName.SUBMISSION_ACCEPTED, jobId=submission.job_id, tenantId=call.tenant_id)
    return submission


def accepted(submission: Submission) -> Response:
    """202: it is kept, and becomes a job, or is refused, when the store answers again."""
    answer: AcceptedJson = {
        "jobId": submission.job_id,
        "status": "accepted",
        "acceptedAt": to_rfc3339(submission.asked_at),
    }
    headers = {
        "Location": f"/v1/jobs/{submission.job_id}",
        "Retry-After": str(RETRY_AFTER_S),
        "Cache-Control": "no-store",
    }
    return json_response(202, answer, headers)


def insists_ms(*, has_intake: bool) -> int:
    """How long a submission asks the store again within its request."""
    return limits.INTAKE_AFTER_MS if has_intake else limits.SUBMIT_INSISTS_MS
