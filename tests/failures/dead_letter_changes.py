"""What people do with what has died, as stories: discard it, run it again with another payload, redrive many.

After each there is what was promised with the answer. Must not know where the process dies.
"""

from contextlib import suppress
from dataclasses import dataclass, field

from tests.failures.job_changes import Redrive
from tests.failures.use_cases import UseCase, granted
from tests.support.builders import TENANT
from tests.support.dying import BROKEN, a_death, deaths_of_one_job, dies, looked_to_the_end, now_of, ordered
from tests.support.faulty import Down
from tests.support.kits import World
from tests.support.ledger import check_all, check_ledger
from tests.support.steps import claimed
from tickwright.domain.attempts import Success, UserResult
from tickwright.domain.dead_letters import DeadFilter
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.own_payloads import kept_until
from tickwright.domain.redrive_orders import Canary, Order, OrderStatus
from tickwright.domain.transitions import State
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.runner import Invocation
from tickwright.services.change_job import cancel_job
from tickwright.services.dead_letters import discard_each
from tickwright.services.kit import Kit
from tickwright.services.redrive_orders import Ordered, cancel_order, move_on, order_redrive
from tickwright.services.report import report
from tickwright.services.rerun import Edited, rerun
from tickwright.services.submit import RequestKey


@dataclass(repr=False)
class Discard(UseCase):
    """What died is given up; its letter was still owed."""

    is_request: bool = True
    dead: Execution = field(init=False)

    async def prepare(self, world: World) -> None:
        """It died while the queue of the dead was down."""
        self.job = await world.submit(schedule={"runAt": world.text(2_000)})
        world.clock.advance(2_000)
        held = await claimed(world, await world.only_execution())
        with suppress(QueueUnavailable):
            await report(world.a_process(Down(frozenset({"send_dead"}))), held, BROKEN)
        self.dead = await world.only_execution()

    async def act(self, kit: Kit, world: World) -> object:
        """Discard it."""
        (outcome,) = (await discard_each(kit, TENANT, [self.dead.ref.id], "not wanted")).values()
        return granted(outcome)

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """It is dead, owes nothing and had its letter; and off the list, or nobody was told so."""
        await check_all(world)
        row = await world.only_execution()
        assert (row.state, row.owed) == (State.DEAD, frozenset())
        assert (row.discarded is None) == (row.failed_at is not None)
        assert row.discarded is not None or not acknowledged
        assert {letter.ref for letter in await world.dead_letters()} == {row.ref}
        assert not world.runner.starts


@dataclass(repr=False)
class Rerun(UseCase):
    """A new run with another payload in place of a dead one, once for a request."""

    is_request: bool = True
    overlap: str = "skip"
    key: RequestKey = field(init=False)
    dead: Execution = field(init=False)

    @property
    def name(self) -> str:
        """With its policy."""
        return f"Rerun-{self.overlap}"

    async def prepare(self, world: World) -> None:
        """It has died."""
        self.dead = await a_death(world, overlap={"mode": self.overlap})
        self.key = world.key()

    async def act(self, kit: Kit, world: World) -> object:
        """Run it again."""
        return granted(await rerun(kit, TENANT, self.dead.ref.id, Edited(payload="8", reason="eight"), self.key))

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """One new run that ran and an old one that is given up, or neither, beside tombstones of cut-off requests."""
        await check_all(world)
        (head,) = await world.heads()
        await check_ledger(world, head)
        rows = await world.executions()
        new = [row for row in rows if row.rerun_of is not None and row.reason is not Reason.ABANDONED]
        (old,) = [row for row in rows if row.ref == self.dead.ref]
        assert len(new) == len(world.runner.starts) == int(old.discarded is not None)
        assert all(row.state is State.SUCCEEDED for row in new)
        assert new or not acknowledged


@dataclass(repr=False)
class GiveOrder(UseCase):
    """An order to redrive two, once for a request; a watch carries it out later."""

    is_request: bool = True
    key: RequestKey = field(init=False)

    async def prepare(self, world: World) -> None:
        """Two have died."""
        for _ in range(2):
            await a_death(world)
        self.key = world.key()

    async def act(self, kit: Kit, world: World) -> object:
        """Give it."""
        return granted(await order_redrive(kit, TENANT, Ordered(wanted=DeadFilter(), rate_per_min=600), self.key))

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """One order, carried out; or none, and nobody was told of one."""
        orders = (await world.kit.store.redrive_orders(None, limit=10)).items
        assert len(orders) == 1 or (not orders and not acknowledged)
        for order in orders:
            assert (await looked_to_the_end(world, order)).redriven == 2
        await world.drain()
        await check_all(world)
        assert [row.generation for row in await world.executions()] == [1 + len(orders)] * 2


@dataclass(repr=False)
class CarryOutOrder(UseCase):
    """A watch redrives three, the first of which is a canary."""

    order: Order = field(init=False)

    async def prepare(self, world: World) -> None:
        """Three have died."""
        for _ in range(3):
            await a_death(world)
        asked = Ordered(wanted=DeadFilter(), rate_per_min=600, canary=Canary(first=1))
        answer = await order_redrive(world.kit, TENANT, asked, world.key())
        assert isinstance(answer, Order)
        self.order = answer

    async def act(self, kit: Kit, world: World) -> object:
        """Look, let the canary end, look again."""
        order = await move_on(kit, self.order)
        await world.work()
        return await move_on(kit, order)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Another watch goes on: each was redriven once and ran, and the order says so."""
        done = await looked_to_the_end(world, self.order)
        await world.drain()
        await check_all(world)
        assert (done.status, done.redriven, done.canary_ended) == (OrderStatus.DONE, 3, 1)
        rows = await world.executions()
        assert [(row.state, row.generation) for row in rows] == [(State.SUCCEEDED, 2)] * 3
        assert len(world.runner.starts) == 3


@dataclass(repr=False)
class RedriveRerun(Redrive):
    """A run with a payload of its own has died too and is redriven: its payload is kept as long as it may run."""

    given: list[str | None] = field(default_factory=list)

    async def prepare(self, world: World) -> None:
        """It was run again with another payload, and died of that as well."""
        new = granted(
            await rerun(world.kit, TENANT, (await a_death(world)).ref.id, Edited(payload="8", reason="8"), None)
        )
        assert isinstance(new, Execution)
        self.dead = await dies(world, new)
        world.clock.advance(10_000)
        self.key, world.runner.does = world.key(), self.target

    async def target(self, invocation: Invocation) -> UserResult:
        """See what it is given."""
        self.given.append(invocation.definition.spec.payload)
        return Success(result="1")

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """It ran once with its own payload, which is kept longer; or it is dead, and nobody was told otherwise."""
        await check_all(world)
        (row,) = [row for row in await world.executions() if row.ref == self.dead.ref]
        kept = await world.kit.store.own_payload(row.ref)
        assert kept is not None
        assert row.run_deadline_at is not None
        assert kept.expires_at == kept_until(row.run_deadline_at, world.kit.retention_s)
        assert (row.state, row.generation) in {(State.SUCCEEDED, 2), (State.DEAD, 1)}
        assert row.generation == 2 or not acknowledged
        assert self.given == ["8"] * (row.generation - 1)


@dataclass(repr=False)
class CarryOutInTheWay(UseCase):
    """A watch redrives two runs of a job that lets one be at a time, beside one of a job that was cancelled."""

    order: Order = field(init=False)

    async def prepare(self, world: World) -> None:
        """Three have died."""
        await deaths_of_one_job(world, 2)
        over = await a_death(world)
        granted(await cancel_job(world.kit, TENANT, over.job_id, None))
        self.order = await ordered(world)

    async def act(self, kit: Kit, world: World) -> object:
        """Look, and look again when the first has ended; each look waits a little longer than the pause before it."""
        order = self.order
        for _ in range(3):
            order = await move_on(kit, order)
            await world.work()
            world.clock.advance(2 * world.durations.watch_ms)
        return order

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Another watch goes on: two were redriven once each, and the third is refused and stays on the list."""
        done = await looked_to_the_end(world, self.order)
        await world.drain()
        await check_all(world)
        assert (done.status, done.redriven, done.refused) == (OrderStatus.DONE, 2, 1)
        rows = [row for row in await world.executions() if row.cause is not Cause.SCHEDULE or row.failed_at is not None]
        assert sorted((row.state.value, row.generation) for row in rows) == [("DEAD", 1), *[("SUCCEEDED", 2)] * 2]


@dataclass(repr=False)
class StopAtCanary(CarryOutOrder):
    """A watch redrives one of three, which dies once more: the order stops, and the other two are left alone."""

    async def prepare(self, world: World) -> None:
        """Three have died, of what is still there."""
        for _ in range(3):
            await a_death(world)
        self.order = await ordered(world, canary=Canary(first=1))
        world.runner.does = self.target

    async def target(self, invocation: Invocation) -> UserResult:
        """Die again."""
        return BROKEN

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Whichever watch has seen it: one was redriven, and died."""
        done = await looked_to_the_end(world, self.order)
        await world.drain()
        await check_all(world)
        assert (done.status, done.redriven, done.canary_died) == (OrderStatus.STOPPED, 1, 1)
        assert sorted(row.generation for row in await world.executions()) == [1, 1, 2]
        assert len(world.runner.starts) == 1


@dataclass(repr=False)
class CancelOrder(UseCase):
    """An order is cancelled before the watch has begun with it."""

    is_request: bool = True
    order: Order = field(init=False)

    async def prepare(self, world: World) -> None:
        """Two have died, and are to be redriven."""
        for _ in range(2):
            await a_death(world)
        self.order = await ordered(world)

    async def act(self, kit: Kit, world: World) -> object:
        """Cancel it."""
        return granted(await cancel_order(kit, TENANT, self.order.order_id))

    async def again(self, kit: Kit, world: World) -> object:
        """The same request again."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """Nothing is redriven after the answer; without one it is cancelled, or carried out to its end."""
        order = await now_of(world, self.order)
        done = await looked_to_the_end(world, order) if order.status is OrderStatus.RUNNING else order
        await world.drain()
        await check_all(world)
        assert (done.status, done.redriven) in {(OrderStatus.CANCELLED, 0), (OrderStatus.DONE, 2)}
        assert done.status is OrderStatus.CANCELLED or not acknowledged
        assert [row.generation for row in await world.executions()] == [1 + int(done.redriven == 2)] * 2
