"""Names: an execution's id is its job and key, and comes apart again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import an_id
from tickwright.domain.ids import (
    ExecutionRef,
    JobId,
    is_manual,
    manual_key,
    missed_key,
    parse_execution_id,
    tick_key,
    time_of,
)
from tickwright.domain.instants import Instant

_INSTANTS = st.integers(min_value=0, max_value=253_402_300_799_999).map(Instant)
_JOB_IDS = st.integers(min_value=0, max_value=10**12).map(an_id).map(JobId)


@pytest.mark.sem("SEM-EXEC-1")
@given(_JOB_IDS, _INSTANTS)
def test_an_id_names_its_execution_and_no_other(job_id: JobId, at: Instant) -> None:
    """Whoever computes it from job and tick gets the same, and it leads back."""
    for key in (tick_key(at), manual_key(at, an_id(7)), missed_key(at)):
        ref = ExecutionRef(job_id, key)

        assert parse_execution_id(ref.id) == ref
        assert time_of(key) == at
        assert "#" not in ref.id


@pytest.mark.sem("SEM-EXEC-1")
@given(_INSTANTS, _INSTANTS)
def test_keys_sort_as_their_times_do(one: Instant, other: Instant) -> None:
    """So one query lists a job's ledger in order, manual runs in between."""
    keys = sorted([manual_key(one, an_id(1)), tick_key(other)])

    assert [time_of(key) for key in keys] == sorted([one, other])


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        an_id(),
        f"{an_id()}.",
        f"{an_id()}.20260101T000000000",
        f"{an_id()}.20260101T000000000Z#missed",
        f"{an_id()}.20260101T000000000Z~X~{an_id()}",
        f"{an_id()}.20260101T000000000Z.",
        f"{'A' * 26}.20260101T000000000Z",
        f"{an_id()}\n.20260101T000000000Z",
        f"{an_id()}.20260101T000000000Z\n",
    ],
)
def test_what_is_no_id_names_nothing(text: str) -> None:
    """It is not found, rather than looked for."""
    assert parse_execution_id(text) is None


def test_only_a_request_makes_a_manual_key() -> None:
    """A journal entry is judged by it."""
    at = Instant(0)

    assert is_manual(manual_key(at, an_id()))
    assert not is_manual(tick_key(at))
    assert not is_manual(missed_key(at))
