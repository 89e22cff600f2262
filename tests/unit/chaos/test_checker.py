"""The checker of the chaos run finds each broken promise in a hand-made history, and finds nothing in a right one."""

from dataclasses import replace

from tests.chaos.book import attended_ms
from tests.chaos.checker import check
from tests.chaos.history import Expect, History, Kind, Presence, Seen, Stall, Stop
from tests.unit.chaos.histories import (
    BEGIN,
    JOB,
    LAST_MS,
    TICKS,
    a_change,
    a_final_head,
    a_history,
    a_result,
    a_row,
    a_story,
    an_attempt,
    cancelled,
    ns,
    once,
    renamed,
    submitted,
    without,
)
from tickwright.domain.executions import Cause, Execution, PassedOver, Reason
from tickwright.domain.ids import Epoch, ExecutionKey, missed_key, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import RUN, JobStatus
from tickwright.domain.journal import Entry
from tickwright.domain.transitions import State

ROWS = [a_row(tick) for tick in TICKS]
ATTEMPTS = [an_attempt(tick) for tick in TICKS]


def names(history: History) -> set[str]:
    """The promises that the checker says were broken."""
    return {violation.name for violation in check(history)}


def a_range(first: int, last: int, count: int, *, late_ms: int = 3_500, reason: Reason = Reason.MISSED) -> Execution:
    """One row for ticks that were passed over."""
    return a_row(
        first,
        key=missed_key(Instant(first)),
        state=State.SKIPPED,
        reason=reason,
        created_at=Instant(last + late_ms),
        passed=PassedOver(first=Instant(first), last=Instant(last), count=count),
        lease_epoch=Epoch(0),
        attempt=0,
        result=None,
    )


def test_a_right_history_passes() -> None:
    """Three ticks, three executions, three results."""
    assert check(a_history()) == []


# --- ticks ---------------------------------------------------------------------------------------------------------
def test_a_lost_tick_is_found() -> None:
    """A tick of the job has no row at all."""
    assert names(a_history(rows=without(ROWS, TICKS[1]), attempts=[ATTEMPTS[0], ATTEMPTS[2]])) == {"TickNotLost"}


def test_a_tick_that_was_never_decided_before_a_cancel_is_found() -> None:
    """A scheduler was at work for long enough between the tick and the cancel."""
    cancel = cancelled(TICKS[1] - 500, decided_ms=-1, census={})

    assert names(a_history(story=a_story(submitted(), cancel), rows=[], attempts=[])) == {"TickNotLost"}


def test_a_tick_that_nobody_could_decide_before_a_cancel_is_no_loss() -> None:
    """All schedulers were down from the tick to the cancel."""
    cancel = cancelled(TICKS[1] - 500, decided_ms=-1, census={})

    assert check(a_history(story=a_story(submitted(), cancel), rows=[], attempts=[], presences=[])) == []


def test_two_executions_of_one_tick_are_found() -> None:
    """Both under keys of their own."""
    twin = renamed(ROWS[0], "#M#" + "a" * 26)
    attempt = replace(an_attempt(TICKS[0], started_ms=TICKS[0] + 2_000, ended_ms=TICKS[0] + 3_000), ref=twin.ref)

    assert "OneExecutionPerTick" in names(a_history(rows=[*ROWS, twin], attempts=[*ATTEMPTS, attempt]))


def test_a_tick_that_the_job_never_had_is_found() -> None:
    """An execution between two ticks."""
    ghost = a_row(TICKS[0] + 5_000)

    assert names(a_history(rows=[*ROWS, ghost], attempts=[*ATTEMPTS, an_attempt(TICKS[0] + 5_000)])) == {"NoGhostRun"}


def test_evidence_of_an_execution_that_the_store_does_not_have_is_found() -> None:
    """User code ran for a tick that has no row, and was never a tick."""
    assert names(a_history(attempts=[*ATTEMPTS, an_attempt(TICKS[0] + 5_000)])) == {"NoGhostRun"}


def test_ticks_passed_over_in_one_range_are_not_lost() -> None:
    """The first two ticks were found late; their range says so and counts them."""
    history = a_history(rows=[a_range(TICKS[0], TICKS[1], 2), ROWS[2]], attempts=[ATTEMPTS[2]])

    assert check(history) == []


def test_a_range_with_a_wrong_count_is_found() -> None:
    """Two ticks, counted as one."""
    history = a_history(rows=[a_range(TICKS[0], TICKS[1], 1), ROWS[2]], attempts=[ATTEMPTS[2]])

    assert names(history) == {"RangeIsRight"}


def test_a_tick_that_is_passed_over_and_run_is_found() -> None:
    """One tick, two rows that speak for it."""
    assert names(a_history(rows=[*ROWS, a_range(TICKS[0], TICKS[0], 1)])) == {"OneRowPerTick"}


def test_ticks_passed_over_although_they_were_not_late_are_found() -> None:
    """The range was written a second after its tick."""
    history = a_history(rows=[a_range(TICKS[0], TICKS[0], 1, late_ms=1_000), *ROWS[1:]], attempts=ATTEMPTS[1:])

    assert names(history) == {"NoFalseSkip"}


def test_a_tick_of_an_older_version_is_found() -> None:
    """Edited before its decision, and run with the definition before the edit."""
    edit = a_change(Kind.EDIT, TICKS[0] + 2_000, version=2, definition_version=2, decided_ms=TICKS[0], next_ms=TICKS[1])

    assert names(a_history(story=a_story(submitted(), edit))) == {"NoSupersededRun"}


def test_a_job_that_goes_on_at_a_wrong_tick_after_an_edit_is_found() -> None:
    """The answer to the edit names an instant that the new rhythm does not have."""
    wrong = {"version": 2, "decided_ms": TICKS[0], "next_ms": TICKS[1] + 1}
    edit = a_change(Kind.EDIT, TICKS[0] + 2_000, **wrong)

    assert "NextTickIsRight" in names(a_history(story=a_story(submitted(), edit)))


def test_ticks_that_a_pause_held_back_without_a_row_are_found() -> None:
    """Paused over the second tick, resumed before the third."""
    how = {"version": 2, "status": JobStatus.PAUSED, "decided_ms": TICKS[0]}
    pause = a_change(Kind.PAUSE, TICKS[0] + 5_000, **how)
    resume = a_change(Kind.RESUME, TICKS[1] + 5_000, version=3, decided_ms=TICKS[0], next_ms=TICKS[2])
    story, attempts = a_story(submitted(), pause, resume), [ATTEMPTS[0], ATTEMPTS[2]]
    rows = without(ROWS, TICKS[1])

    assert names(a_history(story=story, rows=rows, attempts=attempts)) == {"PausedTickIsTold"}
    told = a_range(TICKS[1], TICKS[1], 1, reason=Reason.PAUSED)
    assert check(a_history(story=story, rows=[*rows, told], attempts=attempts)) == []


# --- what was acknowledged -----------------------------------------------------------------------------------------
def test_a_job_that_is_gone_is_found() -> None:
    """It was acknowledged, and has no head."""
    assert "AcknowledgedIsKept" in names(a_history(heads={}))


def test_a_lost_edit_is_found() -> None:
    """The head is at a version before the one that was acknowledged."""
    assert names(a_history(head=a_final_head(version=0))) == {"AcknowledgedIsKept"}


def test_a_job_that_stands_still_is_found() -> None:
    """Its next tick is long past."""
    stuck = a_final_head(status=JobStatus.ACTIVE, next_run_at=Instant(TICKS[2]), bucket=0)

    assert names(a_history(head=stuck)) == {"JobMovesOn"}


def test_a_manual_run_that_is_lost_is_found() -> None:
    """It was acknowledged, and has no row."""
    key = ExecutionKey(f"{tick_key(Instant(TICKS[0]))}#M#{'a' * 26}")

    assert names(a_history(story=a_story(manual={key}))) == {"AcknowledgedIsKept"}


def test_a_manual_run_that_nobody_was_told_of_is_found() -> None:
    """It has a row and ran."""
    row = replace(renamed(ROWS[0], "#M#" + "a" * 26), cause=Cause.MANUAL, finished_at=Instant(TICKS[0] + 9_000))
    run = replace(an_attempt(TICKS[0], started_ms=TICKS[0] + 3_000, ended_ms=TICKS[0] + 4_000), ref=row.ref)

    assert names(a_history(rows=[*ROWS, row], attempts=[*ATTEMPTS, run])) == {"NoGhostRun"}


# --- attempts ------------------------------------------------------------------------------------------------------
def test_an_early_start_is_found() -> None:
    """User code began 50 ms before its tick."""
    early = an_attempt(TICKS[0], started_ms=TICKS[0] - 50)

    assert names(a_history(attempts=[early, *ATTEMPTS[1:]])) == {"NoEarlyStart"}


def test_a_stale_result_that_was_accepted_is_found() -> None:
    """The second epoch was claimed, and the store holds what the first one said."""
    second = an_attempt(TICKS[0], 2, member="w1.1", started_ms=TICKS[0] + 4_000, ended_ms=TICKS[0] + 5_000)
    row = a_row(TICKS[0], lease_epoch=Epoch(2), attempt=2, result=a_result(TICKS[0], 1))

    assert names(a_history(rows=[row, *ROWS[1:]], attempts=[*ATTEMPTS, second])) == {"NoStaleResult"}


def test_a_result_that_no_attempt_gave_is_found() -> None:
    """SUCCEEDED, and no code ran."""
    assert names(a_history(attempts=ATTEMPTS[1:])) == {"ResultHasEvidence"}


def test_a_zombie_whose_result_was_refused_is_no_violation() -> None:
    """Its process stood still for longer than a lease; its successor's result is the one that counts."""
    zombie = an_attempt(TICKS[0], started_ms=TICKS[0] + 10, ended_ms=TICKS[0] + 6_000)
    second = an_attempt(TICKS[0], 2, member="w1.1", started_ms=TICKS[0] + 4_000, ended_ms=TICKS[0] + 5_000)
    ended = Instant(TICKS[0] + 5_100)
    row = a_row(TICKS[0], lease_epoch=Epoch(2), attempt=2, result=a_result(TICKS[0], 2), finished_at=ended)
    stall = Stall(member="w0.1", from_ms=TICKS[0] + 100, until_ms=TICKS[0] + 5_900)

    history = a_history(rows=[row, *ROWS[1:]], attempts=[zombie, second, *ATTEMPTS[1:]], stalls=[stall])

    assert check(history) == []
    assert names(replace(history, stalls=[])) == {"NoDoubleRun"}


def test_the_same_epoch_on_two_workers_is_found() -> None:
    """Two claims won the same epoch."""
    other = an_attempt(TICKS[0], member="w1.1", started_ms=TICKS[0] + 1_150)

    assert "EpochMonotone" in names(a_history(attempts=[*ATTEMPTS, other]))


def test_an_attempt_too_many_is_found() -> None:
    """Code ran in a thirteenth attempt of twelve."""
    row = a_row(TICKS[0], lease_epoch=Epoch(13), attempt=12, result=a_result(TICKS[0], 13))

    assert names(a_history(rows=[row, *ROWS[1:]], attempts=[an_attempt(TICKS[0], 13), *ATTEMPTS[1:]])) == {
        "AttemptsBounded"
    }


def test_an_execution_that_does_not_end_is_found() -> None:
    """It still waits for a worker when all is over."""
    queued = a_row(TICKS[2], state=State.QUEUED, finished_at=None, lease_epoch=Epoch(0), attempt=0, result=None)

    assert names(a_history(rows=[*ROWS[:2], queued], attempts=ATTEMPTS[:2])) == {"EveryExecutionEnds"}


def test_a_dead_execution_without_a_letter_is_found() -> None:
    """The job was made to die, and its copy is not among the dead letters."""
    tick = TICKS[0]
    dead = a_row(tick, state=State.DEAD, reason=Reason.FATAL, failed_at=Instant(tick + 1_200), result=None)
    story = a_story(submitted(rhythm=once(tick)), expect=Expect.DIE)
    history = a_history(story=story, rows=[dead], attempts=[an_attempt(tick, outcome="fatal")])

    assert names(history) == {"DeadIsLettered"}
    assert check(replace(history, letters=frozenset({dead.ref}))) == []


def test_an_execution_that_dies_though_its_code_succeeds_is_found() -> None:
    """DEAD with attempts left."""
    dead = a_row(TICKS[0], state=State.DEAD, reason=Reason.LEASE_EXPIRED, failed_at=Instant(TICKS[0]), result=None)
    history = a_history(rows=[dead, *ROWS[1:]], letters=frozenset({dead.ref}))

    assert names(history) == {"EndsAsExpected"}


# --- cancel --------------------------------------------------------------------------------------------------------
def test_a_tick_that_is_run_after_an_acknowledged_cancel_is_found() -> None:
    """Cancelled before the third tick, which ran all the same."""
    seen = {tick: Seen(state=State.SUCCEEDED, epoch=1, scheduled_ms=tick) for tick in TICKS[:2]}
    cancel = cancelled(TICKS[1] + 5_000, decided_ms=TICKS[1], census=seen)
    story = a_story(submitted(), cancel)

    assert check(a_history(story=story, rows=ROWS[:2], attempts=ATTEMPTS[:2])) == []
    assert names(a_history(story=story)) == {"NoGhostRun", "NoStartAfterCancelAck"}


def test_an_attempt_that_is_claimed_after_an_acknowledged_cancel_is_found() -> None:
    """The execution existed at the cancel, and its second attempt came after it."""
    seen = {TICKS[0]: Seen(state=State.CANCELLED, epoch=1, scheduled_ms=TICKS[0])}
    cancel = cancelled(TICKS[0] + 2_000, decided_ms=TICKS[0], census=seen)
    failed = an_attempt(TICKS[0], outcome="failure", mark=None)
    second = an_attempt(TICKS[0], 2, started_ms=TICKS[0] + 4_000, ended_ms=TICKS[0] + 5_000)
    row = a_row(TICKS[0], lease_epoch=Epoch(2), attempt=2, result=a_result(TICKS[0], 2))
    history = a_history(story=a_story(submitted(), cancel), rows=[row], attempts=[failed, second])

    assert names(history) == {"NoStartAfterCancelAck"}


def test_code_whose_claim_had_won_before_the_cancel_may_begin_a_moment_later() -> None:
    """Its epoch stood in the store when the answer came."""
    seen = {TICKS[0]: Seen(state=State.CANCELLING, epoch=1, scheduled_ms=TICKS[0])}
    cancel = cancelled(TICKS[0] + 50, decided_ms=TICKS[0], census=seen)
    row = a_row(TICKS[0], state=State.CANCELLED, reason=Reason.JOB_CANCELLED, result=None)
    history = a_history(
        story=a_story(submitted(), cancel), rows=[row], attempts=[an_attempt(TICKS[0], outcome="cut", mark=None)]
    )

    assert check(history) == []


def test_an_execution_that_a_cancel_left_open_is_found() -> None:
    """It was still to be tried again after the answer."""
    seen = {TICKS[0]: Seen(state=State.RETRY, epoch=1, scheduled_ms=TICKS[0])}
    cancel = cancelled(TICKS[0] + 2_000, decided_ms=TICKS[0], census=seen)

    assert names(a_history(story=a_story(submitted(), cancel), rows=ROWS[:1], attempts=ATTEMPTS[:1])) == {
        "NoStartAfterCancelAck"
    }


def test_a_cancelled_execution_that_starts_again_is_found() -> None:
    """One execution was cancelled, and a later epoch of it ran."""
    stop = Stop(key=ROWS[0].key, acked_ns=ns(TICKS[0] + 50), epoch=0)

    assert names(a_history(story=a_story(stops=[stop]))) == {"NoStartAfterCancelAck"}


def test_a_cancellation_that_nobody_asked_for_is_found() -> None:
    """CANCELLED, and its owner asked for nothing."""
    row = a_row(TICKS[0], state=State.CANCELLED, reason=Reason.JOB_CANCELLED, result=None)

    assert names(a_history(rows=[row, *ROWS[1:]])) == {"NoFalseCancel"}


# --- overlap, journal, bugs ----------------------------------------------------------------------------------------
def test_two_runs_of_a_job_side_by_side_are_found() -> None:
    """The first was still at work when the second began, and its policy is skip."""
    long = an_attempt(TICKS[0], ended_ms=TICKS[1] + 3_000)
    row = replace(ROWS[0], finished_at=Instant(TICKS[1] + 3_100))
    history = a_history(rows=[row, *ROWS[1:]], attempts=[long, *ATTEMPTS[1:]])

    assert names(history) == {"OverlapPolicy"}
    assert check(replace(history, stories=[a_story(overlaps=True)])) == []


def test_runs_one_after_the_other_are_right_whatever_their_workers_clocks_say() -> None:
    """The first worker's clock is 50 ms ahead, the second's 25 behind: by these the second run was claimed before."""
    at = TICKS[1]
    first = an_attempt(TICKS[0], started_ms=at + 40, ended_ms=at + 80, claimed_ms=at + 90, member="w1.1")
    second = an_attempt(TICKS[1], started_ms=at + 100, claimed_ms=at + 75)
    row = replace(ROWS[0], finished_at=Instant(at + 131))

    history = a_history(rows=[row, *ROWS[1:]], attempts=[first, second, ATTEMPTS[2]])

    assert check(replace(history, apart_ms=100)) == []


def test_a_skip_for_a_run_that_a_faster_clock_dates_later_is_right() -> None:
    """Two schedulers wrote the run and the skip for it, and their clocks are apart."""
    late = TICKS[1] + 2_000
    run = replace(ROWS[0], created_at=Instant(late + 8), finished_at=Instant(late + 500))
    attempt = an_attempt(TICKS[0], started_ms=late + 20, ended_ms=late + 400)
    skipped = a_row(TICKS[1], state=State.SKIPPED, reason=Reason.OVERLAP, lease_epoch=Epoch(0), attempt=0, result=None)
    rows = [run, replace(skipped, created_at=Instant(late), finished_at=Instant(late)), ROWS[2]]
    history = a_history(rows=rows, attempts=[attempt, ATTEMPTS[2]])

    assert names(history) == {"NoFalseSkip"}
    assert check(replace(history, apart_ms=100)) == []


def test_a_skip_without_a_run_in_the_way_is_found() -> None:
    """The run before it had ended long before."""
    skipped = a_row(TICKS[1], state=State.SKIPPED, reason=Reason.OVERLAP, lease_epoch=Epoch(0), attempt=0, result=None)

    assert names(a_history(rows=[ROWS[0], skipped, ROWS[2]], attempts=[ATTEMPTS[0], ATTEMPTS[2]])) == {"NoFalseSkip"}


def test_a_tick_that_was_decided_and_has_no_row_though_the_journal_names_it_is_found() -> None:
    """The list of what is owed was not worked off."""
    entry = Entry(job_id=JOB, key=tick_key(Instant(TICKS[2])), version=1)
    head = a_final_head(fired_through=Instant(TICKS[2]), fired_version=1, fired_at=Instant(TICKS[2]), fired_as=RUN)
    history = a_history(rows=ROWS[:2], attempts=ATTEMPTS[:2], entries=[entry], head=head)

    assert names(history) == {"TickNotLost", "JournalDrains"}


def test_a_bug_that_a_process_told_of_is_found() -> None:
    """Nothing else is wrong."""
    assert names(a_history(broken=["w0.1: AssertionError"])) == {"NothingBroke"}


def test_a_one_off_is_a_tick_like_any_other() -> None:
    """Submitted for an instant, run at it."""
    story = a_story(submitted(rhythm=once(TICKS[0])))

    assert check(a_history(story=story, rows=ROWS[:1], attempts=ATTEMPTS[:1])) == []
    assert names(a_history(story=story, rows=[], attempts=[])) == {"TickNotLost"}
    assert BEGIN < TICKS[0] < LAST_MS


def test_a_call_on_its_way_keeps_a_bucket_from_the_others() -> None:
    """Nobody takes over from a scheduler that lives: while one of its calls is held up, its ticks wait for it."""
    idle = Presence(member="s1.1", from_ms=BEGIN, until_ms=TICKS[2])
    history = a_history(presences=[idle])
    held = Stall(member="s0.1", from_ms=BEGIN, until_ms=TICKS[2], holds_on=True)

    assert attended_ms(history, BEGIN, TICKS[2]) == TICKS[2] - BEGIN
    assert attended_ms(replace(history, stalls=[held]), BEGIN, TICKS[2]) == 0
    assert attended_ms(replace(history, stalls=[replace(held, holds_on=False)]), BEGIN, TICKS[2]) == TICKS[2] - BEGIN
