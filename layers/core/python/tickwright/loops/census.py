"""How much there is to do and is done, said once a minute: for whoever decides how many machines there are, or watches.

Must not know who listens. A count of what is at work now, so that a line that is lost costs a minute and no truth.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tickwright.domain.events import EventName
from tickwright.loops.waiting import sleep_or_stop
from tickwright.services.kit import Kit

EVERY_MS = 60_000


@dataclass(slots=True)
class CensusLoop:
    """Counts on one machine; `places` is how many runs it takes at most.

    In the middle of each minute of the clock: a metric's minute then has one sample of each machine that takes runs,
    and how many machines there are is how many samples it has.
    """

    kit: Kit
    at_work: Callable[[], int]
    places: int
    every_ms: int = EVERY_MS

    async def run(self, stop: asyncio.Event) -> None:
        """Count until `stop` is set: a machine that stops takes nothing any more."""
        while not stop.is_set():
            await sleep_or_stop(self.kit, stop, self._until_a_middle_ms())
            if not stop.is_set():
                self.count()

    def count(self) -> None:
        """One event."""
        at_work = self.at_work()
        self.kit.emit(
            EventName.PLACES_COUNTED, measured={"atWork": at_work, "placesTakenPercent": 100 * at_work / self.places}
        )

    def _until_a_middle_ms(self) -> int:
        """Half a minute away at least, so that a timer which is early counts no minute twice."""
        return self.every_ms // 2 + -self.kit.clock.now() % self.every_ms


@dataclass(slots=True)
class PulseLoop:
    """Counts what a scheduler serves. None in a minute: it is alone with a store that is down, or others have all."""

    kit: Kit
    served: Callable[[], int]
    held: Callable[[], int]
    every_ms: int = EVERY_MS

    async def run(self, stop: asyncio.Event) -> None:
        """Count until `stop` is set, and then for the last time: of the part of a minute that was left."""
        before = self.served()
        while not stop.is_set():
            await sleep_or_stop(self.kit, stop, self.every_ms)
            before, since = self.served(), self.served() - before
            self.kit.emit(EventName.BUCKETS_COUNTED, measured={"served": since, "held": self.held()})
