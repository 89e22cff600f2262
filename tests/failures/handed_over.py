"""Runs that somebody else goes on with, and what a run notes, as stories of processes that may die at any write.

Must not know where the process dies.
"""

from dataclasses import dataclass, field

from tests.failures.use_cases import Attempt, granted
from tests.support.builders import TENANT
from tests.support.kits import World
from tests.support.steps import lease_over_ms
from tickwright.domain.attempts import Failure, HandedOver, Success, UserResult, an_error
from tickwright.domain.executions import Noted
from tickwright.ports.runner import Invocation
from tickwright.services.kit import Kit
from tickwright.services.report import report_failure, report_heartbeat, report_success

NOTED = Noted(progress=0.5, checkpoint="7")
FLAKY = Failure(error=an_error("Flaky", "over there"))


@dataclass(repr=False)
class HandOver(Attempt):
    """The first attempt goes on elsewhere and is never heard of again; the second is done here."""

    async def target(self, invocation: Invocation) -> UserResult:
        """Hand over once."""
        return HandedOver() if invocation.execution.attempt == 1 else Success(result="1")


@dataclass(repr=False)
class CompleteElsewhere(HandOver):
    """Whoever has gone on with it says that it is done; once that was answered, nothing is begun here."""

    is_request: bool = True

    async def prepare(self, world: World) -> None:
        """It was handed over."""
        await super().prepare(world)
        await world.work_on(world.worker(), self.received)

    async def act(self, kit: Kit, world: World) -> object:
        """Report by its id and epoch."""
        return granted(await report_success(kit, TENANT, self.received.hint.ref.id, epoch=1, result='"there"'))

    async def again(self, kit: Kit, world: World) -> object:
        """The same report."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """The result that was acknowledged stands."""
        await super().after(world, acknowledged=acknowledged)
        row = await world.only_execution()
        assert row.result in {'"there"', "1"}
        assert not acknowledged or (row.result, len(world.runner.starts)) == ('"there"', 1)


@dataclass(repr=False)
class FailElsewhere(CompleteElsewhere):
    """Whoever has gone on with it says that it failed: it is tried again here."""

    async def act(self, kit: Kit, world: World) -> object:
        """Report by its id and epoch."""
        return granted(await report_failure(kit, TENANT, self.received.hint.ref.id, epoch=1, failed=FLAKY))

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """By the second attempt, whether the first was told of or ran out of time."""
        await Attempt.after(self, world, acknowledged=acknowledged)
        row = await world.only_execution()
        assert (row.result, row.attempt, len(world.runner.starts)) == ("1", 2, 2)


@dataclass(repr=False)
class KeepElsewhere(HandOver):
    """Whoever has gone on with it says once that it lives, and is never heard of again."""

    is_request: bool = True
    kept_at: int = 0

    async def prepare(self, world: World) -> None:
        """It was handed over."""
        await super().prepare(world)
        await world.work_on(world.worker(), self.received)

    async def act(self, kit: Kit, world: World) -> object:
        """A heartbeat by its id and epoch."""
        self.kept_at = world.clock.now()
        beat = report_heartbeat(kit, TENANT, self.received.hint.ref.id, epoch=1, worker="elsewhere", noted=NOTED)
        return granted(await beat)

    async def again(self, kit: Kit, world: World) -> object:
        """The next heartbeat."""
        return await self.act(kit, world)

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """What was acknowledged holds it to the lease: the next attempt comes once that is over, not once all is."""
        await super().after(world, acknowledged=acknowledged)
        row, (_, second) = await world.only_execution(), world.runner.starts
        waited_ms = lease_over_ms(world) + world.durations.watch_ms + round(self.backoff_s * 1_000)
        assert (row.attempt, row.result) == (2, "1")
        assert not acknowledged or second.at - self.kept_at <= waited_ms


@dataclass(repr=False)
class NoteAndFail(Attempt):
    """An attempt notes something and fails; once a failure was written, the next one begins with what was noted."""

    begun_with: list[tuple[int, Noted | None]] = field(default_factory=list)

    async def target(self, invocation: Invocation) -> UserResult:
        """Note, and fail unless something was noted before."""
        self.begun_with.append((invocation.execution.attempt, invocation.execution.noted))
        await invocation.beat(NOTED)
        return FLAKY if invocation.execution.noted is None else Success(result="1")

    async def after(self, world: World, *, acknowledged: bool) -> None:
        """What was noted is never lost again, and forgotten in the end."""
        await super().after(world, acknowledged=acknowledged)
        noted = [one for _, one in self.begun_with]
        assert noted == [None] * noted.count(None) + [NOTED]
        assert (await world.only_execution()).noted is None
