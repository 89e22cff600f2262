"""One job with all that is known of it: what its rules are judged by.

Must not judge.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from tests.chaos.expected import Expected, expected_of
from tests.chaos.history import Attempt, Change, History, Kind, Story
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef

PATIENCE_MS = 5_000  # of one scheduler at work: it takes all buckets over in a third of this
_LEASES = 5  # or of this many bucket leases, where they are long: it takes three of them


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


def books_of(history: History) -> list[Book]:
    """A book for each job that was acknowledged."""
    rows: dict[str, list[Execution]] = defaultdict(list)
    for row in history.executions.values():
        rows[row.job_id].append(row)
    books = {
        story.job_id: Book(
            history=history,
            story=story,
            expected=expected_of(story, in_time=lambda since, until: in_time(history, since, until)),
            rows=sorted(rows[story.job_id], key=lambda row: row.key),
        )
        for story in history.stories
    }
    for attempt in sorted(history.attempts, key=lambda one: (one.epoch, one.started_ns)):
        if attempt.ref.job_id in books:
            books[attempt.ref.job_id].attempts[attempt.ref].append(attempt)
    return list(books.values())


def in_time(history: History, since_ms: int, until_ms: int) -> bool:
    """Whether there was time between two instants for one scheduler to decide a tick."""
    # It is seen once the index shows where the decision before it has left the head, which an index showed late too.
    patience_ms = max(PATIENCE_MS, _LEASES * history.durations.bucket_lease_ms) + 2 * history.lag_ms
    return attended_ms(history, since_ms, until_ms) >= patience_ms


def attended_ms(history: History, since_ms: int, until_ms: int) -> int:
    """The longest time between two instants in which one and the same scheduler was able to work on every bucket."""
    longest_ms = 0
    for presence in history.presences:
        from_ms, to_ms = max(presence.from_ms, since_ms), min(presence.until_ms, until_ms)
        stalls = [
            stall
            for stall in history.stalls
            if (stall.hits(presence.member) or stall.holds_on) and stall.until_ms > from_ms
        ]
        for stall in sorted(stalls, key=lambda stall: stall.from_ms):
            longest_ms = max(longest_ms, min(stall.from_ms, to_ms) - from_ms)
            from_ms = max(from_ms, stall.until_ms)
        longest_ms = max(longest_ms, to_ms - from_ms)
    return longest_ms
