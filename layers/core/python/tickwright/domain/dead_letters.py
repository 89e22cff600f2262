"""Which dead executions somebody means, and which of them died of one cause.

Must not know a store nor a list's order. A dead execution stands on the attention list until it is redriven or
discarded; only what stands there is found here. Promise: SEM-DLQ-1.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tickwright.domain.executions import ErrorSummary, Execution, Reason
from tickwright.domain.ids import ExecutionRef, JobId
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State

SAMPLE_MAX = 5  # a person looks at a few, and asks for the list where these are not enough
GROUP_JOBS_MAX = 10


def stands(execution: Execution) -> bool:
    """Whether it is on the attention list: dead, and neither redriven nor discarded."""
    return execution.state is State.DEAD and execution.failed_at is not None


def error_of_death(execution: Execution) -> ErrorSummary | None:
    """The error that it died of. Where its pool was deleted, whatever error it has is of an attempt before."""
    return None if execution.reason is Reason.POOL_DELETED else execution.error


def fingerprint_of(execution: Execution) -> str:
    """What it is grouped by: the fingerprint of the error that it died of, or, where there is none, the reason."""
    error = error_of_death(execution)
    if error is not None and error.fingerprint:
        return error.fingerprint
    return "" if execution.reason is None else execution.reason.value


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Which of a tenant's dead executions; what is None does not matter. Both instants belong to the range."""

    job_id: JobId | None = None
    fingerprint: str | None = None
    error_class: str | None = None
    reason: Reason | None = None
    since: Instant | None = None
    until: Instant | None = None

    def matches(self, execution: Execution) -> bool:
        """Whether it stands on the list and is meant."""
        error = error_of_death(execution)
        error_class = None if error is None else error.error_class
        return (
            stands(execution)
            and self._in_range(execution.failed_at)
            and self.job_id in {None, execution.job_id}
            and self.fingerprint in {None, fingerprint_of(execution)}
            and self.error_class in {None, error_class}
            and self.reason in {None, execution.reason}
        )

    def _in_range(self, died_at: Instant | None) -> bool:
        assert died_at is not None
        after = self.since is None or self.since <= died_at
        return after and (self.until is None or died_at <= self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroup:
    """Dead executions of one fingerprint; reason, class and message are those of the one that died last."""

    fingerprint: str
    reason: Reason | None
    error_class: str | None
    message: str | None
    count: int
    jobs: int
    some_jobs: tuple[JobId, ...]
    first_died_at: Instant
    last_died_at: Instant
    sample: tuple[ExecutionRef, ...]  # the newest


def grouped(letters: Iterable[Execution]) -> tuple[DeadGroup, ...]:
    """All that stand on the list, by fingerprint: the biggest group first, of equal ones the one that grew last."""
    found: dict[str, list[Execution]] = {}
    for letter in letters:
        found.setdefault(fingerprint_of(letter), []).append(letter)
    groups = [_group(fingerprint, of_it) for fingerprint, of_it in found.items()]
    return tuple(sorted(groups, key=lambda group: (-group.count, -group.last_died_at, group.fingerprint)))


def _group(fingerprint: str, letters: list[Execution]) -> DeadGroup:
    newest = sorted(letters, key=lambda letter: (letter.failed_at or 0, letter.ref), reverse=True)
    jobs = list(dict.fromkeys(letter.job_id for letter in newest))
    first, last = newest[-1].failed_at, newest[0].failed_at
    assert first is not None
    assert last is not None
    told = DeadGroup(
        fingerprint=fingerprint,
        reason=newest[0].reason,
        error_class=None,
        message=None,
        count=len(newest),
        jobs=len(jobs),
        some_jobs=tuple(jobs[:GROUP_JOBS_MAX]),
        first_died_at=first,
        last_died_at=last,
        sample=tuple(letter.ref for letter in newest[:SAMPLE_MAX]),
    )
    return told_by(told, newest[0])


def told_by(group: DeadGroup, letter: Execution) -> DeadGroup:
    """The group with the error of one of its own."""
    error = error_of_death(letter)
    if error is None:
        return group
    return replace(group, error_class=error.error_class, message=error.message)
