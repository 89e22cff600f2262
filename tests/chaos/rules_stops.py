"""Rules about what must not start: after a cancel or a pause was acknowledged, and beside a run of the same job."""

from collections.abc import Iterator
from itertools import pairwise

from tests.chaos.book import Book, Violation
from tests.chaos.history import Change, Kind
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import ExecutionRef, is_manual
from tickwright.domain.transitions import State


def no_start_after_ack(book: Book) -> Iterator[Violation]:
    """After an acknowledged cancel no claim, ever; after a pause none of a tick later than the pause.

    Code whose claim had won before may begin a moment later: its epoch stood in the store when the answer came.
    """
    for change in book.story.changes:
        if change.kind in {Kind.CANCEL, Kind.PAUSE}:
            yield from _left_open(book, change)
            yield from _started_after(book, change)
    for stop in book.story.stops:
        row = book.history.executions[ExecutionRef(book.story.job_id, stop.key)]
        late = [one for one in book.of(row) if one.started_ns > stop.acked_ns and one.epoch > stop.epoch]
        if late or row.state is not State.CANCELLED:
            yield book.told(
                "NoStartAfterCancelAck", f"{stop.key} was cancelled; is {row.state.value}, later starts: {len(late)}"
            )


def _left_open(book: Book, change: Change) -> Iterator[Violation]:
    from_ms = change.acked_ms if change.kind is Kind.PAUSE else None
    for key, seen in change.census.items():
        open_still = seen.state in {State.WAITING, State.QUEUED, State.RETRY, State.RUNNING}
        if open_still and (from_ms is None or seen.scheduled_ms > from_ms):
            yield book.told(
                "NoStartAfterCancelAck", f"{key} was {seen.state.value} after the {change.kind.value} was acknowledged"
            )


def _started_after(book: Book, change: Change) -> Iterator[Violation]:
    low_ms = -1 if change.kind is Kind.CANCEL else change.acked_ms
    resumed = [c.invoked_ms for c in book.story.changes if c.kind is Kind.RESUME and c.acked_ns > change.acked_ns]
    high_ms = min(resumed, default=1 << 62)
    for row in book.rows:
        seen = change.census.get(row.key)
        if row.scheduled_at <= low_ms or (change.kind is Kind.PAUSE and is_manual(row.key)):
            continue
        if seen is None and row.scheduled_at > high_ms:
            continue
        if seen is None and resumed and book.story.catches_up_paused:
            continue
        known = -1 if seen is None else seen.epoch
        late = [one for one in book.of(row) if one.started_ns > change.acked_ns and one.epoch > known]
        if late:
            yield book.told(
                "NoStartAfterCancelAck", f"{row.key} epoch {late[0].epoch} began after the {change.kind.value}"
            )


def overlap_policy(book: Book) -> Iterator[Violation]:
    """With `skip`, a run begins only after the one before it has ended.

    What a zombie still does is not its run any more.
    """
    if book.story.overlaps:
        return
    # One that was redriven has ended twice: the monitors and the pairs judge it at each write.
    begun = sorted(
        (row for row in book.rows if book.of(row) and row.generation == 1), key=lambda row: book.of(row)[0].started_ns
    )
    for one, two in pairwise(begun):
        first = book.of(two)[0]
        if one.finished_at is None or one.finished_at > first.claimed_ms + book.history.apart_ms:
            yield book.told(
                "OverlapPolicy", f"{two.key} began at {first.claimed_ms}, {one.key} ended at {one.finished_at}"
            )
        last = book.of(one)[-1]
        settled = one.state is State.SUCCEEDED or one.reason in {Reason.FAILED, Reason.FATAL}
        if settled and last.epoch == one.lease_epoch and (last.ended_ns or 0) > first.started_ns:
            yield book.told("OverlapPolicy", f"{two.key} began while the accepted attempt of {one.key} ran")


def no_false_skip(book: Book) -> Iterator[Violation]:
    """A tick is skipped for overlap only if a run was unfinished at its time.

    Give or take what stood still meanwhile.
    """
    for row in book.rows:
        if row.state is not State.SKIPPED or row.passed is not None:
            continue
        if (
            row.reason is not Reason.OVERLAP
            or book.story.overlaps
            or not any(_kept_busy(book, one, row) for one in book.rows)
        ):
            yield book.told("NoFalseSkip", f"{row.key} is SKIPPED ({row.reason}), and no run was in its way")


def _kept_busy(book: Book, one: Execution, skipped: Execution) -> bool:
    if one.state is State.SKIPPED or one.created_at > skipped.created_at + book.history.apart_ms:
        return False
    ended_ms = one.finished_at or skipped.scheduled_at
    stalled_ms = sum(
        max(0, min(stall.until_ms, skipped.scheduled_at) - max(stall.from_ms, ended_ms - 1_000))
        for stall in book.history.stalls
    )
    return ended_ms + 1_000 + stalled_ms >= skipped.scheduled_at
