"""The worker loop: takes hints of every lane of its pools, runs what they name, deletes them, and stops gracefully.

A shell around services/attempt.py. Each lane of each pool has places of its own, so that a herd in one never waits for,
or delays, another (SEM-LANE-1). On stop it takes no more, finishes what it can, gives back what stops, and ends in time
(SEM-DRAIN-1).
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field

from tickwright.domain import limits
from tickwright.domain.events import EventName
from tickwright.domain.ids import WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import Lane
from tickwright.domain.pools import PLATFORM
from tickwright.loops.waiting import sleep_or_stop
from tickwright.ports.faults import Unavailable
from tickwright.ports.queue import Received
from tickwright.ports.runner import Able, Runner
from tickwright.services.attempt import Started, Worker, finish, start
from tickwright.services.claim import NotNow, Over
from tickwright.services.keeping import letting_go_ms
from tickwright.services.kit import Kit

PLACES = {Lane.HIGH: 200, Lane.NORMAL: 200, Lane.LOW: 100, Lane.BACKFILL: 50}
_BATCHES_AT_ONCE = 4
_GATHER_MS = 100  # how long finished hints are gathered before they are deleted together


async def run_hints(worker: Worker, received: Sequence[Received]) -> Sequence[Over | NotNow]:
    """Do what a batch of messages asks for, whatever happens; what is to become of each."""
    groups = _due_together(received)
    answers = await asyncio.gather(*(_run_together(worker, together) for together in groups))
    by_receipt = {
        one.receipt: a for g, batch in zip(groups, answers, strict=True) for one, a in zip(g, batch, strict=True)
    }
    return [by_receipt[one.receipt] for one in received]


async def _run_together(worker: Worker, received: Sequence[Received]) -> Sequence[Over | NotNow]:
    answers = await _start(worker, received)
    return await asyncio.gather(*(_finish(worker, one, answer) for one, answer in zip(received, answers, strict=True)))


async def _start(worker: Worker, received: Sequence[Received]) -> Sequence[Started | Over | NotNow]:
    try:
        return await start(worker, [one.hint for one in received])
    except Unavailable as fault:
        return [_answer_to(worker.kit, one, fault) for one in received]
    except Exception as fault:  # noqa: BLE001 - see _answer_to
        if len(received) == 1:
            return [_answer_to(worker.kit, received[0], fault)]
        # One of them brings a bug to light: each on its own, so that it costs the others nothing.
        return [answer for one in received for answer in await _start(worker, [one])]


async def _finish(worker: Worker, received: Received, answer: Started | Over | NotNow) -> Over | NotNow:
    try:
        return await finish(worker, answer) if isinstance(answer, Started) else answer
    except Exception as fault:  # noqa: BLE001 - see _answer_to
        return _answer_to(worker.kit, received, fault)


def _answer_to(kit: Kit, received: Received, fault: Exception) -> NotNow:
    """A port that is down, or a bug of ours: it is announced, the message comes again, and the others go on."""
    name = EventName.STORE_FAULT if isinstance(fault, Unavailable) else EventName.ATTEMPT_BROKE
    kit.emit(name, executionId=received.hint.ref.id, fault=type(fault).__name__, detail=str(fault)[:500])
    return NotNow(after_ms=kit.durations.heartbeat_ms)


def _due_together(received: Sequence[Received]) -> Sequence[Sequence[Received]]:
    """The same hints in groups of one due time each, of a batch at most."""
    groups: dict[Instant, list[list[Received]]] = {}
    for one in received:
        batches = groups.setdefault(one.hint.due_at, [[]])
        if len(batches[-1]) == limits.MESSAGES_A_BATCH:
            batches.append([])
        batches[-1].append(one)
    return [batch for batches in groups.values() for batch in batches]


def all_places(_pool: str, _lane: Lane, most: int) -> int:
    """Nothing is ever stuck."""
    return most


@dataclass(slots=True)
class _Places:
    """Those of one lane of one pool, and how many hints are in hand."""

    most: int
    free: asyncio.Semaphore = field(init=False)
    in_hand: int = 0

    def __post_init__(self) -> None:
        self.free = asyncio.Semaphore(self.most)

    def give_back(self, number: int) -> None:
        """So many were taken for nothing."""
        for _ in range(number):
            self.free.release()

    def is_done(self) -> None:
        """A hint is out of hand."""
        self.in_hand -= 1
        self.free.release()


@dataclass(slots=True)
class WorkerLoop:
    """One worker process; `worker_id` must be fresh for each run of the process (B133)."""

    kit: Kit
    runners: Mapping[str, Runner]
    worker_id: WorkerId
    places: Mapping[Lane, int] = field(default_factory=lambda: dict(PLACES))
    pools: Sequence[str] = PLATFORM  # of each, every lane has so many places
    poll_ms: int = 1_000  # how long an empty lane is waited for; a stop waits for it to end
    grace_ms: int = 25_000  # under the 30 s that most platforms leave between SIGTERM and SIGKILL
    # How many of so many places of a lane can start anything: what only stuck code could take is left to others.
    able: Able = all_places
    _draining: "asyncio.Future[None] | None" = None  # there once it runs
    _is_let_go: bool = False
    _finished: list[Received] = field(default_factory=list)
    _working: set["asyncio.Task[None]"] = field(default_factory=set)
    _deleting: "asyncio.Task[None] | None" = None

    async def run(self, stop: asyncio.Event) -> None:
        """Serve every lane of every pool until `stop` is set, then finish or give back."""
        self._draining = asyncio.get_running_loop().create_future()
        if self._is_let_go:
            self.let_go()
        await asyncio.gather(*(self._serve(pool, lane, stop) for pool in self.pools for lane in self.places))
        await self._finish()

    @property
    def at_work(self) -> int:
        """How many hints it has in hand."""
        return len(self._working)

    async def _serve(self, pool: str, lane: Lane, stop: asyncio.Event) -> None:
        places = _Places(self.places[lane])
        assert self._draining is not None
        worker = Worker(kit=self.kit, runners=self.runners, worker_id=self.worker_id, draining=self._draining)
        batches = 1
        while not stop.is_set():
            taken = await _take_places(places.free, batches * limits.MESSAGES_A_BATCH, stop)
            able = max(0, min(taken, self.able(pool, lane, places.most) - places.in_hand))
            places.give_back(taken - able)
            if able == 0:
                await sleep_or_stop(self.kit, stop, self.poll_ms)
                continue
            received = [] if stop.is_set() else await self._receive_all(pool, lane, able)
            places.in_hand += len(received)
            # One receive at a time while there is little to do; several at once while they come back full.
            batches = _BATCHES_AT_ONCE if len(received) >= limits.MESSAGES_A_BATCH else 1
            for together in _due_together(received):
                self._keep(self._do_together(worker, together, places))
            places.give_back(able - len(received))

    async def _receive_all(self, pool: str, lane: Lane, limit: int) -> list[Received]:
        """Up to `limit` hints: one receive waits for the first to come, several take what is there.

        None of several may wait: what the others have taken would not start before it has seen that nothing comes.
        """
        sizes = [min(limits.MESSAGES_A_BATCH, limit - at) for at in range(0, limit, limits.MESSAGES_A_BATCH)]
        wait_ms = self.poll_ms if len(sizes) == 1 else 0
        batches = await asyncio.gather(*(self._receive(pool, lane, size, wait_ms) for size in sizes))
        return [one for batch in batches for one in batch]

    async def _receive(self, pool: str, lane: Lane, limit: int, wait_ms: int) -> Sequence[Received]:
        queue, visibility_ms = self.kit.queue, self.kit.durations.lease_ms
        try:
            return await queue.receive(lane, limit=limit, wait_ms=wait_ms, visibility_ms=visibility_ms, pool=pool)
        except Unavailable as fault:
            self.kit.emit(EventName.QUEUE_FAULT, fault=type(fault).__name__, lane=lane.value)
            await self.kit.clock.sleep_ms(round(self.poll_ms * self.kit.entropy.fraction()))
            return []

    async def _do_together(self, worker: Worker, received: Sequence[Received], places: _Places) -> None:
        """Claim in one batch what is due together, then run each on its own."""
        for one, answer in zip(received, await _start(worker, received), strict=True):
            self._keep(self._do(worker, one, answer, places))

    async def _do(self, worker: Worker, received: Received, answer: Started | Over | NotNow, places: _Places) -> None:
        try:
            answer = await _finish(worker, received, answer)
            if isinstance(answer, Over):
                self._delete_soon(received)
            else:
                await self.kit.queue.show_again(received, after_ms=answer.after_ms)
        except Unavailable as fault:  # the hint comes again by itself
            self.kit.emit(EventName.QUEUE_FAULT, fault=type(fault).__name__)
        finally:
            places.is_done()

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        working = asyncio.create_task(work)
        self._working.add(working)
        working.add_done_callback(self._working.discard)

    def _delete_soon(self, received: Received) -> None:
        self._finished.append(received)
        if self._deleting is None or self._deleting.done():
            self._deleting = asyncio.create_task(self._delete())

    async def _delete(self) -> None:
        while self._finished:
            if len(self._finished) < limits.MESSAGES_A_BATCH and not self._is_let_go:
                await self.kit.clock.sleep_ms(_GATHER_MS)
            batch, self._finished = self._finished, []
            try:
                await self.kit.queue.delete(batch)
            except Unavailable as fault:  # they come again, and their claims are refused
                self.kit.emit(EventName.QUEUE_FAULT, fault=type(fault).__name__, hints=str(len(batch)))

    def let_go(self) -> None:
        """Ask what runs to stop at once, and give it back: a stop that cannot wait for it to end."""
        self._is_let_go = True
        if self._draining is not None and not self._draining.done():
            self._draining.set_result(None)

    async def _finish(self) -> None:
        """Let what runs end; ask the rest in time to stop, and give back what does: no attempt is counted for that."""
        ends_ms = self.kit.clock.monotonic_ms() + self.grace_ms
        await self._work_until(ends_ms - letting_go_ms(self.kit.durations) - self.grace_ms // 10)
        self.let_go()
        await self._work_until(ends_ms)
        if self._deleting is not None:
            await asyncio.wait({self._deleting}, timeout=self.grace_ms / 10_000)

    async def _work_until(self, ends_ms: int) -> None:
        while self._working and (left_ms := ends_ms - self.kit.clock.monotonic_ms()) > 0:
            await asyncio.wait(set(self._working), timeout=left_ms / 1_000)


async def _take_places(free: asyncio.Semaphore, most: int, stop: asyncio.Event) -> int:
    """Wait for one free place, and take up to `most` of them; none if the stop comes first."""
    if free.locked():
        await _one_free_or(stop, free)
    taken = 0
    while taken < most and not free.locked():
        await free.acquire()
        taken += 1
    return taken


async def _one_free_or(stop: asyncio.Event, free: asyncio.Semaphore) -> None:
    """Until a place is free or the stop comes.

    A lane full of long runs must not keep the others from being given back.
    """
    taking, stopping = asyncio.ensure_future(free.acquire()), asyncio.ensure_future(stop.wait())
    await asyncio.wait({taking, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not taking.cancel():
        free.release()
