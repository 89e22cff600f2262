"""One conditional write alone: UpdateItem or PutItem, whose refusal brings the old item along.

Repeated as it is after a throttle, a conflict or an unknown outcome; a repeat that finds its own work recognises it.
Promise: SEM-STORE-1.
"""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from tickwright.adapters.aws.faults import code_of
from tickwright.adapters.dynamodb.asked import Asked
from tickwright.adapters.dynamodb.engine import Engine
from tickwright.adapters.dynamodb.judge import REFUSED_ALONE
from tickwright.ports.store import Outcome


async def write_alone(engine: Engine, asked: Asked) -> Outcome[Any]:
    """Carry it out; StoreUnavailable means that the outcome is not known."""
    operation, request = asked.request.single(engine.names)

    async def attempt() -> Outcome[Any]:
        try:
            answer = await engine.call(operation, request)
        except ClientError as error:
            if code_of(error) != REFUSED_ALONE:
                raise
            refusal: Mapping[str, Any] = error.response
            return asked.judged(refusal.get("Item"))
        outcome = asked.applied(answer.get("Attributes"))
        assert outcome is not None
        return outcome

    return await engine.persist(operation, attempt)
