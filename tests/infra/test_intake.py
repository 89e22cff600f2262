"""The intake as it is deployed: kept as long as SQS keeps anything, landed by one function, used if a stage says so."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from infra.environment import INTAKE, STATUS_CACHE
from infra.policy.checks import MAPPING, QUEUE
from infra.policy.grants import GRANTS, Resource
from infra.policy.templates import Templates
from infra.required import SettingRefused
from infra.settings import STAGES
from tests.infra.test_functions import functions_of
from tests.infra.test_grants import granted, statements_of
from tests.infra.test_queues import queues_of
from tickwright.domain.limits import LANDING_AGAIN_MS

PROD = STAGES["prod"]


@pytest.mark.sem("SEM-INTAKE-1")
def test_what_was_accepted_is_kept_for_fourteen_days(prod: Templates) -> None:
    """It has been acknowledged: a lost hint is sent again, a submission is not. Eight hours of tries come first."""
    queue = queues_of(prod)["QueueIntake"]

    assert queue["MessageRetentionPeriod"] == 14 * 86_400
    assert queue["RedrivePolicy"]["maxReceiveCount"] * LANDING_AGAIN_MS >= 8 * 3_600_000


@pytest.mark.sem("SEM-INTAKE-1")
def test_what_was_accepted_stays_where_the_tables_do(dev: Templates, prod: Templates) -> None:
    """A stack that is destroyed, or a version from before the intake, must not take along what was acknowledged."""
    policies = {
        templates: {
            address.logical_id: (queue["DeletionPolicy"], queue["UpdateReplacePolicy"])
            for address, queue in of.of_type(QUEUE)
        }
        for templates, of in (("dev", dev), ("prod", prod))
    }

    stays = {name for name, kept in policies["prod"].items() if kept == ("Retain", "Retain")}
    assert stays == {"QueueIntake", "QueueIntakeUndelivered"}
    assert set(policies["dev"].values()) == {("Delete", "Delete")}


def test_what_was_accepted_is_under_the_key_of_the_tables(
    everything: Templates, synthesise: Callable[..., Templates]
) -> None:
    """Bodies lie there as they were sent, secrets among them; whoever puts, lands or sets aside may use the key."""
    ((key, _),) = everything.of_type("AWS::KMS::Key")
    under = {
        address.logical_id
        for address, queue in everything.of_type(QUEUE)
        if "KmsMasterKeyId" in queue["Properties"]
        and everything.target(address.stack, queue["Properties"]["KmsMasterKeyId"]) == key
    }
    through = {
        name: json.dumps(statement["Condition"])
        for name in functions_of(everything)
        for statement in statements_of(everything, name)
        if statement.get("Sid") == "Key"
    }
    granted_only = synthesise(replace(PROD, tables=replace(PROD.tables, customer_key_granted=True)))

    assert under == {"QueueIntake", "QueueIntakeUndelivered"}
    assert {name for name, condition in through.items() if "sqs." in condition} == {"api", "intake"}
    assert all("dynamodb." in condition for condition in through.values())
    assert not any("KmsMasterKeyId" in queue["Properties"] for _, queue in granted_only.of_type(QUEUE))


def test_operators_are_told_where_it_is(prod: Templates) -> None:
    """What another installation has accepted is brought here."""
    outputs = prod.by_stack["Tickwright-prod-Core"]["Outputs"]

    assert INTAKE in json.dumps(outputs["Environment"]["Value"])


@pytest.mark.sem("SEM-INTAKE-1")
def test_a_stage_accepts_only_if_it_says_so(prod: Templates, everything: Templates) -> None:
    """A client has to know what 202 means. The function that lands is there in any case."""
    plain, told = (functions_of(each)["api"]["Environment"]["Variables"] for each in (prod, everything))

    assert (plain[INTAKE], plain[STATUS_CACHE]) == ("", "")
    assert "QueueIntake" in json.dumps(told[INTAKE])
    assert told[STATUS_CACHE].startswith("rediss://")
    assert functions_of(prod)["intake"]["Environment"]["Variables"][INTAKE]


def test_copies_travel_encrypted_or_not_at_all() -> None:
    """They hold tenants' payloads."""
    for url in ("redis://cache.example.com:6379", "http://cache.example.com"):
        with pytest.raises(SettingRefused):
            replace(PROD, status_cache=url)


@pytest.mark.sem("SEM-INTAKE-2")
def test_one_function_lands_and_it_reaches_no_key(prod: Templates) -> None:
    """Nobody else receives from the intake; whoever lands reads and writes what belongs to tenants alone."""
    readers = {name for name in GRANTS if ("sqs:ReceiveMessage", "QueueIntake") in granted(prod, name)}
    senders = {name for name in GRANTS if ("sqs:SendMessage", "QueueIntake") in granted(prod, name)}

    assert (readers, senders) == ({"intake"}, {"api"})
    assert {grant.keys for grant in GRANTS["intake"] if grant.resource is Resource.CONTROL} == {("TENANT#",)}


def test_landings_leave_a_store_that_comes_back_its_breath(prod: Templates) -> None:
    """A bound, partial batches, and no message that waits for a second one."""
    (mapping,) = [
        one["Properties"]
        for address, one in prod.of_type(MAPPING)
        if str(prod.target(address.stack, one["Properties"]["EventSourceArn"])).endswith("QueueIntake")
    ]

    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 5}
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert (mapping["BatchSize"], mapping["MaximumBatchingWindowInSeconds"]) == (5, 0)
