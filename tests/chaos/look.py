"""`python -m tests.chaos.look FOLDER [JOB ...]`.

Judges a kept run again, and tells the whole story of each job asked for. Without names it tells those that have
violations. Must not change anything.
"""

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.book import Violation
from tests.chaos.checker import check
from tests.chaos.history import Attempt, Change, History, Story
from tickwright.domain.executions import Execution

SAVED = "history.pickle"


def save(history: History, folder: Path) -> None:
    """Keep a history beside its store."""
    (folder / SAVED).write_bytes(pickle.dumps(history))


def load(folder: Path) -> History:
    """Read it back. Only of runs of one's own: a pickle is code."""
    history: History = pickle.loads((folder / SAVED).read_bytes())  # noqa: S301 - written by `save` on this machine
    return history


def story_lines(history: History, story: Story, violations: list[Violation]) -> Iterator[str]:
    """Changes, rows with their attempts, and what was found wrong, in the order of time."""
    yield f"=== {story.name} {story.job_id} {story.expect.value} overlaps={story.overlaps}"
    yield from (f"  ! {one.name}: {one.detail}" for one in violations if one.job == story.name)
    yield from (_change_line(change) for change in story.changes)
    yield from (f"  stop {stop.key} epoch {stop.epoch}" for stop in story.stops)
    yield f"  head {history.heads.get(story.job_id)}"
    rows = sorted((row for row in history.executions.values() if row.job_id == story.job_id), key=lambda row: row.key)
    for row in rows:
        yield _row_line(row)
        yield from (_attempt_line(one) for one in history.attempts if one.ref == row.ref)


def _change_line(change: Change) -> str:
    when = f"{change.invoked_ms}..{change.acked_ms}"
    then = f"next={change.next_ms} decided={change.decided_ms} {change.rhythm}"
    return f"  {change.kind.value} {when} v{change.version}/{change.definition_version} {change.status.value} {then}"


def _row_line(row: Execution) -> str:
    why = "" if row.reason is None else row.reason.value
    passed = "" if row.passed is None else f"[{row.passed.first}..{row.passed.last}] x{row.passed.count}"
    times = f"at={row.scheduled_at} made={row.created_at} done={row.finished_at}"
    return f"  {row.key} {row.state.value} {why} v{row.job_version} e{row.lease_epoch} a{row.attempt} {times} {passed}"


def _attempt_line(one: Attempt) -> str:
    times = f"claim={one.claimed_ms} start={one.started_ms} end={one.ended_ms}"
    return f"      e{one.epoch} a{one.attempt} {one.member} {times} {one.outcome}"


def main() -> int:
    """Tell."""
    folder, names = Path(sys.argv[1]), set(sys.argv[2:])
    history = load(folder)
    violations = check(history)
    told = names or {violation.job for violation in violations}
    for story in history.stories:
        if story.name in told:
            print("\n".join(story_lines(history, story, violations)))
    print(f"{len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
