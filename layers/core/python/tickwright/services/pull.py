"""Pull: a tenant's own machine asks for work of a pool, and is granted executions as any worker claims them.

A hint is not deleted when its execution is granted: it comes again when the lease may be over, and whoever receives it
then takes the run over, or puts the hint off. Dying after the claims and before the answer: their leases run out.
Promises: SEM-POOL-1, SEM-POOL-2, SEM-POOL-3, SEM-POOL-5.
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tickwright.domain import limits
from tickwright.domain.attempts import NotRun
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId, TenantId, WorkerId, parse_execution_id
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition
from tickwright.domain.lanes import Lane, lanes_in_turn
from tickwright.domain.outcomes import Refusal
from tickwright.domain.pools import Pool, queue_key
from tickwright.domain.seats import NO_SEAT
from tickwright.domain.tenants import IdempotencyRecord, PutIdempotency
from tickwright.domain.transitions import State
from tickwright.ports.faults import Unavailable
from tickwright.ports.queue import Hint, Received
from tickwright.ports.store import Applied, Refused
from tickwright.services.attempt import Started, Worker, start, what_to_run
from tickwright.services.claim import NotNow, Over
from tickwright.services.kit import Kit
from tickwright.services.payloads import definition_given
from tickwright.services.pools import get_pool
from tickwright.services.report import report
from tickwright.services.seats import leave_seat, take_seat

_DISCARDING_MS = 3_000  # an answer is expected at once: what is stale is discarded for no longer
_NO_JOB = JobId("")  # a claim is about no one job


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Who asks, for how many of which lanes, and how long it waits; `request` names a wish that may be repeated.

    `seats`: only so many of its tenant's wishes wait at a time; None where waiting costs nothing. `closes`: whoever
    asks is gone after this: it claims nothing, and what the same request is still granted elsewhere is given back.
    """

    worker_id: WorkerId
    most: int
    wait_ms: int
    lanes: Sequence[Lane]
    request: str | None = None
    seats: int | None = None
    closes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """An execution that the machine now holds, and what it is to run."""

    execution: Execution
    definition: Definition


async def pull(kit: Kit, tenant_id: TenantId, name: str, wish: Wish) -> Sequence[Grant] | Refusal:
    """Grant what the pool has for this machine, waiting for the first; a repeated wish is answered as it was."""
    pool = await get_pool(kit, tenant_id, name)
    if isinstance(pool, Refusal):
        return pool
    key = None if wish.request is None else _note_key(pool, wish.worker_id, wish.request)
    noted = None if key is None else await kit.store.idempotency(tenant_id, key)
    if noted is not None and noted.counts(kit.clock.now()):
        return await _granted_before(kit, noted)
    if wish.closes:
        assert key is not None, "the API takes none without a requestId"
        return await _noted(kit, pool, key, ())
    grants = await _granted_seated(kit, pool, wish)
    if isinstance(grants, Refusal) or key is None or not grants:
        return grants
    return await _noted(kit, pool, key, grants)


# --- claiming ----------------------------------------------------------------------------------------------------
async def _granted_seated(kit: Kit, pool: Pool, wish: Wish) -> Sequence[Grant] | Refusal:
    """Grant what is there at once; wait only while the tenant has a seat for it, where seats are few."""
    if wish.seats is None or not wish.wait_ms:
        return await _granted(kit, pool, wish)
    ends_ms = kit.clock.monotonic_ms() + wish.wait_ms
    at_once = await _granted(kit, pool, replace(wish, wait_ms=0))
    left_ms = ends_ms - kit.clock.monotonic_ms()
    if at_once or left_ms <= 0:
        return at_once
    seat = await take_seat(kit, pool.tenant_id, wait_ms=left_ms, most=wish.seats)
    if seat is None:
        return NO_SEAT
    try:
        return await _granted(kit, pool, replace(wish, wait_ms=left_ms))
    finally:
        await leave_seat(kit, seat)


async def _granted(kit: Kit, pool: Pool, wish: Wish) -> Sequence[Grant]:
    """Receive and claim until something is granted or the time is over.

    Hints that are stale do not count: a short wish goes on for a while as long as it finds and discards any.
    """
    asking = Worker(kit=kit, runners={}, worker_id=wish.worker_id, draining=asyncio.get_running_loop().create_future())
    ends_ms = kit.clock.monotonic_ms() + wish.wait_ms
    patient_until_ms = max(ends_ms, ends_ms - wish.wait_ms + _DISCARDING_MS)
    while True:
        received = await _received(kit, pool, wish, max(0, ends_ms - kit.clock.monotonic_ms()))
        grants = await _claimed(asking, received)
        if grants or kit.clock.monotonic_ms() >= (patient_until_ms if received else ends_ms):
            return grants


async def _received(kit: Kit, pool: Pool, wish: Wish, wait_ms: int) -> Sequence[Received]:
    """Hints of the pool, hidden a little longer than the leases that they may become."""
    durations = kit.durations
    visibility_ms = durations.lease_ms + 2 * durations.clock_error_ms + 3 * durations.tick_ms
    limit = min(wish.most, limits.MESSAGES_A_BATCH)
    lanes = lanes_in_turn(wish.lanes, kit.entropy.fraction())  # a herd of high must not keep low waiting for ever
    return await kit.queue.receive_any(
        lanes, limit=limit, wait_ms=wait_ms, visibility_ms=visibility_ms, pool=queue_key(pool.name, pool.tenant_id)
    )


async def _claimed(asking: Worker, received: Sequence[Received]) -> Sequence[Grant]:
    """Claim what is due, the earliest first; what is not due yet is waited for only while there is nothing else."""
    grants: list[Grant] = []
    by_time: dict[Instant, list[Received]] = {}
    for one in received:
        by_time.setdefault(one.hint.due_at, []).append(one)
    for due_at, together in sorted(by_time.items()):
        early_ms = due_at - asking.kit.clock.now()
        try:
            answers: Sequence[Started | Over | NotNow] = (
                [NotNow(after_ms=early_ms)] * len(together)
                if grants and early_ms > 0
                else await _start(asking, [one.hint for one in together])
            )
        except Unavailable:
            if not grants:
                raise
            break  # what is granted is not lost for it; the other hints come again by themselves
        settled = [await _settled(asking.kit, answer) for answer in answers]
        grants += [one for one in settled if isinstance(one, Grant)]
        await _put_away(asking.kit, list(zip(together, settled, strict=True)))
    return grants


async def _start(asking: Worker, hints: Sequence[Hint]) -> Sequence[Started | Over | NotNow]:
    """Claim together; where one hint brings a bug to light, each on its own, so that it costs the others nothing."""
    try:
        return await start(asking, hints)
    except Unavailable:
        raise
    except Exception as fault:  # noqa: BLE001 - announced; the hint comes again, and the others are granted
        if len(hints) > 1:
            return [answer for hint in hints for answer in await _start(asking, [hint])]
        name, about = type(fault).__name__, hints[0].ref.id
        asking.kit.emit(EventName.ATTEMPT_BROKE, executionId=about, fault=name, detail=str(fault)[:500])
        return [NotNow(after_ms=asking.kit.durations.heartbeat_ms)]


async def _settled(kit: Kit, answer: Started | Over | NotNow) -> Grant | Over | NotNow:
    """A grant of what was claimed; what cannot be run is reported at once, as a worker of the platform would."""
    if not isinstance(answer, Started):
        return answer
    try:
        given = await what_to_run(kit, answer)
        if isinstance(given, Definition):
            return Grant(execution=answer.claimed.execution, definition=given)
        await report(kit, answer.claimed.execution, given)
    except Unavailable as fault:  # its lease runs out; what was claimed beside it is granted all the same
        kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, detail=str(fault)[:200])
        return NotNow(after_ms=kit.durations.lease_ms)
    return Over()


async def _put_away(kit: Kit, settled: Sequence[tuple[Received, Grant | Over | NotNow]]) -> None:
    """Delete hints of what is over and show those again whose time comes; one that is left comes again by itself."""
    try:
        await kit.queue.delete([one for one, answer in settled if isinstance(answer, Over)])
        for one, answer in settled:
            if isinstance(answer, NotNow):
                await kit.queue.show_again(one, after_ms=answer.after_ms)
    except Unavailable as fault:
        kit.emit(EventName.QUEUE_FAULT, fault=type(fault).__name__)


# --- repeating ---------------------------------------------------------------------------------------------------
def _note_key(pool: Pool, worker_id: WorkerId, request: str) -> str:
    """Of this machine's requests alone, in a form that every store takes."""
    return f"PULL {pool.name} {hashlib.sha256(f'{worker_id} {request}'.encode()).hexdigest()}"


async def _noted(kit: Kit, pool: Pool, key: str, grants: Sequence[Grant]) -> Sequence[Grant]:
    """Note what was granted, before it is answered.

    If that fails, or the same wish was granted elsewhere meanwhile, all is given back: no attempt is counted.
    """
    now = kit.clock.now()
    record = IdempotencyRecord(
        tenant_id=pool.tenant_id,
        key=key,
        body_hash="",
        job_id=_NO_JOB,
        answer=json.dumps([[grant.execution.ref.id, grant.execution.lease_epoch] for grant in grants]),
        expires_at=Instant(now + limits.PULL_NOTED_S * 1_000),
        token=kit.entropy.token(),
    )
    try:
        outcome = await kit.store.write(PutIdempotency(record=record, now=now))
    except Unavailable:
        await _give_back(kit, grants)
        raise
    match outcome:
        case Applied():
            return grants
        case Refused(old=other):
            await _give_back(kit, grants)
            return [] if other is None else await _granted_before(kit, other)


async def _give_back(kit: Kit, grants: Sequence[Grant]) -> None:
    for grant in grants:
        try:
            await report(kit, grant.execution, NotRun())
        except Unavailable as fault:  # its lease runs out
            kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, detail=str(fault)[:200])


async def _granted_before(kit: Kit, noted: IdempotencyRecord) -> Sequence[Grant]:
    """Those of the noted grants that the machine still holds."""
    epochs: dict[ExecutionRef, int] = {}
    for execution_id, epoch in json.loads(noted.answer):
        ref = parse_execution_id(execution_id)
        assert ref is not None, "it was noted from an execution"
        epochs[ref] = epoch
    found = await kit.store.executions(sorted(epochs))
    held = [found[ref] for ref, epoch in epochs.items() if ref in found and _is_held(found[ref], epoch)]
    grants = [await _grant_of(kit, execution) for execution in held]
    return [grant for grant in grants if grant is not None]


def _is_held(execution: Execution, epoch: int) -> bool:
    return execution.state is State.RUNNING and execution.lease_epoch == epoch


async def _grant_of(kit: Kit, execution: Execution) -> Grant | None:
    given = await definition_given(kit, execution)
    return None if given is None else Grant(execution=execution, definition=given)
