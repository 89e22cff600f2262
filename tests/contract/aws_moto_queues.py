"""Make moto's SQS atomic inside one process: two readers never take one message, and no deletion is lost.

moto walks and rebuilds its list of messages without any lock. A long poll must not hold the others up, so it is made of
short looks, each one atomic, and is woken by what is sent.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from moto.sqs.models import SQSBackend

from tickwright.adapters.clock_system import SystemClock

_ACTIONS = (
    "send_message",
    "send_message_batch",
    "delete_message",
    "delete_message_batch",
    "change_message_visibility",
    "change_message_visibility_batch",
)
_LOOK_S = 0.1  # a delay or a visibility that ends is seen by the next look


@contextmanager
def atomic_queues() -> Iterator[None]:
    """One action at a time."""
    gate = threading.Condition(threading.RLock())
    clock = SystemClock()
    look = SQSBackend.receive_message

    def guarded(action: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(action)
        def alone(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - moto's own, passed through
            with gate:
                answer = action(*args, **kwargs)
                gate.notify_all()
                return answer

        return alone

    def poll(backend: SQSBackend, queue: str, count: int, wait_s: int, *args: Any) -> Any:  # noqa: ANN401 - as above
        give_up_at_ms = clock.monotonic_ms() + wait_s * 1_000
        with gate:
            while True:
                found = look(backend, queue, count, 0, *args)
                if found or clock.monotonic_ms() >= give_up_at_ms:
                    return found
                gate.wait(_LOOK_S)

    with ExitStack() as patches:
        for name in _ACTIONS:
            patches.enter_context(mock.patch.object(SQSBackend, name, guarded(getattr(SQSBackend, name))))
        patches.enter_context(mock.patch.object(SQSBackend, "receive_message", poll))
        yield
