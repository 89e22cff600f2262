"""Does the simulation find what is wrong, nothing else, and the same each time?"""

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sim import plants
from tests.sim.clock import SimClock
from tests.sim.plan import Fault, Kind, Plan, filled, jobs_of, plan_of
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
    """What is kept as a regression is what was played, whatever is drawn from its seed one day."""
    plan = plan_of(10)
    kept = Plan.load(plan.dump())

    assert kept == filled(plan) != plan
    assert list(kept.jobs) == jobs_of(plan)
    assert plan.faults


@pytest.mark.parametrize("seed", [3, 16, 27])
def test_a_kept_plan_leaves_the_trace_of_the_plan_that_was_kept(seed: int) -> None:
    """Every commit, by whom and when: the file lacks nothing that plays a part."""
    plan = plan_of(seed)

    assert simulate(Plan.load(plan.dump()), traced=True).trace == simulate(plan, traced=True).trace


@given(seed=st.integers(0, 1 << 32))
def test_any_plan_goes_through_a_file(seed: int) -> None:
    """Jobs, errands, rhythms, faults and steps of all kinds come back as they were."""
    plan = plan_of(seed)

    assert Plan.load(plan.dump()) == filled(plan)


def test_what_is_left_out_of_a_plan_moves_no_other_draw() -> None:
    """Chance is counted: the jobs that stay are the same jobs."""
    plan = plan_of(7)
    fewer = replace(plan, jobs=plan.jobs[1:])

    assert jobs_of(fewer) == jobs_of(plan)[1:]
    assert len(jobs_of(fewer)) == len(plan.jobs) - 1 > 0


def test_a_plan_is_made_smaller_down_to_what_matters() -> None:
    """Of six faults the one that is asked for is left, no longer than need be; of five jobs one; of processes few."""
    faults = tuple(Fault("s0", nth, Kind.PAUSE, 200 * nth) for nth in range(1, 7))
    plan = Plan(seed=1, jobs=(0, 1, 2, 3, 4), schedulers=3, workers=3, faults=faults, loss=0.4, lag_ms=3_000)
    third = jobs_of(plan)[2].name

    def shows(other: Plan) -> bool:
        struck = any(fault.nth == 4 and fault.ms >= 100 for fault in other.faults)
        return struck and other.workers > 1 and third in {job.name for job in jobs_of(other)}

    small = shrunk(plan, shows)

    assert ([job.name for job in jobs_of(small)], small.faults) == ([third], (Fault("s0", 4, Kind.PAUSE, 100),))
    assert (small.schedulers, small.workers, small.loss, small.lag_ms) == (1, 2, 0.0, 0)


def test_single_errands_are_taken_away() -> None:
    """Of all that an owner does, the one thing that matters is left, and that job stands in full."""
    plan = next(one for one in map(plan_of, range(1_000)) if any(len(job.errands) > 2 for job in jobs_of(one)))
    matters = next(job.errands[1] for job in jobs_of(plan) if len(job.errands) > 2)

    small = shrunk(plan, lambda other: any(matters in job.errands for job in jobs_of(other)))

    assert [job.errands for job in jobs_of(small)] == [(matters,)]


def test_a_clock_step_is_kept_within_the_clock_error() -> None:
    """What the product is promised of clocks holds whatever a plan says, and the clock may go back."""
    clock = SimClock(lambda: 1_000, off_ms=40)

    moved = [clock.jump(by_ms, error_ms=50) for by_ms in (30, 30, -120)]

    assert moved == [True, False, True]
    assert (clock.now(), clock.offsets_ms()) == (950, [40, 50, -50])


def test_clock_steps_befall_some_plans() -> None:
    """They are drawn for some of the seeds, and counted where they befall a machine."""
    plan = next(one for one in map(plan_of, range(100)) if one.steps)

    assert simulate(plan).seen["fault.clock_step"] > 0


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
