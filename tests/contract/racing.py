"""How a race is run: a thread, a loop and a store of its own for each contender, all let go at once, round by round.

Must not hold assertions. Threads stand for other programs: nothing is shared but the place.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tests.contract.places import Place

PortT = TypeVar("PortT")
ResultT = TypeVar("ResultT")
Contender = Callable[[PortT, int], Awaitable[ResultT]]

# A contender that breaks off must not leave the others waiting for ever.
PATIENCE_S = 60


def race(place: Place[PortT], contenders: Sequence[Contender[PortT, ResultT]], *, rounds: int) -> list[list[ResultT]]:
    """For each round, what each contender got; no round begins before the one before has ended for all."""
    gate = threading.Barrier(len(contenders))

    async def contend(contender: Contender[PortT, ResultT]) -> list[ResultT]:
        async with place.open() as port:
            results = []
            for turn in range(rounds):
                gate.wait(PATIENCE_S)
                results.append(await contender(port, turn))
            return results

    def in_a_loop(contender: Contender[PortT, ResultT]) -> list[ResultT]:
        try:
            return asyncio.run(contend(contender))
        except BaseException:
            gate.abort()
            raise

    with ThreadPoolExecutor(len(contenders)) as threads:
        by_contender = list(threads.map(in_a_loop, contenders))
    return [list(results) for results in zip(*by_contender, strict=True)]
