"""One meeting, explored to its end: every order of the calls, and at every boundary one of the two may die.

Must not know what the two do.
"""

import asyncio
from dataclasses import dataclass

from tests.failures.scenes import Scene
from tests.pairs.judge import check_ending, check_point
from tests.pairs.scenes import SCENES, Meeting, operations
from tests.support.clocks import VirtualLoop
from tests.support.interleave import Explorer
from tests.support.kits import World


@dataclass(frozen=True, slots=True)
class Found:
    """What a meeting came to. `violations` says what is wrong, and on which way."""

    meeting: Meeting
    orders: int
    endings: int
    violations: tuple[str, ...]


async def scene_of(name: str) -> Scene:
    """The scene, from a world of its own."""
    world = World()
    found = await SCENES[name](world)
    await world.close()
    return found


async def explored(meeting: Meeting, scene: Scene) -> Found:
    """Every order, every death, every ending; it goes on after a violation that an ending shows."""
    names = (meeting.one, meeting.other)
    known = operations(scene)
    explorer = Explorer(
        image=scene.image,
        clock_at=scene.now,
        operations=[(f"{name}-{number}", known[name]) for number, name in enumerate(names)],
        deaths=1,
        watch=check_point,
    )
    violations: list[str] = []
    try:
        async for ending in explorer.endings():
            try:
                await check_ending(scene, names, ending)
            except AssertionError as wrong:
                violations.append(f"{wrong} :: {ending.way}")
    except AssertionError as wrong:  # a point on the way: what comes after it is not worth looking at
        violations.append(" :: ".join([str(wrong), *getattr(wrong, "__notes__", [])]))
    return Found(meeting, orders=explorer.orders, endings=explorer.ways, violations=tuple(violations))


def explored_alone(meeting: Meeting) -> Found:
    """The same for a process without a loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_explored_from_the_start(meeting))


async def _explored_from_the_start(meeting: Meeting) -> Found:
    return await explored(meeting, await scene_of(meeting.scene))
