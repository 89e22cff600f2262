"""How many conditional writes the embedded store carries out a second, with and without an fsync a commit.

`python -m tests.bench.embedded [N]` prints one JSON line. `batched`: claims in write_each of 25, eight batches at once,
as the loops send them. `concurrent`: single claims, 64 at once. `sequential`: single claims, one after the other, so
its reciprocal is what one caller waits. `queue`: hints sent, received and deleted by tens.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from tests.support.builders import LEASE_MS, TICK, TIMEOUT_MS, WORKER, a_hint, a_job_id, a_ref, an_execution, an_id
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.embedded import Database, EmbeddedQueue, EmbeddedStore, Synchronous
from tickwright.domain.changes.executions import Claim, Insert
from tickwright.domain.lanes import Lane
from tickwright.ports.store import Applied

BATCH = 25
BATCHES_AT_ONCE = 8
AT_ONCE = 64
Claims = Sequence[Claim]


async def batched(store: EmbeddedStore, claims: Claims) -> None:
    """Claim in batches."""
    batches = [claims[at : at + BATCH] for at in range(0, len(claims), BATCH)]
    for at in range(0, len(batches), BATCHES_AT_ONCE):
        answers = await asyncio.gather(*map(store.write_each, batches[at : at + BATCHES_AT_ONCE]))
        assert all(isinstance(outcome, Applied) for outcomes in answers for outcome in outcomes)


async def concurrent(store: EmbeddedStore, claims: Claims) -> None:
    """Claim one by one, many at once."""
    for at in range(0, len(claims), AT_ONCE):
        outcomes = await asyncio.gather(*map(store.write, claims[at : at + AT_ONCE]))
        assert all(isinstance(outcome, Applied) for outcome in outcomes)


async def sequential(store: EmbeddedStore, claims: Claims) -> None:
    """Claim one by one."""
    for claim in claims:
        assert isinstance(await store.write(claim), Applied)


async def through_the_queue(database: Database, count: int) -> float:
    """Hints a second, from send to delete."""
    clock = SystemClock()
    queue = EmbeddedQueue(database, clock)
    now = clock.now()
    hints = [a_hint(ref=a_ref(number), due_at=now) for number in range(count)]
    began_s = time.perf_counter()
    for at in range(0, count, 100):
        await queue.send(hints[at : at + 100], now)
    done = 0
    while done < count:
        received = await queue.receive(Lane.NORMAL, limit=10, wait_ms=1_000, visibility_ms=60_000)
        await queue.delete(received)
        done += len(received)
    return count / (time.perf_counter() - began_s)


async def claims_a_second(
    store: EmbeddedStore, first: int, count: int, way: Callable[[EmbeddedStore, Claims], Awaitable[None]]
) -> float:
    """Insert fresh executions, then time their claims alone."""
    inserts = [Insert(execution=an_execution(job_id=a_job_id(first + number))) for number in range(count)]
    await store.write_each(inserts)
    claims = [
        Claim(
            ref=insert.ref,
            worker=WORKER,
            token=an_id(first + number),
            now=TICK,
            lease_ms=LEASE_MS,
            timeout_ms=TIMEOUT_MS,
            clock_error_ms=1_000,
        )
        for number, insert in enumerate(inserts)
    ]
    began_s = time.perf_counter()
    await way(store, claims)
    return count / (time.perf_counter() - began_s)


async def measured(synchronous: Synchronous, count: int, folder: Path) -> dict[str, int]:
    """Every figure for one setting."""
    database = Database.open(folder / f"{synchronous.value}.db", synchronous=synchronous)
    store = EmbeddedStore(database)
    figures = {
        way.__name__: round(await claims_a_second(store, turn * count, count, way))
        for turn, way in enumerate((batched, concurrent, sequential))
    }
    figures["queue"] = round(await through_the_queue(database, count))
    await database.close()
    return figures


async def main(count: int) -> None:
    """Both settings, one line."""
    with tempfile.TemporaryDirectory() as folder:
        figures = {one.value: await measured(one, count, Path(folder)) for one in Synchronous}
    print(json.dumps({"bench": "embedded", "claims": count, "perSecond": figures}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000))
