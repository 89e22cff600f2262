"""Is every conditional write carried out as the domain decides it, alone, in a batch and in a transaction?"""

from typing import Any

import pytest

from tests.contract.store.cases import OF_EXECUTIONS, Case
from tests.contract.store.cases_of_jobs import OF_HEADS, OF_OTHERS, bring, stored_like
from tickwright.ports.store import Applied, Refused, Store

CASES = (*OF_EXECUTIONS, *OF_HEADS, *OF_OTHERS)
REFUSALS = [
    pytest.param(case, old, id=f"{case.name}-{number}") for case in CASES for number, old in enumerate(case.refuses)
]
OF_ITEMS = [case for case in CASES if case.accepts is not None]
WAYS = ("write", "write_each", "write_together")


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    """Each write of the protocol."""
    accepted: Case = request.param
    return accepted


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """Each way to write."""
    return str(request.param)


@pytest.mark.sem("SEM-STORE-1")
async def test_an_accepted_write_is_applied(store: Store, case: Case, way: str) -> None:
    """The answer holds the item as the domain decides it, and the store holds the same."""
    await _bring(store, case.accepts)
    new = case.change.decide(case.accepts)

    outcome = await _carried_out(store, way, case)

    assert outcome == Applied(new)
    assert await stored_like(store, new) == new


@pytest.mark.sem("SEM-STORE-1", "SEM-FENCE-1")
@pytest.mark.parametrize(("case", "old"), REFUSALS)
async def test_a_refused_write_answers_with_the_item_that_refused_it(
    store: Store,
    case: Case,
    old: Any,  # noqa: ANN401 - items of any kind
    way: str,
) -> None:
    """One epoch, one version or one millisecond off: the item comes back, and stays as it is."""
    await _bring(store, old)

    outcome = await _carried_out(store, way, case)

    assert outcome == Refused(old)
    assert await stored_like(store, old) == old


@pytest.mark.sem("SEM-STORE-1")
@pytest.mark.parametrize("case", OF_ITEMS, ids=lambda case: case.name)
async def test_a_write_of_an_item_that_is_absent_puts_nothing(store: Store, case: Case, way: str) -> None:
    """Refused by nothing: there is no item to give back, and none comes into being."""
    expected = case.change.decide(None)

    outcome = await _carried_out(store, way, case)

    assert outcome == (Refused(None) if expected is None else Applied(expected))
    assert await stored_like(store, case.accepts) == expected


@pytest.mark.sem("SEM-STORE-5")
async def test_a_write_that_is_seen_twice_is_recognised_as_ones_own(store: Store, case: Case, way: str) -> None:
    """After a lost reply the same write is tried again: it has won, unless the protocol says to judge by the item."""
    await _bring(store, case.accepts)
    new = case.change.decide(case.accepts)
    await _carried_out(store, way, case)

    outcome = await _carried_out(store, way, case)

    assert outcome == (Applied(new) if case.again else Refused(new))
    assert await stored_like(store, new) == new


async def _bring(store: Store, item: Any) -> None:  # noqa: ANN401 - items of any kind
    if item is not None:
        await bring(store, item)


async def _carried_out(store: Store, way: str, case: Case) -> Any:  # noqa: ANN401 - items of any kind
    if way == "write":
        return await store.write(case.change)
    (outcome,) = await getattr(store, way)([case.change])
    return outcome
