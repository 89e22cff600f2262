"""A worker as its user writes it: handlers, how many at a time, and `run()`.

Must not know how claims come: that is the transport's. Without one it pulls over the HTTP API. On SIGTERM it takes no
more, lets end what can, gives back what stops, and ends in time whatever its handlers do. Promise: SEM-SDK-9.
"""

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from tickwright_sdk.arguments import several, whole
from tickwright_sdk.context import Context
from tickwright_sdk.handlers import Job, Manner, Registry, Submitted
from tickwright_sdk.hands import Hands
from tickwright_sdk.health import Health, serving
from tickwright_sdk.loading import refuse_on_import
from tickwright_sdk.machine import token
from tickwright_sdk.problems import WorkerRefused
from tickwright_sdk.signals import heed_signals
from tickwright_sdk.terms import Terms

if TYPE_CHECKING:
    from tickwright_sdk.client import Client

_LOG = logging.getLogger("tickwright.worker")
LOG_LINE = "%(asctime)s %(levelname)s %(message)s"
_PORT_MAX = 65_535
REFUSED = 2  # the exit status of a program that cannot work as it is set up
P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shift:
    """A worker at work: what a transport is given. `hurry` is set when even the grace is not to be waited for."""

    worker: "Worker"
    hands: Hands
    stop: asyncio.Event
    hurry: asyncio.Event

    @property
    def registry(self) -> Registry:
        return self.worker.registry


Transport = Callable[[Shift], Awaitable[None]]  # works until `stop` is set, then finishes or gives back


@dataclass(kw_only=True, eq=False)
class Worker:
    """Handlers and the limits within which they are called.

    `pool`: the pool that it pulls from. `concurrency`: how many runs at a time. `threads`: how many plain handlers at a
    time (as many as runs); `children`: how many with process=True (as many as processors). `grace_s`: from SIGTERM to
    the end, under what the platform leaves. `health_port`: serve the health there, for this machine alone unless
    `health_host` says otherwise.
    """

    pool: str | None = None
    client: "Client | None" = None
    concurrency: int = 10
    threads: int | None = None
    children: int | None = None
    lanes: Sequence[str] = ()
    grace_s: float = 25.0
    health_port: int | None = None
    health_host: str = "127.0.0.1"
    worker_id: str = field(default_factory=lambda: f"{socket.gethostname()[:40]}-{os.getpid()}-{token()[:8]}")
    registry: Registry = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what cannot be, where it is written."""
        whole("concurrency", self.concurrency, least=1)
        for name, number in (("threads", self.threads), ("children", self.children)):
            if number is not None:
                whole(name, number, least=1)
        if self.health_port is not None:
            whole("health_port", self.health_port, least=0, most=_PORT_MAX)
        if not self.grace_s >= 0:
            raise ValueError(f"grace_s is a number of seconds, not {self.grace_s!r}")
        several("lanes", self.lanes)
        self.registry = Registry(_Submits(self), may_be_program=True)

    def job(
        self, name: str, *, process: bool = False, memory_mb: int | None = None
    ) -> Callable[[Callable[[P, Context], R]], Job[P, R]]:
        """Register a function as the handler of this name.

        `process`: call it in a child, for code that computes; `memory_mb` bounds what one call of it may take there.
        """
        names = sys._getframe(1).f_locals  # noqa: SLF001 - a hint may name a class that is local to whoever decorates
        return self.registry.register(name, Manner(in_child=process, memory_mb=memory_mb), names)

    def run(self, transport: Transport | None = None) -> None:
        """Work until SIGTERM or SIGINT. A second of them, half a second later at least, gives back at once what runs.

        For a program: it shows its log on stderr unless that is set up already, and where it cannot work it says why in
        one line and ends with status 2.
        """
        refuse_on_import()
        logging.basicConfig(level=logging.INFO, format=LOG_LINE)
        try:
            asyncio.run(self._until_a_signal(transport))
        except WorkerRefused as refused:
            sys.stderr.write(f"tickwright: {refused}\n")
            sys.exit(REFUSED)

    async def serve(
        self, stop: asyncio.Event, *, transport: Transport | None = None, hurry: asyncio.Event | None = None
    ) -> None:
        """Work until `stop` is set: `run` in a program that has an event loop.

        Raises WorkerRefused at its start, and once its pool has been gone for a minute.
        """
        refuse_on_import()
        if (why_not := self.registry.refused) is not None:
            raise WorkerRefused(why_not)
        hands = Hands(threads=self.threads or self.concurrency, children=self.children)
        shift = Shift(worker=self, hands=hands, stop=stop, hurry=hurry or asyncio.Event())
        try:
            async with contextlib.AsyncExitStack() as beside:
                if self.health_port is not None:
                    await self._serve_health(shift, self.health_port, beside)
                await (transport or pulling)(shift)
        finally:
            await hands.close()

    async def _until_a_signal(self, transport: Transport | None) -> None:
        stop, hurry = asyncio.Event(), asyncio.Event()
        heed_signals(stop.set, hurry.set)
        await self.serve(stop, transport=transport, hurry=hurry)

    async def _serve_health(self, shift: Shift, port: int, beside: contextlib.AsyncExitStack) -> None:
        try:
            await beside.enter_async_context(self.serving_health(shift, port=port))
        except OSError as fault:
            where = f"{self.health_host}:{port}"
            raise WorkerRefused(f"its health cannot be served at {where} ({fault}): say another health_port") from None

    def serving_health(self, shift: Shift, *, port: int) -> contextlib.AbstractAsyncContextManager[int]:
        """Serve the health of a shift while it lasts; the port, which 0 lets the system choose."""
        return serving(lambda: _health_of(shift), host=self.health_host, port=port)


def _health_of(shift: Shift) -> Health:
    condition = shift.hands.condition()
    status = "draining" if shift.stop.is_set() else "ok" if condition.is_well else "unwell"
    # One that drains is as well as it was: whoever kills it for draining would take its grace from it.
    return Health(is_well=condition.is_well, body={"status": status, **asdict(condition)})


async def pulling(shift: Shift) -> None:
    """Pull from the worker's pool over the HTTP API, as TICKWRIGHT_URL and TICKWRIGHT_API_KEY say without a client."""
    from tickwright_sdk.pull import Puller, Pulling  # noqa: PLC0415 - a third of a second: children do not need it

    worker = shift.worker
    if worker.pool is None:
        raise WorkerRefused('which pool does it pull from? Make it with pool="...", or give run() a transport')
    if not worker.registry.names():
        raise WorkerRefused('it has no handler, and would fail every run: register one with @worker.job("name")')
    client = client_of(worker)
    pulled = Pulling(
        pool=worker.pool,
        worker_id=worker.worker_id,
        concurrency=worker.concurrency,
        lanes=worker.lanes,
        grace_s=worker.grace_s,
    )
    _say_what_it_serves(worker, client.url, shift.hands)
    puller = Puller(client, shift.registry, shift.hands, pulled)
    hurrying = asyncio.create_task(_hurry(shift, puller.let_go))
    try:
        await puller.run(shift.stop)
    finally:
        hurrying.cancel()


def client_of(worker: Worker) -> "Client":
    """The client that it was made with, else the one that TICKWRIGHT_URL and TICKWRIGHT_API_KEY name."""
    from tickwright_sdk.refusals import client_from_environment  # noqa: PLC0415 - as above

    return worker.client or client_from_environment()


def _say_what_it_serves(worker: Worker, url: str, hands: Hands) -> None:
    _LOG.info(
        "worker %s serves the pool %r of %s%s: %s; %d runs at a time, in %d threads and %d children",
        *(worker.worker_id, worker.pool, url, f", lanes {', '.join(worker.lanes)}" if worker.lanes else ""),
        *(", ".join(worker.registry.names()), worker.concurrency, hands.threads, hands.children),
    )


@dataclass(frozen=True, slots=True)
class _Submits:
    """Submits to the worker's own pool, else to the platform's workers; nothing is loaded before it is asked to."""

    worker: Worker

    def submit_call(
        self, handler: str, payload: str, *, key: str | None, run_at: datetime | None, terms: Terms
    ) -> Submitted:
        from tickwright_sdk.submitting import Submitter  # noqa: PLC0415 - as above

        by = Submitter(client=client_of(self.worker), pool=self.worker.pool)
        return by.submit_call(handler, payload, key=key, run_at=run_at, terms=terms)


async def _hurry(shift: Shift, let_go: Callable[[], None]) -> None:
    await shift.hurry.wait()
    _LOG.info("told to stop once more: gives back at once what runs")
    let_go()
