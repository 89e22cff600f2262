"""The worker: claims and runs the executions whose hints a lane delivers, a batch at a time."""

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tickwright.domain import limits
from tickwright.domain.ids import WorkerId
from tickwright.loops.worker import run_hints
from tickwright.ports.faults import Unavailable
from tickwright.services.attempt import Worker
from tickwright.services.claim import NotNow
from tickwright.wiring.aws import received_of, worker_kit_from_env
from tickwright.wiring.targets import runners_from_env

_KIT = worker_kit_from_env(os.environ)
_RUNNERS = runners_from_env(os.environ, _KIT, places=limits.MESSAGES_A_BATCH)
_RUNNER = asyncio.Runner()

CLAIM_MS = 10_000  # from the start of an invocation until its attempts have begun
GIVE_BACK_MS = 20_000  # kept for giving back what still runs, so that no attempt is counted for our time limit

Record = Mapping[str, Any]


class Context(Protocol):
    """What Lambda says of the invocation."""

    def get_remaining_time_in_millis(self) -> int:
        """How long it may still take."""
        ...


def lambda_handler(event: Mapping[str, Sequence[Record]], context: Context) -> dict[str, list[dict[str, str]]]:
    """Work on a batch; the messages that are named come again, the others Lambda deletes."""
    again = _RUNNER.run(_work(event["Records"], context.get_remaining_time_in_millis() - GIVE_BACK_MS))
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in again]}


async def _work(records: Sequence[Record], duration_ms: int) -> list[str]:
    loop = asyncio.get_running_loop()
    draining = loop.create_future()
    timer = loop.call_later(duration_ms / 1_000, draining.set_result, None)
    worker = Worker(
        kit=_KIT,
        runners=_RUNNERS,
        worker_id=WorkerId(f"lambda-{_KIT.entropy.token()}"),
        draining=draining,
        timeout_ms_max=max(1_000, duration_ms - CLAIM_MS),
    )
    hints = [(record["messageId"], received) for record in records if (received := received_of(os.environ, record))]
    answers = await run_hints(worker, [received for _, received in hints])
    timer.cancel()
    again = [(one, answer) for one, answer in zip(hints, answers, strict=True) if isinstance(answer, NotNow)]
    for (_, received), answer in again:
        with contextlib.suppress(Unavailable):  # then it comes when its visibility ends: later, not never
            await _KIT.queue.show_again(received, after_ms=answer.after_ms)
    return [message_id for (message_id, _), _ in again]
