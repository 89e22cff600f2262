"""One simulation from its plan to its verdict: the production services and loops, on simulated machines.

First the safety phase: the plan's faults, with monitors at every commit. Then the liveness phase: nothing goes wrong
any more, fresh processes work, and within a bounded time everything that is owed must be done. At the end the history
is judged. Must not know which faults there are.
"""

import asyncio
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from tests.chaos.book import Violation
from tests.chaos.checker import check
from tests.chaos.driver import Driver
from tests.chaos.history import EVERYBODY, History, Presence, Stall
from tests.chaos.jobs import Wish
from tests.sim.clock import SimClock, SimEntropy
from tests.sim.draws import Stream, key_of
from tests.sim.elsewhere import Elsewhere
from tests.sim.monitors import Monitors
from tests.sim.plan import CLOCK_ERROR_MS, LAST_TICK_MS, ClockStep, Plan, jobs_of
from tests.sim.process import Network, Process, Slot
from tests.sim.queue import Queues, SimQueue
from tests.sim.runner import Diary, SimRunner
from tests.sim.sometimes import policies_of
from tests.sim.state import Commit, State
from tests.sim.store import SimStore
from tests.support.builders import an_id
from tests.support.clocks import NOON, VirtualLoop
from tickwright.domain.changes.heads import Advance
from tickwright.domain.events import EventName, Happening
from tickwright.domain.executions import Execution
from tickwright.domain.ids import JobId, WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Definition
from tickwright.domain.limits import Durations
from tickwright.domain.pools import FARGATE
from tickwright.domain.redrive_orders import OrderStatus
from tickwright.domain.transitions import State as Life
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.loops.worker import WorkerLoop, run_hints
from tickwright.services.attempt import Worker
from tickwright.services.claim import Over
from tickwright.services.kit import Kit

DURATIONS = replace(Durations().scaled(0.05), tick_ms=100)  # a longer tick: most of them find nothing
BUCKETS = 2
_BUGS = {EventName.ATTEMPT_BROKE, EventName.LOOP_BROKE, EventName.TICK_POISONED}
_TOKENS_OF_A_LIFE = 1_000_000
_STOP_MS = 15_000
_DRAIN_STEPS = 500  # ten times what any seed was seen to need
_ENOUGH = 100  # broken promises, after which nobody waits for all to come to rest
_NS = 1_000_000
_EMPTY_POLL_MS = 1_000
_GRACE_MS = 1_500


@dataclass(slots=True)
class SimTelemetry:
    """Counts what happened, and keeps what is a bug wherever it happens."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def emit(self, happening: Happening) -> None:
        """Note one."""
        self.counts[happening.name.value] += 1
        if happening.name in _BUGS:
            self.broken.append(f"{happening.name.value} {dict(happening.about)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of a plan."""

    plan: Plan
    violations: tuple[Violation, ...]
    seen: Counter[str]  # what happened at least once somewhere, for the *sometimes* counters
    commits: int
    trace: str | None


@dataclass(slots=True)
class Simulation:
    """One run of one plan on a loop of its own."""

    plan: Plan
    traced: bool = False
    state: State = field(init=False)
    queues: Queues = field(init=False)
    network: Network = field(init=False)
    monitors: Monitors = field(init=False)
    diary: Diary = field(default_factory=Diary)
    telemetry: SimTelemetry = field(default_factory=SimTelemetry)
    _elsewhere: Elsewhere = field(init=False)
    seen: Counter[str] = field(default_factory=Counter)
    presences: list[Presence] = field(default_factory=list)
    commits: int = 0
    _slots: dict[str, Slot] = field(default_factory=dict)
    _running: set["asyncio.Task[None]"] = field(default_factory=set)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _lives: int = 0
    _driver: Driver | None = None
    _clocks: list[SimClock] = field(default_factory=list)  # of all lives
    _members: list[str] = field(default_factory=list)
    _stopped: dict[str, int] = field(default_factory=dict)
    _at: dict[str, JobId] = field(default_factory=dict)  # the job that a scheduler has decided a tick of last
    _pouncing: set["asyncio.Task[None]"] = field(default_factory=set)
    _since_ms: dict[str, int] = field(default_factory=dict)  # schedulers that live
    _trace: "blake2b" = field(default_factory=lambda: blake2b(digest_size=16))

    def __post_init__(self) -> None:
        """Set the stage."""
        plan = self.plan
        self.state = State(self.now_ms, Stream.of(plan.seed, "lag"), plan.lag_ms)
        self.queues = Queues(self.now_ms, key_of(plan.seed, "queue"), plan.loss, plan.double, plan.late)
        self.network = Network(self.now_ms, plan.latency_ms, plan.outages, NOON)
        self.monitors = Monitors(self.state)
        self._elsewhere = Elsewhere(lambda: self._kit("e0"))
        self.state.listeners += [self.monitors.on_commit, self._note]
        self.state.on_drop.append(self.monitors.on_drop)
        for outage in plan.outages:
            at_ms = NOON + outage.at_ms
            self.network.stalls.append(Stall(member=EVERYBODY, from_ms=at_ms, until_ms=at_ms + outage.ms))

    def now_ms(self) -> int:
        """True time."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        return NOON + loop.now_ms

    # --- the company ---------------------------------------------------------------------------------------------
    async def play(self) -> Report:
        """Live it through."""
        owners = self._kit("a0")
        self._driver = driver = Driver(kit=owners, start_ms=NOON, ns=self._ns, lag_ms=self.plan.lag_ms)
        for number in range(self.plan.schedulers):
            self._begin(f"s{number}")
        for number in range(self.plan.workers):
            self._begin(f"w{number}")
        self._begin("x0")
        for step in self.plan.steps:
            asyncio.get_running_loop().call_later(step.at_ms / 1_000, self._step, step)
        await driver.play(jobs_of(self.plan))
        await owners.clock.sleep_until(Instant(NOON + LAST_TICK_MS))
        self._heal()
        await asyncio.gather(*self._pouncing)
        await self._wind_down()
        await self._drain()
        return self._judge(driver)

    def _begin(self, name: str) -> None:
        kit, process = self._life(name)
        loop = self._loop_of(name, kit, process)
        task = asyncio.create_task(loop(self._stop))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        if name.startswith("s"):
            self._since_ms[process.member] = self.now_ms()
            task.add_done_callback(lambda _task: self._was_there(process.member))

    def _was_there(self, member: str) -> None:
        from_ms = self._since_ms.pop(member, None)
        if from_ms is not None:
            self.presences.append(Presence(member=member, from_ms=from_ms, until_ms=self.now_ms()))

    def _loop_of(self, name: str, kit: Kit, process: Process) -> Callable[[asyncio.Event], Coroutine[None, None, None]]:
        number = int(name[1:])
        match name[0]:
            case "s":
                return SchedulerLoop(kit, process.member, slot=number, slots=self.plan.schedulers).run
            case "w":
                runner = SimRunner(process, self.diary, self.now_ms, kit.clock, self._elsewhere)
                worker = WorkerLoop(kit, {"python": runner}, WorkerId(process.member), pools=(FARGATE,))
                return replace(worker, poll_ms=_EMPTY_POLL_MS, grace_ms=_GRACE_MS).run
            case _:
                return WatchLoop(kit).run

    def _kit(self, name: str) -> Kit:
        return self._life(name)[0]

    def _life(self, name: str) -> tuple[Kit, Process]:
        faults = {fault.nth: fault for fault in self.plan.faults if fault.slot == name}
        slot = self._slots.setdefault(name, Slot(name, faults))
        slot.lives += 1
        self._lives += 1
        member = f"{name}.{slot.lives}"
        self._members.append(member)
        draws = Stream.of(self.plan.seed, f"process/{member}")
        process = Process(self.network, slot, member, draws, self._died, self._silent)
        clock = SimClock(self.now_ms, process, self._off_ms(name, draws))
        self._clocks.append(clock)
        kit = Kit(
            store=SimStore(self.state, process),
            queue=SimQueue(self.queues, process),
            clock=clock,
            entropy=SimEntropy(self._lives * _TOKENS_OF_A_LIFE, draws.fraction, an_id),
            telemetry=self.telemetry,
            durations=DURATIONS,
            buckets=BUCKETS,
        )
        return kit, process

    def _off_ms(self, name: str, draws: Stream) -> int:
        """The owners' clock is right: what they are told is compared with it."""
        skew_ms = self.plan.skew_ms
        return draws.between(-skew_ms, skew_ms) if skew_ms and name != "a0" else 0

    def _step(self, step: ClockStep) -> None:
        """Of the machine that has the slot now; a fresh one has a clock of its own."""
        for clock in self._clocks:
            if clock.process is not None and clock.process.slot.name == step.slot and not clock.process.is_dead:
                self.seen["fault.clock_step"] += clock.jump(step.by_ms, error_ms=CLOCK_ERROR_MS)

    def _silent(self, process: Process) -> None:
        """A process is about to be struck: now and then the owner of what it is at asks for the end of it."""
        job_id = self._at.get(process.member)
        if self.plan.pounces and job_id is not None and self._driver is not None and not self._stop.is_set():
            after_s = process.draws.spread(1, 600) / 1_000
            self._pouncing.add(asyncio.create_task(self._pounce(job_id, after_s)))

    async def _pounce(self, job_id: JobId, after_s: float) -> None:
        assert self._driver is not None
        await asyncio.sleep(after_s)
        self.seen["pounce"] += 1
        await self._driver.pounce(job_id, Wish.CANCEL)

    def _died(self, process: Process, away_ms: int) -> None:
        self.seen["crash"] += 1
        member, name = process.member, process.slot.name
        if name.startswith("s"):
            self._was_there(member)
        if not self._stop.is_set():
            asyncio.get_running_loop().call_later(away_ms / 1_000, self._take_place, name)

    def _take_place(self, name: str) -> None:
        if not self._stop.is_set():
            self._begin(name)

    # --- the second phase ----------------------------------------------------------------------------------------
    def _heal(self) -> None:
        self.network.healed = True
        self.queues.healed = True
        self.state.lag_ms = 0

    async def _wind_down(self) -> None:
        """Stop whoever can; whoever stands still goes on when its time is over, a zombie among the living."""
        self._stop.set()
        # What is given back is somebody else's from then on, and deaf code runs on.
        self._stopped = {member: self.now_ms() for member in self._members if member.startswith("w")}
        if self._running:
            await asyncio.wait(set(self._running), timeout=_STOP_MS / 1_000)

    async def _drain(self) -> None:
        """Fresh processes, step by step, from event to event."""
        self.network.latency_ms = 0
        kit, process = self._life("z0")
        scheduler, watch = SchedulerLoop(kit, process.member), WatchLoop(kit)
        draining: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        runner = SimRunner(process, self.diary, self.now_ms, kit.clock, self._elsewhere)
        worker = Worker(kit=kit, runners={"python": runner}, worker_id=WorkerId(process.member), draining=draining)
        self._since_ms[process.member] = self.now_ms()
        for _ in range(_DRAIN_STEPS):
            await scheduler.tick()
            await self._work(worker)
            await watch.look()
            following_ms = self._next_event_ms()
            if following_ms is None or len(self.monitors.found) > _ENOUGH:
                break
            wait_ms = max(DURATIONS.tick_ms, following_ms - self.now_ms())
            await asyncio.sleep(wait_ms / 1_000)
        self._was_there(process.member)

    async def _work(self, worker: Worker) -> None:
        queue = worker.kit.queue
        for pool, lane in list(self.queues.lanes):
            received = await queue.receive(lane, limit=10, wait_ms=0, visibility_ms=DURATIONS.lease_ms, pool=pool)
            for one, answer in zip(received, await run_hints(worker, received), strict=True):
                if isinstance(answer, Over):
                    await queue.delete([one])
                else:
                    await queue.show_again(one, after_ms=answer.after_ms)

    def _next_event_ms(self) -> int | None:
        """When the first thing on any list is due; None if nothing is owed any more."""
        ahead = DURATIONS.lookahead_ms
        times = [at for lane in self.queues.lanes if (at := self.queues.next_visible_ms(lane)) is not None]
        times += [page.check_at for page in self.state.pages.values()]
        times += [head.next_run_at - ahead for head in self.state.heads.values() if head.next_run_at is not None]
        rows = (row for rows in self.state.executions.values() for row in rows.values())
        times += [row.wait_at - ahead for row in rows if row.wait_at is not None]
        times += [order.next_at for order in self.state.orders() if order.status is OrderStatus.RUNNING]
        return min(times, default=None)

    # --- the verdict ---------------------------------------------------------------------------------------------
    def _judge(self, driver: Driver) -> Report:
        rows = {row.ref: row for rows in self.state.executions.values() for row in rows.values()}
        history = History(
            stories=driver.stories,
            attempts=self.diary.attempts(),
            stalls=self.network.stalls,
            presences=self.presences,
            executions=rows,
            heads=self.state.heads,
            entries=[entry for page in self.state.pages.values() for entry in page.entries],
            letters=frozenset(letter.ref for letter in self.queues.letters),
            durations=DURATIONS,
            last_tick_ms=NOON + LAST_TICK_MS,
            stopped=self._stopped,
            lag_ms=self.plan.lag_ms,
            apart_ms=_reach_ms([0, *(off_ms for clock in self._clocks for off_ms in clock.offsets_ms())]),
            back_ms=max(_reach_ms(clock.offsets_ms()) for clock in self._clocks),
            broken=[*self.telemetry.broken, *driver.broken, *self._unended()],
        )
        self.seen.update({f"event.{name}": count for name, count in self.telemetry.counts.items()})
        self.seen.update({f"fault.{kind.value}": count for kind, count in self.network.struck.items()})
        self.seen.update({f"wish.{name}": count for name, count in driver.counts.items()})
        self.seen["queue.lost"] += self.queues.lost
        return Report(
            plan=self.plan,
            violations=(*self.monitors.found, *check(history)),
            seen=self.seen,
            commits=self.commits,
            trace=self._trace.hexdigest() if self.traced else None,
        )

    def _unended(self) -> list[str]:
        return [f"order {one.order_id} is RUNNING" for one in self.state.orders() if one.status is OrderStatus.RUNNING]

    def _note(self, commit: Commit) -> None:
        self.commits += 1
        if isinstance(commit.change, Advance):
            self._at[commit.by] = commit.change.job_id
        if isinstance(commit.new, Execution):
            reason = "" if commit.new.reason is None else f".{commit.new.reason.value}"
            self.seen[f"state.{commit.new.state.value}{reason}"] += 1
            self.diary.hears(commit.new)
        if isinstance(commit.new, Execution) and commit.new.state is Life.SUCCEEDED:
            self.seen.update((f"lane.{commit.new.lane.value}", f"tenant.{commit.new.tenant_id}"))
        if isinstance(commit.new, Definition):
            self.seen.update(policies_of(commit.new.spec))
        if self.traced:
            self._trace.update(f"{self.now_ms()} {commit.by} {commit.new!r}\n".encode())

    def _ns(self) -> int:
        self.diary.lines += 1
        return self.now_ms() * _NS + self.diary.lines


def _reach_ms(offsets_ms: list[int]) -> int:
    return max(offsets_ms) - min(offsets_ms)


def simulate(plan: Plan, *, traced: bool = False) -> Report:
    """Run a plan on a fresh virtual loop."""
    loop = VirtualLoop(alone=True)
    try:
        return loop.run_until_complete(_played(plan, traced=traced))
    finally:
        loop.close()


async def _played(plan: Plan, *, traced: bool) -> Report:
    try:
        return await Simulation(plan, traced=traced).play()
    except AssertionError as broken:
        return _broken(plan, broken)
    finally:
        mine = asyncio.current_task()
        rest = [task for task in asyncio.all_tasks() if task is not mine]
        for task in rest:
            task.cancel()
        await asyncio.wait(rest, timeout=1) if rest else None


def _broken(plan: Plan, broken: AssertionError) -> Report:
    """What the domain asserts broke in an owner's call: the API would answer 500."""
    where = traceback.extract_tb(broken.__traceback__)[-1]
    found = Violation(name="NothingBroke", job="-", detail=f"{where.name}: {where.line}")
    return Report(plan=plan, violations=(found,), seen=Counter(), commits=0, trace=None)
