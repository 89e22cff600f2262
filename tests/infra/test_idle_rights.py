"""Is a right that nobody uses found?"""

import pytest

from infra.policy.grants import GRANTS, Resource
from tests.infra.idle_rights import idle, idle_in_control
from tests.infra.test_grants import meant


@pytest.mark.parametrize("function", sorted(GRANTS))
def test_a_day_that_uses_everything_leaves_nothing_idle(function: str) -> None:
    """Each right of a template is known by the kind of its resource."""
    assert idle(function, meant(function)) == set()


def test_a_right_that_nobody_uses_is_found() -> None:
    """The authorizer's one right, on a day without callers; and one of the API's, in a part of the control table."""
    assert idle("authorizer", set()) == {("dynamodb:GetItem", Resource.CONTROL)}
    assert ("dynamodb:ConditionCheckItem", Resource.JOBS) in idle("api", set())
    used = {("dynamodb:PutItem", "LOG#x"), ("dynamodb:GetItem", "TENANT#acme"), ("dynamodb:GetItem", "BUCKET#0")}
    assert idle_in_control("worker", used) == {("dynamodb:GetItem", "PAYLOAD#")}
