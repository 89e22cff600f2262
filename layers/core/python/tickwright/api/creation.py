"""How a job that was asked for is made: judged as of when it was asked, made once, fired if it is due by now.

Must not know the shape of a body, which was judged before: a landing makes jobs as a request does, and waits for no
models. Promise: SEM-IDEM-1.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tickwright.api.call import Call
from tickwright.api.idempotency import first_asked_at
from tickwright.api.problems import Refused, granted
from tickwright.api.specs import check_target, read_members
from tickwright.domain import limits
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobSpec
from tickwright.domain.schedules import from_compact
from tickwright.ports.faults import Unavailable
from tickwright.services.named_calendars import calendars_named
from tickwright.services.pools import pool_refusal
from tickwright.services.preview import cross_check
from tickwright.services.silence import answered_within
from tickwright.services.submit import ID_TAKEN, RequestKey, Submitted, fire_if_near, submit_unfired

# Of a batch: enough to hide the waiting for a store, few enough to leave others their turn.
_AT_ONCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request to submit a job: what is wanted, whose repeat it would be, the job's id, and when it was asked."""

    members: Mapping[str, object]
    request: RequestKey
    job_id: JobId
    at: Instant


async def submit_once(call: Call, asked: Asked) -> Submitted:
    """The job, fired if it is due by now, or Refused."""
    submitted = await create_once(call, asked)
    await fire_new(call, [submitted])
    return submitted


async def create_once(call: Call, asked: Asked) -> Submitted:
    """The job, not fired yet, or Refused; whatever the request says is judged as of when it was asked."""
    try:
        spec = read_members(call, asked.members, asked.job_id, asked.at)
        check_target(call, spec)
        granted(await calendars_named(call.kit, call.tenant_id, from_compact(spec.schedule)))
        await check_pool(call, spec)
    except Refused:
        # A repeat is judged as the first was: its runAt may be over by now, or its calendar retired, and its answer is
        # still the same (SEM-IDEM-1).
        first_at = await first_asked_at(call.kit, call.tenant_id, asked.request)
        if first_at is None:
            raise
        spec = read_members(call, asked.members, asked.job_id, first_at)
    outcome = await submit_unfired(call.kit, call.tenant_id, spec, asked.request, job_id=asked.job_id)
    if outcome is ID_TAKEN and asked.request.asked_at is None:
        # The record of the request that made it is forgotten: this one is new, and its job another.
        return await create_once(call, replace(asked, job_id=JobId(call.kit.entropy.token())))
    submitted = granted(outcome)
    if not submitted.replayed:
        cross_check(call.kit, call.api.second_engine, submitted)
    return submitted


async def check_pool(call: Call, spec: JobSpec) -> None:
    """Refuse a job whose pool is not there."""
    refusal = await pool_refusal(call.kit, call.tenant_id, spec)
    if refusal is not None:
        raise Refused(refusal)


async def fire_new(call: Call, jobs: Sequence[Submitted]) -> None:
    """Fire at once those that are new and due by now, as far as that takes no time: else the loop does.

    Apart from their creation, and no part of what is insisted on: a queue that is ill is no silence of the store.
    """

    async def fire_all() -> None:
        await few_at_once([partial(fire_if_near, call.kit, job.head) for job in jobs if not job.replayed])

    with contextlib.suppress(Unavailable):
        await answered_within(call.kit.clock, fire_all, for_ms=limits.INTAKE_AFTER_MS)


async def few_at_once(attempts: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """All of them, and none goes on after this; raises what the first that breaks raises, as it is."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(attempt: Callable[[], Awaitable[None]]) -> None:
        async with gate:
            await attempt()

    try:
        async with asyncio.TaskGroup() as group:
            for attempt in attempts:
                group.create_task(one(attempt))
    except BaseExceptionGroup as broken:
        raise broken.exceptions[0] from None
