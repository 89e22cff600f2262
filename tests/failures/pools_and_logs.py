"""Pools, what a tenant's machine is granted, logs and signing secrets, as stories of processes that may die.

Must not know where the process dies.
"""

from dataclasses import dataclass, field

from tests.failures.scenes import started
from tests.failures.use_cases import Attempt, UseCase, granted
from tests.support.builders import TENANT
from tests.support.kits import STORM, World
from tests.support.ledger import check_all
from tests.support.steps import HOUR, MINUTE
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import WorkerId
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import LANES
from tickwright.domain.outcomes import Refusal
from tickwright.domain.pools import Pool
from tickwright.domain.transitions import State
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.watch import WatchLoop
from tickwright.ports.runner import Invocation
from tickwright.services.kit import Kit
from tickwright.services.pools import delete_pool, get_pool, put_pool
from tickwright.services.pull import Wish, pull
from tickwright.services.report import report_success
from tickwright.services.resolve import resolve
from tickwright.services.webhook_secrets import Signing, get_signing, rotate

GPU = {"type": "pool", "pool": "gpu", "handler": "billing.nightly"}
KEY = b"an installation's key"


@dataclass(repr=False)
class PutPool(UseCase):
    """A pool is made, or described anew, once however often it is asked for."""

    is_request: bool = True
    is_new: bool = True

    @property
    def name(self) -> str:
        """Which of the two."""
        return f"PutPool-{'new' if self.is_new else 'described'}"

    async def prepare(self, world: World) -> None:
        """There is none, or one that is described otherwise."""
        if not self.is_new:
            granted(await put_pool(world.kit, TENANT, "gpu", "theirs"))

    async def act(self, kit: Kit, world: World) -> object:
        """Put it."""
        return granted(await put_pool(kit, TENANT, "gpu", "ours"))

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """As it was asked for, one version further; or as it was, and nobody was told otherwise."""
        pool = await get_pool(world.kit, TENANT, "gpu")
        stands = (pool.description, pool.version) if isinstance(pool, Pool) else None
        asked, before = (("ours", 1), None) if self.is_new else (("ours", 2), ("theirs", 1))
        assert stands == asked or (stands == before and not acknowledged)


@dataclass(repr=False)
class DeletePool(UseCase):
    """A pool is deleted though a run waits in it: the run is dead and says why, or waits on where nobody was told."""

    is_request: bool = True

    async def prepare(self, world: World) -> None:
        """A run of the pool is due."""
        granted(await put_pool(world.kit, TENANT, "gpu", None))
        self.job = await world.submit(target=GPU, schedule={"runAt": world.text(2_000)})
        world.clock.advance(2_000)

    async def act(self, kit: Kit, world: World) -> object:
        """Delete it."""
        return granted(await delete_pool(kit, TENANT, "gpu", force=True))

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def others_finish(self, world: World) -> None:
        """The watch looks for an hour; no machine comes."""
        for _ in range(HOUR // MINUTE):
            world.clock.advance(MINUTE)
            await WatchLoop(world.kit).look()

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """The run has gone the way of its pool."""
        row = await world.only_execution()
        if isinstance(await get_pool(world.kit, TENANT, "gpu"), Pool):
            assert (row.state, acknowledged) == (State.QUEUED, False)
            return
        assert (row.state, row.reason, row.owed) == (State.DEAD, Reason.POOL_DELETED, frozenset())
        if acknowledged:  # else its queues are left, until the request is repeated
            await check_all(world)


@dataclass(repr=False)
class EndInDeletedPool(DeletePool):
    """The watch ends what waits in a pool that is gone."""

    is_request: bool = False

    async def prepare(self, world: World) -> None:
        """It was deleted, and the page's time has come."""
        await super().prepare(world)
        await super().act(world.kit, world)
        world.clock.advance(world.durations.first_check_ms)

    async def act(self, kit: Kit, world: World) -> object:
        """Look after the page."""
        (page,) = await world.pages()
        return await resolve(kit, page)


@dataclass(repr=False)
class Pull(UseCase):
    """A tenant's machine is granted a run and does it; another of the pool does what is left."""

    is_request: bool = True
    begun: set[tuple[str, int]] = field(default_factory=set)
    is_done: bool = False

    async def prepare(self, world: World) -> None:
        """A run of the pool is due."""
        granted(await put_pool(world.kit, TENANT, "gpu", None))
        await world.submit(target=GPU, schedule={"runAt": world.text(2_000)})
        world.clock.advance(2_000)

    async def act(self, kit: Kit, world: World) -> object:
        """Ask for work, do it and report it."""
        self.is_done = await self._works(kit, world, "gpu-1", "r-1") or self.is_done
        return None

    async def again(self, kit: Kit, world: World) -> object:
        """The same wish again; what it has begun it does not begin once more."""
        return await self.act(kit, world)

    async def _works(self, kit: Kit, world: World, name: str, request: str | None) -> bool:
        grants = await pull(
            kit, TENANT, "gpu", Wish(worker_id=WorkerId(name), most=10, wait_ms=0, lanes=LANES, request=request)
        )
        assert not isinstance(grants, Refusal)
        rows = [grant.execution for grant in grants]
        for row in rows:
            if (row.ref.id, row.lease_epoch) not in self.begun:
                self.begun.add((row.ref.id, row.lease_epoch))
                world.runner.starts.append(started(row, world.clock.now()))
        result = f'"{name}"'
        answers = [await report_success(kit, TENANT, row.ref.id, epoch=row.lease_epoch, result=result) for row in rows]
        return any(isinstance(answer, Execution) for answer in answers)

    async def others_finish(self, world: World) -> None:
        """A machine that asks whenever something may be there, beside the platform's loops."""
        scheduler, watch = SchedulerLoop(world.kit, "other"), WatchLoop(world.kit)
        for _ in range(STORM):
            await scheduler.tick()
            await self._works(world.kit, world, "gpu-2", None)
            await watch.look()
            if (following := await world.next_event()) is None:
                return
            world.clock.advance_to(Instant(max(following, world.clock.now() + world.durations.tick_ms)))
        raise AssertionError(f"not finished: {await world.owed()}")

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """It was done, and what the first machine was told counts does."""
        await check_all(world)
        row = await world.only_execution()
        assert row.state is State.SUCCEEDED
        assert row.result in {'"gpu-1"', '"gpu-2"'}
        assert not self.is_done or (row.result, len(world.runner.starts)) == ('"gpu-1"', 1)


@dataclass(repr=False)
class SayAndSucceed(Attempt):
    """An attempt says something and ends well: its log is put when all else is written."""

    async def target(self, invocation: Invocation) -> UserResult:
        """Say it."""
        invocation.log.write("said")
        return Success(result="1")

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """A log that is there is whole; one that is not was told of, or its process died, and nothing else is lost."""
        await super().after(world, acknowledged=acknowledged)
        logs = (await world.kit.store.logs_of(self.received.hint.ref, limit=10)).items
        assert {log.text for log in logs} <= {"said"}
        assert {log.epoch for log in logs} <= {start.epoch for start in world.runner.starts}
        told = {one.name for one in world.telemetry.happenings}
        assert logs or not acknowledged or told & {EventName.LOG_NOT_KEPT, EventName.STORE_FAULT}


@dataclass(repr=False)
class Rotate(UseCase):
    """A signing secret is rotated once from the number that was seen."""

    is_request: bool = True

    async def prepare(self, world: World) -> None:
        """Once before."""
        granted(await rotate(world.kit, KEY, TENANT, seen=1))

    async def act(self, kit: Kit, world: World) -> object:
        """Rotate it."""
        return granted(await rotate(kit, KEY, TENANT, seen=2))

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """One further, or where it was and nobody was told otherwise; the one before is good as well."""
        signing = await get_signing(world.kit, KEY, TENANT)
        assert isinstance(signing, Signing)
        assert signing.before is not None
        numbers = (signing.newest.number, signing.before.number)
        assert numbers == (3, 2) or (numbers == (2, 1) and not acknowledged)
