"""The pulse of a scheduler: what whoever watches an installation from outside goes by."""

from collections.abc import Sequence

import pytest

from tests.support.faulty import Down
from tests.support.kits import World
from tests.support.steps import MINUTE, for_a_while
from tickwright.domain.events import EventName
from tickwright.loops.census import PulseLoop
from tickwright.loops.scheduler import SchedulerLoop


def counted(world: World) -> Sequence[tuple[float, float]]:
    """What was served, and how many buckets were held, each time."""
    happened = [one.measured for one in world.telemetry.happenings if one.name is EventName.BUCKETS_COUNTED]
    return [(measured["served"], measured["held"]) for measured in happened]


def pulse_of(world: World, scheduler: SchedulerLoop) -> PulseLoop:
    return PulseLoop(world.kit, served=lambda: scheduler.served, held=lambda: len(scheduler.leases.mine))


async def test_a_scheduler_says_each_minute_how_often_it_has_looked_at_its_buckets(world: World) -> None:
    """Every bucket each second; and of the part of a minute before its end as well."""
    scheduler = SchedulerLoop(world.kit, "s")

    await for_a_while(world, 2 * MINUTE + 10_000, scheduler, pulse_of(world, scheduler))

    first, second, last = counted(world)
    assert first[0] in range(55 * world.kit.buckets, 61 * world.kit.buckets + 1)
    assert second[0] == 60 * world.kit.buckets
    assert last[0] in range(9 * world.kit.buckets, 11 * world.kit.buckets + 1)
    assert (first[1], second[1]) == (world.kit.buckets, world.kit.buckets)


@pytest.mark.parametrize("away", ["lease", "due_eventually"])
async def test_a_scheduler_that_has_no_store_has_no_pulse(world: World, away: str) -> None:
    """It is called each minute and looks busy, and may even hold its buckets: what it serves is none."""
    scheduler = SchedulerLoop(world.a_process(Down(frozenset({away}))), "s")

    await for_a_while(world, 2 * MINUTE, scheduler, pulse_of(world, scheduler))

    assert [served for served, _ in counted(world)] == [0] * len(counted(world))
    assert len(counted(world)) >= 2
