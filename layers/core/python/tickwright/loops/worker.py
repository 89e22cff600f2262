"""The worker loop: takes hints of every lane, runs what they name, deletes them in batches, and stops gracefully.

A shell around services/attempt.py. Each lane has places of its own, so that a herd in one never waits for, or delays, another
(SEM-LANE-1). On stop it takes no more, finishes what it can, gives the rest back, and ends in time (SEM-DRAIN-1).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from tickwright.domain import limits
from tickwright.domain.events import EventName
from tickwright.domain.ids import WorkerId
from tickwright.domain.lanes import Lane
from tickwright.ports.faults import Unavailable
from tickwright.ports.queue import Received
from tickwright.ports.runner import Runner
from tickwright.services.attempt import Worker, work
from tickwright.services.claim import NotNow, Over
from tickwright.services.kit import Kit

PLACES = {Lane.HIGH: 100, Lane.NORMAL: 100, Lane.LOW: 50, Lane.BACKFILL: 25}
_POLL_MS = 1_000
_GATHER_MS = 100  # how long finished hints are gathered before they are deleted together


async def run_hint(worker: Worker, received: Received) -> Over | NotNow:
    """Do what one message asks for. A port that is down, or a bug of ours, leaves the message to come again."""
    try:
        return await work(worker, received.hint)
    except Unavailable as fault:
        worker.kit.emit(EventName.STORE_FAULT, executionId=received.hint.ref.id, fault=type(fault).__name__)
    except Exception as fault:  # noqa: BLE001 - one broken attempt must not stop the others; it is announced and comes again
        name = type(fault).__name__
        worker.kit.emit(EventName.ATTEMPT_BROKE, executionId=received.hint.ref.id, fault=name, detail=str(fault)[:500])
    return NotNow(after_ms=worker.kit.durations.heartbeat_ms)


@dataclass(slots=True)
class WorkerLoop:
    """One worker process; `worker_id` must be fresh for each run of the process (B133)."""

    kit: Kit
    runners: Mapping[str, Runner]
    worker_id: WorkerId
    places: Mapping[Lane, int] = field(default_factory=lambda: dict(PLACES))
    grace_ms: int = 25_000  # under the 30 s that most platforms leave between SIGTERM and SIGKILL
    _drain: asyncio.Event = field(default_factory=asyncio.Event)
    _finished: list[Received] = field(default_factory=list)
    _working: set["asyncio.Task[None]"] = field(default_factory=set)
    _deleting: "asyncio.Task[None] | None" = None

    async def run(self, stop: asyncio.Event) -> None:
        """Serve every lane until `stop` is set, then finish or give back."""
        await asyncio.gather(*(self._serve(lane, places, stop) for lane, places in self.places.items()))
        await self._finish()

    async def _serve(self, lane: Lane, places: int, stop: asyncio.Event) -> None:
        free = asyncio.Semaphore(places)
        worker = Worker(kit=self.kit, runners=self.runners, worker_id=self.worker_id, drain=self._drain)
        while not stop.is_set():
            taken = await _take_places(free)
            received = [] if stop.is_set() else await self._receive(lane, taken)
            for one in received:
                working = asyncio.create_task(self._do(worker, one, free))
                self._working.add(working)
                working.add_done_callback(self._working.discard)
            for _ in range(taken - len(received)):
                free.release()

    async def _receive(self, lane: Lane, limit: int) -> list[Received]:
        try:
            return list(
                await self.kit.queue.receive(
                    lane, limit=limit, wait_ms=_POLL_MS, visibility_ms=self.kit.durations.lease_ms
                )
            )
        except Unavailable as fault:
            self.kit.emit(EventName.QUEUE_FAULT, fault=type(fault).__name__, lane=lane.value)
            await self.kit.clock.sleep_ms(round(_POLL_MS * self.kit.entropy.fraction()))
            return []

    async def _do(self, worker: Worker, received: Received, free: asyncio.Semaphore) -> None:
        try:
            answer = await run_hint(worker, received)
            if isinstance(answer, Over):
                self._delete_soon(received)
            else:
                await self.kit.queue.show_again(received, after_ms=answer.after_ms)
        except Unavailable as fault:  # the hint comes again by itself
            self.kit.emit(EventName.QUEUE_FAULT, fault=type(fault).__name__)
        finally:
            free.release()

    def _delete_soon(self, received: Received) -> None:
        self._finished.append(received)
        if self._deleting is None or self._deleting.done():
            self._deleting = asyncio.create_task(self._delete())

    async def _delete(self) -> None:
        while self._finished:
            if len(self._finished) < limits.MESSAGES_A_BATCH and not self._drain.is_set():
                await self.kit.clock.sleep_ms(_GATHER_MS)
            batch, self._finished = self._finished, []
            try:
                await self.kit.queue.delete(batch)
            except Unavailable as fault:  # they come again, and their claims are refused
                self.kit.emit(EventName.QUEUE_FAULT, fault=type(fault).__name__, hints=str(len(batch)))

    async def _finish(self) -> None:
        """Let what runs end; give back what does not in time: no attempt is counted for that."""
        if self._working:
            await asyncio.wait(self._working, timeout=self.grace_ms / 1_000)
        self._drain.set()
        if self._working:
            await asyncio.wait(self._working, timeout=self.grace_ms / 5_000)
        if self._deleting is not None:
            await asyncio.wait({self._deleting}, timeout=self.grace_ms / 5_000)


async def _take_places(free: asyncio.Semaphore) -> int:
    """Wait for one free place, and take up to a batch of them."""
    await free.acquire()
    taken = 1
    while taken < limits.MESSAGES_A_BATCH and not free.locked():
        await free.acquire()
        taken += 1
    return taken
