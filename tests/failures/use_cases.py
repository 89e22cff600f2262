"""Every use case of the services as a story: what was there, what one process does, what must be true later.

`act` is carried out by a process that may die at any of its writes; `again` is what a client does that got no answer.
Must not know where the process dies.
"""

from contextlib import suppress
from dataclasses import dataclass, field

from tests.support.builders import TENANT
from tests.support.faulty import Crash, Down, Fate, Script
from tests.support.kits import World
from tests.support.ledger import check_all, check_ledger
from tests.support.steps import MINUTE, claimed, fired, hold, lease_over_ms
from tickwright.domain.attempts import Failure, Fatal, Success, UserResult, an_error
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.jobs import Head, JobSpec
from tickwright.domain.outcomes import Refusal
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.ports.queue import Received
from tickwright.ports.runner import Invocation
from tickwright.services.end import reap
from tickwright.services.fire import fire
from tickwright.services.hints import send_hints
from tickwright.services.kit import Kit
from tickwright.services.memory import Memory
from tickwright.services.release import release_due
from tickwright.services.resolve import resolve
from tickwright.services.settle import settle
from tickwright.services.submit import RequestKey, submit

EVERY_MINUTE = {"every": "PT1M"}


class NotAcknowledged(Exception):  # noqa: N818 - an answer, not an error
    """The caller was told that nothing was done."""


def granted(answer: object) -> object:
    """What was acknowledged; a refusal acknowledges nothing."""
    if isinstance(answer, Refusal):
        raise NotAcknowledged(answer)
    return answer


@dataclass(repr=False)
class UseCase:
    """A story. Its state is what `prepare` finds out."""

    job: Head = field(init=False)
    is_request: bool = False  # whether somebody waits for an answer, and asks again if there is none

    @property
    def name(self) -> str:
        """The story's name, for the test that tells it."""
        return type(self).__name__

    def __repr__(self) -> str:
        """The name is enough, and the rest may not be known yet."""
        return self.name

    async def prepare(self, world: World) -> None:
        """What was there."""
        raise NotImplementedError

    async def act(self, kit: Kit, world: World) -> object:
        """What one process does; what it returns has been acknowledged."""
        raise NotImplementedError

    async def again(self, kit: Kit, world: World) -> object:
        """What a client does that got no answer; loops come by again by themselves."""
        raise NotImplementedError

    async def others_finish(self, world: World) -> None:
        """What is owed is done by whoever is well: the platform's own loops by default."""
        await world.drain()

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """What must be true once the world is quiet; the ledger by default."""
        await check_all(world)
        await check_ledger(world, self.job)


# --- submit -----------------------------------------------------------------------------------------------------
@dataclass(repr=False)
class Submit(UseCase):
    """A job in a minute: after the answer it is there, and a repeat of the request makes no second one."""

    is_request: bool = True
    in_ms: int = MINUTE
    spec: JobSpec = field(init=False)
    key: RequestKey = field(init=False)

    async def prepare(self, world: World) -> None:
        """Nothing."""
        self.spec = world.spec(schedule={"runAt": world.text(self.in_ms)}, name="report")
        self.key = world.key()

    async def act(self, kit: Kit, world: World) -> object:
        """Submit it."""
        return granted(await submit(kit, TENANT, self.spec, self.key))

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """One job or, if nobody was told of it, none or one; and if there is one, it ran once."""
        await check_all(world)
        heads = await world.heads()
        assert len(heads) == 1 or (not heads and not acknowledged)
        assert len(world.runner.starts) == len(heads)
        for head in heads:
            await check_ledger(world, head)


@dataclass(repr=False)
class SubmitDueNow(Submit):
    """A job in two seconds: the submit dispatches it by itself."""

    in_ms: int = 2_000


# --- fire -------------------------------------------------------------------------------------------------------
@dataclass(repr=False)
class FirePage(UseCase):
    """Three jobs due at the same minute, twice in all."""

    jobs: list[Head] = field(default_factory=list)

    async def prepare(self, world: World) -> None:
        """The minute has come, and the bucket belongs to a scheduler that is silent from now on."""
        await hold(world)
        ends = world.text(2 * MINUTE)
        self.jobs = [await world.submit(schedule=EVERY_MINUTE | {"endAt": ends}) for _ in range(3)]
        world.clock.advance(MINUTE)

    async def act(self, kit: Kit, world: World) -> object:
        """One loop step."""
        return await fire(kit, 0, await world.due(), Memory())

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Each of the six ticks ran once."""
        await check_all(world)
        for job in self.jobs:
            await check_ledger(world, job)
        assert sorted(start.attempt for start in world.runner.starts) == [1] * 6


@dataclass(repr=False)
class FireLate(UseCase):
    """Every minute, and nobody has looked for ten: what is missed is passed over, or made up, and is written down."""

    mode: str = "latest"
    runs: int = 2

    @property
    def name(self) -> str:
        """With its mode."""
        return f"FireLate-{self.mode}"

    async def prepare(self, world: World) -> None:
        """Ten minutes without a scheduler, and one more to come."""
        await hold(world)
        catch_up = {"mode": self.mode, "windowSec": 180}
        until = {"endAt": world.text(11 * MINUTE)}
        self.job = await world.submit(schedule=EVERY_MINUTE | until, catchup=catch_up, overlap={"mode": "allow"})
        world.clock.advance(10 * MINUTE + 100)

    async def act(self, kit: Kit, world: World) -> object:
        """One loop step."""
        return await fire(kit, 0, await world.due(), Memory())

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Each tick has its row, and those that the policy asks for ran."""
        await check_all(world)
        await check_ledger(world, self.job)
        assert len({start.execution_id for start in world.runner.starts}) == self.runs


@dataclass(repr=False)
class FireSkip(UseCase):
    """The second tick finds the first still running: it is skipped, with a row."""

    async def prepare(self, world: World) -> None:
        """The first runs; its worker keeps it for a while and then is never heard of again."""
        await hold(world)
        self.job = await world.submit(schedule=EVERY_MINUTE | {"endAt": world.text(3 * MINUTE)})
        world.clock.advance(MINUTE)
        execution = await fired(world)
        world.clock.advance(MINUTE - 1_000)
        await claimed(world, execution)
        world.clock.advance(1_000)

    async def act(self, kit: Kit, world: World) -> object:
        """One loop step."""
        return await fire(kit, 0, await world.due(), Memory())

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """The second tick was skipped for the first, whenever it was judged."""
        await super().after(world, acknowledged=acknowledged)
        reasons = [row.reason for row in await world.executions(self.job.job_id)]
        assert Reason.OVERLAP in reasons


# --- attempts ---------------------------------------------------------------------------------------------------
@dataclass(repr=False)
class Attempt(UseCase):
    """One hint in a worker's hand."""

    received: Received = field(init=False)
    ends_as: State = State.SUCCEEDED
    backoff_s: float = 10

    async def prepare(self, world: World) -> None:
        """A job whose time has come, and its hint."""
        world.runner.does = self.target
        retry = {"maxAttempts": 3, "backoff": {"initialSec": self.backoff_s, "jitter": "none"}}
        self.job = await world.submit(schedule={"runAt": world.text(2_000)}, retryPolicy=retry)
        world.clock.advance(2_000)
        (self.received,) = await world.receive()

    async def target(self, invocation: Invocation) -> UserResult:
        """What the target does."""
        return Success(result="1")

    async def act(self, kit: Kit, world: World) -> object:
        """Do what the hint asks for."""
        await world.work_on(world.worker(kit), self.received)
        return None

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """It ended as it had to, by one attempt after the other."""
        await super().after(world, acknowledged=acknowledged)
        assert (await world.only_execution()).state is self.ends_as


@dataclass(repr=False)
class FailThenRetry(Attempt):
    """The first attempt fails, a later one succeeds."""

    async def target(self, invocation: Invocation) -> UserResult:
        """Fail once."""
        if invocation.execution.attempt == 1:
            return Failure(error=an_error("Flaky", "the first time"))
        return await super().target(invocation)


@dataclass(repr=False)
class FailThenWait(FailThenRetry):
    """The retry is later than a queue can hold a message: it goes to the waiting index."""

    backoff_s: float = 3_600


@dataclass(repr=False)
class FailForGood(Attempt):
    """The target says that trying again is of no use: dead, with a letter."""

    ends_as: State = State.DEAD

    async def target(self, invocation: Invocation) -> UserResult:
        """Give up."""
        return Fatal(error=an_error("Broken", "for good"))

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """A letter at least; two of one execution are one to its reader, by its id."""
        await super().after(world, acknowledged=acknowledged)
        letters = await world.dead_letters()
        assert {letter.ref for letter in letters} == {self.received.hint.ref}


@dataclass(repr=False)
class Settle(FailForGood):
    """It is dead, and its letter is still owed."""

    async def prepare(self, world: World) -> None:
        """The queue of the dead was down when it died."""
        await super().prepare(world)
        await world.work_on(world.worker(world.a_process(Down(frozenset({"send_dead"})))), self.received)
        assert (await world.only_execution()).owed

    async def act(self, kit: Kit, world: World) -> object:
        """Settle it."""
        return await settle(kit, await world.only_execution())


@dataclass(repr=False)
class Reaped(Attempt):
    """A worker claimed it and died; its lease is over."""

    async def prepare(self, world: World) -> None:
        """Nobody has heard of it for a lease and twice the clock error."""
        await super().prepare(world)
        await claimed(world, await world.only_execution())
        world.clock.advance(lease_over_ms(world))

    async def act(self, kit: Kit, world: World) -> object:
        """Reap it."""
        return await reap(kit, await world.only_execution())


@dataclass(repr=False)
class ReleaseDue(FailThenWait):
    """A retry stands on the waiting index, and its time has come."""

    async def prepare(self, world: World) -> None:
        """It failed an hour ago."""
        await super().prepare(world)
        await world.work_on(world.worker(), self.received)
        assert (await world.only_execution()).wait_key is not None
        world.clock.advance(3_600_000)

    async def act(self, kit: Kit, world: World) -> object:
        """Release what is due."""
        return await release_due(kit, 0)


# --- the journal ------------------------------------------------------------------------------------------------
@dataclass(repr=False)
class ResolvePage(UseCase):
    """A page of three: one tick was decided and not inserted, one was never told to a worker, one has ended."""

    jobs: list[Head] = field(default_factory=list)

    async def prepare(self, world: World) -> None:
        """A scheduler died between A and I of the first, the hint of the second was lost, and the third is done."""
        self.jobs = [await world.submit(schedule={"runAt": world.text(MINUTE)}) for _ in range(3)]
        world.clock.advance(MINUTE)
        script = Script(at=7, fate=Fate.CRASH_BEFORE)  # its writes: the page, three advances, two inserts, the third
        with suppress(Crash):
            await fire(world.a_process(script), 0, await world.due(), Memory())
        assert len(await world.executions()) == 2
        done = (await world.executions())[0]
        await self._succeed(world, done)
        world.clock.advance(world.durations.first_check_ms)

    async def _succeed(self, world: World, execution: Execution) -> None:
        await send_hints(world.kit, [execution])
        await world.work()
        assert (await world.only_execution(execution.job_id)).state is State.SUCCEEDED

    async def act(self, kit: Kit, world: World) -> object:
        """Resolve it."""
        (page,) = await world.pages()
        return await resolve(kit, page)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """All three ran once."""
        await check_all(world)
        for job in self.jobs:
            await check_ledger(world, job)
        assert len({start.execution_id for start in world.runner.starts}) == len(world.runner.starts) == 3


@dataclass(repr=False)
class TakeOver(ResolvePage):
    """A scheduler takes the bucket of one that died between A and I."""

    async def prepare(self, world: World) -> None:
        """The dead one had held the bucket, and its lease is over."""
        await hold(world)
        await super().prepare(world)

    async def act(self, kit: Kit, world: World) -> object:
        """Watch the record for a lease, take the bucket, look after what was left behind."""
        scheduler = SchedulerLoop(kit, "new")
        await scheduler.tick()
        for _ in range(3):  # a lost reply to the take costs two more leases
            if not scheduler.leases.mine:
                world.clock.advance(world.durations.bucket_lease_ms)
                await scheduler.tick()
        assert scheduler.leases.mine
        return None
