"""Rules about attempts and how executions end: epochs, early starts, double runs, results of zombies, deaths."""

import json
from collections.abc import Iterator
from itertools import pairwise

from tests.chaos.book import Book, Violation
from tests.chaos.history import Attempt, Expect, Kind
from tests.chaos.jobs import RETRY_MS_MAX
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.transitions import State


def attempts_are_in_order(book: Book) -> Iterator[Violation]:
    """Epochs rise strictly with the attempts, attempts are bounded, and the store has heard of each."""
    for row in book.rows:
        attempts = book.of(row)
        for one, two in pairwise(attempts):
            if one.epoch == two.epoch:
                yield book.told("EpochMonotone", f"{row.key}: epoch {one.epoch} on {one.member} and {two.member}")
            elif two.claimed_ms + book.history.apart_ms < one.claimed_ms or (
                two.attempt < one.attempt and row.generation == 1
            ):
                yield book.told("EpochMonotone", f"{row.key}: epoch {two.epoch} was claimed before {one.epoch}")
        if any(attempt.attempt > row.max_attempts for attempt in attempts):
            yield book.told("AttemptsBounded", f"{row.key}: an attempt over {row.max_attempts}")
        if attempts and attempts[-1].epoch > row.lease_epoch:
            yield book.told("EpochMonotone", f"{row.key}: ran at {attempts[-1].epoch}, stored {row.lease_epoch}")


def no_early_start(book: Book) -> Iterator[Violation]:
    """No attempt starts before its tick, by its own machine's clock, which may go back between claim and start."""
    back_ms = book.history.back_ms
    for row in book.rows:
        for attempt in book.of(row):
            if (
                min(attempt.started_ms + back_ms, attempt.claimed_ms) < row.scheduled_at
                or attempt.scheduled_ms != row.scheduled_at
            ):
                early_ms = row.scheduled_at - attempt.started_ms
                yield book.told("NoEarlyStart", f"{row.key} epoch {attempt.epoch} started {early_ms} ms early")


def no_double_run(book: Book) -> Iterator[Violation]:
    """Two attempts of one execution never run side by side.

    Unless the earlier one's process could not keep its lease.
    """
    durations = book.history.durations
    for row in book.rows:
        for one, two in pairwise(book.of(row)):
            over_ms = two.claimed_ms if one.ended_ms is None else one.ended_ms
            in_time = one.outcome not in {None, "cut"} and two.claimed_ms + book.history.apart_ms < over_ms
            let_go = book.history.stopped.get(one.member, two.claimed_ms + 1) <= two.claimed_ms
            lost = let_go or _stalled_ms(book, one, two.claimed_ms) >= durations.lease_ms - 2 * durations.heartbeat_ms
            if one.handed_over is not None:
                lost = not one.handed_over  # its worker may die: once the store has heard of it, nobody else has it
            if (
                in_time and not lost and two.claimed_ms + book.history.apart_ms < one.deadline_ms
            ):  # past its time limit code in a thread runs on
                yield book.told(
                    "NoDoubleRun", f"{row.key}: epoch {two.epoch} began while {one.epoch} ran on {one.member}"
                )


def _stalled_ms(book: Book, attempt: Attempt, until_ms: int) -> int:
    """How long the attempt's process could do nothing before an instant."""
    spans = sorted(
        (max(stall.from_ms, attempt.claimed_ms), min(stall.until_ms, until_ms))
        for stall in book.history.stalls
        if stall.hits(attempt.member)
    )
    total_ms, reached_ms = 0, 0
    for from_ms, to_ms in spans:
        total_ms += max(0, to_ms - max(from_ms, reached_ms))
        reached_ms = max(reached_ms, to_ms)
    return total_ms


def no_stale_result(book: Book) -> Iterator[Violation]:
    """An accepted result carries the epoch of the last claim.

    And the attempt of that epoch wrote down that it gave it.
    """
    for row in book.rows:
        if row.state is not State.SUCCEEDED:
            continue
        said = json.loads(row.result or "{}")
        giver = next((one for one in book.of(row) if one.epoch == said.get("leaseEpoch")), None)
        if said.get("leaseEpoch") != row.lease_epoch:
            yield book.told(
                "NoStaleResult", f"{row.key}: result of {said.get('leaseEpoch')}, epoch is {row.lease_epoch}"
            )
        if giver is None or giver.outcome != "success" or giver.mark != said.get("mark"):
            yield book.told("ResultHasEvidence", f"{row.key} SUCCEEDED and no attempt says that it gave {said}")


def ends_as_expected(book: Book) -> Iterator[Violation]:
    """Every execution ends with nothing owed.

    As its job's code makes it end unless it was cancelled or its workers were lost.
    """
    for row in book.rows:
        if not row.is_terminal or row.owed:
            yield book.told(
                "EveryExecutionEnds", f"{row.key} is {row.state.value}, owes {sorted(o.value for o in row.owed)}"
            )
        elif row.state is State.SUCCEEDED and book.story.expect is Expect.DIE:
            yield book.told("EndsAsExpected", f"{row.key} SUCCEEDED")
        elif row.state is State.DEAD:
            yield from _death_is_right(book, row)
        elif row.state is State.CANCELLED and not _cancel_is_right(book, row):
            yield book.told("NoFalseCancel", f"{row.key} is CANCELLED ({row.reason}), and nobody asked for it")


def _death_is_right(book: Book, row: Execution) -> Iterator[Violation]:
    if row.ref not in book.history.letters:
        yield book.told("DeadIsLettered", f"{row.key} is DEAD and has no letter")
    used_up = row.attempt == row.max_attempts
    if row.reason is Reason.EXPIRED:
        if not _had_no_time(book, row):
            yield book.told("EndsAsExpected", f"{row.key} is DEAD (expired), and had time until {row.run_deadline_at}")
        return
    if row.reason in {Reason.LEASE_EXPIRED, Reason.TIMED_OUT}:
        if not used_up:
            yield book.told("EndsAsExpected", f"{row.key} is DEAD ({row.reason}) with attempts left")
        return
    last = book.of(row)[-1:]
    died_at = row.lease_epoch - (row.discarded is not None)  # which is a write of its own
    seen = bool(last) and last[0].epoch == died_at and last[0].outcome in {"failure", "fatal"}
    if book.story.expect is not Expect.DIE and not used_up:
        yield book.told("EndsAsExpected", f"{row.key} is DEAD ({row.reason})")
    elif not seen:
        yield book.told("ResultHasEvidence", f"{row.key} is DEAD ({row.reason}) and its last attempt does not say so")


def _had_no_time(book: Book, row: Execution) -> bool:
    """Whether its run deadline was over, or would have been at the next attempt."""
    over_ms = (row.finished_at or 0) + RETRY_MS_MAX + book.history.apart_ms
    return row.run_deadline_at is not None and row.run_deadline_at <= over_ms


def _cancel_is_right(book: Book, row: Execution) -> bool:
    match row.reason:
        case Reason.JOB_CANCELLED:
            return book.change(Kind.CANCEL) is not None
        case Reason.CANCELLED:
            return any(stop.key == row.key for stop in book.story.stops)
        case Reason.PAUSED:
            pauses = [change.invoked_ms for change in book.story.changes if change.kind is Kind.PAUSE]
            return any(invoked_ms < row.scheduled_at for invoked_ms in pauses)
        case _:
            return row.reason is Reason.ABANDONED and row.cause is Cause.MANUAL
