"""Does a decision name all that it was taken from, and does the API's write keep all that the scheduler owns?"""

from dataclasses import fields, replace
from itertools import product

import pytest

from tests.support.builders import JOB, TICK, a_head, an_id, decided
from tickwright.domain.changes.heads import Advance, Occupy, PutHead, Rewrite, StillOpen
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import EXPIRE, RUN, SKIP_OVERLAP, FiredAs, Head, JobStatus, Verdict

NOW = Instant(TICK + 1_000)
BEFORE = Instant(TICK - 60_000)
NEXT = Instant(TICK + 60_000)
MINE, OTHER = "20261201T000000000Z@1", "20261130T235900000Z@1"
OPEN = frozenset({JobStatus.ACTIVE, JobStatus.PAUSED})
# What only the scheduler writes: an edit that was read before a decision must not undo it.
OWNED_BY_THE_SCHEDULER = {
    "fired_through",
    "fired_version",
    "fired_at",
    "fired_as",
    "passed_through",
    "runs",
    "active",
    "waiting",
}

FIRED = replace(decided(a_head(next_run_at=BEFORE), BEFORE, next_run_at=TICK), active=OTHER, waiting=2, runs=7)
ADVANCE = Advance(
    job_id=JOB,
    tick=TICK,
    version=1,
    definition_version=4,
    seen_fired_through=BEFORE,
    seen_active=OTHER,
    next_run_at=NEXT,
    tzdata="2026.3",
    fire=TICK,
    verdict=RUN,
    fired_at=NOW,
    takes_active=MINE,
    pins_active=True,
    passed_through=None,
    ends=False,
)


@pytest.mark.sem("SEM-TICK-1", "SEM-TICK-2")
def test_a_decision_is_applied_only_to_what_it_was_taken_from() -> None:
    """Of all heads that differ in one or more of what it names, the one that differs in nothing is moved on."""
    heads = [
        replace(FIRED, next_run_at=next_run_at, version=version, fired_through=fired_through, active=active)
        for next_run_at, version, fired_through, active in product(
            (TICK, NEXT), (1, 2), (BEFORE, Instant(BEFORE - 1)), (OTHER, None, MINE)
        )
    ]

    assert [head for head in heads if ADVANCE.decide(head) is not None] == [FIRED]


@pytest.mark.sem("SEM-TICK-1", "SEM-CANCEL-1")
@pytest.mark.parametrize("status", [status for status in JobStatus if status is not JobStatus.ACTIVE])
def test_no_tick_of_a_job_that_is_not_active_is_decided(status: JobStatus) -> None:
    """Paused, cancelled or over: it is off the index, and whoever still holds the old entry is refused."""
    assert ADVANCE.decide(replace(FIRED, status=status, next_run_at=None, bucket=None)) is None


@pytest.mark.sem("SEM-TICK-1")
def test_a_job_that_allows_overlap_is_decided_whoever_is_active() -> None:
    """It does not look at `active`, and leaves it alone."""
    advance = replace(ADVANCE, pins_active=False, takes_active=None, seen_active=None)

    assert advance.decide(FIRED) == replace(_fired(RUN), active=OTHER)


@pytest.mark.sem("SEM-TICK-2")
@pytest.mark.parametrize("verdict", [RUN, SKIP_OVERLAP, EXPIRE])
def test_a_decision_leaves_all_that_an_insert_needs(verdict: Verdict) -> None:
    """Which tick, when, of which version and as what: whoever inserts copies it, not its own verdict (R6)."""
    takes = MINE if verdict is RUN else None

    assert replace(ADVANCE, verdict=verdict, takes_active=takes).decide(FIRED) == _fired(verdict)


def _fired(verdict: Verdict) -> Head:
    runs = verdict.fired_as is FiredAs.RUN
    return replace(
        FIRED,
        next_run_at=NEXT,
        tzdata=ADVANCE.tzdata,
        fired_through=TICK,
        fired_version=4,
        fired_at=NOW,
        fired_as=verdict,
        active=MINE if runs else OTHER,
        runs=FIRED.runs + runs,
    )


def test_the_last_decision_ends_the_job() -> None:
    """No tick is left: it leaves the index."""
    new = replace(ADVANCE, next_run_at=None, ends=True).decide(FIRED)

    assert new is not None
    assert (new.status, new.next_run_at, new.bucket, new.fired_through) == (JobStatus.ENDED, None, None, TICK)


def test_ticks_that_are_passed_over_leave_the_last_decision_alone() -> None:
    """Nothing is fired: the job jumps to its next tick and says how far it has passed over (R7)."""
    jump = replace(ADVANCE, fire=None, verdict=None, takes_active=None, passed_through=Instant(TICK + 30_000))

    assert jump.decide(FIRED) == replace(
        FIRED, next_run_at=NEXT, tzdata=ADVANCE.tzdata, passed_through=Instant(TICK + 30_000)
    )


def test_a_decision_never_forgets_what_was_passed_over_before() -> None:
    """The range of an older page is still to be shown."""
    passed = replace(FIRED, passed_through=BEFORE)

    new = ADVANCE.decide(passed)

    assert new is not None
    assert new.passed_through == BEFORE


@pytest.mark.sem("SEM-TICK-1")
@pytest.mark.parametrize("head", [_fired(RUN), FIRED, _fired(SKIP_OVERLAP)])
def test_a_decision_is_never_taken_for_ones_own(head: Head) -> None:
    """By whomever it was taken, the head says what was decided, and that is what counts (R1)."""
    assert not ADVANCE.mine(head)


@pytest.mark.sem("SEM-CANCEL-1")
@pytest.mark.parametrize("pins_decision", [True, False])
def test_an_edit_is_applied_to_the_version_that_was_read(pins_decision: bool) -> None:  # noqa: FBT001 - a parameter
    """Where it has computed the next tick, also only to the last decision that was read."""
    new = a_head(version=2, next_run_at=NEXT, write_token=an_id(8))
    rewrite = Rewrite(new=new, seen_version=1, seen_next_run_at=TICK, pins_decision=pins_decision)
    decided_since = replace(FIRED, fired_through=TICK, next_run_at=NEXT)
    passed_over_since = replace(FIRED, passed_through=TICK, next_run_at=NEXT)

    assert rewrite.decide(replace(FIRED, version=2)) is None
    assert rewrite.decide(None) is None
    assert rewrite.decide(FIRED) is not None
    assert (rewrite.decide(decided_since) is None) == pins_decision
    assert (rewrite.decide(passed_over_since) is None) == pins_decision


def test_an_edit_keeps_all_that_the_scheduler_owns() -> None:
    """And takes everything else from the new head."""
    new = a_head(
        version=2,
        status=JobStatus.PAUSED,
        listed_as="renamed",
        max_attempts=9,
        paused_at=NOW,
        write_token=an_id(8),
    )

    written = Rewrite(new=new, seen_version=1, seen_next_run_at=TICK, pins_decision=True).decide(FIRED)

    assert written is not None
    for field in fields(Head):
        source = FIRED if field.name in OWNED_BY_THE_SCHEDULER else new
        assert getattr(written, field.name) == getattr(source, field.name), field.name


def test_an_edit_knows_its_own_trace_by_its_token() -> None:
    """Another's write of the same version is not mine."""
    new = a_head(version=2, write_token=an_id(8))
    rewrite = Rewrite(new=new, seen_version=1, seen_next_run_at=a_head().next_run_at, pins_decision=True)
    written = rewrite.decide(a_head())
    assert written is not None

    assert rewrite.mine(written)
    assert not rewrite.mine(replace(written, write_token=an_id(9)))
    assert not rewrite.mine(replace(written, version=3))


@pytest.mark.parametrize("status", JobStatus)
@pytest.mark.parametrize("version", [1, 2])
def test_a_job_that_is_over_or_was_changed_is_neither_occupied_nor_open(status: JobStatus, version: int) -> None:
    """A run by hand names the version it was asked for, of a job that is active or paused."""
    head = a_head(status=status, version=version)
    may = status in OPEN and version == 1

    assert StillOpen(job_id=JOB, version=1).decide(head) == (head if may else None)
    occupied = Occupy(job_id=JOB, version=1, seen_active=None, active=MINE).decide(head)
    assert occupied == (replace(head, active=MINE) if may else None)


def test_a_job_is_occupied_only_as_it_was_seen() -> None:
    """Free, or held by one that has been seen to have ended."""
    held = replace(FIRED, active=OTHER)

    assert Occupy(job_id=JOB, version=1, seen_active=None, active=MINE).decide(held) is None
    assert Occupy(job_id=JOB, version=1, seen_active=OTHER, active=MINE).decide(held) == replace(held, active=MINE)


def test_a_job_is_created_once() -> None:
    """The same creation is recognised, another of the same id is not."""
    put = PutHead(head=a_head())

    assert put.decide(None) == a_head()
    assert put.decide(a_head()) is None
    assert put.mine(a_head())
    assert not put.mine(a_head(write_token=an_id(9)))
