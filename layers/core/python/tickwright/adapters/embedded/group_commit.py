"""How waiting for the file never holds up an event loop: one thread asks, and takes all that waits in one go.

While one commit waits for the disk, the next writes gather; they share the next one. So a commit's price is divided by
those who wait for it. Must not know what is asked. Promise: SEM-STORE-1.
"""

import asyncio
import queue
import sqlite3
import threading
from asyncio import AbstractEventLoop, Future
from collections import defaultdict
from typing import NamedTuple

from tickwright.adapters.embedded.asking import Answer, Asked, carry_out

# A bound for how long a transaction holds the file: 256 writes take a few tens of milliseconds.
GROUP_MAX = 256


class Waiting(NamedTuple):
    """Somebody who awaits an answer in an event loop."""

    asked: Asked
    loop: AbstractEventLoop
    future: "Future[Answer]"


class GroupCommit:
    """A thread that owns a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Start it. As a daemon: what is not acknowledged when the program ends was never promised."""
        self._connection = connection
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._stopped = False
        self._thread = threading.Thread(target=self._serve, name="tickwright-embedded", daemon=True)
        self._thread.start()

    async def ask(self, asked: Asked) -> Answer:
        """Do it in the thread and await its answer."""
        if self._stopped:
            return Answer(problem=asked.fault("the store is closed"))
        loop = asyncio.get_running_loop()
        future: Future[Answer] = loop.create_future()
        self._waiting.put(Waiting(asked, loop, future))
        return await future

    async def stop(self) -> None:
        """Answer what was asked before, then end."""
        if not self._stopped:
            self._stopped = True
            self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        serving = True
        while serving:
            group, serving = self._gathered()
            _deliver(group, carry_out(self._connection, [one.asked for one in group]))

    def _gathered(self) -> tuple[list[Waiting], bool]:
        """Those who wait, at least one; and whether to go on."""
        group: list[Waiting] = []
        one = self._waiting.get()
        while one is not None:
            group.append(one)
            if len(group) == GROUP_MAX:
                return group, True
            try:
                one = self._waiting.get_nowait()
            except queue.Empty:
                return group, True
        return group, False


def _deliver(group: list[Waiting], answers: list[Answer]) -> None:
    """Wake each event loop once for all of its answers."""
    by_loop: defaultdict[AbstractEventLoop, list[tuple[Future[Answer], Answer]]] = defaultdict(list)
    for waiting, answer in zip(group, answers, strict=True):
        by_loop[waiting.loop].append((waiting.future, answer))
    for loop, given in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, given)
        except RuntimeError:
            # The loop was closed while its answer was on the way: nobody waits for it any more.
            continue


def _settle(given: list[tuple["Future[Answer]", Answer]]) -> None:
    for future, answer in given:
        if not future.done():  # else whoever asked has given up
            future.set_result(answer)
