"""The rights of worse days: each is granted, and has a sentence that somebody could disagree with."""

import pytest

from infra.policy.grants import GRANTS, Resource
from tests.infra.test_grants import meant
from tests.infra.worse_days import OF_WORSE_DAYS, idle, kinds_granted, without_a_reason


@pytest.mark.parametrize("function", sorted(OF_WORSE_DAYS))
def test_a_right_of_worse_days_is_one_that_is_granted(function: str) -> None:
    """A sentence about what nobody has would hide what somebody has."""
    assert set(OF_WORSE_DAYS[function]) <= kinds_granted(function)
    assert all(len(reason.split()) >= 5 and reason.endswith(".") for reason in OF_WORSE_DAYS[function].values())


@pytest.mark.parametrize("function", sorted(GRANTS))
def test_a_day_that_uses_everything_leaves_nothing_idle(function: str) -> None:
    """Each right of a template is known by the kind of its resource."""
    assert idle(function, meant(function)) == set()


def test_a_right_that_nobody_uses_and_nobody_has_a_word_for_is_found() -> None:
    """Or the authorizer's one right, on a day without callers."""
    assert without_a_reason("authorizer", set()) == {("dynamodb:GetItem", Resource.CONTROL)}
    assert ("dynamodb:ConditionCheckItem", Resource.JOBS) in without_a_reason("api", set())
