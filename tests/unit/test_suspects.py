"""Which runs are called where they take nobody along, by what is known of the attempts before."""

import pytest

from tests.support.builders import an_execution
from tickwright.domain.attempts import an_error
from tickwright.domain.ids import Epoch
from tickwright.domain.suspects import DIED_ALONE, is_suspect
from tickwright.domain.transitions import State
from tickwright_sdk import slots


@pytest.mark.sem("SEM-SDK-17")
@pytest.mark.parametrize(
    ("attempt", "before", "error_class", "suspected"),
    [
        (1, 0, None, False),
        (2, 0, None, False),  # one loss: a machine that was taken away
        (3, 0, None, True),  # two, and never a word of its own
        (4, 3, None, False),  # the first of a new generation
        (2, 0, "lease_expired", False),
        (3, 0, "lease_expired", True),
        (4, 3, "lease_expired", True),  # redriven, and what it died of is known
        (2, 0, "ChildKilled", True),  # it was alone, and is again
        (2, 0, "ChildExited", True),
        (5, 0, "DbError", False),
        (3, 0, "timed_out", False),  # its worker lived, and ended it
    ],
)
def test_who_was_lost_twice_in_a_row_and_never_said_a_word_is_suspected(
    attempt: int, before: int, error_class: str | None, *, suspected: bool
) -> None:
    """Whatever failed by itself has not ended its worker."""
    error = None if error_class is None else an_error(error_class, "as it was")
    claimed = an_execution(
        state=State.RUNNING,
        attempt=attempt,
        attempts_before=before,
        error=error,
        max_attempts=9,
        lease_epoch=Epoch(attempt),
    )

    assert is_suspect(claimed) is suspected


def test_the_words_of_the_sdk_for_a_child_that_died_are_those_of_the_product() -> None:
    """The domain imports nothing of the SDK."""
    assert {slots.KILLED, slots.EXITED} == DIED_ALONE
