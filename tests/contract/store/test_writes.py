"""Is every conditional write carried out as the domain decides it, alone, in a batch and in a transaction?

All cases go into one store, each moved to ids of its own: a batch and a transaction hold writes of every kind.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.contract.store.cases import OF_EXECUTIONS
from tests.contract.store.cases_of_jobs import OF_HEADS, OF_OTHERS, bring, stored_like
from tests.contract.store.cases_of_pools import OF_POOLS
from tests.contract.store.cases_of_redrives import OF_REDRIVES
from tests.contract.store.moving import moved
from tickwright.ports.store import Applied, Refused, Store

EVERY_CASE = (*OF_EXECUTIONS, *OF_HEADS, *OF_OTHERS, *OF_POOLS, *OF_REDRIVES)
CASES = tuple(moved(case, number) for number, case in enumerate(EVERY_CASE))
# Each item that refuses a case's change, beside the change; a third of these do not fit into one transaction.
REFUSALS = tuple(
    (f"{case.name} {number}", moved(case.change, number), moved(old, number))
    for number, (case, old) in enumerate(((case, old) for case in EVERY_CASE for old in case.refuses), start=len(CASES))
)
WAYS = ("write", "write_each", "write_together")
TRANSACTION = 50


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """Each way to write."""
    return str(request.param)


@pytest.mark.sem("SEM-STORE-1", "SEM-STORE-2", "SEM-STORE-3")
async def test_an_accepted_write_is_applied(store: Store, way: str) -> None:
    """The answer holds the item as the domain decides it, and the store holds the same."""
    await _bring(store, [case.accepts for case in CASES])
    news = {case.name: case.change.decide(case.accepts) for case in CASES}

    outcomes = await _carried_out(store, way, {case.name: case.change for case in CASES})

    assert outcomes == {name: Applied(new) for name, new in news.items()}
    assert {name: await stored_like(store, new) for name, new in news.items()} == news


@pytest.mark.sem("SEM-STORE-1", "SEM-FENCE-1")
async def test_a_refused_write_answers_with_the_item_that_refused_it(store: Store, way: str) -> None:
    """One epoch, one version or one millisecond off: the item comes back, and stays as it is."""
    await _bring(store, [old for _, _, old in REFUSALS])

    outcomes = await _carried_out(store, way, {name: change for name, change, _ in REFUSALS})

    assert outcomes == {name: Refused(old) for name, _, old in REFUSALS}
    assert [await stored_like(store, old) for _, _, old in REFUSALS] == [old for _, _, old in REFUSALS]


@pytest.mark.sem("SEM-STORE-1")
async def test_a_write_of_an_item_that_is_absent_puts_nothing(store: Store, way: str) -> None:
    """Refused by nothing: there is no item to give back, and none comes into being."""
    cases = [case for case in CASES if case.change.decide(None) is None]

    outcomes = await _carried_out(store, way, {case.name: case.change for case in cases})

    assert cases
    assert outcomes == {case.name: Refused(None) for case in cases}
    assert [await stored_like(store, case.accepts) for case in cases] == [None] * len(cases)


@pytest.mark.sem("SEM-STORE-5")
@pytest.mark.parametrize("again", [True, False])
async def test_a_write_that_is_seen_twice_is_recognised_as_ones_own(store: Store, way: str, *, again: bool) -> None:
    """After a lost reply the same write is tried again: it has won, unless the protocol says to judge by the item."""
    cases = [case for case in CASES if case.again is again]
    changes = {case.name: case.change for case in cases}
    news = {case.name: case.change.decide(case.accepts) for case in cases}
    await _bring(store, [case.accepts for case in cases])
    await _carried_out(store, way, changes)

    outcomes = await _carried_out(store, way, changes)

    assert cases
    assert outcomes == {name: (Applied if again else Refused)(new) for name, new in news.items()}
    assert {name: await stored_like(store, new) for name, new in news.items()} == news


async def _bring(store: Store, items: Sequence[Any]) -> None:
    for item in items:
        if item is not None:
            await bring(store, item)


async def _carried_out(store: Store, way: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Each change's outcome by its name: one by one, in one batch, or in as few transactions as hold them all."""
    names, all_changes = list(changes), list(changes.values())
    if way == "write":
        outcomes = [await store.write(change) for change in all_changes]
    elif way == "write_each":
        outcomes = list(await store.write_each(all_changes))  # type: ignore[arg-type]
    else:
        outcomes = []
        for at in range(0, len(all_changes), TRANSACTION):
            outcomes += await store.write_together(all_changes[at : at + TRANSACTION])
    return dict(zip(names, outcomes, strict=True))
