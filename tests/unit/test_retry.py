"""Backoff and the end of trying."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import an_execution
from tickwright.domain import limits
from tickwright.domain.attempts import Failure, Fatal, GiveUp, Retry, after_failure, an_error, fingerprint
from tickwright.domain.executions import Reason
from tickwright.domain.instants import Instant
from tickwright.domain.retry import Jitter, RetryPolicy
from tickwright.domain.transitions import State

_NOW = Instant(1_000_000)
_FRACTIONS = st.floats(min_value=0, max_value=1, exclude_max=True)
_A_POLICY = RetryPolicy(max_attempts=3, initial_s=10, factor=2, backoff_s_max=60)


@pytest.mark.sem("SEM-RETRY-2")
@given(attempt=st.integers(1, limits.ATTEMPTS_MAX), fraction=_FRACTIONS)
def test_a_backoff_doubles_up_to_its_cap_and_is_drawn_from_all_of_it(attempt: int, fraction: float) -> None:
    """Full jitter: from zero to the whole, so that a herd of failures does not come back as one."""
    whole_ms = min(10_000 * 2 ** (attempt - 1), 60_000)

    drawn_ms = _A_POLICY.backoff_ms(attempt=attempt, fraction=fraction)

    assert drawn_ms == round(whole_ms * fraction)


@pytest.mark.sem("SEM-RETRY-2")
def test_a_huge_factor_reaches_the_cap_and_not_infinity() -> None:
    """A hundred attempts with a factor of a hundred would overflow a float."""
    policy = RetryPolicy(max_attempts=100, initial_s=1, factor=100, backoff_s_max=3_600, jitter=Jitter.NONE)

    assert policy.backoff_ms(attempt=100, fraction=0.5) == 3_600_000


@pytest.mark.sem("SEM-RETRY-2", "SEM-REDRIVE-1")
def test_the_backoff_after_a_redrive_begins_anew() -> None:
    """What went wrong was mended: the first failure of the new generation waits as long as the first of all did."""
    policy = RetryPolicy(initial_s=10, factor=2, jitter=Jitter.NONE)
    redriven = an_execution(
        state=State.RUNNING, attempt=4, attempts_before=3, max_attempts=6, lease_epoch=5, generation=2
    )

    result = after_failure(Failure(error=an_error("Boom", "m")), redriven, policy, now=_NOW, fraction=0.5)

    assert isinstance(result, Retry)
    assert result.at == _NOW + 10_000


@pytest.mark.sem("SEM-RETRY-1")
@pytest.mark.parametrize(
    ("policy", "attempt", "retries"),
    [
        (RetryPolicy(max_attempts=3), 2, True),
        (RetryPolicy(max_attempts=3), 3, False),
        (RetryPolicy(retry_on=("Http503",)), 1, False),
        (RetryPolicy(retry_on=("Boom",)), 1, True),
        (RetryPolicy(give_up_on=("Boom",)), 1, False),
        (RetryPolicy(retry_on=("Boom",), give_up_on=("Boom",)), 1, False),
    ],
)
def test_a_failure_is_tried_again_as_its_policy_says(policy: RetryPolicy, attempt: int, *, retries: bool) -> None:
    """Attempts left, a class that is to be retried, and none that is to be given up on."""
    failing = an_execution(state=State.RUNNING, attempt=attempt, lease_epoch=attempt, max_attempts=policy.max_attempts)

    result = after_failure(Failure(error=an_error("Boom", "m")), failing, policy, now=_NOW, fraction=0.5)

    assert isinstance(result, Retry) is retries


@pytest.mark.sem("SEM-RETRY-1")
def test_a_fatal_failure_is_the_end() -> None:
    """Whatever attempts are left."""
    running = an_execution(state=State.RUNNING, attempt=1, lease_epoch=1)

    result = after_failure(Fatal(error=an_error("Boom", "m")), running, _A_POLICY, now=_NOW, fraction=0.5)

    assert isinstance(result, GiveUp)
    assert result.reason is Reason.FATAL


@pytest.mark.sem("SEM-RETRY-2")
def test_what_a_server_asks_to_wait_is_a_minimum() -> None:
    """Retry-After lengthens a backoff and never shortens it."""
    running = an_execution(state=State.RUNNING, attempt=1, lease_epoch=1)
    asked = Failure(error=an_error("Http429", "m"), after_s=120)

    result = after_failure(asked, running, _A_POLICY, now=_NOW, fraction=0.5)

    assert isinstance(result, Retry)
    assert result.at == _NOW + 120_000


@pytest.mark.sem("SEM-RETRY-1")
def test_a_retry_after_the_runs_deadline_is_the_end() -> None:
    """It could only expire."""
    running = an_execution(state=State.RUNNING, attempt=1, lease_epoch=1, run_deadline_at=Instant(_NOW + 1_000))

    result = after_failure(Failure(error=an_error("Boom", "m")), running, _A_POLICY, now=_NOW, fraction=0.5)

    assert isinstance(result, GiveUp)
    assert result.reason is Reason.EXPIRED


def test_errors_that_differ_in_numbers_alone_have_one_fingerprint() -> None:
    """Ids and times differ where the fault is the same."""
    assert fingerprint("Boom", "row 17 of 93") == fingerprint("Boom", "row 44 of 12")
    assert fingerprint("Boom", "row 17") != fingerprint("Bang", "row 17")


def test_an_error_is_kept_within_bounds_and_as_text() -> None:
    """A megabyte of message, and a byte that is no Unicode."""
    error = an_error("X" * 1_000, "\udcff" + "m" * 1_000_000, "t" * 1_000_000 + "\udcff")

    assert len(error.message) == limits.ERROR_MESSAGE_CHARS_MAX
    assert len(error.trace) == limits.ERROR_TRACE_CHARS_MAX
    assert error.trace.encode()
