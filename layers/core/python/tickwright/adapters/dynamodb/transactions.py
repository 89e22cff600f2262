"""Writes of several items, all or none.

A conflict or a throttle is no verdict: the same request, with the same token, is repeated. The token makes a repeat
harmless for ten minutes; after that the items tell whether it had been carried out. Promise: SEM-STORE-3.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from tickwright.adapters.aws.faults import PASSING, code_of
from tickwright.adapters.aws.patience import TryAgain
from tickwright.adapters.dynamodb.asked import Asked, asked_of, items_of
from tickwright.adapters.dynamodb.engine import Engine
from tickwright.adapters.dynamodb.judge import CONDITION_FAILED, REFUSED_TOGETHER
from tickwright.adapters.dynamodb.reader import Reader
from tickwright.domain import limits
from tickwright.ports.store import AnyChange, Applied, Outcome, Refused

_Reason = Mapping[str, Any]


async def write_together(
    engine: Engine, reader: Reader, changes: Sequence[AnyChange], *, token: str
) -> list[Outcome[Any]]:
    """All Applied, or at least one Refused; `token` is fresh for each intent."""
    assert len(changes) <= limits.TRANSACTION_WRITES_MAX
    asked = asked_of(changes)
    if not asked:
        return []
    request = {
        "TransactItems": [one.request.in_transaction(engine.names) for one in asked],
        "ClientRequestToken": token,
    }
    reasons = await engine.persist("transact_write_items", lambda: _attempt(engine, request))
    if reasons is None:
        return await _all_applied(reader, asked)
    return await _cancelled(reader, asked, reasons)


async def _attempt(engine: Engine, request: Mapping[str, Any]) -> Sequence[_Reason] | None:
    """Why it was refused, or None if it was not."""
    try:
        await engine.call("transact_write_items", request)
    except ClientError as error:
        if code_of(error) != REFUSED_TOGETHER:
            raise
        reasons: Sequence[_Reason] = error.response.get("CancellationReasons", [])
        codes = {str(reason.get("Code")) for reason in reasons}
        if CONDITION_FAILED in codes:
            return reasons
        if not codes & PASSING:
            raise
        raise TryAgain(", ".join(sorted(codes & PASSING))) from error
    return None


async def _all_applied(reader: Reader, asked: Sequence[Asked]) -> list[Outcome[Any]]:
    """A transaction returns no items: those that were not given whole are read, as they are by now."""
    items = await items_of(reader, [one for one in asked if one.request.put is None])
    return [Applied(one.entity(one.request.put or items[one.place])) for one in asked]


async def _cancelled(reader: Reader, asked: Sequence[Asked], reasons: Sequence[_Reason]) -> list[Outcome[Any]]:
    """Refused, unless it was carried out before: a refused change knows its work, the others would change nothing."""
    old = {
        one.place: reason.get("Item")
        for one, reason in zip(asked, reasons, strict=True)
        if reason.get("Code") == CONDITION_FAILED
    }
    if any(isinstance(one.judged(old[one.place]), Refused) for one in asked if one.place in old):
        return [Refused(one.entity(old.get(one.place))) for one in asked]
    others = [one for one in asked if one.place not in old]
    found = old | await items_of(reader, others)
    entities = {one.place: one.entity(found.get(one.place)) for one in asked}
    if all(one.change.decide(entities[one.place]) == entities[one.place] is not None for one in others):
        return [Applied(entities[one.place]) for one in asked]
    return [Refused(entities[one.place]) for one in asked]
