"""Judges a whole run: what was acknowledged against what user code wrote down against what the store holds in the end.

One rule a function, named as the invariants of the protocol are. Must not know how the run was made: a hand-written history is
judged in the same way (tests/unit/chaos).
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.chaos.expected import Expected, expected_of
from tests.chaos.history import Attempt, Change, Expect, History, Kind, Story
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.ids import ExecutionRef, is_manual, tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import JobStatus
from tickwright.domain.transitions import State

PATIENCE_MS = 6_000  # of a scheduler at work: it takes buckets over in a sixth of this


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A promise that was broken, of which job, and by what evidence."""

    name: str
    job: str
    detail: str


@dataclass(slots=True, kw_only=True)
class Book:
    """One job with all that is known of it."""

    history: History
    story: Story
    expected: Expected
    rows: list[Execution]
    attempts: dict[ExecutionRef, list[Attempt]] = field(default_factory=lambda: defaultdict(list))

    def told(self, name: str, detail: str) -> Violation:
        """A violation of this job."""
        return Violation(name=name, job=self.story.name, detail=detail)

    def of(self, row: Execution) -> list[Attempt]:
        """The attempts of a row, by epoch."""
        return self.attempts.get(row.ref, [])

    def change(self, kind: Kind) -> Change | None:
        """The last change of a kind."""
        return next((change for change in reversed(self.story.changes) if change.kind is kind), None)


def check(history: History) -> list[Violation]:
    """All violations; an empty list is a pass."""
    found = [Violation(name="NothingBroke", job="-", detail=detail) for detail in history.broken]
    known = {story.job_id for story in history.stories}
    found += [_ghost(history, job_id) for job_id in history.heads if job_id not in known]
    found += [
        Violation(name="NoGhostRun", job=attempt.ref.job_id, detail=f"{attempt.ref.id} ran and is not in the store")
        for attempt in history.attempts
        if attempt.ref not in history.executions
    ]
    for book in _books(history):
        for rule in RULES:
            found += rule(book)
    return found


def _ghost(history: History, job_id: str) -> Violation:
    return Violation(name="NoGhostJob", job=job_id, detail="nobody was told of this job")


def _books(history: History) -> list[Book]:
    rows: dict[str, list[Execution]] = defaultdict(list)
    for row in history.executions.values():
        rows[row.job_id].append(row)
    books = {
        story.job_id: Book(
            history=history,
            story=story,
            expected=expected_of(story, in_time=lambda since, until: attended_ms(history, since, until) >= PATIENCE_MS),
            rows=sorted(rows[story.job_id], key=lambda row: row.key),
        )
        for story in history.stories
    }
    for attempt in sorted(history.attempts, key=lambda one: (one.epoch, one.started_ns)):
        if attempt.ref.job_id in books:
            books[attempt.ref.job_id].attempts[attempt.ref].append(attempt)
    return list(books.values())


def attended_ms(history: History, since_ms: int, until_ms: int) -> int:
    """How long a scheduler was at work between two instants."""
    return sum(max(0, min(to_ms, until_ms) - max(from_ms, since_ms)) for from_ms, to_ms in history.attended)


# --- jobs and ticks ------------------------------------------------------------------------------------------------
def acknowledged_is_kept(book: Book) -> Iterator[Violation]:
    """A job that was acknowledged is there, at the version of its last acknowledged change, and does not stand still."""
    head = book.history.heads.get(book.story.job_id)
    last = book.story.changes[-1]
    if head is None:
        yield book.told("AcknowledgedIsKept", "the job is gone")
        return
    if head.version != last.version:
        yield book.told("AcknowledgedIsKept", f"version {head.version}, acknowledged {last.version}")
    if last.kind is Kind.CANCEL and head.status is not JobStatus.CANCELLED:
        yield book.told("AcknowledgedIsKept", f"cancelled, and is {head.status.value}")
    if head.next_run_at is not None and head.next_run_at <= book.history.last_tick_ms:
        yield book.told("JobMovesOn", f"stands still at {head.next_run_at}")
    for detail in book.expected.wrong:
        yield book.told("NextTickIsRight", detail)


def tick_not_lost(book: Book) -> Iterator[Violation]:
    """Each tick that is owed has its one row, or lies in the one row of a range that was passed over."""
    own = {row.scheduled_at for row in book.rows if row.cause is Cause.SCHEDULE and row.passed is None}
    ranges = [row for row in book.rows if row.passed is not None]
    for tick in book.expected.must:
        over = [row for row in ranges if _covers(row, tick) and row.reason is Reason.MISSED]
        if len(over) + (tick in own) == 0:
            yield book.told("TickNotLost", f"tick {tick} has no row")
        if len(over) + (tick in own) > 1:
            yield book.told("OneRowPerTick", f"tick {tick} has {len(over)} ranges and a row of its own: {tick in own}")
    for tick in book.expected.undecided:
        yield book.told("TickNotLost", f"tick {tick} was never decided, though there was time")
    for tick in book.expected.held_back:
        if tick not in own and not any(_covers(row, tick) for row in ranges):
            yield book.told("PausedTickIsTold", f"tick {tick} was held back by a pause, and no row says so")


def _covers(row: Execution, tick: int) -> bool:
    return row.passed is not None and row.passed.first <= tick <= row.passed.last


def no_ghost_run(book: Book) -> Iterator[Violation]:
    """Each row stands for a tick that the job had, under the version that it had then, or for a run that was asked for."""
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
    if row.key in book.story.manual:
        if refused:
            yield book.told("AcknowledgedIsKept", f"run {row.key} was acknowledged and abandoned")
    elif not refused or book.of(row):
        yield book.told("NoGhostRun", f"run {row.key} ({row.state.value}) was never acknowledged")


def _range_is_right(book: Book, row: Execution) -> Iterator[Violation]:
    assert row.passed is not None
    if row.reason is Reason.MISSED:
        count = sum(_covers(row, tick) for tick in book.expected.must)
        if count != row.passed.count:
            yield book.told("RangeIsRight", f"{row.key} says {row.passed.count} ticks and covers {count}")
        if row.created_at - row.passed.first <= book.history.durations.missed_after_ms:
            yield book.told("NoFalseSkip", f"{row.key} passes over ticks that were not late")
    elif row.reason is not Reason.PAUSED or book.change(Kind.PAUSE) is None:
        yield book.told("NoFalseSkip", f"{row.key} passes over ticks: {row.reason}")


# --- attempts ------------------------------------------------------------------------------------------------------
def attempts_are_in_order(book: Book) -> Iterator[Violation]:
    """Epochs rise strictly with the attempts, attempts are bounded, and the store has heard of each."""
    for row in book.rows:
        attempts = book.of(row)
        for one, two in pairwise(attempts):
            if one.epoch == two.epoch:
                yield book.told("EpochMonotone", f"{row.key}: epoch {one.epoch} on {one.member} and {two.member}")
            elif two.claimed_ms < one.claimed_ms or two.attempt < one.attempt:
                yield book.told("EpochMonotone", f"{row.key}: epoch {two.epoch} was claimed before {one.epoch}")
        if any(attempt.attempt > row.max_attempts for attempt in attempts):
            yield book.told("AttemptsBounded", f"{row.key}: an attempt over {row.max_attempts}")
        if attempts and attempts[-1].epoch > row.lease_epoch:
            yield book.told("EpochMonotone", f"{row.key}: ran at {attempts[-1].epoch}, stored {row.lease_epoch}")


def no_early_start(book: Book) -> Iterator[Violation]:
    """No attempt starts before its tick."""
    for row in book.rows:
        for attempt in book.of(row):
            if min(attempt.started_ms, attempt.claimed_ms) < row.scheduled_at or attempt.scheduled_ms != row.scheduled_at:
                early_ms = row.scheduled_at - attempt.started_ms
                yield book.told("NoEarlyStart", f"{row.key} epoch {attempt.epoch} started {early_ms} ms early")


def no_double_run(book: Book) -> Iterator[Violation]:
    """Two attempts of one execution never run side by side, unless the earlier one's process could not keep its lease."""
    durations = book.history.durations
    for row in book.rows:
        for one, two in pairwise(book.of(row)):
            over_ms = two.claimed_ms if one.ended_ms is None else one.ended_ms
            in_time = one.outcome not in {None, "cut"} and two.claimed_ms < over_ms
            lost = _stalled_ms(book, one, two.claimed_ms) >= durations.lease_ms - 2 * durations.heartbeat_ms
            if in_time and not lost and two.claimed_ms < one.deadline_ms:  # past its time limit code in a thread runs on
                yield book.told("NoDoubleRun", f"{row.key}: epoch {two.epoch} began while {one.epoch} ran on {one.member}")


def _stalled_ms(book: Book, attempt: Attempt, until_ms: int) -> int:
    """How long the attempt's process could do nothing before an instant."""
    spans = sorted(
        (max(stall.from_ms, attempt.claimed_ms), min(stall.until_ms, until_ms))
        for stall in book.history.stalls
        if stall.member == attempt.member
    )
    total_ms, reached_ms = 0, 0
    for from_ms, to_ms in spans:
        total_ms += max(0, to_ms - max(from_ms, reached_ms))
        reached_ms = max(reached_ms, to_ms)
    return total_ms


def no_stale_result(book: Book) -> Iterator[Violation]:
    """An accepted result carries the epoch of the last claim, and the attempt of that epoch wrote down that it gave it."""
    for row in book.rows:
        if row.state is not State.SUCCEEDED:
            continue
        said = json.loads(row.result or "{}")
        giver = next((one for one in book.of(row) if one.epoch == said.get("leaseEpoch")), None)
        if said.get("leaseEpoch") != row.lease_epoch:
            yield book.told("NoStaleResult", f"{row.key}: result of {said.get('leaseEpoch')}, epoch is {row.lease_epoch}")
        if giver is None or giver.outcome != "success" or giver.mark != said.get("mark"):
            yield book.told("ResultHasEvidence", f"{row.key} SUCCEEDED and no attempt says that it gave {said}")


def ends_as_expected(book: Book) -> Iterator[Violation]:
    """Every execution ends with nothing owed, as its job's code makes it end unless it was cancelled or its workers were lost."""
    for row in book.rows:
        if not row.is_terminal or row.owed:
            yield book.told("EveryExecutionEnds", f"{row.key} is {row.state.value}, owes {sorted(o.value for o in row.owed)}")
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
    if row.reason in {Reason.LEASE_EXPIRED, Reason.TIMED_OUT}:
        if not used_up:
            yield book.told("EndsAsExpected", f"{row.key} is DEAD ({row.reason}) with attempts left")
        return
    last = book.of(row)[-1:]
    seen = bool(last) and last[0].epoch == row.lease_epoch and last[0].outcome in {"failure", "fatal"}
    if book.story.expect is not Expect.DIE and not used_up:
        yield book.told("EndsAsExpected", f"{row.key} is DEAD ({row.reason})")
    elif not seen:
        yield book.told("ResultHasEvidence", f"{row.key} is DEAD ({row.reason}) and its last attempt does not say so")


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


# --- cancel and pause ----------------------------------------------------------------------------------------------
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
            yield book.told("NoStartAfterCancelAck", f"{stop.key} was cancelled; is {row.state.value}, later starts: {len(late)}")


def _left_open(book: Book, change: Change) -> Iterator[Violation]:
    from_ms = change.acked_ms if change.kind is Kind.PAUSE else None
    for key, seen in change.census.items():
        open_still = seen.state in {State.WAITING, State.QUEUED, State.RETRY, State.RUNNING}
        if open_still and (from_ms is None or seen.scheduled_ms > from_ms):
            yield book.told("NoStartAfterCancelAck", f"{key} was {seen.state.value} after the {change.kind.value} was acknowledged")


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
            yield book.told("NoStartAfterCancelAck", f"{row.key} epoch {late[0].epoch} began after the {change.kind.value}")


# --- overlap -------------------------------------------------------------------------------------------------------
def overlap_policy(book: Book) -> Iterator[Violation]:
    """With `skip`, a run begins only after the one before it has ended; what a zombie still does is not its run any more."""
    if book.story.overlaps:
        return
    begun = sorted((row for row in book.rows if book.of(row)), key=lambda row: book.of(row)[0].claimed_ms)
    for one, two in pairwise(begun):
        first = book.of(two)[0]
        if one.finished_at is None or one.finished_at > first.claimed_ms:
            yield book.told("OverlapPolicy", f"{two.key} began at {first.claimed_ms}, {one.key} ended at {one.finished_at}")
        last = book.of(one)[-1]
        settled = one.state is State.SUCCEEDED or one.reason in {Reason.FAILED, Reason.FATAL}
        if settled and last.epoch == one.lease_epoch and (last.ended_ns or 0) > first.started_ns:
            yield book.told("OverlapPolicy", f"{two.key} began while the accepted attempt of {one.key} ran")


def no_false_skip(book: Book) -> Iterator[Violation]:
    """A tick is skipped for overlap only if a run was unfinished at its time, give or take what stood still meanwhile."""
    for row in book.rows:
        if row.state is not State.SKIPPED or row.passed is not None:
            continue
        if row.reason is not Reason.OVERLAP or book.story.overlaps or not any(_kept_busy(book, one, row) for one in book.rows):
            yield book.told("NoFalseSkip", f"{row.key} is SKIPPED ({row.reason}), and no run was in its way")


def _kept_busy(book: Book, one: Execution, skipped: Execution) -> bool:
    if one.state is State.SKIPPED or one.created_at > skipped.created_at:
        return False
    ended_ms = one.finished_at or skipped.scheduled_at
    stalled_ms = sum(
        max(0, min(stall.until_ms, skipped.scheduled_at) - max(stall.from_ms, ended_ms - 1_000))
        for stall in book.history.stalls
    )
    return ended_ms + 1_000 + stalled_ms >= skipped.scheduled_at


# --- the journal ---------------------------------------------------------------------------------------------------
def journal_drains(book: Book) -> Iterator[Violation]:
    """What the journal still names has ended, or was never decided."""
    head = book.history.heads.get(book.story.job_id)
    for entry in book.history.entries:
        if entry.job_id != book.story.job_id or head is None:
            continue
        row = book.history.executions.get(entry.ref)
        if row is None and not entry.is_manual and head.fired_through == Instant(entry.tick):
            yield book.told("JournalDrains", f"{entry.key} was decided and has no row")


RULES: Sequence[Callable[[Book], Iterator[Violation]]] = (
    acknowledged_is_kept,
    tick_not_lost,
    no_ghost_run,
    attempts_are_in_order,
    no_early_start,
    no_double_run,
    no_stale_result,
    ends_as_expected,
    no_start_after_ack,
    overlap_policy,
    no_false_skip,
    journal_drains,
)
