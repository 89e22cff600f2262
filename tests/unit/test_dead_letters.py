"""Which dead executions are grouped together, and what a group says."""

from typing import Any

import pytest

from tests.support.builders import TICK, a_job_id, an_execution
from tickwright.domain.attempts import an_error
from tickwright.domain.dead_letters import GROUP_JOBS_MAX, SAMPLE_MAX, DeadFilter, fingerprint_of, grouped, stands
from tickwright.domain.executions import Discarded, Execution, Reason
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State


def a_dead(number: int, message: str = "no such row 17", **shown: Any) -> Execution:  # noqa: ANN401 - any field
    """One of a job of its own, that died so many milliseconds after TICK."""
    given: dict[str, Any] = {
        "state": State.DEAD,
        "job_id": a_job_id(number),
        "failed_at": Instant(TICK + number),
        "error": an_error("DbError", message),
    }
    return an_execution(**(given | shown))


@pytest.mark.sem("SEM-DLQ-1")
def test_errors_that_differ_in_their_numbers_are_one_group() -> None:
    """The biggest first; each with its first and last death and the newest of its executions."""
    rows = [a_dead(number, f"no such row {number}") for number in range(3)]
    others = [a_dead(7, "gone away"), a_dead(8, "gone away")]

    big, small = grouped([*others, *rows])

    assert (big.count, big.jobs, big.first_died_at, big.last_died_at) == (3, 3, TICK, TICK + 2)
    assert (small.count, small.message) == (2, "gone away")
    assert big.sample == tuple(row.ref for row in reversed(rows))
    assert big.message == "no such row 2"


@pytest.mark.sem("SEM-DLQ-1")
def test_what_died_without_an_error_is_grouped_by_its_reason() -> None:
    """A run that expired before it could start has no error to go by."""
    rows = [a_dead(number, error=None, reason=Reason.EXPIRED) for number in range(2)]

    (group,) = grouped(rows)

    assert (group.fingerprint, group.error_class, group.count) == ("expired", None, 2)
    assert fingerprint_of(rows[0]) == "expired"


@pytest.mark.sem("SEM-DLQ-1")
def test_what_a_deleted_pool_has_ended_is_one_group_whatever_was_tried_before() -> None:
    """The error that some of them have is of an attempt before, and is not what they died of."""
    tried = a_dead(0, reason=Reason.POOL_DELETED)
    never_tried = a_dead(1, error=None, reason=Reason.POOL_DELETED)
    failed = a_dead(2, reason=Reason.FAILED)

    ended, broken = grouped([tried, never_tried, failed])

    assert (ended.fingerprint, ended.reason, ended.count) == ("pool_deleted", Reason.POOL_DELETED, 2)
    assert (ended.error_class, ended.message) == (None, None)
    assert (broken.reason, broken.error_class, broken.count) == (Reason.FAILED, "DbError", 1)
    assert not DeadFilter(error_class="DbError").matches(tried)
    assert DeadFilter(reason=Reason.POOL_DELETED).matches(tried)


@pytest.mark.sem("SEM-DLQ-1")
def test_a_group_shows_a_few_of_many() -> None:
    """Of one job with many deaths that job once; and never more than somebody looks at."""
    of_one = [a_dead(0, key=f"2026120{day}T000000000Z", failed_at=Instant(TICK + day)) for day in range(1, 9)]
    of_many = [a_dead(number, "other") for number in range(GROUP_JOBS_MAX + 5)]

    many, one = grouped([*of_one, *of_many])

    assert (one.jobs, one.some_jobs, len(one.sample)) == (1, (a_job_id(0),), SAMPLE_MAX)
    assert (many.jobs, len(many.some_jobs), len(many.sample)) == (GROUP_JOBS_MAX + 5, GROUP_JOBS_MAX, SAMPLE_MAX)
    assert grouped([]) == ()


@pytest.mark.sem("SEM-DLQ-3")
def test_only_what_is_dead_and_not_discarded_stands_on_the_list() -> None:
    """One that was redriven is dead no more."""
    gone = a_dead(0, failed_at=None, discarded=Discarded(at=TICK, reason="no"))

    assert [stands(one) for one in (a_dead(0), gone, an_execution(state=State.QUEUED))] == [True, False, False]
