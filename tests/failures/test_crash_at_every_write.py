"""A process may die, or lose a reply, at any of its writes: others finish what it owed, and nothing happens twice.

The positions are counted by letting the story run once without a fault; sends to the queue count as writes.
"""

from copy import deepcopy

import pytest

from tests.failures.use_cases import NotAcknowledged, UseCase, all_use_cases
from tests.support.faulty import Crash, Fate, Script
from tests.support.kits import World
from tickwright.ports.faults import Unavailable


@pytest.mark.parametrize("fate", Fate, ids=lambda fate: fate.name)
@pytest.mark.parametrize("use_case", all_use_cases(), ids=lambda use_case: use_case.name)
async def test_nothing_is_lost_wherever_a_process_stops(use_case: UseCase, fate: Fate) -> None:
    """At every write, before and after it, with a caller that gives up and with one that repeats the request."""
    positions = await writes_of(use_case)
    assert positions > 0

    for at in range(1, positions + 1):
        for repeats in (False, True) if use_case.is_request else (False,):
            await tell(deepcopy(use_case), Script(at=at, fate=fate), repeats=repeats)


async def writes_of(use_case: UseCase) -> int:
    """How many writes the story takes when nothing happens; and that its end is then as it must be."""
    script = Script()
    await tell(deepcopy(use_case), script, repeats=False)
    return script.writes


async def tell(use_case: UseCase, script: Script, *, repeats: bool) -> None:
    """The story in a world of its own."""
    world = World()
    try:
        await use_case.prepare(world)
        acknowledged = await _acted(use_case, world, script)
        if repeats and not acknowledged:
            await use_case.again(world.kit, world)
            acknowledged = True
        await world.drain()
        await use_case.after(world, acknowledged=acknowledged)
    except (AssertionError, NotAcknowledged) as wrong:
        wrong.add_note(f"{use_case.name}: {script.fate.name} at write {script.at}, repeats={repeats}")
        raise
    finally:
        await world.close()


async def _acted(use_case: UseCase, world: World, script: Script) -> bool:
    try:
        await use_case.act(world.a_process(script), world)
    except (Crash, Unavailable):
        return False
    return not script.is_dead
