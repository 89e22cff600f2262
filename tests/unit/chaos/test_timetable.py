"""The fault plan and the jobs of a chaos run come from the seed alone, and hold all that the run is there to show."""

from itertools import islice

from tests.chaos.history import Beat, Once
from tests.chaos.jobs import ONLY_SIMULATED, Plan, Span, Wish, plans
from tests.chaos.timetable import AtWrite, Blow, Life, Role, Timetable
from tickwright.domain.instants import Instant
from tickwright.domain.job_rules import read_spec
from tickwright.domain.schedules import HashIdentity, from_compact, next_tick

SPAN = Span(start_ms=1_796_083_200_123, last_tick_ms=50_000)
LEASE_MS = 3_000


def _lives(seed: int) -> list[tuple[Role, Life]]:
    timetable = Timetable(seed=seed, seconds=54, lease_ms=LEASE_MS)
    names = [(Role.SCHEDULER, "s0"), (Role.SCHEDULER, "s1"), (Role.WORKER, "w0"), (Role.WORKER, "w1")]
    return [(role, timetable.life(role, name, number)) for role, name in names for number in range(1, 9)]


def _plans(seed: int) -> list[Plan]:
    return plans(seed, SPAN)


def test_a_seed_means_the_same_faults_and_jobs_every_time() -> None:
    """So that a run can be made again."""
    assert (_lives(7), _plans(7)) == (_lives(7), _plans(7))
    assert _lives(7) != _lives(8)
    assert _plans(7) != _plans(8)


def test_every_life_ends_by_a_blow() -> None:
    """Each process is killed or asked to end in the end; none is only frozen."""
    assert all(life.faults[-1].blow in {Blow.KILL, Blow.TERM} for _, life in _lives(1))


def test_workers_are_frozen_for_longer_than_a_lease_before_they_write() -> None:
    """Among the lives of a run are zombies in the making: they stand still with a write in hand."""
    frozen = [fault for role, life in _lives(1) if role is Role.WORKER for fault in life.faults]
    zombies = [fault for fault in frozen if fault.blow is Blow.FREEZE and fault.for_ms > LEASE_MS]

    assert any(isinstance(fault.trigger, AtWrite) and fault.trigger.before for fault in zombies)


def test_where_processes_write_less_the_same_blows_come_at_fewer_writes() -> None:
    """A slow store sees as many deaths a minute as a fast one."""
    quick, slow = (Timetable(seed=1, seconds=54, lease_ms=LEASE_MS, writes_share=share) for share in (1.0, 0.25))
    for number in range(1, 30):
        lives = [one.life(Role.WORKER, "w0", number) for one in (quick, slow)]
        nths = [[f.trigger.nth for f in life.faults if isinstance(f.trigger, AtWrite)] for life in lives]
        assert nths[1] == [max(1, round(nth / 4)) for nth in nths[0]]


def test_ticks_go_on_after_the_last_fault() -> None:
    """The system must be seen to have come back."""
    timetable = Timetable(seed=1, seconds=54, lease_ms=LEASE_MS)

    assert timetable.begin_ms < timetable.quiet_ms < timetable.last_tick_ms < 54_000
    ends = [outage.at_ms + outage.for_ms for outage in timetable.outages()]
    assert max(ends) <= timetable.quiet_ms


def test_a_run_has_a_hundred_jobs_of_different_names() -> None:
    """One name a job, since names are unique."""
    assert len({plan.name for plan in _plans(1)}) == 100


def test_a_run_holds_each_wish_of_an_owner() -> None:
    """Pause, resume, edit, cancel, run-now, one execution cancelled, a submit repeated."""
    assert {errand.wish for plan in _plans(1) for errand in plan.errands} == set(Wish) - ONLY_SIMULATED


def test_the_rhythm_of_each_job_is_that_of_its_schedule() -> None:
    """What the checker expects, by arithmetic, is what the product reads from the body."""
    for plan in _plans(3):
        bodies = [(plan.body, plan.rhythm)]
        bodies += [(e.body, e.rhythm) for e in plan.errands if e.body is not None and e.rhythm is not None]
        for body, rhythm in bodies:
            spec = read_spec(body, identity=HashIdentity("t", "j"), now=Instant(SPAN.start_ms))
            schedule, at = from_compact(spec.schedule), Instant(SPAN.start_ms)
            found: list[int] = []
            while (tick := next_tick(schedule, at)) is not None and len(found) < 60:
                at = tick.at
                found.append(at)
            assert found == list(islice(rhythm.after(SPAN.start_ms), 60)), plan.name
            assert isinstance(rhythm, Once | Beat)
