"""Make moto's DynamoDB atomic inside one process.

moto checks a condition and applies the write without any lock between them, so two threads can both win one claim.
DynamoDB never does that, so under moto each action waits for the one before it.
"""

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from moto import mock_aws
from moto.dynamodb.responses import DynamoHandler


@contextmanager
def atomic_moto() -> Iterator[None]:
    """Answer every AWS call of this process by moto, one DynamoDB action at a time."""
    one_at_a_time = threading.RLock()
    unguarded = DynamoHandler.call_action

    @functools.wraps(unguarded)
    def guarded(handler: DynamoHandler) -> Any:  # noqa: ANN401 - moto's own answer, passed through
        with one_at_a_time:
            return unguarded(handler)

    with mock.patch.object(DynamoHandler, "call_action", guarded), mock_aws():
        yield
