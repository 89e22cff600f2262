"""Has every change of the domain its request, and goes each to the item that it names?"""

import inspect
from types import ModuleType

import pytest

from tests.contract.aws_grid import cases_of_executions, cases_of_heads
from tickwright.adapters.dynamodb.requests.catalogue import CATALOGUE, request_of
from tickwright.domain import journal, leases, own_payloads, redrive_orders, tenants
from tickwright.domain.changes import calendars, executions, heads, moves, pools


def changes_in(module: ModuleType) -> set[type]:
    """The classes that a module defines and that can decide."""
    return {
        value
        for value in vars(module).values()
        if inspect.isclass(value) and value.__module__ == module.__name__ and hasattr(value, "decide")
    }


@pytest.mark.parametrize(
    "module",
    [executions, heads, moves, calendars, pools, journal, leases, own_payloads, redrive_orders, tenants],
    ids=lambda module: module.__name__,
)
def test_every_change_has_a_request(module: ModuleType) -> None:
    """A change that this store cannot carry out is found here, not in an installation."""
    assert changes_in(module)
    assert changes_in(module) <= CATALOGUE.keys()


def test_a_change_and_its_item_have_one_key() -> None:
    """Where a change finds an item, the item stands at the key of the change's request."""
    for old, change in (*cases_of_executions(), *cases_of_heads()):
        request = request_of(change)
        if old is not None:
            assert request.key["jobId"] == {"S": old.job_id}
        if request.put is not None:
            assert request.key.items() <= request.put.items()
