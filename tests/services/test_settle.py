"""What an end owes is done at least once, struck out last, and never struck out by somebody with an old reading."""

from dataclasses import replace

import pytest

from tests.support.faulty import Crash, Down, Fate, Script
from tests.support.kits import World
from tests.support.steps import running
from tickwright.domain.attempts import Fatal, an_error
from tickwright.domain.changes.executions import StrikeOwed
from tickwright.domain.executions import Execution, Owed
from tickwright.domain.ids import Epoch
from tickwright.domain.transitions import State
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.store import Refused
from tickwright.services.report import report
from tickwright.services.settle import settle


async def a_dead_one_that_owes(world: World) -> Execution:
    """It died while the queue of the dead was down."""
    held = await running(world)
    with pytest.raises(QueueUnavailable):
        await report(world.a_process(Down(frozenset({"send_dead"}))), held, Fatal(error=an_error("Broken", "for good")))
    (row,) = await world.executions()
    assert row.owed == {Owed.DEAD_LETTER}
    return row


@pytest.mark.sem("SEM-DEAD-1")
async def test_the_letter_is_sent_before_the_mark_goes(world: World) -> None:
    """A process that dies between the two sends it again: twice is once to its reader, never is a loss."""
    row = await a_dead_one_that_owes(world)
    with pytest.raises(Crash):
        await settle(world.a_process(Script(at=2)), row)

    settled = await settle(world.kit, row)

    assert settled.owed == frozenset()
    letters = await world.dead_letters()
    assert [(letter.ref, letter.generation) for letter in letters] == [(row.ref, 1)] * 2


@pytest.mark.sem("SEM-DEAD-1")
async def test_a_row_is_forgotten_only_after_what_it_owed_is_done(world: World) -> None:
    """While something is owed it has no time to live; then it is kept for the retention, counted from its end."""
    row = await a_dead_one_that_owes(world)
    world.clock.advance(60_000)

    settled = await settle(world.kit, row)

    assert row.ttl is None
    assert settled.ttl == (row.finished_at or 0) // 1_000 + world.kit.retention_s


@pytest.mark.sem("SEM-DEAD-1")
async def test_an_old_settle_strikes_nothing_of_a_later_life(world: World) -> None:
    """The mark is struck under the epoch that was seen: a redriven execution keeps what it owes (W23, R13)."""
    row = await a_dead_one_that_owes(world)
    later = replace(row, lease_epoch=Epoch(row.lease_epoch + 1))

    outcome = await world.kit.store.write(StrikeOwed(ref=row.ref, seen_epoch=later.lease_epoch, ttl=1))

    assert outcome == Refused(row)
    assert (await world.executions())[0].owed == {Owed.DEAD_LETTER}


@pytest.mark.sem("SEM-DEAD-1")
async def test_what_owes_nothing_costs_nothing(world: World) -> None:
    """An end without effects is settled by being what it is."""
    held = await running(world)
    script = Script(at=1, fate=Fate.CRASH_BEFORE)

    assert await settle(world.a_process(script), held) == held
    assert (script.writes, held.state) == (0, State.RUNNING)
