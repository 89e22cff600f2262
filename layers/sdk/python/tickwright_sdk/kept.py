"""One pulled run, from its claim to its report: its lease is kept, and let go of in time.

The lease counts from before the claim or the heartbeat was sent, on the monotonic clock: whoever was frozen sees at his
next step that it may be over. Must not know how claims come. Promises: SEM-SDK-11, SEM-SDK-13.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tickwright_sdk.calls import Calls
from tickwright_sdk.claims import Claim, Said, report_of, without_text
from tickwright_sdk.client import Client
from tickwright_sdk.context import CANCELLED, DEADLINE, DRAINING, LOST, Context
from tickwright_sdk.engine_link import EngineLink, Note, joined
from tickwright_sdk.hands import NoRoom
from tickwright_sdk.machine import Clock
from tickwright_sdk.problems import Conflict, Invalid, Refused, TickwrightError, Unavailable, Unreachable
from tickwright_sdk.results import Failed, Later, Result, Succeeded
from tickwright_sdk.tail import Tail

_LOG = logging.getLogger("tickwright.worker")
_REASONS = {"cancelled": CANCELLED, "deadline": DEADLINE}  # by the code of what refuses a heartbeat
# For these somebody else may begin as soon as it is said to have stopped.
_FOR_OTHERS = frozenset({CANCELLED, DRAINING})
_OVER = frozenset({404, 409})  # answers to a heartbeat that end the run
_CLOCK_ERROR_S = 1.0
_BEAT_S = 10.0  # what a heartbeat may take: several fit into a lease
_PAUSE_S = 0.5
_FULL_S = 2.0  # a worker without room for it would get it right back

Call = Callable[[Claim, Context], Awaitable[Result | NoRoom]]


@dataclass(slots=True)
class Tally:
    """How the runs of a worker have ended so far."""

    ended: int = 0
    given_back: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What every run of a worker shares.

    `outlives`: whether code of this claim goes on when its call is cancelled. `letting_go_s`: how long a worker has
    from the moment when it asks its handlers to stop to its end.
    """

    client: Client
    beats: Calls
    reports: Calls
    clock: Clock
    worker_id: str
    call: Call
    outlives: Callable[[Claim], bool]
    draining: "asyncio.Future[None]"
    tally: Tally = field(default_factory=Tally)
    letting_go_s: float = 8.0


@dataclass(slots=True, kw_only=True)
class KeptAttempt:
    """An attempt and its lease."""

    desk: Desk
    claim: Claim
    sent_ms: int  # when the claim was sent
    is_wanted: bool = True  # else it came to a worker that stops, and is given back
    tail: Tail = field(default_factory=Tail)
    _link: EngineLink = field(init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _unsent: Note | None = None
    _lease_sent_ms: int = field(init=False)
    _tried_ms: int = field(init=False)
    _refused: bool = False

    async def run(self) -> None:
        """Call the handler, keep the lease meanwhile, report the end. Raises nothing."""
        self._lease_sent_ms = self._tried_ms = self.sent_ms
        self._link = EngineLink(self._beat, self.tail.write)
        if self._lease_is_over() or not self.is_wanted:
            await self._report(NoRoom())
            return
        running = asyncio.ensure_future(self.desk.call(self.claim, self.claim.context(self._link)))
        try:
            reason = await self._watch(running)
            if reason is not None:
                await self._let_go(running, reason)
            await self._end(running, reason)
        finally:
            self._link.stop(DRAINING)
            running.cancel()

    # ------------------------------------------------------------------------------------------ lease

    async def _watch(self, running: "asyncio.Future[Any]") -> str | None:
        """Until it has ended, or until there is a reason to end it."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        forget = self._link.when_stopped(lambda: None if told.done() else told.set_result(None))
        beating: asyncio.Task[bool] | None = None
        ends: set[asyncio.Future[Any]] = {running, told, self.desk.draining}
        try:
            while True:
                until_s = self._until_next_s(is_beating=beating is not None)
                either = ends if beating is None else ends | {beating}
                await asyncio.wait(either, timeout=until_s, return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    return None
                if (reason := self._reason()) is not None:
                    return reason
                if beating is not None and beating.done():
                    beating = None
                if beating is None and self._beat_is_due():
                    beating = asyncio.create_task(self._beat(None))
        finally:
            forget()
            told.cancel()
            if beating is not None:
                beating.cancel()

    def _reason(self) -> str | None:
        if self._link.reason is not None:
            return self._link.reason
        if self._lease_is_over():
            return LOST
        if self._now_ms() >= self._deadline_ms():
            return DEADLINE
        return DRAINING if self.desk.draining.done() else None

    def _until_next_s(self, *, is_beating: bool) -> float:
        """Until a heartbeat, the end of the lease or that of the attempt; of one that is under way its end is told."""
        next_ms = min(self._lease_over_ms(), self._deadline_ms())
        next_ms = next_ms if is_beating else min(next_ms, self._due_ms())
        return max(0.001, (next_ms - self._now_ms()) / 1_000)

    def _due_ms(self) -> int:
        """A heartbeat after the last that got through; sooner where one did not, or where a lease is short."""
        beat_ms, left_ms = round(self.claim.heartbeat_s * 1_000), self._lease_over_ms() - self._lease_sent_ms
        return max(self._lease_sent_ms + min(beat_ms, left_ms // 2), self._tried_ms + beat_ms // 5)

    def _beat_is_due(self) -> bool:
        return self._now_ms() >= self._due_ms()

    def _lease_over_ms(self) -> int:
        lease_s = self.claim.lease_s if self._lease_sent_ms == self.sent_ms else self.claim.lease_s_after
        return self._lease_sent_ms + round((lease_s - min(_CLOCK_ERROR_S, lease_s / 10)) * 1_000)

    def _lease_is_over(self) -> bool:
        return self._now_ms() >= self._lease_over_ms()

    def _deadline_ms(self) -> int:
        return self.sent_ms + round(self.claim.time_s * 1_000)

    def _now_ms(self) -> int:
        return self.desk.clock.monotonic_ms()

    async def _beat(self, note: Note | None) -> bool:
        """Send a heartbeat with what is still to be noted; whether to go on. What does not get through goes later."""
        self._unsent = joined(self._unsent, note)
        async with self._turn:  # or an older checkpoint could come after a newer one
            if self._refused:
                return False
            sent_ms = self._tried_ms = self._now_ms()
            sending, self._unsent, unsent = self._unsent, None, True
            body = self.claim.heartbeat(self.desk.worker_id, sending)
            send = partial(self.desk.client.heartbeat, self.claim.execution_id, body, read_s=self._beat_s())
            try:
                await self.desk.beats.do(send)
                self._lease_sent_ms, unsent = sent_ms, False
            except Invalid as refused:
                unsent = False
                self._say("what was noted was refused", refused)
            except Refused as refused:
                return self._goes_on_after(refused)
            except Unreachable as fault:
                self._say("a heartbeat did not get through", fault)
            finally:
                self._unsent = joined(sending, self._unsent) if unsent else self._unsent
            return True

    def _beat_s(self) -> float:
        return max(0.1, min(_BEAT_S, (self._lease_over_ms() - self._now_ms()) / 1_000))

    def _goes_on_after(self, refused: Refused) -> bool:
        if refused.status not in _OVER:
            return True  # as if it had not come through: the lease counts on
        self._say("is told to stop", refused)
        self._refused = True
        self._link.stop(_REASONS.get(refused.code, LOST))
        return False

    # -------------------------------------------------------------------------------------------- end

    async def _let_go(self, running: "asyncio.Future[Any]", reason: str) -> None:
        """Ask the handler to stop, wait a moment, then cancel it. A thread goes on: its writes are fenced."""
        self._link.stop(reason)
        await asyncio.wait({running}, timeout=self._asking_s(reason))
        if not running.done():
            running.cancel()
            await asyncio.wait({running}, timeout=self._asking_s(reason) / 5)

    def _asking_s(self, reason: str) -> float:
        """How long a handler may take to stop; where the worker stops, so that its end can still be reported."""
        asking_s = self.claim.heartbeat_s / 3
        return min(asking_s, self.desk.letting_go_s * 5 / 8) if reason == DRAINING else asking_s

    async def _end(self, running: "asyncio.Future[Result | NoRoom]", reason: str | None) -> None:
        if reason == LOST:
            if not self._refused:
                self._say("let go of, its lease may be over by this machine's clock", None)
            return
        if reason in _FOR_OTHERS and self._goes_on(running):
            self._leave()
            return
        result = _said(_result_of(running), reason)
        if not isinstance(result, Succeeded):
            await self._note_the_rest()
        await self._report(result)

    def _goes_on(self, running: "asyncio.Future[Result | NoRoom]") -> bool:
        """Whether its code does. A child that was killed is gone, and an async handler that was cancelled has ended."""
        return not running.done() or (running.cancelled() and self.desk.outlives(self.claim))

    def _leave(self) -> None:
        """Given back, or said to have stopped, its successor could begin beside the code that goes on here."""
        self.desk.tally.left += 1
        _LOG.warning("%s: %r does not stop, and is left to its lease", self._about(), self.claim.handler)

    async def _note_the_rest(self) -> None:
        """What the handler noted last is what the next attempt goes on from."""
        await self._link.finish()
        if self._unsent is not None and not self._refused:
            await self._beat(None)

    async def _report(self, result: Result | NoRoom) -> None:
        """Report again and again while the lease may last: a moment's outage must not cost a finished run."""
        said = report_of(self.claim, result, self.tail.kept(), later_s=self._later_s())
        try:
            is_told = await self._tell(said)
        except ValueError as fault:  # it never left: no JSON, or no Unicode
            _LOG.warning("%s: its report cannot be sent as it is: %s", self.claim.execution_id, fault)
            is_told = await self._tell(without_text(said))
        if is_told and self._is_given_back(result):
            self.desk.tally.given_back += 1
            _LOG.info("%s: given back, no attempt is counted", self._about())
        elif is_told:
            self.desk.tally.ended += 1
            self._say_failed(result)

    def _say_failed(self, result: Result | NoRoom) -> None:
        """One line of what is no success. What user code says of it may hold what nobody is to read here."""
        claim = self.claim
        of = f"{self._about()}: {claim.handler!r}, attempt {claim.attempt} of {claim.max_attempts}"
        if isinstance(result, Later):
            _LOG.info("%s, asks to be tried again in %g s", of, result.after_s)
        elif isinstance(result, Failed) and self._link.reason != CANCELLED:
            end = ", and is not tried again" if result.fatal else ""
            _LOG.warning("%s, failed with %r%s", of, result.error_class, end)

    def _is_given_back(self, result: Result | NoRoom) -> bool:
        """Not run here, or broken off by its handler because this worker stops."""
        return isinstance(result, NoRoom) or (isinstance(result, Later) and self.desk.draining.done())

    async def _tell(self, said: Said) -> bool:
        """Whether the report was taken."""
        while True:
            try:
                await self.desk.reports.do(partial(self._send, said))
            except (Unreachable, Unavailable) as fault:
                if self._lease_is_over():
                    self._say("its report did not get through", fault)
                    return False
                await asyncio.wait({self._pause()})
            except TickwrightError as refused:
                self._say("its report was refused", refused)
                return False
            else:
                return True

    def _later_s(self) -> float:
        """When what was not run may come again: at once if this worker stops, for the next one is there."""
        return 0.0 if self.desk.draining.done() or not self.is_wanted else _FULL_S

    def _pause(self) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        loop.call_later(_PAUSE_S, over.set_result, None)
        return over

    def _send(self, said: Said) -> None:
        report = self.desk.client.complete if said.succeeded else self.desk.client.fail
        report(self.claim.execution_id, said.body)

    def _say(self, what: str, fault: TickwrightError | None) -> None:
        # A run that was cancelled, or is another's by now: the protocol at work, and nobody's mistake.
        level = logging.INFO if isinstance(fault, Conflict) else logging.WARNING
        _LOG.log(level, "%s: %s%s", self._about(), what, "" if fault is None else f": {fault}")

    def _about(self) -> str:
        return f"{self.claim.execution_id} at leaseEpoch {self.claim.lease_epoch}"


def _result_of(running: "asyncio.Future[Result | NoRoom]") -> Result | NoRoom | None:
    """What it said; None where it was cancelled or has not ended."""
    if not running.done() or running.cancelled():
        return None
    if (raised := running.exception()) is not None:
        return Failed(error_class=type(raised).__name__, message=str(raised))
    return running.result()


def _said(result: Result | NoRoom | None, reason: str | None) -> Result | NoRoom:
    """What is to be reported of what the handler said, given why it was asked to stop."""
    if reason == DEADLINE and not isinstance(result, NoRoom):
        return Failed(error_class="TimedOut", message="The attempt's time limit ended.")
    if reason == DRAINING and (result is None or (isinstance(result, Failed) and not result.fatal)):
        return NoRoom()  # what broke off for the worker's sake is no failure of its own
    return result or Failed(error_class="Cancelled", message="The handler was cancelled.")
