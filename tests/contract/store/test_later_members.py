"""Does what a later version has added to an item stand in this version's way, while both are at work?"""

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.aws_backends import Tables
from tests.contract.aws_stores import Ground, ground
from tests.contract.backends import InAFile, InMemory
from tests.contract.places import Place
from tests.contract.store.cases import BEFORE, NOTED, NOTES, RUNNING
from tests.contract.store.cases_of_jobs import bring
from tests.support.emulators import Emulator
from tickwright.adapters.dynamodb import keys
from tickwright.adapters.dynamodb.items.executions import noted_value
from tickwright.adapters.dynamodb.wire import as_document
from tickwright.domain.executions import Execution
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.store import Applied, Outcome, Store

ADD = "UPDATE executions SET doc = json_set(doc, '$.noted.another', 'said')"
SAID = {"S": "said"}


async def add_a_member(place: Any) -> None:  # noqa: ANN401 - one of the backends'
    """Into what is noted of the run, as a version to come may."""
    match place:
        case InAFile(path=path):
            with closing(sqlite3.connect(path)) as connection, connection:
                assert connection.execute(ADD).rowcount == 1
        case InMemory(database=database):
            assert await database.write(lambda connection: connection.execute(ADD).rowcount, StoreUnavailable) == 1
        case _:
            ground: Ground = place.ground
            ground.client.update_item(
                TableName=ground.tables.executions,
                Key=keys.execution(RUNNING.ref),
                UpdateExpression="SET noted.another = :said",
                ExpressionAttributeValues={":said": SAID},
            )


async def heartbeats(store: Store) -> list[Outcome[Execution]]:
    """One that notes over what it has read, and the same again, as after a lost reply."""
    seen = await store.execution(RUNNING.ref)
    assert seen is not None
    return [await store.write(replace(NOTES, seen_noted=seen.noted)) for _ in range(2)]


@pytest.mark.sem("SEM-CHECKPOINT-1", "SEM-LEASE-3")
async def test_a_later_member_of_what_is_noted_refuses_no_heartbeat(place: Place[Store]) -> None:
    """Else every run that a later version has noted anything of would lose its lease to this one."""
    async with place.open() as store:
        await bring(store, replace(RUNNING, noted=BEFORE))
        await add_a_member(place)
        outcomes = await heartbeats(store)

    assert outcomes == [Applied(replace(RUNNING, noted=NOTED, lease_until=NOTES.lease_until))] * 2


@pytest.mark.slow
@pytest.mark.sem("SEM-CHECKPOINT-1")
async def test_a_heartbeat_leaves_a_later_member_as_it_is(dynamodb_local: Emulator) -> None:
    """Where versions work side by side; a file has one program at a time."""
    with ground(dynamodb_local.endpoint) as made:
        place = Tables(made, partiql=True)
        async with place.open() as store:
            await bring(store, replace(RUNNING, noted=BEFORE))
            await add_a_member(place)
            await heartbeats(store)
        item = made.stored(made.tables.executions, [keys.execution(RUNNING.ref)])[0]

    assert item["noted"]["M"] == {**as_document(noted_value(NOTED)), "another": SAID}
