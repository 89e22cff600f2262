"""Of the ticks that were missed, how many are made up, how fast, and that the rest is told of in one row."""

import time
from itertools import pairwise

import pytest

from tests.support.builders import a_head
from tests.support.kits import World
from tests.support.ledger import check_covered
from tests.support.steps import DAY, HOUR, MINUTE
from tickwright.domain import limits
from tickwright.domain.choice import choose
from tickwright.domain.executions import Reason
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import CatchUp, CatchUpMode
from tickwright.domain.pending import schedule_of

EVERY_MINUTE = '{"c":["* * * * *"],"z":"Europe/Berlin"}'


@pytest.mark.sem("SEM-CATCHUP-2")
async def test_b087_all_missed_ticks_are_made_up_oldest_first(world: World) -> None:
    """Five minutes down under *all, at most ten*: five runs, each with its own time (B087)."""
    job = await world.submit(
        schedule={"every": "PT1M", "endAt": world.text(5 * MINUTE)},
        catchup={"mode": "all", "maxRuns": 10},
        overlap={"mode": "allow"},
    )
    world.clock.advance(10 * MINUTE)

    await world.drain_until(Instant(job.created_at + 11 * MINUTE))

    minutes = [(start.scheduled_at - job.created_at) // MINUTE for start in world.runner.starts]
    assert minutes == [1, 2, 3, 4, 5]


@pytest.mark.sem("SEM-CATCHUP-2")
async def test_of_too_many_the_newest_are_made_up(world: World) -> None:
    """Half an hour down under *at most three*: the three newest run, the others share a row."""
    job = await world.submit(
        schedule={"every": "PT1M", "endAt": world.text(30 * MINUTE)},
        catchup={"mode": "all", "maxRuns": 3},
        overlap={"mode": "allow"},
    )
    world.clock.advance(40 * MINUTE)

    await world.drain_until(Instant(job.created_at + 41 * MINUTE))

    minutes = [(start.scheduled_at - job.created_at) // MINUTE for start in world.runner.starts]
    assert minutes == [28, 29, 30]
    (row,) = [row for row in await world.executions() if row.passed is not None]
    assert row.passed is not None
    assert (row.reason, row.passed.count) == (Reason.MISSED, 27)
    await check_covered(world, job, until=world.clock.now())


@pytest.mark.sem("SEM-CATCHUP-3")
async def test_missed_ticks_are_made_up_at_the_rate_that_was_asked_for(world: World) -> None:
    """Six a minute: ten seconds lie between any two of the missed ones."""
    job = await world.submit(
        schedule={"every": "PT1M", "endAt": world.text(6 * MINUTE)},
        catchup={"mode": "all", "ratePerMin": 6},
        overlap={"mode": "allow"},
    )
    world.clock.advance(20 * MINUTE)

    await world.drain_until(Instant(job.created_at + 25 * MINUTE))

    starts = [start.at for start in world.runner.starts]
    assert len(starts) == 6
    assert all(later - earlier >= 10_000 for earlier, later in pairwise(starts))
    assert starts[-1] - starts[0] < 70_000
    await check_covered(world, job, until=world.clock.now())


@pytest.mark.sem("SEM-CATCHUP-4")
@pytest.mark.parametrize("mode", list(CatchUpMode))
def test_ten_years_of_missed_minutes_are_settled_in_a_tenth_of_a_second(mode: CatchUpMode) -> None:
    """Whatever the policy: one choice, its count capped, and the best of three takes under 100 ms of CPU."""
    now = Instant(1_796_083_200_000)
    due = Instant(now - 3_653 * DAY)
    head = a_head(
        schedule=EVERY_MINUTE,
        created_at=Instant(due - HOUR),
        next_run_at=due,
        catch_up=CatchUp(mode=mode, window_s=3_600, max_runs=1_000 if mode is CatchUpMode.ALL else None),
    )
    taken = []
    for _ in range(3):
        began = time.process_time()
        choose(head, schedule_of(head), now=now, missed_after_ms=60_000, closed=lambda _at: None)
        taken.append(time.process_time() - began)
    choice = choose(head, schedule_of(head), now=now, missed_after_ms=60_000, closed=lambda _at: None)

    assert min(taken) < 0.1
    assert choice.passed is not None
    assert (choice.passed.count, choice.passed.exact) == (10_000, False)


@pytest.mark.sem("SEM-CATCHUP-2")
def test_no_head_makes_up_more_than_the_bound() -> None:
    """Whoever wrote it: the walk back is tick by tick, in the loop that all tenants share."""
    policy = CatchUp(mode=CatchUpMode.ALL, window_s=10**9, max_runs=10**6)
    head = a_head(schedule=EVERY_MINUTE, catch_up=policy)
    assert head.next_run_at is not None
    now = Instant(head.next_run_at + 5_000 * MINUTE)

    choice = choose(head, schedule_of(head), now=now, missed_after_ms=60_000, closed=lambda _at: None)

    assert choice.fire == now - (limits.CATCHUP_RUNS_MAX - 1) * MINUTE


@pytest.mark.sem("SEM-CATCHUP-2", "SEM-JOB-3")
@pytest.mark.parametrize("name", ["maxRuns", "ratePerMin"])
def test_a_pace_is_refused_where_it_means_nothing(world: World, name: str) -> None:
    """Only *all* makes up more than one."""
    with pytest.raises(ValueError, match="belongs to mode all"):
        world.spec(schedule={"every": "PT1M"}, catchup={"mode": "latest", name: 5})
