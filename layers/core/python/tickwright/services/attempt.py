"""One attempt, from its claim to its end: claim what hints ask for, have the target run, report.

Must not know how a lease is kept while it runs (keeping.py); what is reported after it is over is refused by the epoch.
Promises: SEM-FENCE-1, SEM-TIMEOUT-1, SEM-HANDOVER-1, SEM-DRAIN-1.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Fatal, HandedOver, RetryLater, UserResult, an_error
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.hidden import known_since
from tickwright.domain.ids import ExecutionRef, WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition
from tickwright.domain.logs import LogTail
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.secrets import without_secrets
from tickwright.domain.stored_logs import SaidBy
from tickwright.domain.transitions import State
from tickwright.ports.faults import Unavailable
from tickwright.ports.queue import Hint
from tickwright.ports.runner import Runner
from tickwright.services.claim import Claimed, NotNow, Over, Wanted, claim, while_held
from tickwright.services.hidden import hiding_since
from tickwright.services.keeping import LEFT, KeptAttempt, out_of_time
from tickwright.services.kit import Kit
from tickwright.services.payloads import with_own_payload
from tickwright.services.report import deadline_of, report
from tickwright.services.run_logs import keep_log


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """Who works, with what; `draining` is done once it is to let go of everything.

    `timeout_ms_max`: how long an attempt may take here, whatever its job allows. A worker whose own life is bounded
    must say so: a run that needs longer would be given back, uncounted, and begun again for days.
    """

    kit: Kit
    runners: Mapping[str, Runner]
    worker_id: WorkerId
    draining: "asyncio.Future[None]"
    timeout_ms_max: int = 1_000 * limits.TIMEOUT_S_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A claimed execution with what it runs."""

    claimed: Claimed
    definition: Definition | None


async def start(worker: Worker, hints: Sequence[Hint]) -> Sequence[Started | Over | NotNow]:
    """Claim what hints that are due together ask for, in one batch; what is to become of each hint that is not claimed.

    Raises Unavailable if a port is down: they come again.
    """
    kit = worker.kit
    assert len({hint.due_at for hint in hints}) == 1
    if (early_ms := hints[0].due_at - kit.clock.now()) > 2 * kit.durations.tick_ms:
        return [NotNow(after_ms=early_ms) for _ in hints]
    await kit.clock.sleep_until(hints[0].due_at)  # queues deliver early by up to a second, never late
    first: dict[ExecutionRef, int] = {}
    for place, hint in enumerate(hints):
        first.setdefault(hint.ref, place)
    answers = await _start_each(worker, [hints[place] for place in first.values()])
    started = dict(zip(first.values(), answers, strict=True))
    # A hint that stands twice in a batch is one hint: its double has nothing to do.
    return [started.get(place, Over()) for place in range(len(hints))]


async def _start_each(worker: Worker, hints: Sequence[Hint]) -> Sequence[Started | Over | NotNow]:
    store = worker.kit.store
    definitions = await asyncio.gather(*(store.definition(hint.ref.job_id, hint.job_version) for hint in hints))
    most_ms = worker.timeout_ms_max
    wanted = [
        Wanted(ref=hint.ref, timeout_ms=min(most_ms, _timeout_ms(definition)), due_at=hint.due_at, epoch=hint.epoch)
        for hint, definition in zip(hints, definitions, strict=True)
    ]
    answers = await claim(worker.kit, wanted, worker.worker_id)
    return [
        Started(claimed=answer, definition=definition) if isinstance(answer, Claimed) else answer
        for answer, definition in zip(answers, definitions, strict=True)
    ]


def _timeout_ms(definition: Definition | None) -> int:
    return 1_000 * (limits.TIMEOUT_S_DEFAULT if definition is None else definition.spec.timeout_s)


async def finish(worker: Worker, started: Started) -> Over | NotNow:
    """Run a claimed execution to the end of its attempt and report it; what is to become of its hint."""
    log = LogTail()
    lease_until, result = await _attempt(worker, started.claimed, started.definition, log)
    if isinstance(result, Refusal):
        told = _told(worker.kit, started.claimed.execution, result)
    else:
        told = await _report(worker.kit, started.claimed, result, lease_until)
    await keep_log(worker.kit, started.claimed.execution, log.tail(), SaidBy.WORKER)
    return told


def _told(kit: Kit, execution: Execution, refusal: Refusal) -> Over | NotNow:
    """What becomes of the hint of an attempt that was refused: cancelled is the end, else it is somebody else's now.

    One that is left to its lease is somebody else's then, and is told of: it costs an attempt.
    """
    if refusal is LEFT:
        kit.emit(EventName.EXECUTION_LEFT, executionId=execution.ref.id, jobId=execution.job_id)
    return Over() if refusal.code is Code.CANCELLED else NotNow(after_ms=kit.durations.lease_ms)


async def _attempt(
    worker: Worker, claimed: Claimed, definition: Definition | None, log: LogTail
) -> tuple[Instant | None, UserResult | Refusal]:
    """How it ended, and the lease that its holder has written last, if that is known."""
    given = await what_to_run(worker.kit, Started(claimed=claimed, definition=definition))
    if not isinstance(given, Definition):
        return None, given
    runner = worker.runners.get(given.spec.target.kind)
    if runner is None:
        known = ", ".join(sorted(worker.runners))
        message = f"This worker runs no {given.spec.target.kind!r} targets, only {known}."
        return None, Fatal(error=an_error("UnknownTarget", message))
    began_at = worker.kit.clock.now()
    given = await hiding_since(worker.kit, claimed.execution, given, known_since(claimed.execution))
    kept = KeptAttempt(
        kit=worker.kit,
        draining=worker.draining,
        claimed=claimed,
        log=log,
    )
    result = await kept.run(runner, given)
    if not isinstance(result, Failure | Fatal | RetryLater):
        return kept.lease_until, result
    # A target shortens what it quotes, so it had to know what to leave out; more may have been named while it ran.
    given = await hiding_since(worker.kit, claimed.execution, given, began_at)
    return kept.lease_until, without_secrets(result, given.spec)


async def what_to_run(kit: Kit, started: Started) -> Definition | Failure | Fatal:
    """The definition that a claimed execution runs with; or how its attempt ends before it has begun."""
    claimed, definition, now = started.claimed, started.definition, kit.clock.now()
    if deadline_of(claimed.execution) <= now:
        return out_of_time(claimed.execution, now)  # what came too late is not started
    if definition is None or definition.version != claimed.execution.job_version:
        return Fatal(error=an_error("DefinitionMissing", "The job's definition of this version does not exist."))
    given = await with_own_payload(kit, claimed.execution, definition)
    if given is None:
        return Fatal(error=an_error("PayloadMissing", "The payload that this run was asked for with does not exist."))
    return given


async def _report(kit: Kit, claimed: Claimed, result: UserResult, lease_until: Instant | None) -> Over | NotNow:
    """Report, again and again while the lease may last.

    A store that is down for a moment must not cost a finished run.
    """
    pause_ms = max(1, kit.durations.heartbeat_ms // 20)
    began_ms = kit.clock.monotonic_ms()
    while True:
        try:
            answer = await report(kit, claimed.execution, result, lease_until)
        except Unavailable:
            if kit.clock.monotonic_ms() - began_ms > kit.durations.lease_ms:
                raise
            await kit.clock.sleep_ms(round(pause_ms * (0.5 + kit.entropy.fraction())))
            pause_ms = min(2 * pause_ms, kit.durations.heartbeat_ms)
            continue
        if isinstance(answer, Refusal):
            return _told(kit, claimed.execution, answer)
        handed_over = isinstance(result, HandedOver) and answer.state is State.RUNNING
        return while_held(kit, answer) if handed_over else Over()
