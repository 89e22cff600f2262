"""What the queue asks of SQS for pools: where their queues are, how a tenant's are made, and what if one is gone."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.builders import TICK, a_hint, a_ref
from tests.unit.adapters.scripted import CountingEntropy, QuickClock, ScriptedClient, error
from tickwright.adapters.sqs.messages import from_body, to_body
from tickwright.adapters.sqs.queue import QueueUrls, SqsQueue
from tickwright.adapters.sqs.tenant_queues import TenantQueues
from tickwright.domain.ids import TenantId
from tickwright.domain.lanes import LANES, Lane
from tickwright.domain.pools import FARGATE, LAMBDA, PoolName
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.queue import Hint

HOME = "https://sqs.eu-central-1.amazonaws.com/123456789012"
DLQ = "arn:aws:sqs:eu-central-1:123456789012:undelivered"
TENANTS = TenantQueues(prefix="tickwright-dev-pool", undelivered_arn=DLQ)
URLS = QueueUrls(
    ready={lane: f"{HOME}/lambda-{lane.value}" for lane in LANES},
    fleet={lane: f"{HOME}/fleet-{lane.value}" for lane in LANES},
    dead=f"{HOME}/dead",
    tenants=TENANTS,
)
GPU = PoolName("gpu")
TAKEN: Mapping[str, Any] = {"Successful": []}
GONE = error("AWS.SimpleQueueService.NonExistentQueue", status=400)
SQS_NAME_CHARS_MAX = 80


def queue_of(client: ScriptedClient, clock: QuickClock | None = None) -> SqsQueue:
    return SqsQueue(client, URLS, clock=clock or QuickClock(), entropy=CountingEntropy())


def message(hint: Hint) -> Mapping[str, Any]:
    return {"Body": to_body(hint), "ReceiptHandle": "r", "Attributes": {"ApproximateReceiveCount": "1"}}


def test_no_two_pools_share_a_queue_and_every_name_fits() -> None:
    """However long a tenant's and a pool's names are, and whatever characters a tenant has."""
    keys = ["acme/gpu", "acme/gp", "acmeg/pu", "rival/gpu", f"{'ü' * 200}/{'g' * 32}", "a/b/gpu"]

    names = [TENANTS.name(key, lane) for key in keys for lane in LANES]

    assert len(set(names)) == len(names)
    assert all(len(name) <= SQS_NAME_CHARS_MAX and name.isascii() for name in names)


@pytest.mark.parametrize(
    ("pool", "url"),
    [
        (LAMBDA, f"{HOME}/lambda-low"),
        (FARGATE, f"{HOME}/fleet-low"),
        (GPU, f"{HOME}/{TENANTS.name('acme/gpu', Lane.LOW)}"),
    ],
)
async def test_a_hint_goes_to_its_pools_queue(pool: PoolName, url: str) -> None:
    """A tenant's is found without a look-up, in the account and region of the others."""
    client = ScriptedClient(send_message_batch=[TAKEN])

    await queue_of(client).send([a_hint(pool=pool, lane=Lane.LOW)], TICK)

    assert [request["QueueUrl"] for request in client.requests("send_message_batch")] == [url]


def test_a_hint_of_another_pool_or_tenant_is_none() -> None:
    """What lies in a queue that it does not belong to is set aside, whoever put it there."""
    mine = to_body(a_hint(tenant_id=TenantId("acme"), pool=GPU))

    assert from_body(mine, Lane.NORMAL, "acme/gpu") is not None
    assert from_body(mine, Lane.NORMAL, "rival/gpu") is None
    assert from_body(mine, Lane.NORMAL) is None
    assert from_body(to_body(a_hint()), Lane.NORMAL, "acme/gpu") is None


def test_messages_of_the_first_pool_are_as_they_were() -> None:
    """A fleet of two versions understands them in both directions."""
    assert "pool" not in json.loads(to_body(a_hint()))
    assert json.loads(to_body(a_hint(pool=FARGATE)))["pool"] == "fargate"


@pytest.mark.sem("SEM-POOL-1")
async def test_a_pools_queues_are_made_with_a_dead_letter_queue_and_closed_to_plain_requests() -> None:
    """One a lane."""
    client = ScriptedClient(create_queue=[{"QueueUrl": "u"}])

    await queue_of(client).prepare("acme/gpu")

    made = client.requests("create_queue")
    assert [request["QueueName"] for request in made] == [TENANTS.name("acme/gpu", lane) for lane in LANES]
    for request in made:
        assert json.loads(request["Attributes"]["RedrivePolicy"])["deadLetterTargetArn"] == DLQ
        assert "aws:SecureTransport" in request["Attributes"]["Policy"]


async def test_a_queue_that_was_made_otherwise_is_set_right() -> None:
    """By an older version, or by hand."""
    client = ScriptedClient(create_queue=[error("QueueAlreadyExists", status=400)], set_queue_attributes=[{}])

    await queue_of(client).prepare("acme/gpu")

    assert len(client.requests("set_queue_attributes")) == len(LANES)
    assert {request["QueueUrl"] for request in client.requests("set_queue_attributes")} == {
        f"{HOME}/{TENANTS.name('acme/gpu', lane)}" for lane in LANES
    }


@pytest.mark.sem("SEM-POOL-6")
async def test_a_pools_queues_are_removed_lane_by_lane() -> None:
    """One that is gone already is no error: the request is repeated where it was cut off."""
    client = ScriptedClient(delete_queue=[GONE, {}, GONE, {}])

    await queue_of(client).remove("acme/gpu")

    assert [request["QueueUrl"] for request in client.requests("delete_queue")] == [
        f"{HOME}/{TENANTS.name('acme/gpu', lane)}" for lane in LANES
    ]


@pytest.mark.sem("SEM-POOL-6")
async def test_what_a_pools_queues_hold_is_counted_lane_by_lane() -> None:
    """Visible, in hand and delayed; a queue that is gone holds nothing."""
    counts = {
        "ApproximateNumberOfMessages": "5",
        "ApproximateNumberOfMessagesNotVisible": "2",
        "ApproximateNumberOfMessagesDelayed": "1",
    }
    client = ScriptedClient(get_queue_attributes=[{"Attributes": counts}, GONE])

    assert await queue_of(client).waiting("acme/gpu") == 8
    assert {name for asked in client.requests("get_queue_attributes") for name in asked["AttributeNames"]} == {*counts}


@pytest.mark.parametrize("code", ["QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently"])
async def test_a_queue_that_was_removed_a_moment_ago_is_made_later(code: str) -> None:
    """SQS makes no queue of a name within a minute of the removal of another: the caller is told to come again."""
    client = ScriptedClient(create_queue=[error(code, status=400)])

    with pytest.raises(QueueUnavailable, match="acme/gpu"):
        await queue_of(client).prepare("acme/gpu")


async def test_a_pool_without_its_queue_costs_the_others_nothing() -> None:
    """Somebody has removed it: its hints are lost, those of other pools are taken, and nobody tries again at once."""

    def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
        if "-pool-" in request["QueueUrl"]:
            raise GONE
        return TAKEN

    lost, sent = a_hint(pool=GPU), a_hint(ref=a_ref(1))
    client = ScriptedClient(send_message_batch=[answer])

    assert list(await queue_of(client).send([lost, sent], TICK)) == []
    assert list(await queue_of(client).send([lost], TICK)) == []
    assert len(client.requests("send_message_batch")) == 3


async def test_receiving_from_a_queue_that_is_gone_is_a_fault_that_can_be_mended() -> None:
    """The caller is told to come again; whoever puts the pool makes the queue anew."""
    client = ScriptedClient(receive_message=[GONE])

    with pytest.raises(QueueUnavailable, match="acme/gpu"):
        await queue_of(client).receive(Lane.NORMAL, limit=1, wait_ms=0, visibility_ms=1_000, pool="acme/gpu")


async def test_several_lanes_are_asked_in_rounds_until_something_comes() -> None:
    """Short polls of all, then a second's wait on one, each in its turn; no more than there is room for."""
    clock, asked = QuickClock(), []
    hint = a_hint(pool=GPU, lane=Lane.LOW)
    wanted = f"{HOME}/{TENANTS.name('acme/gpu', Lane.LOW)}"

    def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
        lane = request["QueueUrl"].rpartition("-")[2]
        asked.append((lane, request["WaitTimeSeconds"], request["MaxNumberOfMessages"]))
        clock.slept_ms.append(1_000 * request["WaitTimeSeconds"])
        found = request["QueueUrl"] == wanted and len(asked) > 9
        return {"Messages": [message(hint)]} if found else {}

    received = await queue_of(ScriptedClient(receive_message=[answer]), clock).receive_any(
        [Lane.HIGH, Lane.LOW], limit=3, wait_ms=20_000, visibility_ms=60_000, pool="acme/gpu"
    )

    round_of = [("high", 0, 3), ("low", 0, 3)]
    assert [one.hint for one in received] == [hint]
    assert asked == [*round_of, ("high", 1, 3), *round_of, ("low", 1, 3), *round_of, ("high", 1, 3), *round_of]


async def test_what_is_left_of_the_room_is_asked_of_the_next_lane() -> None:
    """The first lane's hints come first, and together they are no more than asked for."""
    high = a_hint(pool=GPU, lane=Lane.HIGH)
    client = ScriptedClient(receive_message=[{"Messages": [message(high), message(high)]}, {}])

    received = await queue_of(client).receive_any(
        [Lane.HIGH, Lane.NORMAL, Lane.LOW], limit=2, wait_ms=0, visibility_ms=60_000, pool="acme/gpu"
    )

    assert len(received) == 2
    assert len(client.requests("receive_message")) == 1


async def test_lanes_that_stay_empty_are_given_up_in_time() -> None:
    """A wait is whole seconds, and no longer than asked."""
    clock = QuickClock()

    def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
        clock.slept_ms.append(1_000 * request["WaitTimeSeconds"])
        return {}

    received = await queue_of(ScriptedClient(receive_message=[answer]), clock).receive_any(
        [Lane.HIGH, Lane.NORMAL], limit=1, wait_ms=5_500, visibility_ms=1_000, pool="acme/gpu"
    )

    assert list(received) == []
    assert clock.monotonic_ms() == 5_000
