"""The one table of repairs: what each entry of the journal calls for."""

from dataclasses import replace

import pytest

from tests.support.builders import JOB, TICK, a_head, an_execution, an_id, decided
from tickwright.domain.executions import Execution, Owed, Reason
from tickwright.domain.ids import manual_key, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.journal import Entry
from tickwright.domain.repairs import Repair, judge_absent, judge_present
from tickwright.domain.transitions import State

_LATER = Instant(TICK + 60_000)
_E_MS = 1_000
_ENTRY = Entry(job_id=JOB, key=tick_key(TICK), version=1)
_DUE = a_head()
_DECIDED = decided(_DUE, TICK, next_run_at=_LATER)


@pytest.mark.sem("SEM-JOURNAL-2")
@pytest.mark.parametrize(
    ("head", "repair", "keep"),
    [
        (_DECIDED, Repair.INSERT, True),
        (_DUE, Repair.NOTHING, True),  # still open: by us or by a zombie (R1)
        (replace(_DUE, version=2), Repair.NOTHING, False),  # every write of the API raises the version (R2)
        (replace(_DUE, next_run_at=_LATER), Repair.NOTHING, False),  # its A can never succeed
        (a_head(status=JobStatus.PAUSED), Repair.NOTHING, False),
        (decided(a_head(next_run_at=_LATER), _LATER, next_run_at=Instant(_LATER + 1)), Repair.NOTHING, False),
        (None, Repair.NOTHING, False),
    ],
)
def test_an_entry_without_its_execution_is_judged_by_the_head(head: Head | None, repair: Repair, *, keep: bool) -> None:
    """Decided exactly at its tick: insert. Open: keep. Anything else was never decided, or never will be."""
    finding = judge_absent(_ENTRY, head)

    assert (finding.repair, finding.keep) == (repair, keep)


@pytest.mark.sem("SEM-JOURNAL-2")
def test_a_request_whose_run_never_came_is_abandoned() -> None:
    """A tombstone goes to its key, so that a slow API process is refused (R11)."""
    finding = judge_absent(replace(_ENTRY, key=manual_key(TICK, an_id(5))), _DUE)

    assert (finding.repair, finding.keep) == (Repair.ABANDON, False)


def _waiting(until: int) -> Execution:
    return an_execution(state=State.RETRY, attempt=1, wait_key="0", wait_at=Instant(until))


def _running(state: State, lease_until: int) -> Execution:
    return an_execution(state=state, attempt=1, lease_until=Instant(lease_until))


@pytest.mark.sem("SEM-JOURNAL-2")
@pytest.mark.parametrize(
    ("execution", "repair", "keep"),
    [
        (an_execution(), Repair.SEND, True),
        (an_execution(run_deadline_at=_LATER), Repair.EXPIRE, True),
        (an_execution(state=State.RETRY, attempt=1, retry_at=_LATER), Repair.SEND, True),
        (an_execution(state=State.RETRY, attempt=1, retry_at=Instant(_LATER + 1)), Repair.NOTHING, True),
        (an_execution(state=State.RETRY, attempt=1, wait_key="0", wait_at=_LATER), Repair.NOTHING, True),
        (
            an_execution(state=State.RETRY, attempt=1, wait_key="0", wait_at=Instant(_LATER + 5_000)),
            Repair.NOTHING,
            True,
        ),
        (
            an_execution(state=State.RETRY, attempt=1, wait_key="0", wait_at=Instant(_LATER + 5_001)),
            Repair.NOTHING,
            False,
        ),
        (_running(State.RUNNING, _LATER - 2 * _E_MS), Repair.NOTHING, True),
        (_running(State.RUNNING, _LATER - 2 * _E_MS - 1), Repair.REAP, True),
        (_running(State.CANCELLING, _LATER - 2 * _E_MS - 1), Repair.REAP, True),
        (an_execution(state=State.DEAD, reason=Reason.FATAL, owed=frozenset({Owed.DEAD_LETTER})), Repair.SETTLE, True),
        (an_execution(state=State.SUCCEEDED, attempt=1, ttl=1), Repair.NOTHING, False),
        (an_execution(state=State.SKIPPED, reason=Reason.OVERLAP, ttl=1), Repair.NOTHING, False),
    ],
)
def test_an_entry_with_its_execution_is_judged_by_its_state(
    execution: Execution, repair: Repair, *, keep: bool
) -> None:
    """It goes only when the execution has ended with nothing owed, or stands on the waiting index for long enough.

    Whoever takes it off the index has put a page first: once its time has come, the entry may be of that page.
    """
    finding = judge_present(execution, _LATER, clock_error_ms=_E_MS, lookahead_ms=5_000)

    assert (finding.repair, finding.keep) == (repair, keep)


@pytest.mark.sem("SEM-JOURNAL-2")
def test_a_live_lease_is_looked_at_again_when_it_can_be_over() -> None:
    """So a dead worker is found within a lease or two, whatever the queue does."""
    running = _running(State.RUNNING, _LATER + 10_000)
    finding = judge_present(running, _LATER, clock_error_ms=_E_MS, lookahead_ms=5_000)

    assert finding.check_by == _LATER + 10_000 + 2 * _E_MS + 1
