"""Rules about jobs, their ticks, and the rows that stand for them.

Nothing is lost, nothing comes twice, nothing is a ghost.
"""

from collections.abc import Iterator

from tests.chaos.book import Book, Violation, in_time
from tests.chaos.expected import FOREVER_MS
from tests.chaos.history import Change, Kind
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.ids import tick_key
from tickwright.domain.jobs import Head, JobStatus
from tickwright.domain.transitions import State

_TOLD_ONCE = frozenset({Reason.MISSED, Reason.BLACKOUT})  # each tick lies in one such range, or has a row of its own


def acknowledged_is_kept(book: Book) -> Iterator[Violation]:
    """A job that was acknowledged is there, at the version of its last acknowledged change.

    And does not stand still.
    """
    head = book.history.heads.get(book.story.job_id)
    last = book.story.changes[-1]
    if head is None:
        yield book.told("AcknowledgedIsKept", "the job is gone")
        return
    if not _may_stand(last, head):
        told = f"version {head.version} of definition {head.definition_version}"
        yield book.told("AcknowledgedIsKept", f"{told}, acknowledged {last.version} of {last.definition_version}")
    if last.kind is Kind.CANCEL and head.status is not JobStatus.CANCELLED:
        yield book.told("AcknowledgedIsKept", f"cancelled, and is {head.status.value}")
    if head.next_run_at is not None and head.next_run_at <= book.history.last_tick_ms:
        yield book.told("JobMovesOn", f"stands still at {head.next_run_at}")
    for detail in book.expected.wrong:
        yield book.told("NextTickIsRight", detail)


def _may_stand(last: Change, head: Head) -> bool:
    """Whether a head may end so.

    An edit that waits comes to its time, and that is a version of its own, unless the job is paused or over.
    """
    has_come = last.waits is not None and head.version == last.version + 1
    if last.waits is None or (last.status is not JobStatus.ACTIVE and not has_come):
        return head.version == last.version
    return has_come and head.definition_version == last.waits.version


def tick_not_lost(book: Book) -> Iterator[Violation]:
    """Each tick that is owed has its one row, or lies in the one row of a range that was passed over."""
    own = {row.scheduled_at for row in book.rows if row.cause is Cause.SCHEDULE and row.passed is None}
    ranges = [row for row in book.rows if row.passed is not None]
    owed_until_ms = _owed_until_ms(book)
    for tick in (one for one in book.expected.must if one <= owed_until_ms):
        over = [row for row in ranges if covers(row, tick) and row.reason in _TOLD_ONCE]
        if len(over) + (tick in own) == 0:
            yield book.told("TickNotLost", f"tick {tick} has no row")
        if len(over) + (tick in own) > 1:
            yield book.told("OneRowPerTick", f"tick {tick} has {len(over)} ranges and a row of its own: {tick in own}")
    for tick, until_ms in book.expected.undecided.items():
        if tick <= owed_until_ms and not _is_behind(book, tick, until_ms):
            yield book.told("TickNotLost", f"tick {tick} was never decided, though there was time")
    for tick in book.expected.held_back:
        if tick not in own and not any(covers(row, tick) for row in ranges):
            yield book.told("PausedTickIsTold", f"tick {tick} was held back by a pause, and no row says so")


def _is_behind(book: Book, tick: int, until_ms: int) -> bool:
    """Whether the ticks before it have taken up the time: what is made up comes one by one, and perhaps at a rate."""
    if book.story.rate_per_min is not None:
        return True
    before = [row.created_at for row in book.rows if row.cause is Cause.SCHEDULE and row.scheduled_at < tick]
    return not in_time(book.history, max(before, default=tick), until_ms)


def covers(row: Execution, tick: int) -> bool:
    """Whether a tick lies in the range that a row stands for."""
    return row.passed is not None and row.passed.first <= tick <= row.passed.last


def _owed_until_ms(book: Book) -> int:
    """The last tick that a job owes: that of the last run that its schedule has."""
    runs = runs_of_schedule(book)
    most = book.story.runs_max
    return FOREVER_MS if most is None or len(runs) < most else runs[most - 1].scheduled_at


def runs_of_schedule(book: Book) -> list[Execution]:
    """The rows of ticks that were decided to run, by their time; a skip and a range are no runs."""
    own = (row for row in book.rows if row.cause is Cause.SCHEDULE and row.passed is None)
    return sorted((row for row in own if row.reason is not Reason.OVERLAP), key=lambda row: row.scheduled_at)


def no_ghost_run(book: Book) -> Iterator[Violation]:
    """Each row stands for a tick that the job had, under the version that it had then.

    Or for a run that was asked for.
    """
    seen: dict[int, Execution] = {}
    for row in book.rows:
        if row.passed is not None:
            yield from _range_is_right(book, row)
        elif row.cause is Cause.MANUAL:
            yield from _manual_is_right(book, row)
        else:
            if row.scheduled_at in seen:
                yield book.told("OneExecutionPerTick", f"{row.key} and {seen[row.scheduled_at].key}")
            seen[row.scheduled_at] = row
            yield from _tick_is_right(book, row)
    missing = book.story.manual - {row.key for row in book.rows}
    yield from (book.told("AcknowledgedIsKept", f"run {key} was acknowledged and is gone") for key in missing)


def _tick_is_right(book: Book, row: Execution) -> Iterator[Violation]:
    if row.key != tick_key(row.scheduled_at):
        yield book.told("OneExecutionPerTick", f"{row.key} is not the key of tick {row.scheduled_at}")
    version = book.expected.must.get(row.scheduled_at)
    if version is None:
        yield book.told("NoGhostRun", f"{row.key} ({row.state.value}) is no tick of the job")
    elif version != row.job_version:
        yield book.told("NoSupersededRun", f"{row.key} has version {row.job_version}, decided under {version}")
    if any(attempt.version != row.job_version for attempt in book.of(row)):
        yield book.told("NoSupersededRun", f"{row.key} ran with the payload of another version")


def _manual_is_right(book: Book, row: Execution) -> Iterator[Violation]:
    refused = row.state is State.CANCELLED and row.reason is Reason.ABANDONED
    if any(attempt.version != row.job_version for attempt in book.of(row)):
        yield book.told("NoSupersededRun", f"{row.key} ran with the payload of another version")
    if row.key in book.story.manual:
        if refused:
            yield book.told("AcknowledgedIsKept", f"run {row.key} was acknowledged and abandoned")
    elif not refused or book.of(row):
        yield book.told("NoGhostRun", f"run {row.key} ({row.state.value}) was never acknowledged")


def _range_is_right(book: Book, row: Execution) -> Iterator[Violation]:
    assert row.passed is not None
    if row.reason in _TOLD_ONCE:
        count = sum(covers(row, tick) for tick in book.expected.must)
        if count != row.passed.count:
            yield book.told("RangeIsRight", f"{row.key} says {row.passed.count} ticks and covers {count}")
    if row.reason is Reason.MISSED:
        if row.created_at - row.passed.first <= book.history.durations.missed_after_ms:
            yield book.told("NoFalseSkip", f"{row.key} passes over ticks that were not late")
    elif row.reason is Reason.BLACKOUT:
        if not book.story.puts:
            yield book.told("NoFalseSkip", f"{row.key} passes over ticks, and its job names no calendar")
    elif row.reason is not Reason.PAUSED or book.change(Kind.PAUSE) is None:
        yield book.told("NoFalseSkip", f"{row.key} passes over ticks: {row.reason}")


def journal_drains(book: Book) -> Iterator[Violation]:
    """Once all has ended and each entry has been looked at, the journal names nothing any more."""
    for entry in book.history.entries:
        if entry.job_id == book.story.job_id:
            yield book.told("JournalDrains", f"{entry.key} is still in the journal")
