"""Independent writes, many at once: statements of up to 25 a request, which cost a tenth of the CPU of so many calls.

Nothing is atomic across them. A statement that comes back throttled is repeated alone, in its plain form; what an
answer leaves out (some engines return no old item, and none does for an INSERT) is read. Promise: SEM-STORE-2.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from tickwright.adapters.aws.faults import PASSING
from tickwright.adapters.dynamodb.asked import Asked, Place, asked_of, items_of
from tickwright.adapters.dynamodb.engine import Engine
from tickwright.adapters.dynamodb.judge import ALREADY_THERE, CONDITION_FAILED
from tickwright.adapters.dynamodb.reader import Reader
from tickwright.adapters.dynamodb.single import write_alone
from tickwright.domain import limits
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.store import AnyChange, Outcome, Unknown

_Said = Mapping[str, Any]
_Outcomes = dict[Place, Outcome[Any] | Unknown]


async def write_each(engine: Engine, reader: Reader, changes: Sequence[AnyChange]) -> list[Outcome[Any] | Unknown]:
    """An outcome each, in their order."""
    asked = asked_of(changes)
    batches, alone = _parted(engine, asked)
    parts = await asyncio.gather(
        *(_batch(engine, reader, batch) for batch in batches), *(_alone(engine, one) for one in alone)
    )
    outcomes = {place: outcome for part in parts for place, outcome in part.items()}
    if outcomes and all(isinstance(outcome, Unknown) for outcome in outcomes.values()):
        raise StoreUnavailable(f"of {len(asked)} writes not one has a known outcome")
    return [outcomes[one.place] for one in asked]


def _parted(engine: Engine, asked: Sequence[Asked]) -> tuple[list[list[Asked]], list[Asked]]:
    """What goes out in batches, and what alone. A batch of one would only lose the old item."""
    alone: list[Asked] = []
    together: list[Asked] = []
    for one in asked:
        (together if engine.partiql and one.request.write.batched else alone).append(one)
    size = limits.WRITES_A_BATCH
    batches = [together[start : start + size] for start in range(0, len(together), size)]
    if batches and len(batches[-1]) == 1:
        alone += batches.pop()
    return batches, alone


async def _alone(engine: Engine, one: Asked) -> _Outcomes:
    try:
        return {one.place: await write_alone(engine, one)}
    except StoreUnavailable:
        return {one.place: Unknown()}


async def _batch(engine: Engine, reader: Reader, batch: Sequence[Asked]) -> _Outcomes:
    request = {"Statements": [one.request.in_batch(engine.names) for one in batch]}
    try:
        answer = await engine.ask("batch_execute_statement", request)
    except StoreUnavailable:
        return {one.place: Unknown() for one in batch}
    outcomes: _Outcomes = {}
    again: list[Asked] = []
    untold: list[tuple[Asked, _Said]] = []
    for one, said in zip(batch, answer["Responses"], strict=True):
        if _error(said).get("Code") in PASSING:
            again.append(one)
        elif (told := _told(one, said)) is None:
            untold.append((one, said))
        else:
            outcomes[one.place] = told
    for part in await asyncio.gather(*(_alone(engine, one) for one in again), _looked_up(reader, untold)):
        outcomes |= part
    return outcomes


def _told(one: Asked, said: _Said) -> Outcome[Any] | None:
    """What a statement's own answer says; None if it leaves the item out."""
    error = _error(said)
    if not error:
        return one.applied(said.get("Item"))
    assert error["Code"] in {CONDITION_FAILED, ALREADY_THERE}, f"{error}"
    return one.judged(error["Item"]) if "Item" in error else None


async def _looked_up(reader: Reader, untold: Sequence[tuple[Asked, _Said]]) -> _Outcomes:
    """Judge by the items as they are now: a refusal stays one, and an update that won shows in what it wrote."""
    try:
        items = await items_of(reader, [one for one, _ in untold])
    except StoreUnavailable:
        return {one.place: Unknown() for one, _ in untold}
    outcomes: _Outcomes = {}
    for one, said in untold:
        item = items.get(one.place)
        outcome = one.judged(item) if _error(said) else one.applied(item)
        outcomes[one.place] = Unknown() if outcome is None else outcome
    return outcomes


def _error(said: _Said) -> _Said:
    error: _Said = said.get("Error", {})
    return error
