"""Is each literal write what the domain says it means: the same outcome and item, for every state and boundary?"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.contract.aws_grid import cases_of_executions, cases_of_heads
from tests.contract.aws_stores import Ground, ground
from tests.contract.aws_strategies import changes_of_executions
from tests.contract.aws_strategies_jobs import (
    calendar_changes,
    definition_changes,
    head_changes,
    idempotency_changes,
    lease_changes,
    name_changes,
    pool_changes,
    rotation_changes,
    seat_changes,
)
from tests.support.emulators import Emulator
from tickwright.adapters.dynamodb.items import control, executions, jobs
from tickwright.adapters.dynamodb.requests.catalogue import request_of
from tickwright.adapters.dynamodb.store import DynamoDbStore
from tickwright.adapters.dynamodb.tables import Table
from tickwright.adapters.dynamodb.wire import Item
from tickwright.domain.executions import Execution
from tickwright.domain.jobs import Definition, Head
from tickwright.domain.leases import BucketLease
from tickwright.domain.pools import Pool
from tickwright.domain.schedules import Calendar
from tickwright.domain.seats import Seat
from tickwright.domain.tenants import IdempotencyRecord, NameRecord
from tickwright.domain.webhooks import Rotation
from tickwright.ports.store import Applied, Refused

TO_ITEM: dict[type, Any] = {
    Execution: executions.to_item,
    Head: jobs.head_to_item,
    Definition: jobs.definition_to_item,
    BucketLease: control.lease_to_item,
    IdempotencyRecord: control.idempotency_to_item,
    NameRecord: control.name_to_item,
    Rotation: control.rotation_to_item,
    Pool: control.pool_to_item,
    Seat: control.seat_to_item,
    Calendar: control.calendar_to_item,
}
CASES = st.one_of(
    changes_of_executions,
    changes_of_executions,
    head_changes(),
    head_changes(),
    definition_changes(),
    lease_changes(),
    idempotency_changes() | name_changes() | rotation_changes() | calendar_changes() | pool_changes() | seat_changes(),
)
Case = tuple[Any, Any]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def here(dynamodb_local: Emulator) -> Iterator[Ground]:
    """One set of tables for all examples: each draws ids of its own."""
    with ground(dynamodb_local.endpoint) as made:
        yield made


@pytest.fixture(scope="module")
def there(ministack: Emulator) -> Iterator[Ground]:
    """The same on the second engine."""
    with ground(ministack.endpoint) as made:
        yield made


def many(examples: int) -> settings:
    """So many lists of cases. The fixtures are shared on purpose; a failure names its change, so nothing is shrunk."""
    return settings(
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


LISTS = st.lists(CASES, min_size=20, max_size=40, unique_by=lambda case: str(request_of(case[1]).key))
PAIRS = st.lists(CASES, min_size=1, max_size=3, unique_by=lambda case: str(request_of(case[1]).key))
_NO_ATTEMPTS = ("attemptsBefore", {"N": "0"})
GRID = [*cases_of_executions(), *cases_of_heads()]


@pytest.mark.parametrize("partiql", [False, True], ids=["single", "batched"])
def test_every_boundary_means_what_the_domain_decides(here: Ground, partiql: bool) -> None:  # noqa: FBT001
    """On DynamoDB's own engine: some three thousand combinations, each missing by one thing at most."""
    store = here.store(partiql=partiql)
    rounds: dict[str, list[Case]] = defaultdict(list)
    for case in GRID:
        rounds[str(request_of(case[1]).key)].append(case)

    assert len(GRID) > 2_500
    # One item is written once a round: the n-th case of each item together.
    for several in zip_longest(*rounds.values()):
        cases = [case for case in several if case is not None]
        for start in range(0, len(cases), 100):
            _hold(here, store, cases[start : start + 100])
    store.close()


@many(8)
@given(LISTS)
def test_single_writes_mean_what_the_domain_decides(here: Ground, cases: list[Case]) -> None:
    """On DynamoDB's own engine, each as UpdateItem or PutItem."""
    _hold(here, here.store(partiql=False), cases)


@many(8)
@given(LISTS)
def test_batched_statements_mean_what_the_domain_decides(here: Ground, cases: list[Case]) -> None:
    """On DynamoDB's own engine, as statements of BatchExecuteStatement."""
    _hold(here, here.store(partiql=True), cases)


@many(60)
@given(PAIRS)
def test_transactions_mean_what_the_domain_decides(here: Ground, cases: list[Case]) -> None:
    """On DynamoDB's own engine: all where each would be applied, else none."""
    store = here.store()
    _put_old(here, cases)

    outcomes = asyncio.run(store.write_together([change for _, change in cases]))

    news = [change.decide(old) for old, change in cases]
    if None not in news:
        assert list(outcomes) == [Applied(new) for new in news]
    elif all(_has_been(old, change) for old, change in cases):
        assert list(outcomes) == [Applied(old) for old, _ in cases]
    else:
        assert any(isinstance(outcome, Refused) for outcome in outcomes)
        assert _stored(here, cases) == {str(request_of(change).key): _item(old) for old, change in cases}
    store.close()


@many(8)
@given(LISTS)
def test_single_writes_mean_the_same_on_ministack(there: Ground, cases: list[Case]) -> None:
    """On an engine written by others."""
    _hold(there, there.store(partiql=False), cases)


@many(8)
@given(LISTS)
def test_batched_statements_mean_the_same_on_ministack(there: Ground, cases: list[Case]) -> None:
    """On an engine written by others."""
    _hold(there, there.store(partiql=True), cases)


def _hold(where: Ground, store: DynamoDbStore, cases: list[Case]) -> None:
    _put_old(where, cases)

    outcomes = asyncio.run(store.write_each([change for _, change in cases]))

    stored = _stored(where, cases)
    for (old, change), outcome in zip(cases, outcomes, strict=True):
        new = change.decide(old)
        expected = Applied(new) if new is not None else _refused(old, change)
        assert outcome == expected, change
        assert _short(stored[str(request_of(change).key)]) == _item(new if new is not None else old), change


def _refused(old: Any, change: Any) -> Applied[Any] | Refused[Any]:  # noqa: ANN401 - items of any kind
    return Applied(old) if old is not None and change.mine(old) else Refused(old)


def _has_been(old: Any, change: Any) -> bool:  # noqa: ANN401 - items of any kind
    new = change.decide(old)
    return old is not None and (change.mine(old) if new is None else new == old)


def _put_old(where: Ground, cases: list[Case]) -> None:
    for table in Table:
        here = [(old, request_of(change).key) for old, change in cases if request_of(change).table is table]
        keys = {str(key): key for _, key in here}
        where.settle(where.tables.of(table), {str(key): _item(old) for old, key in here}, keys)


def _item(entity: object) -> Item | None:
    item: Item | None = None if entity is None else TO_ITEM[type(entity)](entity)
    return item


def _short(item: Item | None) -> Item | None:
    """Without what says no more than no attribute: a redrive copies the count of attempts, which may be none."""
    return item if item is None else {name: value for name, value in item.items() if (name, value) != _NO_ATTEMPTS}


def _stored(where: Ground, cases: list[Case]) -> dict[str, Any]:
    """What stands at each key, None where nothing does."""
    found: dict[str, Any] = {str(request_of(change).key): None for _, change in cases}
    for table in Table:
        keys = [request_of(change).key for _, change in cases if request_of(change).table is table]
        for item in where.stored(where.tables.of(table), list(keys)):
            found[str({name: item[name] for name in keys[0]})] = item
    return found
