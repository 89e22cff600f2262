"""Keys, indexes and projections: what docs/data-model.md says is what would be deployed."""

from collections.abc import Mapping
from typing import Any

import pytest

from infra.policy.checks import TABLE
from infra.policy.templates import Templates

# What an advance writes each tick (protocol.md, 4): an index that projects one of these pays for each tick.
ADVANCE_WRITES = {"nextRunAt", "firedThrough", "firedVersion", "firedAt", "firedAs", "active", "waiting", "runs"}
KEYS = {
    "Jobs": ("jobId:S", "sk:S"),
    "Executions": ("jobId:S", "key:S"),
    "Journal": ("bucket:S", "page:S"),
    "Control": ("pk:S", "sk:S"),
}
INDEXES = {
    ("Jobs", "due"): ("bucket:S", "nextRunAt:N"),
    ("Jobs", "tenant"): ("tenantId:S", "listedAs:S"),
    ("Executions", "waiting"): ("waitKey:S", "waitAt:N"),
    ("Executions", "attention"): ("tenantId:S", "failedAt:N"),
}


@pytest.fixture
def tables(dev: Templates) -> Mapping[str, Mapping[str, Any]]:
    """The properties of every table, by its logical id."""
    return {address.logical_id: table["Properties"] for address, table in dev.of_type(TABLE)}


def keys_of(table: Mapping[str, Any], schema: list[dict[str, str]]) -> tuple[str, ...]:
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    return tuple(f"{key['AttributeName']}:{types[key['AttributeName']]}" for key in schema)


def indexes_of(table: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    return {index["IndexName"]: index for index in table.get("GlobalSecondaryIndexes", [])}


def test_every_table_has_the_keys_of_the_data_model(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Four tables, each with the two keys that the protocol names."""
    keys = {name: keys_of(table, table["KeySchema"]) for name, table in tables.items()}

    assert keys == KEYS


def test_every_index_has_the_keys_of_the_data_model(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Four sparse indexes and no more: each costs writes."""
    keys = {
        (name, index_name): keys_of(table, index["KeySchema"])
        for name, table in tables.items()
        for index_name, index in indexes_of(table).items()
    }

    assert keys == INDEXES


def test_the_due_index_carries_the_whole_head(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """The loop decides a tick from the index entry, without a read."""
    assert indexes_of(tables["Jobs"])["due"]["Projection"] == {"ProjectionType": "ALL"}


def test_a_tick_does_not_touch_the_tenant_index(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Listing a tenant's jobs must not cost a write for each tick they fire."""
    index = indexes_of(tables["Jobs"])["tenant"]

    touched = {*index["Projection"]["NonKeyAttributes"], *(key["AttributeName"] for key in index["KeySchema"])}

    assert index["Projection"]["ProjectionType"] == "INCLUDE"
    assert touched.isdisjoint(ADVANCE_WRITES)


def test_the_waiting_index_carries_keys_only(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Each entry is read again, strongly, before anything is decided."""
    assert indexes_of(tables["Executions"])["waiting"]["Projection"] == {"ProjectionType": "KEYS_ONLY"}


def test_the_attention_index_shows_what_a_list_shows(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """A page of failed executions needs no second read."""
    projection = indexes_of(tables["Executions"])["attention"]["Projection"]

    assert set(projection["NonKeyAttributes"]) == {
        "state",
        "reason",
        "lane",
        "attempt",
        "leaseEpoch",
        "scheduledAt",
    }


def test_only_executions_and_control_records_expire(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Jobs end by their owner's will, and a page goes only when its entries stand elsewhere."""
    expiring = {
        name: table["TimeToLiveSpecification"]["AttributeName"]
        for name, table in tables.items()
        if "TimeToLiveSpecification" in table
    }

    assert expiring == {"Executions": "ttl", "Control": "ttl"}


def test_the_tables_of_dev_may_go_and_those_of_prod_may_not(dev: Templates, prod: Templates) -> None:
    """Tearing down an experiment leaves nothing behind; tearing down production leaves the truth."""
    policies = {
        name: {(table["DeletionPolicy"], table["UpdateReplacePolicy"]) for _, table in templates.of_type(TABLE)}
        for name, templates in {"dev": dev, "prod": prod}.items()
    }
    protected = {table["Properties"]["Replicas"][0]["DeletionProtectionEnabled"] for _, table in prod.of_type(TABLE)}

    assert policies == {"dev": {("Delete", "Delete")}, "prod": {("Retain", "Retain")}}
    assert protected == {True}
