"""A simulated installation under a load: production services and loops on tests/sim, and what the store is asked for.

The due index is kept by the commits, so that thousands of jobs are cheap; each read of it is counted as a store would
charge it. Must not know what a scenario proves.
"""

import asyncio
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from tests.sim.clock import SimClock, SimEntropy
from tests.sim.draws import Stream, key_of
from tests.sim.plan import Outage
from tests.sim.process import Network, Process, Slot
from tests.sim.queue import Queues, SimQueue
from tests.sim.simulation import SimTelemetry
from tests.sim.state import Commit, State
from tests.sim.store import SimStore
from tests.support.builders import TENANT, an_id
from tests.support.clocks import NOON, VirtualLoop
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.executions import Execution
from tickwright.domain.ids import JobId, WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.job_rules import read_spec
from tickwright.domain.jobs import Head
from tickwright.domain.lanes import Lane
from tickwright.domain.limits import STANDARD
from tickwright.domain.outcomes import Refusal
from tickwright.domain.pools import FARGATE
from tickwright.domain.schedules import HashIdentity
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.loops.worker import WorkerLoop
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.runner import Runner
from tickwright.ports.store import Listing
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey, Submitted, submit

ResultT = TypeVar("ResultT")
_TOKENS_OF_A_LIFE = 1_000_000
_TARGET = {"type": "python", "handler": "scenario"}
_HEADS_A_READ_UNIT = 8  # eventually consistent: half a unit for 4 KB, and a head is at most 1 KB
_READ_UNITS_MIN = 0.5


@dataclass(slots=True)
class DueIndex:
    """The heads that wait for a time, in its order, and how much of them was read."""

    heads: dict[JobId, Head]
    reads: int = 0
    items: int = 0
    read_units: float = 0.0
    _keys: dict[tuple[int, Lane], list[str]] = field(default_factory=lambda: defaultdict(list))

    def on_commit(self, commit: Commit) -> None:
        """Move a head that was written."""
        if not isinstance(commit.new, Head):
            return
        old, new = commit.old, commit.new
        if isinstance(old, Head) and old.bucket is not None:
            keys = self._keys[old.bucket, old.lane]
            del keys[bisect_left(keys, _due_key(old))]
        if new.bucket is not None:
            insort(self._keys[new.bucket, new.lane], _due_key(new))

    def page(self, place: tuple[int, Lane], until: Instant, limit: int, after_key: str | None) -> Listing[Head]:
        """One query: the first so many that are due until then."""
        keys = self._keys[place]
        first = 0 if after_key is None else bisect_left(keys, f"{after_key}~")
        found = keys[first : bisect_left(keys, f"{until + 1:015d}")][:limit]
        self.charge(len(found))
        more = found[-1] if len(found) == limit else None
        return Listing(items=[self.heads[JobId(key.split()[1])] for key in found], next_key=more)

    def forget(self) -> None:
        """Count from here."""
        self.reads, self.items, self.read_units = 0, 0, 0.0

    def charge(self, items: int) -> None:
        """Count one read of so many heads."""
        self.reads += 1
        self.items += items
        self.read_units += max(_READ_UNITS_MIN, items / _HEADS_A_READ_UNIT)


def _due_key(head: Head) -> str:
    return f"{head.next_run_at or 0:015d} {head.job_id}"


@dataclass(slots=True)
class IndexedStore(SimStore):
    """A process's way to the state, with the due index as an index."""

    due: DueIndex

    async def due_eventually(
        self, bucket: int, lane: Lane, *, until: Instant, limit: int, after_key: str | None = None
    ) -> Listing[Head]:
        """Heads of the due index."""
        find = lambda: self.due.page((bucket, lane), until, limit, after_key)  # noqa: E731 - the call's own words
        return await self.process.call(find, StoreUnavailable)


@dataclass(slots=True)
class Start:
    """An attempt as its own code saw it."""

    job_id: JobId
    lane: Lane
    scheduled_ms: int
    started_ms: int
    execution_id: str


@dataclass(slots=True)
class Installation:
    """One installation. `process_of` makes its processes: a scenario may bring ones that fail in their own way."""

    seed: int
    start_ms: int = NOON
    latency_ms: int = 4
    buckets: int = 4
    era: Era = FIRST_ERA
    outages: tuple[Outage, ...] = ()
    process_of: Callable[..., Process] = Process
    state: State = field(init=False)
    queues: Queues = field(init=False)
    network: Network = field(init=False)
    due: DueIndex = field(init=False)
    telemetry: SimTelemetry = field(default_factory=SimTelemetry)
    starts: list[Start] = field(default_factory=list)
    processes: dict[str, Process] = field(default_factory=dict)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    _running: set["asyncio.Task[None]"] = field(default_factory=set)
    _lives: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Set the stage."""
        self.state = State(self.now_ms, Stream.of(self.seed, "lag"))
        self.queues = Queues(self.now_ms, key_of(self.seed, "queue"))
        self.network = Network(self.now_ms, self.latency_ms, self.outages, self.start_ms)
        self.due = DueIndex(self.state.heads)
        self.state.listeners.append(self.due.on_commit)

    def now_ms(self) -> int:
        """True time."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        return self.start_ms + loop.now_ms

    @property
    def clock(self) -> SimClock:
        """True time, for whoever stands outside."""
        return SimClock(self.now_ms)

    # --- who takes part ------------------------------------------------------------------------------------------
    def life(self, name: str, on_death: Callable[[Process, int], None] = lambda _one, _ms: None) -> Kit:
        """A fresh process of this name."""
        self._lives[name] += 1
        member = f"{name}.{self._lives[name]}"
        draws = Stream.of(self.seed, f"process/{member}")
        process = self.process_of(
            network=self.network,
            slot=Slot(name, {}),
            member=member,
            draws=draws,
            on_death=on_death,
            on_silence=lambda _process: None,
        )
        self.processes[name] = process
        return Kit(
            store=IndexedStore(self.state, process, self.due),
            queue=SimQueue(self.queues, process),
            clock=SimClock(self.now_ms, process),
            entropy=SimEntropy(self._lives.total() * _TOKENS_OF_A_LIFE, draws.fraction, an_id),
            telemetry=self.telemetry,
            durations=STANDARD,
            buckets=self.buckets,
            era=self.era,
        )

    def schedule(self, count: int) -> None:
        """Schedulers and a watch."""
        for number in range(count):
            kit = self.life(f"s{number}")
            self.keep(SchedulerLoop(kit, self.member(f"s{number}"), slot=number, slots=count).run(self.stop))
        self.keep(WatchLoop(self.life("x0")).run(self.stop))

    def work(self, name: str, runner_of: Callable[[Process], Runner]) -> None:
        """A worker of this name; when it dies, another takes its place after a while."""

        def died(_process: Process, away_ms: int) -> None:
            asyncio.get_running_loop().call_later(away_ms / 1_000, self.work, name, runner_of)

        kit = self.life(name, died)
        runners = {"python": runner_of(self.processes[name])}
        self.keep(WorkerLoop(kit, runners, WorkerId(self.member(name)), pools=(FARGATE,)).run(self.stop))

    def member(self, name: str) -> str:
        """The process of this name that lives."""
        return self.processes[name].member

    def keep(self, work: Coroutine[None, None, None]) -> None:
        """Let something go on beside the scenario."""
        working = asyncio.create_task(work)
        self._running.add(working)
        working.add_done_callback(self._ended)

    def _ended(self, working: "asyncio.Task[None]") -> None:
        self._running.discard(working)
        if not working.cancelled() and (broken := working.exception()) is not None:
            self.telemetry.broken.append(repr(broken))

    async def close(self) -> None:
        """Stop whoever can stop."""
        self.stop.set()
        if self._running:
            await asyncio.wait(set(self._running), timeout=60)

    # --- what its owners do and see ------------------------------------------------------------------------------
    async def submit(self, kit: Kit, key: str, body: Mapping[str, object]) -> Submitted | Refusal:
        """One request of a client. Raises StoreUnavailable where the API answers 503."""
        spec = read_spec({"target": _TARGET, **body}, identity=HashIdentity("acme", key), now=kit.clock.now())
        return await submit(kit, TENANT, spec, RequestKey(key=f"POST /v1/jobs {key}", body_hash="a" * 64))

    def rows(self) -> list[Execution]:
        """Every execution."""
        return [row for rows in self.state.executions.values() for row in rows.values()]

    def note_start(self, row: Execution) -> None:
        """A target notes that it was started."""
        self.starts.append(Start(row.job_id, row.lane, row.scheduled_at, self.now_ms(), row.ref.id))


def played(scene: Callable[[], Awaitable[ResultT]]) -> ResultT:
    """Play a scene on a fresh virtual loop."""
    loop = VirtualLoop(alone=True)
    try:
        return loop.run_until_complete(_to_its_end(scene))
    finally:
        loop.close()


async def _to_its_end(scene: Callable[[], Awaitable[ResultT]]) -> ResultT:
    result = await scene()
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for each in rest:
        each.cancel()
    if rest:
        await asyncio.wait(rest, timeout=1)
    return result
