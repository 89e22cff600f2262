"""What the queue asks of SQS, and what it makes of partial failures, throttles and messages that are no hints."""

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.builders import TICK, a_dead_letter, a_hint, a_ref
from tests.unit.adapters.scripted import CountingEntropy, QuickClock, ScriptedClient, error, timeout
from tickwright.adapters.sqs.batching import BYTES_MAX, batches_of
from tickwright.adapters.sqs.messages import to_body
from tickwright.adapters.sqs.meter import RequestMeter
from tickwright.adapters.sqs.queue import QueueUrls, SqsQueue
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import LANES, Lane
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.queue import Hint, Received

URLS = QueueUrls(
    ready={lane: f"https://queues/{lane.value}" for lane in LANES},
    undelivered={lane: f"https://queues/{lane.value}-undelivered" for lane in LANES},
    dead="https://queues/dead",
)
READY = URLS.ready[Lane.NORMAL]
THROTTLED = error("RequestThrottled")
TAKEN: Mapping[str, Any] = {"Successful": []}


def queue_of(client: ScriptedClient, urls: QueueUrls = URLS, meter: RequestMeter | None = None) -> SqsQueue:
    return SqsQueue(client, urls, clock=QuickClock(), entropy=CountingEntropy(), meter=meter)


def hints(count: int, **shown: Any) -> list[Hint]:  # noqa: ANN401 - any field
    return [a_hint(ref=a_ref(number), **shown) for number in range(count)]


def received(number: int = 0) -> Received:
    return Received(hint=a_hint(ref=a_ref(number)), receipt=f"receipt-{number}", receive_count=1)


def message(body: str, receipt: str = "r") -> Mapping[str, Any]:
    return {"Body": body, "ReceiptHandle": receipt, "Attributes": {"ApproximateReceiveCount": "2"}}


# --- sending --------------------------------------------------------------------------------------------------------
async def test_hints_go_ten_a_request_with_their_tenants_group() -> None:
    """A send without a group would escape the fairness of its queue."""
    client = ScriptedClient(send_message_batch=[TAKEN])

    assert list(await queue_of(client).send(hints(23, tenant_id=TenantId("a b")), TICK)) == []

    requests = client.requests("send_message_batch")
    assert sorted(len(request["Entries"]) for request in requests) == [3, 10, 10]
    assert {request["QueueUrl"] for request in requests} == {READY}
    assert {entry["MessageGroupId"] for request in requests for entry in request["Entries"]} == {"a%20b"}
    bodies = {entry["MessageBody"] for request in requests for entry in request["Entries"]}
    assert bodies == {to_body(hint) for hint in hints(23, tenant_id=TenantId("a b"))}


@pytest.mark.parametrize(
    ("late_by_ms", "delay_s"),
    [(-1, 0), (0, 0), (999, 0), (1_000, 1), (1_999, 1), (900_000, 900), (900_001, 900), (86_400_000, 900)],
)
async def test_a_delay_is_rounded_down_and_bounded(late_by_ms: int, delay_s: int) -> None:
    """Early is waited for, late would be a broken promise."""
    client = ScriptedClient(send_message_batch=[TAKEN])

    await queue_of(client).send([a_hint(due_at=Instant(TICK + late_by_ms))], TICK)

    ((_, request),) = client.asked
    assert request["Entries"][0]["DelaySeconds"] == delay_s


async def test_hints_that_were_not_taken_come_back() -> None:
    """By their ids within the request, from each request."""
    some = hints(12)
    client = ScriptedClient(
        send_message_batch=[{"Failed": [{"Id": "1", "Code": "InternalError", "SenderFault": False}]}]
    )

    assert list(await queue_of(client).send(some, TICK)) == [some[1], some[11]]


async def test_a_throttled_request_is_repeated() -> None:
    """A doubled hint is harmless."""
    client = ScriptedClient(send_message_batch=[THROTTLED, timeout(), TAKEN])

    assert list(await queue_of(client).send(hints(2), TICK)) == []
    assert len(client.asked) == 3


async def test_a_lane_that_cannot_be_reached_costs_the_others_nothing() -> None:
    """Its hints come back, to be sent again by the journal."""

    def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
        if request["QueueUrl"] == READY:
            raise THROTTLED
        return TAKEN

    normal, high = a_hint(), a_hint(ref=a_ref(1), lane=Lane.HIGH)
    client = ScriptedClient(send_message_batch=[answer])

    assert list(await queue_of(client).send([normal, high], TICK)) == [normal]


async def test_a_queue_that_is_down_raises() -> None:
    """Not one hint could be tried."""
    client = ScriptedClient(send_message_batch=[timeout()])

    with pytest.raises(QueueUnavailable, match="send_message_batch"):
        await queue_of(client).send(hints(11), TICK)


async def test_a_dead_letter_that_was_not_taken_raises() -> None:
    """It stays owed."""
    client = ScriptedClient(send_message=[THROTTLED])

    with pytest.raises(QueueUnavailable):
        await queue_of(client).send_dead(a_dead_letter())


async def test_a_dead_letter_goes_to_its_own_queue_with_its_tenants_group() -> None:
    """Beside the lanes."""
    client = ScriptedClient(send_message=[{}])

    await queue_of(client).send_dead(a_dead_letter())

    ((_, request),) = client.asked
    assert (request["QueueUrl"], request["MessageGroupId"]) == (URLS.dead, "acme")


# --- receiving ------------------------------------------------------------------------------------------------------
async def test_a_long_poll_asks_for_what_it_was_told() -> None:
    """Waits rounded down and visibility rounded up, both to what SQS takes."""
    client = ScriptedClient(receive_message=[{}])

    found = await queue_of(client).receive(Lane.HIGH, limit=50, wait_ms=25_000, visibility_ms=1_001)

    assert list(found) == []
    ((_, request),) = client.asked
    assert request == {
        "QueueUrl": URLS.ready[Lane.HIGH],
        "MaxNumberOfMessages": 10,
        "WaitTimeSeconds": 20,
        "VisibilityTimeout": 2,
        "MessageSystemAttributeNames": ["ApproximateReceiveCount"],
    }


async def test_a_received_hint_is_in_hand() -> None:
    """With its receipt and its count."""
    client = ScriptedClient(receive_message=[{"Messages": [message(to_body(a_hint()), "r-1")]}])

    (found,) = await queue_of(client).receive(Lane.NORMAL, limit=1, wait_ms=0, visibility_ms=1_000)

    assert found == Received(hint=a_hint(), receipt="r-1", receive_count=2)


async def test_an_unreadable_message_is_set_aside_and_said(caplog: pytest.LogCaptureFixture) -> None:
    """It goes to the lane's undelivered ones as it is, and the readable ones beside it are returned."""
    client = ScriptedClient(
        receive_message=[{"Messages": [message("hello", "r-1"), message(to_body(a_hint()), "r-2")]}],
        send_message=[{}],
        delete_message_batch=[{}],
    )

    with caplog.at_level(logging.WARNING):
        found = await queue_of(client).receive(Lane.NORMAL, limit=10, wait_ms=0, visibility_ms=1_000)

    assert [one.receipt for one in found] == ["r-2"]
    (sent,) = client.requests("send_message")
    assert (sent["QueueUrl"], sent["MessageBody"]) == (URLS.undelivered[Lane.NORMAL], "hello")
    (deleted,) = client.requests("delete_message_batch")
    assert [entry["ReceiptHandle"] for entry in deleted["Entries"]] == ["r-1"]
    assert "hello" in caplog.text


async def test_without_a_place_to_set_it_aside_a_message_is_left_to_the_redrive_policy() -> None:
    """It is neither returned nor deleted."""
    client = ScriptedClient(receive_message=[{"Messages": [message("hello")]}])
    urls = QueueUrls(ready=URLS.ready, dead=URLS.dead)

    found = await queue_of(client, urls).receive(Lane.NORMAL, limit=10, wait_ms=0, visibility_ms=1_000)

    assert list(found) == []
    assert [name for name, _ in client.asked] == ["receive_message"]


async def test_a_queue_that_cannot_be_read_raises() -> None:
    """An empty answer would say that there is no work."""
    with pytest.raises(QueueUnavailable):
        await queue_of(ScriptedClient(receive_message=[error("OverLimit")])).receive(
            Lane.NORMAL, limit=1, wait_ms=0, visibility_ms=1_000
        )


# --- deleting and showing again -------------------------------------------------------------------------------------
async def test_hints_are_deleted_ten_a_request() -> None:
    """Each by its receipt."""
    client = ScriptedClient(delete_message_batch=[{}])

    await queue_of(client).delete([received(number) for number in range(12)])

    assert sorted(len(request["Entries"]) for _, request in client.asked) == [2, 10]


async def test_a_deletion_that_failed_is_repeated_by_itself() -> None:
    """The others of its request are gone already."""
    client = ScriptedClient(delete_message_batch=[{"Failed": [{"Id": "1", "Code": "InternalError"}]}, {}])

    await queue_of(client).delete([received(0), received(1)])

    assert client.requests("delete_message_batch")[1]["Entries"] == [{"Id": "1", "ReceiptHandle": "receipt-1"}]


async def test_a_message_that_is_gone_is_deleted() -> None:
    """Some engines refuse the second deletion of one receipt; it is done all the same."""
    client = ScriptedClient(delete_message_batch=[{"Failed": [{"Id": "0", "Code": "ReceiptHandleIsInvalid"}]}])

    await queue_of(client).delete([received(0)])

    assert len(client.asked) == 1


async def test_deletions_that_keep_failing_raise() -> None:
    """The hint will come again; whoever deletes must know."""
    client = ScriptedClient(delete_message_batch=[{"Failed": [{"Id": "0", "Code": "InternalError"}]}])

    with pytest.raises(QueueUnavailable, match="InternalError"):
        await queue_of(client).delete([received(0)])


@pytest.mark.parametrize(("after_ms", "visibility_s"), [(0, 0), (1, 1), (1_500, 2), (50_000_000, 43_140)])
async def test_a_hint_is_shown_again_after_whole_seconds(after_ms: int, visibility_s: int) -> None:
    """Rounded up, and within twelve hours of its receipt."""
    client = ScriptedClient(change_message_visibility=[{}])

    await queue_of(client).show_again(received(), after_ms=after_ms)

    ((_, request),) = client.asked
    assert request["VisibilityTimeout"] == visibility_s


@pytest.mark.parametrize("code", ["MessageNotInflight", "ReceiptHandleIsInvalid", "InvalidParameterValue"])
async def test_a_hint_out_of_hand_needs_no_showing(code: str) -> None:
    """It is visible already, or somebody else's, or gone."""
    client = ScriptedClient(change_message_visibility=[error(code)])

    await queue_of(client).show_again(received(), after_ms=0)

    assert len(client.asked) == 1


# --- batches and costs ----------------------------------------------------------------------------------------------
def test_a_batch_is_bounded_by_bytes_too() -> None:
    """Four of a third of a megabyte are two requests; one that is too big goes alone, to be refused."""
    third = "x" * (BYTES_MAX // 3)

    assert [len(batch) for batch in batches_of([third] * 4, len)] == [3, 1]
    assert [len(batch) for batch in batches_of(["a", "x" * (BYTES_MAX + 1), "b"], len)] == [1, 1, 1]
    assert list(batches_of([], len)) == []


async def test_a_meter_counts_requests_by_operation() -> None:
    """Those that fail too; a request is billed for each 64 KB of what it carries."""
    meter = RequestMeter()
    client = ScriptedClient(
        send_message_batch=[THROTTLED, TAKEN],
        receive_message=[{"Messages": [message("x" * 70_000)]}],
    )
    queue = queue_of(client, QueueUrls(ready=URLS.ready, dead=URLS.dead), meter)

    await queue.send(hints(3), TICK)
    await queue.receive(Lane.NORMAL, limit=1, wait_ms=0, visibility_ms=1_000)

    assert meter.requests == {"send_message_batch": 2, "receive_message": 1}
    assert meter.billed == 4
