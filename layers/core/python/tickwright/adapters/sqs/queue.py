"""The ready queues on SQS: what ports/queue.py promises, one standard queue a lane, fair by its message group.

Must not decide. Repeating a send may double a hint, which every reader survives. Promises: SEM-QUEUE-1 to SEM-QUEUE-4.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

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
from tickwright.domain import limits
from tickwright.domain.instants import Instant
from tickwright.domain.lanes import LANES, Lane
from tickwright.ports.clock import Clock
from tickwright.ports.entropy import Entropy
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.queue import DeadLetter, Hint, Received

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


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUrls:
    """Where the queues are. A lane without an `undelivered` queue leaves unreadable messages to its redrive policy."""

    ready: Mapping[Lane, str]
    dead: str
    undelivered: Mapping[Lane, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Every lane has its queue."""
        assert set(self.ready) == set(LANES)


class SqsQueue:
    """The queues of all lanes. Safe to use from many coroutines."""

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
        self._persistence = Persistence(clock=clock, entropy=entropy, patience=Patience(), fault=QueueUnavailable)

    def close(self) -> None:
        """Let go of the threads."""
        self._calls.close()

    # --- sending ------------------------------------------------------------------------------------------------
    async def send(self, hints: Sequence[Hint], now: Instant) -> Sequence[Hint]:
        """Ten a request, all requests at once; the hints that were not taken come back."""
        batches = [
            (lane, batch)
            for lane in LANES
            for batch in batches_of([hint for hint in hints if hint.lane is lane], lambda hint: len(to_body(hint)))
        ]
        results = await asyncio.gather(
            *(self._send_batch(lane, batch, now) for lane, batch in batches), return_exceptions=True
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

    async def _send_batch(self, lane: Lane, batch: Sequence[Hint], now: Instant) -> list[Hint]:
        entries = [
            {
                "Id": str(number),
                "MessageBody": to_body(hint),
                "MessageGroupId": group_of(hint.tenant_id),
                "DelaySeconds": _delay_s(hint, now),
            }
            for number, hint in enumerate(batch)
        ]
        answer = await self._ask("send_message_batch", {"QueueUrl": self._urls.ready[lane], "Entries": entries})
        return [batch[int(failed["Id"])] for failed in answer.get("Failed", [])]

    async def send_dead(self, letter: DeadLetter) -> None:
        """Put a copy into *dead-executions*."""
        await self._send_one(self._urls.dead, letter_to_body(letter), group_of(letter.tenant_id))

    async def _send_one(self, url: str, body: str, group: str) -> None:
        await self._ask("send_message", {"QueueUrl": url, "MessageBody": body, "MessageGroupId": group})

    # --- receiving ----------------------------------------------------------------------------------------------
    async def receive(self, lane: Lane, *, limit: int, wait_ms: int, visibility_ms: int) -> Sequence[Received]:
        """One long poll. Its waits are whole seconds, and so is the visibility, which is rounded up."""
        answer = await self._ask(
            "receive_message",
            {
                "QueueUrl": self._urls.ready[lane],
                "MaxNumberOfMessages": min(limit, limits.MESSAGES_A_BATCH),
                "WaitTimeSeconds": min(wait_ms // _MS_IN_S, _WAIT_S_MAX),
                "VisibilityTimeout": _visibility_s(visibility_ms),
                "MessageSystemAttributeNames": ["ApproximateReceiveCount"],
            },
        )
        found: list[Received] = []
        for message in answer.get("Messages", []):
            received = received_from_message(message, lane)
            if received is None:
                await self.set_aside(lane, body=message["Body"], receipt=message["ReceiptHandle"])
            else:
                found.append(received)
        return found

    async def set_aside(self, lane: Lane, *, body: str, receipt: str) -> None:
        """Move a message that is no hint to the lane's queue of undelivered ones. Dying in between doubles it there."""
        url = self._urls.undelivered.get(lane)
        _LOG.warning("A message of lane %s is no hint and is set aside: %.200s", lane.value, body)
        if url is None:
            return
        await self._send_one(url, body, "unreadable")
        await self._delete_batch(lane, [receipt])

    async def delete(self, received: Sequence[Received]) -> None:
        """Ten a request, all requests at once."""
        batches = [
            (lane, [one.receipt for one in batch])
            for lane in LANES
            for batch in batches_of([one for one in received if one.hint.lane is lane], lambda one: len(one.receipt))
        ]
        await asyncio.gather(*(self._delete_batch(lane, receipts) for lane, receipts in batches))

    async def _delete_batch(self, lane: Lane, receipts: Sequence[str]) -> None:
        """Again for those that failed, but for one that is out of our hand: it is gone, or somebody else's by now."""
        pending = dict(enumerate(receipts))

        async def attempt() -> None:
            nonlocal pending
            entries = [{"Id": str(number), "ReceiptHandle": receipt} for number, receipt in pending.items()]
            answer = await self._calls("delete_message_batch", {"QueueUrl": self._urls.ready[lane], "Entries": entries})
            failed = {int(one["Id"]): one["Code"] for one in answer.get("Failed", [])}
            pending = {number: pending[number] for number, code in failed.items() if code not in _OUT_OF_HAND}
            if pending:
                raise TryAgain(", ".join(sorted(set(failed.values()))))

        await self._persistence.persist("delete_message_batch", attempt)

    async def show_again(self, received: Received, *, after_ms: int) -> None:
        """Move the end of a message's visibility. One that is out of our hand is visible already, or gone."""
        request = {
            "QueueUrl": self._urls.ready[received.hint.lane],
            "ReceiptHandle": received.receipt,
            "VisibilityTimeout": _visibility_s(after_ms),
        }
        try:
            await self._ask("change_message_visibility", request)
        except ClientError as error:
            if code_of(error) not in _OUT_OF_HAND:
                raise

    async def _ask(self, operation: str, request: Mapping[str, Any]) -> Answer:
        return await self._persistence.persist(operation, lambda: self._calls(operation, request))


def _delay_s(hint: Hint, now: Instant) -> int:
    """Rounded down: a hint comes early and is waited for, never late."""
    return min(max(0, hint.due_at - now), limits.QUEUE_DELAY_MS_MAX) // _MS_IN_S


def _visibility_s(duration_ms: int) -> int:
    """Rounded up: a hint is not given to another while it is held."""
    return min(max(0, -(-duration_ms // _MS_IN_S)), _VISIBILITY_S_MAX)
