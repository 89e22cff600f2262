"""Whoever buries a run by an old reading ends nothing: not what a successor holds, nor what waits again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.builders import TENANT
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import claimed, fired, lease_over_ms
from tickwright.domain.attempts import Failure, Fatal, Success, an_error
from tickwright.domain.changes.moves import Discard
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.transitions import State
from tickwright.ports.store import Outcome, Refused
from tickwright.services.end import expire, reap
from tickwright.services.kit import Kit
from tickwright.services.redrive import redrive
from tickwright.services.report import report, report_failure

pytestmark = pytest.mark.sem("SEM-FENCE-1")

BROKEN = an_error("Broken", "for ever")


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What the zombies have read of one execution: while it waited, was held, and lay dead for the first time."""

    waiting: Execution
    held: Execution
    dead: Execution


Bury = Callable[[Kit, Readings], Awaitable[Outcome[Execution] | Execution | Refusal]]


async def a_workers_last_word(kit: Kit, old: Readings) -> Execution | Refusal:
    """It says that no other attempt is of use."""
    return await report(kit, old.held, Fatal(error=BROKEN))


async def a_workers_last_attempt(kit: Kit, old: Readings) -> Execution | Refusal:
    """It failed, and by its reading no attempt is left."""
    return await report(kit, old.held, Failure(error=BROKEN))


async def a_machines_last_word(kit: Kit, old: Readings) -> Execution | Refusal:
    """The same through the API, under the epoch that it was granted."""
    epoch = int(old.held.lease_epoch)
    return await report_failure(kit, TENANT, old.held.ref.id, epoch=epoch, failed=Fatal(error=BROKEN))


async def a_watchs_reaping(kit: Kit, old: Readings) -> Outcome[Execution]:
    """By its reading the lease is over, and no attempt is left."""
    return await reap(kit, old.held)


async def a_watchs_expiry(kit: Kit, old: Readings) -> Outcome[Execution]:
    """By its reading it has waited past its run deadline."""
    return await expire(kit, old.waiting)


async def an_operators_discard(kit: Kit, old: Readings) -> Outcome[Execution]:
    """By its reading it lies on the list of the dead."""
    seen = old.dead.lease_epoch
    return await kit.store.write(Discard(ref=old.dead.ref, seen_epoch=seen, now=kit.clock.now(), reason="a mistake"))


ZOMBIES: dict[str, Bury] = {
    bury.__name__: bury
    for bury in (
        a_workers_last_word,
        a_workers_last_attempt,
        a_machines_last_word,
        a_watchs_reaping,
        a_watchs_expiry,
        an_operators_discard,
    )
}


async def redriven(world: World) -> tuple[Readings, Execution]:
    """A run of one attempt that died with its worker and was redriven: what was read of it, and how it waits again."""
    await world.submit(
        schedule={"runAt": world.text(1_000)}, retryPolicy={"maxAttempts": 1}, runDeadlineSec=600, timeoutSec=300
    )
    world.clock.advance(1_000)
    waiting = await fired(world)
    held = await claimed(world, waiting, "zombie")
    world.clock.advance(lease_over_ms(world))
    await reap(world.kit, held)
    dead = await world.only_execution()
    world.clock.advance(600_000)  # past the deadline that the first generation had
    again = await redrive(world.kit, TENANT, dead.ref.id, None)
    assert isinstance(again, Execution)
    assert (dead.state, again.generation) == (State.DEAD, 2)
    return Readings(waiting=waiting, held=held, dead=dead), again


async def traces(world: World) -> dict[str, Any]:
    """All that a burial would leave behind."""
    told = (EventName.EXECUTION_DEAD, EventName.EXECUTION_REAPED, EventName.EXECUTION_DISCARDED)
    return {
        "row": await world.only_execution(),
        "head": await world.heads(),
        "letters": await world.dead_letters(),
        "hints": await world.hints(),
        "events": {name: world.telemetry.counts[name] for name in told},
        "list": (await world.kit.store.attention_eventually(TENANT, limit=10)).items,
    }


@pytest.mark.parametrize("zombie", ZOMBIES)
@pytest.mark.parametrize("by_now", ["waits", "is held", "is dead again"])
async def test_a_burial_by_an_old_reading_is_refused_and_leaves_no_trace(
    world: World, zombie: str, by_now: str
) -> None:
    """Of a later epoch, whether it waits, is held by a successor, or has died of its own: no end, letter or event."""
    old, again = await redriven(world)
    if by_now != "waits":
        again = await claimed(world, again, "successor")
    if by_now == "is dead again":
        await report(world.kit, again, Fatal(error=an_error("Other", "of its own")))
    before = await traces(world)

    answer = await ZOMBIES[zombie](world.a_process(), old)

    assert isinstance(answer, Refused) or (isinstance(answer, Refusal) and answer.code is Code.LEASE_LOST)
    assert await traces(world) == before


async def test_a_successor_ends_well_whoever_has_tried_to_bury_it(world: World) -> None:
    """One zombie after the other, in the middle of its attempt."""
    old, again = await redriven(world)
    successor = await claimed(world, again, "successor")
    for bury in ZOMBIES.values():
        await bury(world.a_process(), old)

    ended = await report(world.kit, successor, Success())
    await world.drain()

    assert isinstance(ended, Execution)
    assert (ended.state, (await world.only_execution()).state) == (State.SUCCEEDED, State.SUCCEEDED)
    assert len(await world.dead_letters()) == 1
    await check_all(world)
