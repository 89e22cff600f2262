"""The ready queues and the mappings that empty them: one of each per lane."""

import json
from typing import Any

from infra.policy.checks import MAPPING, QUEUE
from infra.policy.templates import Templates
from infra.settings import LANES, STAGES
from tickwright.adapters.sqs.tenant_queues import TenantQueues
from tickwright.domain import limits

READY = {f"Queue{pool}{lane.capitalize()}" for pool in ("", "Fargate") for lane in LANES}


def queues_of(templates: Templates) -> dict[str, dict[str, Any]]:
    return {address.logical_id: queue["Properties"] for address, queue in templates.of_type(QUEUE)}


def test_every_lane_has_a_queue_and_a_dead_letter_queue(dev: Templates) -> None:
    """Two for each lane of the platform's pools, two for the intake, copies of the dead, what no tenant's pool took."""
    for_people = {"QueueDeadExecutions", "QueuePoolsUndelivered"}

    received = READY | {"QueueIntake"}
    assert set(queues_of(dev)) == received | {f"{name}Undelivered" for name in received} | for_people


def test_a_hint_is_received_a_thousand_times_before_it_is_given_up(dev: Templates) -> None:
    """Receiving a hint whose execution another worker holds counts as well, and is normal."""
    counts = {queue["RedrivePolicy"]["maxReceiveCount"] for name, queue in queues_of(dev).items() if name in READY}

    assert counts == {1_000}


def test_what_could_not_be_delivered_is_kept_for_fourteen_days(dev: Templates) -> None:
    """An undelivered hint keeps its first date, and people have holidays."""
    kept = {queue["MessageRetentionPeriod"] for name, queue in queues_of(dev).items() if name not in READY}

    assert kept == {14 * 24 * 3_600}


def test_queues_of_tenants_pools_are_as_those_of_the_template(dev: Templates) -> None:
    """They are made by the API while the installation runs: equal in all that decides what becomes of a hint."""
    made = TenantQueues(prefix="p", undelivered_arn="arn:aws:sqs:us-east-1:000000000000:u").attributes("p-1-normal")
    lane = queues_of(dev)["QueueFargateNormal"]

    assert made["MessageRetentionPeriod"] == str(lane["MessageRetentionPeriod"])
    assert made["MaximumMessageSize"] == str(lane["MaximumMessageSize"])
    assert made["SqsManagedSseEnabled"] == str(lane["SqsManagedSseEnabled"]).lower()
    assert json.loads(made["RedrivePolicy"])["maxReceiveCount"] == lane["RedrivePolicy"]["maxReceiveCount"]
    (closed,) = json.loads(made["Policy"])["Statement"]
    assert (closed["Effect"], closed["Resource"]) == ("Deny", "arn:aws:sqs:us-east-1:000000000000:p-1-normal")
    assert closed["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_a_message_may_be_as_large_as_sqs_takes(dev: Templates) -> None:
    """The default of an older SQS was a quarter of it."""
    assert {queue["MaximumMessageSize"] for queue in queues_of(dev).values()} == {1_048_576}


def test_no_queue_is_first_in_first_out(dev: Templates) -> None:
    """Fair queues are standard queues: order is the store's business."""
    assert not [name for name, queue in queues_of(dev).items() if queue.get("FifoQueue")]


def test_every_lane_has_a_mapping_of_its_own(prod: Templates) -> None:
    """A lane with its own concurrency cannot take the workers of another."""
    fed = {}
    for address, mapping in prod.of_type(MAPPING):
        queue = prod.target(address.stack, mapping["Properties"]["EventSourceArn"])
        assert queue is not None
        if queue.logical_id not in READY:
            continue
        fed[queue.logical_id] = mapping["Properties"]["ScalingConfig"]["MaximumConcurrency"]

    assert fed == {f"Queue{lane.capitalize()}": most for lane, most in STAGES["prod"].lane_concurrency.items()}


def test_a_lane_waits_for_no_second_message(prod: Templates) -> None:
    """A batching window would be added to the lag of every lone job; a worker has places for a batch."""
    windows = {
        (mapping["Properties"]["BatchSize"], mapping["Properties"]["MaximumBatchingWindowInSeconds"])
        for address, mapping in prod.of_type(MAPPING)
        if address.stack.endswith("Workers")
    }

    assert windows == {(limits.MESSAGES_A_BATCH, 0)}
