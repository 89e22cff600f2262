"""What only a queue of SQS does: set aside what is no hint, and name the tenant's group on every message."""

from collections.abc import Iterator

import pytest

from tests.contract.aws_backends import QUEUES, Queues
from tests.contract.queue.timing import MINUTE_MS, receive_some
from tests.support.builders import TENANT, TICK, a_dead_letter, a_hint
from tickwright.domain.lanes import Lane

BACKENDS = {backend.name: backend for backend in QUEUES}
NO_HINT = '{"v": 2, "said": "by a later version"}'


@pytest.fixture(params=list(BACKENDS))
def place(request: pytest.FixtureRequest) -> Iterator[Queues]:
    """Fresh queues on each engine."""
    with BACKENDS[request.param].place(request) as made:
        assert isinstance(made, Queues)
        yield made


@pytest.mark.sem("SEM-QUEUE-4")
async def test_what_is_no_hint_is_moved_to_the_undelivered(place: Queues) -> None:
    """As it is, out of the lane, while the hint beside it is given."""
    place.client.send_message(QueueUrl=place.urls.ready[Lane.NORMAL], MessageBody=NO_HINT)

    async with place.open() as queue:
        await queue.send([a_hint()], TICK)
        received = await receive_some(queue, 1)
        rest = await queue.receive(Lane.NORMAL, limit=10, wait_ms=1_000, visibility_ms=MINUTE_MS)

    assert [one.hint for one in (*received, *rest)] == [a_hint()]
    aside = place.client.receive_message(QueueUrl=place.urls.undelivered[Lane.NORMAL], WaitTimeSeconds=5)["Messages"]
    assert [message["Body"] for message in aside] == [NO_HINT]


async def test_every_message_names_its_tenants_group(place: Queues) -> None:
    """Hints and dead letters alike: one that does not would be a tenant of its own."""
    async with place.open() as queue:
        await queue.send([a_hint(lane=Lane.LOW)], TICK)
        await queue.send_dead(a_dead_letter())

    for url in (place.urls.ready[Lane.LOW], place.urls.dead):
        (message,) = place.client.receive_message(
            QueueUrl=url, WaitTimeSeconds=5, MessageSystemAttributeNames=["MessageGroupId"]
        )["Messages"]
        assert message["Attributes"] == {"MessageGroupId": TENANT}
