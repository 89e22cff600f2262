"""The scheduler loop: once a second, for each bucket it holds, fire what comes due within the look-ahead.

A shell around services/fire.py: it decides nothing. Any number may run; slot i of n prefers the buckets b with b % n
= i and takes the others only when nobody else has them for a while. One of a crew ends once its successor is there.
Promises: SEM-BUCKET-1, SEM-BUCKET-4.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from tickwright.domain import limits
from tickwright.domain.events import EventName
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.lanes import LANES, Lane
from tickwright.domain.schedules import tzdata_version
from tickwright.loops.waiting import sleep_or_stop
from tickwright.ports.faults import Unavailable
from tickwright.services import leases as lease_service
from tickwright.services.aim import FROM_THE_FIRST, Progress, aim_some
from tickwright.services.fire import fire
from tickwright.services.kit import Kit
from tickwright.services.leases import Leases
from tickwright.services.memory import Memory
from tickwright.services.release import release_due
from tickwright.services.resolve import look_after

_LOOKS_A_TICK = 4  # while somebody is behind: a job of the shortest period must gain on its ticks
_PAGES_A_LOOK = 10  # past heads of which none can be decided now: they must not hide those behind them
_AT_ONCE = 8  # buckets worked on at the same time: what one process can keep in flight against a store


@dataclass(slots=True)
class SchedulerLoop:
    """One scheduler process. `owner` must be fresh for each run of the process.

    `crew`: how the names of those begin who serve the slot one after the other, and hand over as soon as the next one
    is there; empty where nobody follows.
    """

    kit: Kit
    owner: str
    slot: int = 0
    slots: int = 1
    alone: bool = False
    crew: str = ""
    leases: Leases = field(init=False)
    served: int = 0  # how often a bucket of ours was looked through to its end
    _memory: Memory = field(default_factory=Memory)
    _idle_until_ms: dict[tuple[int, Lane | str], int] = field(default_factory=dict)
    _aiming: dict[int, Progress] = field(default_factory=dict)
    _is_behind: bool = False
    _permits: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    def __post_init__(self) -> None:
        """Begin without buckets."""
        assert 0 <= self.slot < self.slots
        assert self.owner.startswith(self.crew)
        signal = self.slot if self.crew else None
        self.leases = Leases(owner=self.owner, alone=self.alone, crew=self.crew, signal=signal)

    async def run(self, stop: asyncio.Event) -> None:
        """Tick until `stop` is set or the next one is there, then hand the buckets over.

        A sick store costs ticks, never the loop.
        """
        keeping = asyncio.create_task(self._keep())
        try:
            while not stop.is_set() and not self.leases.relieved:
                started_ms = self.kit.clock.monotonic_ms()
                await self._guarded(self.tick)
                every_ms = self.kit.durations.tick_ms // (_LOOKS_A_TICK if self._is_behind else 1)
                left_ms = every_ms - (self.kit.clock.monotonic_ms() - started_ms)
                await sleep_or_stop(self.kit, stop, left_ms)
            await asyncio.gather(*map(self._hand_over, list(self.leases.mine)))
        finally:
            keeping.cancel()

    async def _keep(self) -> None:
        """Renew beside the ticks: one that takes longer than a lease must not cost the buckets that it works on."""
        while True:
            await self.kit.clock.sleep_ms(self.kit.durations.bucket_renew_ms // 2)
            await self._guarded(partial(lease_service.renew, self.kit, self.leases))

    async def _hand_over(self, bucket: int) -> None:
        """Each by itself, and the others are kept meanwhile: a fault at one leaves that one alone to its lease."""
        async with self._permits:
            await self._guarded(partial(lease_service.give_up, self.kit, self.leases, bucket))

    async def tick(self) -> None:
        """One look at everything that is ours."""
        self._is_behind = False
        await self._guarded(partial(lease_service.renew, self.kit, self.leases))
        await asyncio.gather(*(self._serve(bucket) for bucket in range(self.kit.buckets_read)))

    async def _serve(self, bucket: int) -> None:
        async with self._permits:
            well = await self._guarded(partial(self._hold, bucket)) and await self._look_through(bucket)
        holding = self.leases.mine.get(bucket)
        self.served += well and holding is not None
        if holding is not None and not well:
            holding.resolved = False  # something may have been begun and not finished: look after it soon

    async def _hold(self, bucket: int) -> None:
        """Take it, unless it is ours or somebody else's, and look after what its last owner has left."""
        if not lease_service.holds(self.kit, self.leases, bucket) and not await self._take(bucket):
            return
        holding = self.leases.mine[bucket]
        if not holding.resolved and self._is_time(bucket, "left", self.kit.durations.lookahead_ms):
            await self._resolve_left_behind(bucket)
            holding.resolved = True

    async def _look_through(self, bucket: int) -> bool:
        """For as long as it is ours; whether all went well.

        Highest lane first: a herd in one never delays a higher one, and one that fails keeps none from being served.
        """
        lanes = (partial(self._serve_lane, bucket, lane) for lane in LANES)
        well = True
        for step in (*lanes, partial(self._serve_waiting, bucket), partial(self._aim, bucket)):
            if lease_service.holds(self.kit, self.leases, bucket):
                well &= await self._guarded(step)
        return well

    async def _take(self, bucket: int) -> bool:
        preferred = bucket % self.slots == self.slot
        patience_ms = 0 if preferred else 2 * self.kit.durations.bucket_lease_ms
        if not self._is_time(bucket, "lease", self.kit.durations.tick_ms):
            return False
        return await lease_service.take(self.kit, self.leases, bucket, patience_ms=patience_ms)

    async def _resolve_left_behind(self, bucket: int) -> None:
        """At take-over: help with what the last owner may have begun.

        Pages stay where they are until their time (R1).
        """
        until = Instant(self.kit.clock.now() + self.kit.durations.first_check_ms)
        for page in await self.kit.store.pages(bucket, until=until, limit=limits.JOURNAL_PAGES_A_LOOK):
            await look_after(self.kit, page)

    async def _serve_lane(self, bucket: int, lane: Lane) -> None:
        if not self._is_time(bucket, lane, 2 * self.kit.durations.tick_ms):
            return
        until = Instant(self.kit.clock.now() + self.kit.durations.lookahead_ms)
        after_key: str | None = None
        for _ in range(_PAGES_A_LOOK):
            page = await self.kit.store.due_eventually(
                bucket, lane, until=until, limit=limits.DUE_PAGE, after_key=after_key
            )
            if page.items:
                self._idle_until_ms.pop((bucket, lane), None)
            decided = await fire(self.kit, bucket, page.items, self._memory)
            self._is_behind |= decided > 0 and self._is_late(page.items)
            after_key = page.next_key
            if decided or after_key is None:
                return  # those behind a page that moved on are the first of the next look

    async def _aim(self, bucket: int) -> None:
        """After the zone rules have changed, once: a page of the bucket's heads a look."""
        holding = self.leases.mine[bucket]
        if holding.tzdata == tzdata_version():
            return
        progress = await aim_some(self.kit, bucket, self._aiming.get(bucket, FROM_THE_FIRST))
        if progress is not None:
            self._aiming[bucket] = progress
            return
        self._aiming.pop(bucket, None)
        holding.tzdata = tzdata_version()  # noted with the next renewal: whoever dies before it leaves it to do again

    def _is_late(self, heads: Sequence[Head]) -> bool:
        """Whether a job was due a whole tick ago: one tick of a job is decided a look, so more may be waiting."""
        late_at = self.kit.clock.now() - self.kit.durations.tick_ms
        return any(head.next_run_at is not None and head.next_run_at < late_at for head in heads)

    async def _serve_waiting(self, bucket: int) -> None:
        if not self._is_time(bucket, "waiting", self.kit.durations.lookahead_ms // 2):
            return
        await release_due(self.kit, bucket)

    def _is_time(self, bucket: int, what: Lane | str, every_ms: int) -> bool:
        """Whether a place that showed no work is worth a look again.

        Well within the look-ahead, since submit fires the rest.
        """
        now_ms = self.kit.clock.monotonic_ms()
        if now_ms < self._idle_until_ms.get((bucket, what), now_ms):
            return False
        self._idle_until_ms[bucket, what] = now_ms + every_ms - self.kit.durations.tick_ms // 2
        return True

    async def _guarded(self, step: Callable[[], Awaitable[object]]) -> bool:
        """Whether the step went well. A sick store, or a bug that one job brings to light, costs that step alone."""
        try:
            await step()
        except Unavailable as fault:
            self.kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, detail=str(fault)[:200])
        except Exception as fault:  # noqa: BLE001 - it is announced, and the other buckets go on (B055, B094)
            self.kit.emit(EventName.LOOP_BROKE, fault=type(fault).__name__, detail=str(fault)[:500])
        else:
            return True
        return False
