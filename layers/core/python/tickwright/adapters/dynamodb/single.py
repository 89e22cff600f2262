"""One conditional write alone: UpdateItem or PutItem, whose refusal brings the old item along.

Repeated as it is after a throttle, a conflict or an unknown outcome; a repeat that finds its own work recognises it.
Promise: SEM-STORE-5.
"""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from tickwright.adapters.aws.faults import code_of
from tickwright.adapters.dynamodb.asked import Asked
from tickwright.adapters.dynamodb.engine import Engine
from tickwright.adapters.dynamodb.expressions.write import Kind
from tickwright.adapters.dynamodb.judge import REFUSED_ALONE
from tickwright.ports.store import Applied, Outcome, Refused


async def write_alone(engine: Engine, asked: Asked) -> Outcome[Any]:
    """Carry it out; StoreUnavailable means that the outcome is not known."""
    if asked.request.write.kind is Kind.CHECK:
        return await _looked_at(engine, asked)
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


async def _looked_at(engine: Engine, asked: Asked) -> Outcome[Any]:
    """A change that writes nothing: one strong read is as atomic as a write."""
    request = {"TableName": engine.name_of(asked.request.table), "Key": asked.request.key, "ConsistentRead": True}
    answer = await engine.ask("get_item", request)
    old = asked.entity(answer.get("Item"))
    return Refused(old) if asked.change.decide(old) is None else Applied(old)
