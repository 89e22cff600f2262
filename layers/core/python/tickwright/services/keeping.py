"""A target that runs, and the lease that is kept for it: heartbeats, what it notes, and letting go of it in time.

The holder stops by itself when its own monotonic clock says that the lease may be over, counted from before each write
was sent. Must not know how its attempt came to be, nor how the end is reported. Promises: SEM-LEASE-3, SEM-LEASE-4,
SEM-CANCEL-4, SEM-TIMEOUT-1, SEM-CHECKPOINT-1, SEM-DRAIN-1.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from tickwright.domain.attempts import Failure, Fatal, NotRun, Success, UserResult, an_error
from tickwright.domain.executions import Execution, Noted, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition
from tickwright.domain.limits import Durations
from tickwright.domain.logs import LogTail
from tickwright.domain.outcomes import Code, Refusal
from tickwright.ports.faults import Unavailable
from tickwright.ports.runner import GoesOn, Invocation, Runner, StopReason
from tickwright.services.claim import Claimed
from tickwright.services.kit import Kit
from tickwright.services.report import OUT_OF_TIME, deadline_of, heartbeat, stopped

LEFT = Refusal(code=Code.LEASE_LOST, detail="It may go on, and nobody can end it: it is left to its lease.")
# What a target is told when its attempt ends for one of these; for all others its lease is lost.
_REASONS = {Code.CANCELLED: StopReason.CANCELLED, Code.DEADLINE: StopReason.DEADLINE}
_Running = asyncio.Future[UserResult | GoesOn]


def _stopping_ms(durations: Durations) -> int:
    return durations.heartbeat_ms // 3


def _cancelling_ms(durations: Durations) -> int:
    return durations.heartbeat_ms // 15


def _noting_ms(durations: Durations) -> int:
    """How often at most what user code notes is written."""
    return durations.heartbeat_ms // 15


def letting_go_ms(durations: Durations) -> int:
    """How long it takes at most until a target that is to stop is let go of."""
    return _stopping_ms(durations) + _cancelling_ms(durations)


@dataclass(slots=True, kw_only=True)
class KeptAttempt:
    """One attempt. `draining` is done once its worker is to let go of everything."""

    kit: Kit
    draining: "asyncio.Future[None]"
    claimed: Claimed
    log: LogTail
    seen: Execution = field(init=False)  # as the last write that was answered has left it
    lease_until: Instant | None = None  # as it was written last; None while that is not known for sure
    lease_sent_ms: int = 0
    why: StopReason | None = None  # it is to stop
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    noted: Noted | None = None
    is_unsent: bool = False  # something of `noted` has not been written
    beaten_ms: int | None = None  # when the last heartbeat was tried
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # one heartbeat at a time: what is noted goes in order
    ending: "asyncio.Future[Refusal]" = field(default_factory=asyncio.Future)  # a heartbeat of user code was refused

    async def run(self, runner: Runner, definition: Definition) -> UserResult | Refusal:
        """Run the target until it ends, or until there is a reason to end it, or not at all."""
        self.lease_sent_ms, self.seen = self.claimed.sent_ms, self.claimed.execution
        self.noted, self.lease_until = self.seen.noted, self.seen.lease_until
        if self._came_too_late():
            return NotRun()
        invocation = Invocation(
            execution=self.claimed.execution,
            definition=definition,
            epoch=self.claimed.execution.lease_epoch,
            deadline_at=deadline_of(self.claimed.execution),
            cancelled=self.stop.is_set,
            wait_cancelled=self._stopped,
            beat=self._note,
            log=self.log,
            cancel_reason=lambda: self.why,
        )
        running = asyncio.ensure_future(runner.run(invocation))
        try:
            # Most targets of a herd end at once: then there is nothing to watch over.
            await self.kit.clock.sleep_ms(0)
            result = _result_of(running) if running.done() else await self._watch_over(running)
            if self.is_unsent and not isinstance(result, Success | Refusal):
                await self._beat()  # the next attempt goes on from it
            return result
        finally:
            self.stop.set()
            running.cancel()

    def _came_too_late(self) -> bool:
        """Whether the claim was on its way for a lease, or its process stood still: somebody else may begin."""
        return self._lease_is_over()

    async def _stopped(self) -> None:
        await self.stop.wait()

    async def _watch_over(self, running: _Running) -> UserResult | Refusal:
        wait_ms = self._until_next_beat()
        ends: set[asyncio.Future[Any]] = {running, self.draining, self.ending}
        while True:
            await asyncio.wait(ends, timeout=wait_ms / 1_000, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return _result_of(running)
            if self.draining.done():
                await self._let_go(running, StopReason.DRAINING)
                return _drained(running)
            if self.ending.done():
                return await self._end(running, self.ending.result())
            if (reason := await self._beat()) is not None:
                return await self._end(running, reason)
            wait_ms = self._until_next_beat()

    def _until_next_beat(self) -> int:
        """A heartbeat's time, or what is left: also sooner when the last one did not get through."""
        kit = self.kit
        since_ms = kit.clock.monotonic_ms() - self.lease_sent_ms
        due_ms = kit.durations.heartbeat_ms - since_ms
        if due_ms <= 0:
            due_ms = max(1, kit.durations.heartbeat_ms // 5)
        left_ms = deadline_of(self.claimed.execution) - kit.clock.now()
        return max(1, min(due_ms, left_ms))

    async def _note(self, noted: Noted | None) -> bool:
        """User code says that it lives, and what is to be noted; whether it is to go on.

        It may say so as often as it likes: what comes too soon after the last heartbeat is kept for the next.
        """
        if noted is not None:
            self.noted, self.is_unsent = noted.over(self.noted), True
        kit, last_ms = self.kit, self.beaten_ms
        soon = last_ms is not None and kit.clock.monotonic_ms() - last_ms < _noting_ms(kit.durations)
        if not (soon or self.turn.locked() or self.stop.is_set() or self.ending.done()):
            reason = await self._beat()
            if reason is not None and not self.ending.done():
                self.ending.set_result(reason)
        return not (self.stop.is_set() or self.ending.done())

    async def _beat(self) -> Refusal | None:
        """Keep the lease; why the attempt must end, if it must."""
        async with self.turn:
            return await self._beat_in_turn()

    async def _beat_in_turn(self) -> Refusal | None:
        kit, execution = self.kit, self.claimed.execution
        if kit.clock.now() >= deadline_of(execution):
            return OUT_OF_TIME
        self.beaten_ms = sent_ms = kit.clock.monotonic_ms()
        noted, self.is_unsent = self.noted if self.is_unsent else None, False
        self.lease_until = None
        try:
            async with asyncio.timeout(max(1, self._lease_over_ms() - sent_ms) / 1_000):
                answer = await heartbeat(kit, self.seen, execution.lease_epoch, noted=noted)
        except (Unavailable, TimeoutError):  # a store that hangs must not keep the holder past its lease
            self.is_unsent = self.is_unsent or noted is not None
        else:
            if isinstance(answer, Refusal):
                return answer
            self.lease_sent_ms, self.seen, self.lease_until = sent_ms, answer, answer.lease_until
        if self._lease_is_over():
            return Refusal(code=Code.LEASE_LOST, detail="The lease may be over by the worker's own clock.")
        return None

    def _lease_is_over(self) -> bool:
        return self.kit.clock.monotonic_ms() >= self._lease_over_ms()

    def _lease_over_ms(self) -> int:
        """When the lease may be over, on the holder's own clock."""
        durations = self.kit.durations
        return self.lease_sent_ms + durations.lease_ms - durations.clock_error_ms

    async def _end(self, running: _Running, reason: Refusal) -> UserResult | Refusal:
        """Stop the target for a reason, and say what is to be reported."""
        await self._let_go(running, _REASONS.get(reason.code, StopReason.LEASE_LOST))
        match reason.code:
            case Code.CANCELLED if _goes_on(running):
                return LEFT  # whoever is to take its place begins when the lease is over
            case Code.CANCELLED:
                await stopped(self.kit, self.claimed.execution)
                return reason
            case Code.DEADLINE:
                return _late(running, out_of_time(self.claimed.execution, self.kit.clock.now()))
            case _:
                return reason

    async def _let_go(self, running: _Running, why: StopReason) -> None:
        """Ask the target to stop, wait a moment, then cancel it.

        Code in a thread cannot be stopped: its writes are fenced.
        """
        self.why = why
        self.stop.set()
        durations = self.kit.durations
        await asyncio.wait({running}, timeout=_stopping_ms(durations) / 1_000)
        if not running.done():
            running.cancel()
            await asyncio.wait({running}, timeout=_cancelling_ms(durations) / 1_000)


def _drained(running: _Running) -> UserResult | Refusal:
    """What counts of a target that was asked to stop for the worker's sake: what it says, and not that it was ended.

    Given back, a run could begin elsewhere beside what goes on of it, here or where its call has arrived.
    """
    if running.cancelled():
        return NotRun()
    return LEFT if _goes_on(running) else _result_of(running)


def _goes_on(running: _Running) -> bool:
    """Whether it may, though it was cancelled."""
    if not running.done():
        return True
    return not running.cancelled() and running.exception() is None and isinstance(running.result(), GoesOn)


def _late(running: _Running, ended: Failure | Fatal) -> UserResult:
    """What counts of a target that was stopped at its time limit: only that it never began, while the run may go on."""
    ended_well = running.done() and not running.cancelled() and running.exception() is None
    result = running.result() if ended_well else None
    return result if isinstance(result, NotRun) and isinstance(ended, Failure) else ended


def _result_of(running: _Running) -> UserResult:
    """What the target said; a runner that raises has broken its contract, which is a failure like any other."""
    if not running.cancelled() and (raised := running.exception()) is not None:
        return Failure(error=an_error(type(raised).__name__, str(raised)))
    result = GoesOn() if running.cancelled() else running.result()
    if isinstance(result, GoesOn):
        return Failure(error=an_error("Cancelled", "The target was cancelled from inside."))
    return result


def out_of_time(execution: Execution, now: Instant) -> Failure | Fatal:
    """How an attempt ends whose time is over, or that of its whole run."""
    run_over = execution.run_deadline_at is not None and execution.run_deadline_at <= now
    if run_over:
        return Fatal(error=an_error("RunDeadline", "The run's deadline has passed."), reason=Reason.EXPIRED)
    message = f"The attempt's time limit ended (attempt {execution.attempt})."
    return Failure(error=an_error("TimedOut", message), reason=Reason.TIMED_OUT)
