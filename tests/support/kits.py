"""A whole installation in memory: one store and queue, one clock, and as many processes as a test wants.

`a_kit()` is one process of it. A World is the machine room: it makes kits for processes that crash or see stale
indexes, keeps what workers did in a log, and lets fresh processes drain what is left. Must not judge the product.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.support.builders import TENANT
from tests.support.clocks import CountingEntropy, ManualClock
from tests.support.faulty import FaultyQueue, LaggingIndex, Script, Tap
from tickwright.adapters.embedded.database import Database
from tickwright.adapters.embedded.entities import EXECUTIONS, HEADS, PAGES
from tickwright.adapters.embedded.queue import EmbeddedQueue
from tickwright.adapters.embedded.store import EmbeddedStore
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionId, JobId, WorkerId
from tickwright.domain.instants import Instant, to_rfc3339
from tickwright.domain.job_rules import read_spec
from tickwright.domain.jobs import Head, JobSpec
from tickwright.domain.journal import Page
from tickwright.domain.lanes import LANES
from tickwright.domain.limits import STANDARD, Durations
from tickwright.domain.pools import PLATFORM
from tickwright.domain.schedules import HashIdentity
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.loops.worker import run_hints
from tickwright.ports.clock import Clock
from tickwright.ports.entropy import Entropy
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.queue import DeadLetter, Received
from tickwright.ports.runner import Invocation
from tickwright.services.attempt import Worker
from tickwright.services.claim import Over
from tickwright.services.kit import Kit
from tickwright.services.submit import RequestKey, Submitted, submit

TARGET = {"type": "python", "handler": "echo"}
STORM = 200  # more steps than any drain of a handful of executions takes
Does = Callable[[Invocation], Awaitable[UserResult]]


@dataclass(frozen=True, slots=True)
class Start:
    """An attempt that a worker has begun: what its target was told, and when."""

    execution_id: ExecutionId
    scheduled_at: Instant
    at: Instant
    epoch: int
    attempt: int
    job_version: int


@dataclass(slots=True)
class LoggedRunner:
    """Logs each start, then does what the test says; success by default."""

    clock: Clock
    does: Does | None = None
    starts: list[Start] = field(default_factory=list)

    async def run(self, invocation: Invocation) -> UserResult:
        """One attempt."""
        execution = invocation.execution
        self.starts.append(
            Start(
                execution_id=execution.ref.id,
                scheduled_at=execution.scheduled_at,
                at=self.clock.now(),
                epoch=invocation.epoch,
                attempt=execution.attempt,
                job_version=invocation.definition.version,
            )
        )
        return Success(result='"ok"') if self.does is None else await self.does(invocation)


@dataclass(slots=True)
class World:
    """One installation. `kit` is a process that is well; `a_process` makes one that is not."""

    clock: ManualClock = field(default_factory=ManualClock)
    entropy: Entropy = field(default_factory=CountingEntropy)
    telemetry: MemoryTelemetry = field(default_factory=MemoryTelemetry)
    database: Database = field(default_factory=Database.in_memory)
    durations: Durations = STANDARD
    buckets: int = 1
    runner: LoggedRunner = field(init=False)
    kit: Kit = field(init=False)
    _numbers: "count[int]" = field(default_factory=count)

    def __post_init__(self) -> None:
        """Join the parts."""
        self.runner = LoggedRunner(clock=self.clock)
        self.kit = self.a_process()

    def a_process(self, tap: Tap | None = None, *, clock: Clock | None = None, entropy: Entropy | None = None) -> Kit:
        """A process's kit on this installation's store and queue, behind a tap if there is one."""
        mine = clock or self.clock
        store, queue = EmbeddedStore(self.database), EmbeddedQueue(self.database, mine)
        return Kit(
            store=store if tap is None else LaggingIndex(store, tap),
            queue=queue if tap is None else FaultyQueue(queue, tap),
            clock=mine,
            entropy=entropy or self.entropy,
            telemetry=self.telemetry,
            durations=self.durations,
            buckets=self.buckets,
        )

    def a_process_with(self, tap: Tap | None = None) -> tuple[Kit, LaggingIndex, FaultyQueue]:
        """A process's kit, with its store and its queue to be told how they misbehave."""
        kit = self.a_process(tap or Script())
        assert isinstance(kit.store, LaggingIndex)
        assert isinstance(kit.queue, FaultyQueue)
        return kit, kit.store, kit.queue

    async def close(self) -> None:
        """Let go of the memory."""
        await self.database.close()

    # --- what a tenant does -------------------------------------------------------------------------------------
    def spec(self, **body: object) -> JobSpec:
        """A job as the API reads it; a one-off in a minute unless the schedule is shown."""
        given: dict[str, object] = {"schedule": {"runAt": self.text(60_000)}, "target": TARGET}
        return read_spec(given | body, identity=HashIdentity("acme", "job"), now=self.clock.now())

    def text(self, from_now_ms: int) -> str:
        """An instant so far from now, as the API takes it."""
        return to_rfc3339(Instant(self.clock.now() + from_now_ms))

    def key(self) -> RequestKey:
        """A request that was never made before."""
        return RequestKey(key=f"POST /v1/jobs key-{next(self._numbers)}", body_hash="a" * 64)

    async def submit(self, **body: object) -> Head:
        """A job of the usual tenant, as it was created."""
        answer = await submit(self.kit, TENANT, self.spec(**body), self.key())
        assert isinstance(answer, Submitted)
        return answer.head

    # --- what is there ------------------------------------------------------------------------------------------
    async def head(self, job_id: JobId) -> Head:
        """The head as it is now."""
        head = await self.kit.store.head(job_id)
        assert head is not None
        return head

    async def due(self) -> Sequence[Head]:
        """All heads of the due index, as it shows them now."""
        lists = [await self._due(bucket) for bucket in range(self.buckets)]
        return [head for heads in lists for head in heads]

    async def _due(self, bucket: int) -> Sequence[Head]:
        until = Instant(1 << 50)
        lists = [(await self.kit.store.due_eventually(bucket, lane, until=until, limit=100)).items for lane in LANES]
        return [head for heads in lists for head in heads]

    async def executions(self, job_id: JobId | None = None) -> list[Execution]:
        """All executions, or those of a job, oldest first."""
        docs = await self._docs("SELECT doc FROM executions ORDER BY job_id, key")
        all_of_them = [EXECUTIONS.codec.load(doc) for doc in docs]
        return [execution for execution in all_of_them if job_id in {None, execution.job_id}]

    async def only_execution(self, job_id: JobId | None = None) -> Execution:
        """The one execution that there is."""
        (execution,) = await self.executions(job_id)
        return execution

    async def heads(self) -> list[Head]:
        """All heads."""
        return [HEADS.codec.load(doc) for doc in await self._docs("SELECT doc FROM heads ORDER BY job_id")]

    async def pages(self) -> list[Page]:
        """All pages of the journal."""
        return [PAGES.codec.load(doc) for doc in await self._docs("SELECT doc FROM journal ORDER BY bucket, check_at")]

    async def hints(self) -> int:
        """How many hints there are: visible, delayed and in hand."""
        (number,) = await self._docs("SELECT count(*) FROM messages")
        return int(number)

    async def dead_letters(self) -> Sequence[DeadLetter]:
        """The copies that went to *dead-executions*."""
        assert isinstance(self.kit.queue, EmbeddedQueue)
        return await self.kit.queue.list_dead_letters()

    async def forget(self, execution: Execution) -> None:
        """Remove a row, as the store's expiry does."""
        where = "DELETE FROM executions WHERE job_id = ? AND key = ?"
        await self.database.write(lambda connection: connection.execute(where, execution.ref), StoreUnavailable)

    async def lose_hints(self) -> None:
        """Every message is lost."""
        await self.database.write(lambda connection: connection.execute("DELETE FROM messages"), StoreUnavailable)

    async def _docs(self, statement: str) -> list[Any]:
        rows = await self.database.read(lambda connection: connection.execute(statement).fetchall(), StoreUnavailable)
        return [row[0] for row in rows]

    # --- what processes do --------------------------------------------------------------------------------------
    def worker(self, kit: Kit | None = None, name: str = "worker-1") -> Worker:
        """A worker whose targets all go to the logged runner."""
        return Worker(
            kit=kit or self.kit,
            runners={"python": self.runner},
            worker_id=WorkerId(name),
            draining=asyncio.get_running_loop().create_future(),
        )

    async def receive(self, kit: Kit | None = None) -> list[Received]:
        """The hints that are visible now, of every lane of the platform's pools."""
        queue, visibility_ms = (kit or self.kit).queue, self.durations.lease_ms
        return [
            received
            for pool in PLATFORM
            for lane in LANES
            for received in await queue.receive(lane, limit=10, wait_ms=0, visibility_ms=visibility_ms, pool=pool)
        ]

    async def work(self, kit: Kit | None = None) -> int:
        """Do what all visible hints ask for, one after the other; how many."""
        worker = self.worker(kit)
        received = await self.receive(kit)
        for one in received:
            await self.work_on(worker, one)
        return len(received)

    async def work_on(self, worker: Worker, received: Received) -> None:
        """Do what one hint asks for, and with the hint what follows."""
        (answer,) = await run_hints(worker, [received])
        if isinstance(answer, Over):
            await worker.kit.queue.delete([received])
        else:
            await worker.kit.queue.show_again(received, after_ms=answer.after_ms)

    async def drain(self, *, steps: int = STORM) -> int:
        """Let fresh processes work until nothing is owed, time jumping to whatever is next; how many steps it took."""
        scheduler = SchedulerLoop(self.kit, f"drain-{next(self._numbers)}")
        watch = WatchLoop(self.kit)
        for step in range(steps):
            await scheduler.tick()
            await self.work()
            await watch.look()
            if (following := await self.next_event()) is None:
                return step
            self.clock.advance_to(Instant(max(following, self.clock.now() + self.durations.tick_ms)))
        raise AssertionError(f"not drained after {steps} steps: {await self.owed()}")

    async def drain_until(self, instant: Instant) -> None:
        """Let fresh processes work up to an instant."""
        scheduler = SchedulerLoop(self.kit, f"drain-{next(self._numbers)}")
        watch = WatchLoop(self.kit)
        while self.clock.now() < instant:
            await scheduler.tick()
            await self.work()
            await watch.look()
            following = await self.next_event() or instant
            self.clock.advance_to(min(instant, Instant(max(following, self.clock.now() + self.durations.tick_ms))))

    async def next_event(self) -> Instant | None:
        """When the first thing on any list is due, or None if all lists are empty."""
        lookahead = self.durations.lookahead_ms
        times = [
            *await self._docs("SELECT min(visible_at) FROM messages"),
            *await self._docs("SELECT min(check_at) FROM journal"),
            *await self._docs(f"SELECT min(next_run_at) - {lookahead} FROM heads"),  # noqa: S608 - a number of ours
            *await self._docs(f"SELECT min(wait_at) - {lookahead} FROM executions"),  # noqa: S608 - a number of ours
        ]
        return min((Instant(at) for at in times if at is not None), default=None)

    async def owed(self) -> Mapping[str, Any]:
        """What is still on a list, for a failure to show."""
        unfinished = [execution for execution in await self.executions() if not execution.is_terminal]
        return {"pages": await self.pages(), "hints": await self.hints(), "unfinished": unfinished}


def a_kit(**shown: Any) -> Kit:  # noqa: ANN401 - any field of a World
    """One process that is well, on an installation of its own."""
    return World(**shown).kit
