"""Which epochs an installation hands out, and how the one after it stays above them."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import TICK, WORKER, a_ref, an_execution, an_id
from tickwright.domain import limits
from tickwright.domain.attempts import NotRun, after_giving_back
from tickwright.domain.changes.executions import Claim
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.executions import Execution
from tickwright.domain.hidden import known_since
from tickwright.domain.ids import Epoch
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State
from tickwright_sdk.fences import EPOCHS_MAX

NOW = Instant(TICK + 1_000_000)
SECOND = Era(base=FIRST_ERA.highest)
CLAIM = Claim(
    ref=a_ref(), worker=WORKER, token=an_id(7), now=NOW, lease_ms=60_000, timeout_ms=300_000, clock_error_ms=1_000
)


def claimed(old: Execution, era: Era) -> Execution | None:
    """What comes of a claim in an era, whichever of its two forms fits."""
    claim = replace(CLAIM, era=era)
    return claim.decide(old) or replace(claim, is_below=True).decide(old)


@pytest.mark.sem("SEM-EPOCH-1")
@given(st.integers(0, limits.EPOCHS_AN_ERA), st.integers(0, limits.EPOCHS_AN_ERA))
def test_the_epochs_of_an_era_lie_above_all_that_the_one_before_could_hand_out(restored: int, known: int) -> None:
    """Whatever epoch the restored row is at, and whatever later one was handed out after the copy."""
    handed_out = max(restored, known)

    new = claimed(an_execution(lease_epoch=restored, attempt=0), SECOND)

    assert new is not None
    assert new.lease_epoch == SECOND.base + 1 > handed_out


@pytest.mark.sem("SEM-EPOCH-1")
@given(st.lists(st.integers(0, 5), min_size=1, max_size=5))
def test_epochs_rise_through_any_number_of_recoveries(claims: list[int]) -> None:
    """Each installation is restored from the very beginning of the one before, and hands out none of its epochs."""
    seen: list[int] = [0]
    for number, times in enumerate(claims):
        era, row = Era(base=Epoch(number * limits.EPOCHS_AN_ERA)), an_execution(max_attempts=100)
        for _ in range(times):
            new = claimed(row, era)
            assert new is not None
            seen.append(new.lease_epoch)
            row = replace(an_execution(max_attempts=100), lease_epoch=new.lease_epoch)

    assert all(earlier < later for earlier, later in pairwise(seen))


@pytest.mark.sem("SEM-EPOCH-1")
def test_exactly_one_form_of_a_claim_fits() -> None:
    """An execution is of this era or of one before: whoever guesses wrong is refused, and tries the other."""
    for epoch in (0, 1, SECOND.base - 1, SECOND.base, SECOND.base + 1, SECOND.highest - 1):
        row, claim = an_execution(lease_epoch=epoch, attempt=0), replace(CLAIM, era=SECOND)

        forms = [claim.decide(row), replace(claim, is_below=True).decide(row)]

        assert sum(new is not None for new in forms) == 1, epoch


@pytest.mark.sem("SEM-EPOCH-2")
@pytest.mark.parametrize("state", [State.QUEUED, State.RETRY, State.RUNNING])
def test_an_era_ends_where_the_next_begins(state: State) -> None:
    """The last epoch of an era is handed out, and none after it, from whatever state."""
    last_but_one = an_execution(state=state, lease_epoch=SECOND.highest - 1, attempt=1)
    used_up = replace(last_but_one, lease_epoch=SECOND.highest)

    new = claimed(last_but_one, SECOND)

    assert new is not None
    assert new.lease_epoch == SECOND.highest
    assert claimed(used_up, SECOND) is None
    assert claimed(used_up, Era(base=SECOND.highest)) is not None


def test_without_a_base_a_claim_is_what_it_always_was() -> None:
    """Epochs count from 1."""
    row = claimed(an_execution(), FIRST_ERA)

    assert row is not None
    assert row.lease_epoch == 1
    assert replace(CLAIM, is_below=True).decide(an_execution()) is None


def test_the_last_era_fits_the_fence_of_a_job() -> None:
    """The SDK leaves room for a million epochs beside a tick."""
    assert Era(base=Epoch(limits.EPOCH_BASE_MAX)).highest < EPOCHS_MAX
    with pytest.raises(AssertionError):
        Era(base=Epoch(limits.EPOCH_BASE_MAX + 1))


def test_the_jump_to_a_base_counts_as_no_giving_back() -> None:
    """A run that is given back for the first time here is tried again at once; from then on pauses grow as ever."""
    first = an_execution(state=State.RUNNING, lease_epoch=SECOND.base + 1, attempt=1)
    third = replace(first, lease_epoch=Epoch(SECOND.base + 3))

    assert after_giving_back(NotRun(), first, now=NOW, era=SECOND) == NOW
    assert after_giving_back(NotRun(), third, now=NOW, era=SECOND) == NOW + 2_000


def test_a_first_claim_above_a_base_is_taken_for_one_of_any_age() -> None:
    """It may have been claimed before the base was raised: what its job hides since is looked for."""
    fresh = an_execution(state=State.RUNNING, lease_epoch=1, attempt=1)

    assert known_since(fresh) == min(fresh.created_at, fresh.scheduled_at)
    assert known_since(replace(fresh, lease_epoch=Epoch(SECOND.base + 1))) == 0
