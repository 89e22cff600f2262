"""A process whose store changes its leader: first its writes are applied and not answered, then nothing is applied.

It repeats what was not answered as the adapters do, by their own policy and judged by the item; with a patience of one
try it does not. The queue is another service and stays. Must not know what is written.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from botocore.exceptions import ReadTimeoutError

from tests.sim.clock import SimClock, SimEntropy
from tests.sim.process import Process
from tests.support.builders import an_id
from tickwright.adapters.aws.patience import Patience, Persistence
from tickwright.ports.faults import QueueUnavailable, Unavailable

AnswerT = TypeVar("AnswerT")

GONE_FROM_MS = 8_000  # after the start
GONE_MS = 500  # no answer for so long
APPLIED_MS = 150  # of these: the old leader still applies what reaches it
IMPATIENT = Patience(tries_max=1)


@dataclass(slots=True)
class FailingOver(Process):
    """One life of a slot, with the patience of its store's adapter."""

    patience: Patience = field(default_factory=Patience)
    mute_from_ms: int = GONE_FROM_MS
    mute_ms: int = GONE_MS

    async def call(self, do: Callable[[], AnswerT], fault: type[Unavailable], *, writes: bool = False) -> AnswerT:
        """One call; applied or not, nobody says so while the store is gone."""
        if issubclass(fault, QueueUnavailable):
            await self._travel()
            answer = do()
            await self._travel()
            return answer

        async def attempt() -> AnswerT:
            answer = await self._answer(Process.call(self, do, fault, writes=writes))
            if self._is_mute():
                raise _no_answer()
            return answer

        return await self._persistence(fault).persist("a call", attempt)

    async def call_each(
        self, each: Sequence[Callable[[], AnswerT]], fault: type[Unavailable]
    ) -> list[AnswerT | Unavailable]:
        """The same for several writes in one message."""

        async def attempt() -> list[AnswerT | Unavailable]:
            answers = await Process.call_each(self, each, fault)
            if self._is_mute() or any(isinstance(one, Unavailable) for one in answers):
                raise _no_answer()
            return answers

        return await self._persistence(fault).persist("a batch", attempt)

    def _is_mute(self) -> bool:
        at_ms = self.network.now_ms() - self.network.start_ms
        return self.mute_from_ms <= at_ms < self.mute_from_ms + self.mute_ms

    async def _answer(self, calling: Awaitable[AnswerT]) -> AnswerT:
        try:
            return await calling
        except Unavailable as unanswered:
            raise _no_answer() from unanswered

    def _persistence(self, fault: type[Unavailable]) -> Persistence:
        clock, entropy = SimClock(self.network.now_ms, self), SimEntropy(0, self.draws.fraction, an_id)
        return Persistence(clock=clock, entropy=entropy, patience=self.patience, fault=fault, busy=fault)


def _no_answer() -> ReadTimeoutError:
    """The reply was lost, or there was none."""
    return ReadTimeoutError(endpoint_url="the store")
