"""What to do about a journal entry: the one table of repairs, used at take-over and by the watch.

Must not know a store: it takes one strong reading of the execution and, where that does not settle it, one of the
head. What it answers is safe for any number of readers at any speed, since each repair is a conditional write.
Promises: SEM-JOURNAL-1, SEM-JOURNAL-2.
"""

from dataclasses import dataclass
from enum import Enum

from tickwright.domain.executions import Execution
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.journal import Entry, Page
from tickwright.domain.transitions import State


class Repair(Enum):
    """What to do now."""

    NOTHING = "nothing"
    INSERT = "insert"  # the tick was decided and its execution is missing: I, then S
    ABANDON = "abandon"  # a request whose execution never came: a tombstone at its key (R11)
    SEND = "send"  # nobody may ever have been told: S
    REAP = "reap"
    EXPIRE = "expire"
    STRANDED = "stranded"  # its pool was deleted: no machine can ever claim it
    SETTLE = "settle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A repair, and whether the entry stays on the list.

    `check_by` is when it must be looked at again at the latest.
    """

    repair: Repair
    keep: bool
    check_by: Instant | None = None


DROP = Finding(repair=Repair.NOTHING, keep=False)
KEEP = Finding(repair=Repair.NOTHING, keep=True)
SEND = Finding(repair=Repair.SEND, keep=True)
STRANDED = Finding(repair=Repair.STRANDED, keep=True)


def judge_absent(entry: Entry, head: Head | None) -> Finding:
    """An entry whose execution does not exist: decided, never to be decided, or still open (R1)."""
    if entry.is_manual:
        return Finding(repair=Repair.ABANDON, keep=False)
    if head is None:
        return DROP
    if head.fired_through == entry.tick:
        return Finding(repair=Repair.INSERT, keep=True)
    if head.fired_through is not None and head.fired_through > entry.tick:
        return DROP
    open_still = (
        head.status is JobStatus.ACTIVE
        and head.version == entry.version
        and head.next_run_at is not None
        and head.next_run_at <= entry.tick
    )
    return KEEP if open_still else DROP


def judge_present(execution: Execution, now: Instant, *, clock_error_ms: int, lookahead_ms: int) -> Finding:
    """An entry whose execution exists, by its state."""
    if execution.is_terminal:
        return Finding(repair=Repair.SETTLE, keep=True) if execution.owed else DROP
    if execution.wait_at is not None:
        # It stands on the waiting index, whose reader puts a page before it takes it off: once its time has come, this
        # may be that page, and its writer may still be about to take it off.
        return KEEP if execution.wait_at <= now + lookahead_ms else DROP
    match execution.state:
        case State.QUEUED | State.RETRY:
            return _judge_unclaimed(execution, now)
        case State.RUNNING | State.CANCELLING:
            return _judge_claimed(execution, now, clock_error_ms)
        case _:
            return KEEP


def is_told_again(execution: Execution, page: Page, now: Instant, *, first_ms: int, gap_ms_max: int) -> bool:
    """Whether a look at an unclaimed execution sends it a hint, of which it has had some already.

    At a page's first look, then each time that it has waited twice as long, and each `gap_ms_max` at least: so a hint
    that was lost costs as long again as it has waited, and a pool without machines gathers few.
    """
    if page.looked_at is None:
        return True

    def hints_by(instant: Instant) -> int:
        waited_ms = instant - execution.came_due
        if waited_ms < 0:
            return 0
        doublings = min((waited_ms // first_ms + 1).bit_length() - 1, (gap_ms_max // first_ms).bit_length())
        return 1 + doublings + (waited_ms - first_ms * ((1 << doublings) - 1)) // gap_ms_max

    return hints_by(now) > hints_by(page.looked_at)


def _judge_unclaimed(execution: Execution, now: Instant) -> Finding:
    if execution.run_deadline_at is not None and execution.run_deadline_at <= now:
        return Finding(repair=Repair.EXPIRE, keep=True)
    if execution.retry_at is not None and execution.retry_at > now:
        return Finding(repair=Repair.NOTHING, keep=True, check_by=execution.retry_at)
    return SEND


def _judge_claimed(execution: Execution, now: Instant, clock_error_ms: int) -> Finding:
    if execution.lease_is_over(now, clock_error_ms):
        return Finding(repair=Repair.REAP, keep=True)
    assert execution.lease_until is not None
    return Finding(repair=Repair.NOTHING, keep=True, check_by=Instant(execution.lease_until + 2 * clock_error_ms + 1))
