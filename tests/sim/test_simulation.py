"""Does the simulation find what is wrong, nothing else, and the same each time?"""

import subprocess
import sys
from dataclasses import replace

import pytest

from tests.sim import plants
from tests.sim.plan import Fault, Kind, Plan, jobs_of, plan_of
from tests.sim.shrink import shrunk
from tests.sim.simulation import simulate
from tests.sim.sometimes import missing, wanted

# A bug each that random orders find within seconds; the others are for the night, and some for the pairs.
QUICK_PLANTS = {"no-fence": 25, "claim-anyway": 25, "no-retract": 25}


@pytest.mark.sem("SEM-TICK-1", "SEM-FENCE-1", "SEM-JOURNAL-1", "SEM-CANCEL-1")
@pytest.mark.parametrize("seed", range(24))
def test_no_promise_is_broken(seed: int) -> None:
    """The first seeds; `make sim` goes on from there."""
    report = simulate(plan_of(seed))

    assert report.violations == ()
    assert report.commits > 0


@pytest.mark.parametrize("seed", [1, 5])
def test_a_plan_is_played_the_same_each_time(seed: int) -> None:
    """The trace of every commit, by whom and when, is equal: without that no failure could be looked into."""
    plan = plan_of(seed)

    assert simulate(plan, traced=True).trace == simulate(plan, traced=True).trace


def test_a_plan_that_went_through_a_file_is_the_same() -> None:
    """What is kept as a regression is what was played."""
    plan = plan_of(10)

    assert Plan.load(plan.dump()) == plan
    assert plan.faults


def test_what_is_left_out_of_a_plan_moves_no_other_draw() -> None:
    """Chance is counted: the jobs that stay are the same jobs."""
    plan = plan_of(7)
    fewer = replace(plan, jobs=plan.jobs[1:])

    assert jobs_of(fewer, 0) == jobs_of(plan, 0)[1:]
    assert len(jobs_of(fewer, 0)) == len(plan.jobs) - 1 > 0


def test_a_plan_is_made_smaller_down_to_what_matters() -> None:
    """Of six faults the one that is asked for is left, of five jobs one."""
    faults = tuple(Fault("s0", nth, Kind.PAUSE, 20 * nth) for nth in range(1, 7))
    plan = Plan(seed=1, jobs=(0, 1, 2, 3, 4), faults=faults, loss=0.4)

    small = shrunk(plan, lambda other: any(fault.nth == 4 for fault in other.faults) and 2 in other.jobs)

    assert (small.jobs, [fault.nth for fault in small.faults], small.loss) == ((2,), [4], 0.0)


def test_what_must_be_seen_is_named() -> None:
    """A list that nothing could fill would never be complete, and one that is empty always."""
    assert len(wanted()) > 50
    assert missing(simulate(plan_of(2)).seen) != wanted()


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "seeds"), QUICK_PLANTS.items())
def test_a_planted_bug_is_found(plant: str, seeds: int) -> None:
    """In a process of its own, since a plant stays: exit status 0 means found."""
    command = [sys.executable, "-m", "tests.sim", "--seeds", str(seeds), "--plant", plant, "--jobs", "1"]

    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stdout[-2_000:]


def test_there_are_at_least_twelve_plants() -> None:
    """Each replaces a rule that exists; their table stands in docs/testing.md."""
    assert len(plants.names()) >= 12
