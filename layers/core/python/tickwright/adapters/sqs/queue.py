"""The ready queues on SQS: what ports/queue.py promises, a standard queue a pool and lane, fair by its message group.

Must not decide. Repeating a send may double a hint, which every reader survives. Promises: SEM-QUEUE-1 to SEM-QUEUE-4.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError

from tickwright.adapters.aws.calls import Answer, Calls, Meter
from tickwright.adapters.aws.clients import CONNECTIONS
from tickwright.adapters.aws.faults import code_of
from tickwright.adapters.aws.patience import Patience, Persistence, TryAgain
from tickwright.adapters.sqs.batching import batches_of
from tickwright.adapters.sqs.messages import (
    group_of,
    letter_to_body,
    received_from_message,
    to_body,
)
from tickwright.adapters.sqs.tenant_queues import TenantQueues
from tickwright.domain import limits
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import LANES, Lane
from tickwright.domain.pools import FARGATE, LAMBDA
from tickwright.ports.clock import Clock
from tickwright.ports.entropy import Entropy
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.queue import DeadLetter, Hint, Received

EntryT = TypeVar("EntryT")

_LOG = logging.getLogger(__name__)
_MS_IN_S: Final = 1_000
_WAIT_S_MAX: Final = 20  # SQS's longest long poll
# SQS counts 12 h from when the message was received, which was a moment ago.
_VISIBILITY_S_MAX: Final = 43_200 - 60
# The message is no longer in our hand, or gone: there is nothing left to do with this receipt.
_OUT_OF_HAND: Final = frozenset(
    {
        "InvalidParameterValue",
        "MessageNotInflight",
        "AWS.SimpleQueueService.MessageNotInflight",
        "ReceiptHandleIsInvalid",
    }
)
_EXISTS: Final = frozenset({"QueueAlreadyExists", "QueueNameExists"})
_RESTS: Final = frozenset({"AWS.SimpleQueueService.QueueDeletedRecently", "QueueDeletedRecently"})
_NO_QUEUE: Final = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})
_COUNTS: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)

Place = tuple[str, Lane]  # a pool's key, and a lane of it


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUrls:
    """Where the queues are: those of the pool `lambda`, of the fleet, and how tenants' are called.

    A lane without an `undelivered` queue leaves unreadable messages to its redrive policy.
    """

    ready: Mapping[Lane, str]
    dead: str
    undelivered: Mapping[Lane, str] = field(default_factory=dict)
    fleet: Mapping[Lane, str] = field(default_factory=dict)
    tenants: TenantQueues | None = None

    def __post_init__(self) -> None:
        """Every lane has its queue."""
        assert set(self.ready) == set(LANES)
        assert not self.fleet or set(self.fleet) == set(LANES)

    def of(self, place: Place) -> str:
        """Where a lane of a pool is: beside the others, if it is a tenant's."""
        pool, lane = place
        platform: Mapping[str, Mapping[Lane, str]] = {LAMBDA: self.ready, FARGATE: self.fleet}
        if pool in platform:
            return platform[pool][lane]
        assert self.tenants is not None, "this installation has no queues for tenants' pools"
        return f"{self.ready[lane].rpartition('/')[0]}/{self.tenants.name(pool, lane)}"


class SqsQueue:
    """The queues of all pools and lanes. Safe to use from many coroutines."""

    def __init__(
        self,
        client: object,
        urls: QueueUrls,
        *,
        clock: Clock,
        entropy: Entropy,
        meter: Meter | None = None,
    ) -> None:
        """Use a client made by adapters/aws/clients.py; whoever made it closes it. `meter` sees every call."""
        self._calls = Calls(client, threads=CONNECTIONS, meter=meter)
        self._urls = urls
        self._clock = clock
        self._persistence = Persistence(
            clock=clock, entropy=entropy, patience=Patience(), fault=QueueUnavailable, busy=QueueUnavailable
        )

    def close(self) -> None:
        """Let go of the threads."""
        self._calls.close()

    # --- sending ------------------------------------------------------------------------------------------------
    async def send(self, hints: Sequence[Hint], now: Instant) -> Sequence[Hint]:
        """Ten a request, all requests at once; the hints that were not taken come back."""
        batches = [
            (place, batch)
            for place, together in _by_place(hints, lambda hint: hint).items()
            for batch in batches_of(together, lambda hint: len(to_body(hint)))
        ]
        results = await asyncio.gather(
            *(self._send_batch(place, batch, now) for place, batch in batches), return_exceptions=True
        )
        refused: list[Hint] = []
        failures: list[QueueUnavailable] = []
        for (_, batch), result in zip(batches, results, strict=True):
            if isinstance(result, QueueUnavailable):
                failures.append(result)
                refused += batch
            elif isinstance(result, BaseException):
                raise result
            else:
                refused += result
        if failures and len(failures) == len(batches):
            raise failures[0]
        return refused

    async def _send_batch(self, place: Place, batch: Sequence[Hint], now: Instant) -> list[Hint]:
        entries = [
            {
                "Id": str(number),
                "MessageBody": to_body(hint),
                "MessageGroupId": group_of(hint.tenant_id),
                "DelaySeconds": _delay_s(hint, now),
            }
            for number, hint in enumerate(batch)
        ]
        try:
            answer = await self._ask("send_message_batch", {"QueueUrl": self._urls.of(place), "Entries": entries})
        except ClientError as error:
            if code_of(error) not in _NO_QUEUE:
                raise
            # Its pool was deleted, or somebody has removed it: these hints are lost. Were they sent again at once, a
            # tick a second into a pool that is gone would keep the lanes of its whole bucket waiting.
            said = "There is no queue for lane %s of the pool %s; put the pool again if it was not deleted."
            _LOG.error(said, place[1].value, place[0])
            return []
        return [batch[int(failed["Id"])] for failed in answer.get("Failed", [])]

    async def send_dead(self, letter: DeadLetter) -> None:
        """Put a copy into *dead-executions*."""
        await self._send_one(self._urls.dead, letter_to_body(letter), group_of(letter.tenant_id))

    async def _send_one(self, url: str, body: str, group: str) -> None:
        await self._ask("send_message", {"QueueUrl": url, "MessageBody": body, "MessageGroupId": group})

    # --- receiving ----------------------------------------------------------------------------------------------
    async def receive(
        self, lane: Lane, *, limit: int, wait_ms: int, visibility_ms: int, pool: str = LAMBDA
    ) -> Sequence[Received]:
        """One long poll. Its waits are whole seconds, and so is the visibility, which is rounded up."""
        request = {
            "QueueUrl": self._urls.of((pool, lane)),
            "MaxNumberOfMessages": min(limit, limits.MESSAGES_A_BATCH),
            "WaitTimeSeconds": min(wait_ms // _MS_IN_S, _WAIT_S_MAX),
            "VisibilityTimeout": _visibility_s(visibility_ms),
            "MessageSystemAttributeNames": ["ApproximateReceiveCount"],
        }
        try:
            answer = await self._ask("receive_message", request)
        except ClientError as error:
            if code_of(error) not in _NO_QUEUE:
                raise
            raise QueueUnavailable(f"there is no queue for lane {lane.value} of the pool {pool}") from error
        found: list[Received] = []
        for message in answer.get("Messages", []):
            received = received_from_message(message, lane, pool)
            if received is None:
                await self.set_aside((pool, lane), body=message["Body"], receipt=message["ReceiptHandle"])
            else:
                found.append(received)
        return found

    async def receive_any(
        self, lanes: Sequence[Lane], *, limit: int, wait_ms: int, visibility_ms: int, pool: str = LAMBDA
    ) -> Sequence[Received]:
        """Rounds of short polls, the first lane first; between two rounds one lane in turn is waited for a second.

        A short poll asks some of a queue's servers, a long one all of them: so each lane is asked whole in its turn.
        """
        ends_ms = self._clock.monotonic_ms() + wait_ms
        for waited in itertools.cycle(lanes):
            found: list[Received] = []
            for lane in lanes:
                left = limit - len(found)
                if left:
                    found += await self.receive(lane, limit=left, wait_ms=0, visibility_ms=visibility_ms, pool=pool)
            if found or ends_ms - self._clock.monotonic_ms() < _MS_IN_S:
                return found
            seen = await self.receive(waited, limit=limit, wait_ms=_MS_IN_S, visibility_ms=visibility_ms, pool=pool)
            if seen:
                return seen
        raise AssertionError("somebody waits for no lane at all")

    async def set_aside(self, place: Place, *, body: str, receipt: str) -> None:
        """Move a message that is no hint to the lane's queue of undelivered ones. Dying in between doubles it there."""
        pool, lane = place
        url = self._urls.undelivered.get(lane) if pool == LAMBDA else None
        _LOG.warning("A message of lane %s of %s is no hint and is set aside: %.200s", lane.value, pool, body)
        if url is None:
            return
        await self._send_one(url, body, "unreadable")
        await self._delete_batch(place, [receipt])

    async def delete(self, received: Sequence[Received]) -> None:
        """Ten a request, all requests at once."""
        batches = [
            (place, [one.receipt for one in batch])
            for place, together in _by_place(received, lambda one: one.hint).items()
            for batch in batches_of(together, lambda one: len(one.receipt))
        ]
        await asyncio.gather(*(self._delete_batch(place, receipts) for place, receipts in batches))

    async def _delete_batch(self, place: Place, receipts: Sequence[str]) -> None:
        """Again for those that failed, but for one that is out of our hand: it is gone, or somebody else's by now."""
        pending, url = dict(enumerate(receipts)), self._urls.of(place)

        async def attempt() -> None:
            nonlocal pending
            entries = [{"Id": str(number), "ReceiptHandle": receipt} for number, receipt in pending.items()]
            answer = await self._calls("delete_message_batch", {"QueueUrl": url, "Entries": entries})
            failed = {int(one["Id"]): one["Code"] for one in answer.get("Failed", [])}
            pending = {number: pending[number] for number, code in failed.items() if code not in _OUT_OF_HAND}
            if pending:
                raise TryAgain(", ".join(sorted(set(failed.values()))))

        await self._persistence.persist("delete_message_batch", attempt)

    async def show_again(self, received: Received, *, after_ms: int) -> None:
        """Move the end of a message's visibility. One that is out of our hand is visible already, or gone."""
        request = {
            "QueueUrl": self._urls.of(_place(received.hint)),
            "ReceiptHandle": received.receipt,
            "VisibilityTimeout": _visibility_s(after_ms),
        }
        try:
            await self._ask("change_message_visibility", request)
        except ClientError as error:
            if code_of(error) not in _OUT_OF_HAND:
                raise

    # --- tenants' pools -----------------------------------------------------------------------------------------
    async def prepare(self, pool: str) -> None:
        """One queue a lane. Making one that exists, just as it is, is no error; one that differs is set right."""
        tenants = self._urls.tenants
        assert tenants is not None, "this installation has no queues for tenants' pools"
        for lane in LANES:
            name = tenants.name(pool, lane)
            request = {"QueueName": name, "Attributes": tenants.attributes(name)}
            try:
                await self._ask("create_queue", request)
            except ClientError as error:
                if code_of(error) in _RESTS:
                    raise QueueUnavailable(f"the pool {pool} was removed a moment ago") from error
                if code_of(error) not in _EXISTS:
                    raise
                url = self._urls.of((pool, lane))
                await self._ask("set_queue_attributes", {"QueueUrl": url, "Attributes": request["Attributes"]})

    async def remove(self, pool: str) -> None:
        """Each lane's queue; one that is gone already is no error."""
        for lane in LANES:
            try:
                await self._ask("delete_queue", {"QueueUrl": self._urls.of((pool, lane))})
            except ClientError as error:
                if code_of(error) not in _NO_QUEUE:
                    raise

    async def waiting(self, pool: str) -> int:
        """What SQS says of each lane's queue, which lags by a minute or so."""
        return sum([await self._held_by(self._urls.of((pool, lane))) for lane in LANES])

    async def _held_by(self, url: str) -> int:
        try:
            answer = await self._ask("get_queue_attributes", {"QueueUrl": url, "AttributeNames": list(_COUNTS)})
        except ClientError as error:
            if code_of(error) not in _NO_QUEUE:
                raise
            return 0
        return sum(int(count) for count in answer["Attributes"].values())

    async def _ask(self, operation: str, request: Mapping[str, Any]) -> Answer:
        return await self._persistence.persist(operation, lambda: self._calls(operation, request))


def _place(hint: Hint) -> Place:
    return hint.queue, hint.lane


def _by_place(entries: Sequence[EntryT], hint_of: Callable[[EntryT], Hint]) -> dict[Place, list[EntryT]]:
    """The entries of each queue, in their order; higher lanes first."""
    found: dict[Place, list[EntryT]] = {}
    for entry in sorted(entries, key=lambda one: LANES.index(hint_of(one).lane)):
        found.setdefault(_place(hint_of(entry)), []).append(entry)
    return found


def _delay_s(hint: Hint, now: Instant) -> int:
    """Rounded down: a hint comes early and is waited for, never late."""
    return min(max(0, hint.due_at - now), limits.QUEUE_DELAY_MS_MAX) // _MS_IN_S


def _visibility_s(duration_ms: int) -> int:
    """Rounded up: a hint is not given to another while it is held."""
    return min(max(0, -(-duration_ms // _MS_IN_S)), _VISIBILITY_S_MAX)
