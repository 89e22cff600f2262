"""What tenants do to their jobs, as stories: cancel, pause, resume, edit, cancel one run, run now, redrive.

After each there is what was promised with the answer. Must not know where the process dies.
"""

from contextlib import suppress
from dataclasses import dataclass, field

from tests.failures.use_cases import EVERY_MINUTE, UseCase, granted
from tests.support.builders import TENANT
from tests.support.faulty import Crash, Down, Fate, Script
from tests.support.kits import World
from tests.support.ledger import check_all, check_ledger
from tests.support.steps import MINUTE, claimed, fired
from tickwright.domain.attempts import Fatal, an_error
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobSpec, JobStatus
from tickwright.domain.transitions import State
from tickwright.ports.faults import QueueUnavailable
from tickwright.services.cancel import cancel_execution
from tickwright.services.change_job import cancel_job, edit_job, pause_job, resume_job
from tickwright.services.fire import fire
from tickwright.services.kit import Kit
from tickwright.services.memory import Memory
from tickwright.services.redrive import redrive
from tickwright.services.report import report
from tickwright.services.run_now import run_now
from tickwright.services.submit import RequestKey


@dataclass(repr=False)
class ChangeJob(UseCase):
    """A job with one run in a worker's hand and one that was decided ahead of its time."""

    is_request: bool = True
    at_ack: int = 0

    async def prepare(self, world: World) -> None:
        """Every minute, three times, side by side; the first runs, the second is due in three seconds."""
        self.job = await world.submit(
            schedule=EVERY_MINUTE | {"endAt": world.text(3 * MINUTE)}, overlap={"mode": "allow"}, name="nightly"
        )
        world.clock.advance(MINUTE)
        first = await fired(world)
        await claimed(world, first)
        world.clock.advance(MINUTE - 3_000)
        await fire(world.kit, 0, await world.due(), Memory())
        assert [row.state for row in await world.executions()] == [State.RUNNING, State.QUEUED]

    async def again(self, kit: Kit, world: World) -> object:
        """A client that got no answer repeats the very same request."""
        return await self.act(kit, world)

    def started_after_ack(self, world: World) -> list[Instant]:
        """The ticks of attempts that began after the answer."""
        return [start.scheduled_at for start in world.runner.starts if start.at >= self.at_ack]


@dataclass(repr=False)
class CancelJob(ChangeJob):
    """After the answer nothing of it starts."""

    async def act(self, kit: Kit, world: World) -> object:
        """Cancel it, as it was seen."""
        answer = granted(await cancel_job(kit, TENANT, self.job.job_id, 1))
        self.at_ack = world.clock.now()
        return answer

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """No start after the answer; what ran was stopped."""
        await check_all(world)
        assert not acknowledged or self.started_after_ack(world) == []
        if acknowledged:
            assert {row.state for row in await world.executions()} <= {State.CANCELLED, State.SUCCEEDED}
            assert (await world.head(self.job.job_id)).status is JobStatus.CANCELLED
            assert (await world.submit(name="nightly")).job_id != self.job.job_id


@dataclass(repr=False)
class PauseJob(ChangeJob):
    """After the answer no later tick starts; what ran goes on."""

    async def act(self, kit: Kit, world: World) -> object:
        """Pause it, as it was seen."""
        answer = granted(await pause_job(kit, TENANT, self.job.job_id, 1))
        self.at_ack = world.clock.now()
        return answer

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """The first went on to its end, the second is CANCELLED(paused)."""
        await check_all(world)
        if acknowledged:
            assert all(tick <= self.at_ack for tick in self.started_after_ack(world))
            first, second = await world.executions()
            assert first.state is State.SUCCEEDED
            assert second.reason is Reason.PAUSED


@dataclass(repr=False)
class ResumeJob(ChangeJob):
    """A job that was paused for an hour and a half, with one more hour to go."""

    on_resume: str = "skip"

    @property
    def name(self) -> str:
        """With its policy."""
        return f"ResumeJob-{self.on_resume}"

    async def prepare(self, world: World) -> None:
        """Every half hour; paused after the first, and four more ticks were due since."""
        catch_up = {"mode": "latest", "windowSec": 7_200, "onResume": self.on_resume}
        until = {"every": "PT30M", "endAt": world.text(150 * MINUTE)}
        self.job = await world.submit(schedule=until, catchup=catch_up)
        await world.drain_until(Instant(world.clock.now() + 31 * MINUTE))
        granted(await pause_job(world.kit, TENANT, self.job.job_id, None))
        world.clock.advance(91 * MINUTE)

    async def act(self, kit: Kit, world: World) -> object:
        """Resume it."""
        return granted(await resume_job(kit, TENANT, self.job.job_id, 2))

    async def again(self, kit: Kit, world: World) -> object:
        """A client that got no answer reads the job first, and goes on only if it is still paused."""
        head = await kit.store.head(self.job.job_id)
        return await self.act(kit, world) if head is not None and head.status is JobStatus.PAUSED else head

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Each tick has its row, the paused ones too."""
        if not acknowledged and (await world.head(self.job.job_id)).status is JobStatus.PAUSED:
            await self.act(world.kit, world)
            await world.drain()
        await super().after(world, acknowledged=acknowledged)


@dataclass(repr=False)
class PauseKept(UseCase):
    """A tick that an edit has kept is due and undecided: a pause holds it back, which no schedule names now."""

    is_request: bool = True
    on_resume: str = "skip"
    kept: Instant = field(init=False)

    @property
    def name(self) -> str:
        """With its policy."""
        return f"PauseKept-{self.on_resume}"

    async def prepare(self, world: World) -> None:
        """Every minute, then every seven from the tenth on; the first minute's tick has waited for ten seconds."""
        catch_up = {"mode": "latest", "windowSec": 7_200, "onResume": self.on_resume}
        self.job = await world.submit(schedule=EVERY_MINUTE | {"endAt": world.text(3 * MINUTE)}, catchup=catch_up)
        world.clock.advance(MINUTE + 10_000)
        later = {"every": "PT7M", "startAt": world.text(10 * MINUTE), "endAt": world.text(20 * MINUTE)}
        spec = world.spec(schedule=later, catchup=catch_up)
        with suppress(Crash):  # whoever edits fires what is near, if it lives so long
            await edit_job(world.a_process(Script(at=1, fate=Fate.CRASH_AFTER)), TENANT, self.job.job_id, spec, 1)
        self.kept = Instant(self.job.created_at + MINUTE)
        assert (await world.head(self.job.job_id)).next_run_at == self.kept

    async def act(self, kit: Kit, world: World) -> object:
        """Pause it, as it was seen."""
        return granted(await pause_job(kit, TENANT, self.job.job_id, 2))

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Fired or held back and told of after a resume: the tick has one row, and was run unless it was told of."""
        paused = await world.head(self.job.job_id)
        assert paused.held == (self.kept if paused.status is JobStatus.PAUSED else None)
        assert not acknowledged or paused.status is JobStatus.PAUSED
        if paused.status is JobStatus.PAUSED:
            assert not world.runner.starts
            granted(await resume_job(world.kit, TENANT, self.job.job_id, paused.version))
            await world.drain()
        await check_all(world)
        rows = [row for row in await world.executions() if row.scheduled_at == self.kept]
        assert len(rows) == 1
        skipped = paused.status is JobStatus.PAUSED and self.on_resume == "skip"
        assert (rows[0].passed is not None) == skipped
        assert (self.kept in {start.scheduled_at for start in world.runner.starts}) != skipped


@dataclass(repr=False)
class EditJob(ChangeJob):
    """A new name and a new schedule; what was decided stays."""

    spec: JobSpec = field(init=False)

    async def act(self, kit: Kit, world: World) -> object:
        """Edit it, as it was seen."""
        self.spec = world.spec(
            schedule={"every": "PT90S", "endAt": world.text(4 * MINUTE)}, name="hourly", overlap={"mode": "allow"}
        )
        return granted(await edit_job(kit, TENANT, self.job.job_id, self.spec, 1))

    async def again(self, kit: Kit, world: World) -> object:
        """A client that got no answer reads the job first, and goes on only if it is as it was."""
        head = await kit.store.head(self.job.job_id)
        return await self.act(kit, world) if head is not None and head.version == 1 else head

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Both decided ticks ran, with the version that decided them; names are as the head says."""
        await check_all(world)
        rows = await world.executions()
        assert [row.state for row in rows[:2]] == [State.SUCCEEDED] * 2
        assert {row.job_version for row in rows[:2]} == {1}
        head = await world.head(self.job.job_id)
        assert head.listed_as == ("hourly" if head.version == 2 else "nightly")
        assert not acknowledged or head.version == 2
        free = "nightly" if head.version == 2 else "hourly"
        assert (await world.submit(name=free)).job_id != self.job.job_id


@dataclass(repr=False)
class CancelExecution(ChangeJob):
    """One run is cancelled, whether it waits or runs; the job goes on."""

    which: int = 0

    @property
    def name(self) -> str:
        """Which of the two."""
        return f"CancelExecution-{('running', 'queued')[self.which]}"

    async def act(self, kit: Kit, world: World) -> object:
        """Cancel it."""
        execution = (await world.executions())[self.which]
        answer = granted(await cancel_execution(kit, TENANT, execution.ref.id))
        self.at_ack = world.clock.now()
        return answer

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """It ended as CANCELLED and never started afterwards; the others ran."""
        await UseCase.after(self, world, acknowledged=acknowledged)
        rows = await world.executions()
        if acknowledged:
            assert rows[self.which].state is State.CANCELLED
            assert rows[self.which].scheduled_at not in self.started_after_ack(world)
        assert [row.state for at, row in enumerate(rows) if at != self.which] == [State.SUCCEEDED] * 2


@dataclass(repr=False)
class RunNow(UseCase):
    """A run outside the schedule, once for a request."""

    is_request: bool = True
    overlap: str = "skip"
    key: RequestKey = field(init=False)

    @property
    def name(self) -> str:
        """With its policy."""
        return f"RunNow-{self.overlap}"

    async def prepare(self, world: World) -> None:
        """A job whose next tick is an hour away."""
        once = {"every": "PT1H", "endAt": world.text(3_600_000)}
        self.job = await world.submit(schedule=once, overlap={"mode": self.overlap})
        self.key = world.key()

    async def act(self, kit: Kit, world: World) -> object:
        """Run it now."""
        return granted(await run_now(kit, TENANT, self.job.job_id, self.key))

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """One manual run that ran, beside tombstones of requests that never came through."""
        await check_all(world)
        await check_ledger(world, self.job)
        manual = [row for row in await world.executions() if row.scheduled_at < self.job.created_at + MINUTE]
        ran = [row for row in manual if row.reason is not Reason.ABANDONED]
        assert len(ran) == 1 or (not ran and not acknowledged)
        assert all(row.state is State.SUCCEEDED for row in ran)


@dataclass(repr=False)
class Redrive(UseCase):
    """A run that died is given another chance, once for a request; its letter was still owed."""

    is_request: bool = True
    overlap: str = "skip"
    key: RequestKey = field(init=False)
    dead: Execution = field(init=False)

    @property
    def name(self) -> str:
        """With its policy."""
        return f"{type(self).__name__}-{self.overlap}"

    async def prepare(self, world: World) -> None:
        """It died while the queue of the dead was down."""
        self.job = await world.submit(schedule={"runAt": world.text(2_000)}, overlap={"mode": self.overlap})
        world.clock.advance(2_000)
        held = await claimed(world, await world.only_execution())
        with suppress(QueueUnavailable):
            owing = world.a_process(Down(frozenset({"send_dead"})))
            await report(owing, held, Fatal(error=an_error("Broken", "for good")))
        self.dead = await world.only_execution()
        self.key = world.key()

    async def act(self, kit: Kit, world: World) -> object:
        """Redrive it."""
        return granted(await redrive(kit, TENANT, self.dead.ref.id, self.key))

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Its second generation ran once, or it is dead still and nobody was told otherwise; a letter either way."""
        await check_all(world)
        await check_ledger(world, self.job)
        row = await world.only_execution()
        assert (row.state, row.generation) in {(State.SUCCEEDED, 2), (State.DEAD, 1)}
        assert row.generation == 2 or not acknowledged
        assert len(world.runner.starts) == row.generation - 1
        assert {(letter.ref, letter.generation) for letter in await world.dead_letters()} == {(row.ref, 1)}
