"""What a process does while its store does not answer: how long it waits, what it shows instead, when it asks again.

Must not know what is asked for. Whoever has something to show waits two seconds for the store, and for a second after a
silence not at all: else everybody who looks would hold a place of the API for as long as the store is patient, and the
API would fall with the store. A store that puts somebody off answers, and nobody else does without it for that.
Promise: SEM-STALE-1.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tickwright.domain import limits
from tickwright.ports.clock import Clock
from tickwright.ports.faults import StoreBusy, StoreUnavailable, Unavailable
from tickwright.services.kit import Kit

AnswerT = TypeVar("AnswerT")
_FIRST_WAIT_MS, _WAIT_MS_MAX = 50, 1_000


@dataclass(slots=True)
class Silence:
    """Since when this process's store has not answered; shared by all that it is asked meanwhile."""

    _since_ms: int | None = None  # None: it answered when it was asked last
    _noticed_ms: int = 0
    _rests_until_ms: int = 0

    async def or_instead(
        self, clock: Clock, ask: Callable[[], Awaitable[AnswerT]], instead: Callable[[], Awaitable[AnswerT | None]]
    ) -> AnswerT:
        """The store's answer, or what there is instead of it; where there is nothing, as patient as ever."""
        now_ms = clock.monotonic_ms()
        if self._since_ms is not None and now_ms < self._rests_until_ms and (shown := await instead()) is not None:
            return shown
        # This one asks; whoever comes meanwhile need not, if there is a silence.
        self._rests_until_ms = now_ms + limits.STORE_PATIENCE_MS + limits.STORE_RESTS_MS
        asking = _begun(ask())
        try:
            return await self._answer(clock, asking, instead)
        finally:
            if asking.done() and not asking.cancelled() and not _is_no_answer(asking.exception()):
                # A refusal may be the store's word, or none at all: the next one asks.
                self._rests_until_ms = clock.monotonic_ms()
            asking.cancel()

    async def _answer(
        self, clock: Clock, asking: "asyncio.Future[AnswerT]", instead: Callable[[], Awaitable[AnswerT | None]]
    ) -> AnswerT:
        if not await _is_done_within(clock, asking, limits.STORE_PATIENCE_MS):
            self.begins(clock)
            if (shown := await instead()) is not None:
                return shown
        try:
            answer = await asking
        except Unavailable as fault:
            self.hears(clock, fault)
            if (shown := await instead()) is not None:
                return shown
            raise
        self.ends()
        return answer

    def hears(self, clock: Clock, fault: Unavailable) -> None:
        """It was asked, and this is what came of it: nothing, or its word that it has no time now."""
        if _is_no_answer(fault):
            self.begins(clock)
        elif isinstance(fault, StoreBusy):
            self.ends()

    def begins(self, clock: Clock) -> None:
        """It was asked and did not answer, once more or for the first time."""
        self._noticed_ms = clock.monotonic_ms()
        self._rests_until_ms = self._noticed_ms + limits.STORE_RESTS_MS
        if self._since_ms is None:
            self._since_ms = self._noticed_ms

    def ends(self) -> None:
        """It has answered."""
        self._since_ms = None

    def lasts(self, clock: Clock) -> bool:
        """Whether it is no short one, as was noticed a moment ago: then insisting would only hold a place."""
        if self._since_ms is None or clock.monotonic_ms() - self._noticed_ms > limits.SILENCE_LASTS_MS:
            return False
        return clock.monotonic_ms() - self._since_ms >= limits.STORE_PATIENCE_MS


class CutOff(StoreUnavailable):
    """Nobody has said anything: the time was over."""


async def insist(kit: Kit, attempt: Callable[[], Awaitable[AnswerT]], *, for_ms: int) -> AnswerT:
    """The answer of the first attempt that gets one, asking again for so long; then StoreUnavailable.

    Only for what may be done twice and counts once: an attempt that was not answered may have been carried out.
    """
    ends_ms = kit.clock.monotonic_ms() + for_ms
    most_ms = _FIRST_WAIT_MS
    said: Unavailable | None = None
    while True:
        began_ms = kit.clock.monotonic_ms()
        try:
            return await answered_within(kit.clock, attempt, for_ms=ends_ms - began_ms)
        except CutOff:
            # An attempt that was cut off before its two seconds were over says nothing; the one before it does.
            is_short = kit.clock.monotonic_ms() - began_ms < limits.STORE_PATIENCE_MS
            if said is not None and is_short:
                raise said from None
            raise
        except Unavailable as fault:
            said = fault
            wait_ms = int(most_ms * kit.entropy.fraction())
            if kit.clock.monotonic_ms() + wait_ms >= ends_ms:
                raise
        await kit.clock.sleep_ms(wait_ms)
        most_ms = min(2 * most_ms, _WAIT_MS_MAX)


async def answered_within(clock: Clock, attempt: Callable[[], Awaitable[AnswerT]], *, for_ms: int) -> AnswerT:
    """The answer of one attempt, which is cut off after so long; then StoreUnavailable."""
    asking = _begun(attempt())
    try:
        if not await _is_done_within(clock, asking, for_ms):
            raise CutOff("no answer within the request's time")
        return await asking
    finally:
        asking.cancel()


def _is_no_answer(fault: BaseException | None) -> bool:
    """Whether the store has said nothing. What it was that a queue did not answer, is none of its concern."""
    return isinstance(fault, StoreUnavailable) and not isinstance(fault, StoreBusy)


def _begun(asked: Awaitable[AnswerT]) -> "asyncio.Future[AnswerT]":
    """Under way; how it ends may be of no interest any more by then."""
    asking = asyncio.ensure_future(asked)
    asking.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return asking


async def _is_done_within(clock: Clock, asking: "asyncio.Future[AnswerT]", duration_ms: int) -> bool:
    timer = asyncio.ensure_future(clock.sleep_ms(duration_ms))
    either: set[asyncio.Future[Any]] = {asking, timer}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
    return asking.done()
