"""The whole product in one process: API, scheduler loop, watch loop and a worker on one SQLite file.

A shell: everything it starts is the production code on the embedded adapters. kill -9 it at any moment and start it
again: what was acknowledged is in the file.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tickwright.api.call import Api
from tickwright.api.server import HttpServer
from tickwright.api.submissions import insists_ms
from tickwright.domain.epochs import FIRST_ERA, Era
from tickwright.domain.events import EventName
from tickwright.domain.ids import WorkerId
from tickwright.local.board import Board
from tickwright.local.demo import demo_handlers, demo_key, submit_demo
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.loops.ticks import TicksLoop
from tickwright.loops.watch import WatchLoop
from tickwright.loops.worker import PLACES, WorkerLoop
from tickwright.ports.faults import Unavailable
from tickwright.services.buckets import serving_all
from tickwright.services.webhook_secrets import SecretsInUse
from tickwright.wiring.copies import copies_in_memory
from tickwright.wiring.embedded import EmbeddedKit, able_hands, embedded_kit, hands_for, local_runners
from tickwright.wiring.second_engine import DeferredEngine
from tickwright_sdk.signals import heed_signals

_SWEEP_MS = 60_000
_GRACE_MS = 10_000
THREADS = sum(PLACES.values())  # for every place of every lane: a thread that is missing in one is missing in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says."""

    host: str
    port: int
    folder: Path
    demo: bool
    seconds: float | None
    scale: float = 1.0  # of the protocol's durations: a demonstration has no minute for a lease
    era: Era = FIRST_ERA


class FolderInUse(Exception):  # noqa: N818 - named as what the user is told
    """Another program runs on the folder: two of them would share its jobs without a word."""


async def run(options: Options, board: Board) -> None:
    """Run until SIGINT or SIGTERM (or for `seconds`).

    Raises StoreUnusable, FolderInUse or PortTaken before anything has started.
    """
    stop, hurry = asyncio.Event(), asyncio.Event()
    heed_signals(stop.set, hurry.set)
    if options.seconds is not None:
        asyncio.get_running_loop().call_later(options.seconds, stop.set)
    os.umask(0o077)  # tenants' payloads are in the file: it is its owner's alone
    async with embedded_kit(options.folder / "tickwright.db", board, scale=options.scale, era=options.era) as kit:
        with _only_one(options.folder):
            await _serve(await serving_all(kit), options, board, stop=stop, hurry=hurry)


async def _serve(
    kit: EmbeddedKit, options: Options, board: Board, *, stop: asyncio.Event, hurry: asyncio.Event
) -> None:
    api = Api(
        kit=kit,
        page_secret=_kept_secret(kit, options.folder, "pages.secret"),
        webhook_key=_kept_secret(kit, options.folder, "webhooks.key"),
        second_engine=DeferredEngine(),
        handlers=demo_handlers().names(),
        copies=copies_in_memory(kit),
        insists_ms=insists_ms(has_intake=False),
    )
    server = HttpServer(api, host=options.host, port=options.port)
    await server.start()
    try:
        await _Program(kit=kit, options=options, board=board, stop=stop, hurry=hurry).serve(api, server.url)
    finally:
        await server.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    """What runs: the loops, between a start and a stop. `hurry` is a second wish to stop."""

    kit: EmbeddedKit
    options: Options
    board: Board
    stop: asyncio.Event
    hurry: asyncio.Event

    async def serve(self, api: Api, url: str) -> None:
        """Run until the stop, then let everything end."""
        secret = await demo_key(self.kit, self.options.folder)
        worker = self._worker(api.webhook_key)
        loops = [asyncio.create_task(one) for one in self._loops(worker)]
        hurrying = asyncio.create_task(self._hurry(worker))
        _greet(self.board, url, secret, self.options)
        self.board.start()
        try:
            if self.options.demo:
                await submit_demo(api, secret, self.board.labels)
            await _wait(self.stop, loops)
        finally:
            self.stop.set()
            self.board.stop()
            self.board.say(f"stopping: what runs has {_GRACE_MS // 1_000} s to end; Ctrl-C again gives it back at once")
            await _end(loops)
            hurrying.cancel()

    def _worker(self, webhook_key: bytes) -> WorkerLoop:
        worker_id = WorkerId(f"local-{os.getpid()}-{self.kit.entropy.token()[:8]}")
        secrets_of = SecretsInUse(kit=self.kit, key=webhook_key).of
        hands = hands_for(PLACES)
        runners = local_runners(demo_handlers(), secrets_of=secrets_of, threads=THREADS, hands=hands)
        return WorkerLoop(self.kit, runners, worker_id, grace_ms=_GRACE_MS, able=able_hands(hands))

    def _loops(self, worker: WorkerLoop) -> Iterator[Coroutine[None, None, None]]:
        yield SchedulerLoop(self.kit, owner=self.kit.entropy.token(), alone=True).run(self.stop)
        yield WatchLoop(self.kit).run(self.stop)
        yield TicksLoop(self.kit).run(self.stop)
        yield worker.run(self.stop)
        yield _sweep(self.kit, self.stop)

    async def _hurry(self, worker: WorkerLoop) -> None:
        await self.hurry.wait()
        worker.let_go()


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Be the only program on the folder, or raise FolderInUse; the system lets go however a program ends."""
    with (folder / "scheduler.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            other = f"another Tickwright, process {file.read().strip() or 'unknown'}, runs on the data in {folder}"
            raise FolderInUse(f"{other}; stop it, or give this one a folder of its own with --data") from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


async def _wait(stop: asyncio.Event, loops: Sequence["asyncio.Task[None]"]) -> None:
    """Until the stop, or until a loop breaks: half a program would take jobs and run none."""
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({stopping, *loops}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()


async def _end(loops: Sequence["asyncio.Task[None]"]) -> None:
    """Let all of them end, and only then say what broke one."""
    for outcome in await asyncio.gather(*loops, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


async def _sweep(kit: EmbeddedKit, stop: asyncio.Event) -> None:
    """Forget what may be forgotten; DynamoDB does this by itself."""
    while not stop.is_set():
        try:
            while await kit.sweep():
                pass
        except Unavailable as fault:  # the file is busy or full for now; there is always a next time
            kit.emit(EventName.STORE_FAULT, fault=type(fault).__name__, detail=str(fault)[:200])
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _SWEEP_MS / 1_000)


def _kept_secret(kit: EmbeddedKit, folder: Path, name: str) -> bytes:
    """A secret of this folder: made once, and whole before it has its name, so that no crash leaves an empty one."""
    path, draft = folder / name, folder / f"{name}.{kit.entropy.token()}"
    if path.exists() and path.stat().st_size == 0:
        path.unlink()
    if not path.exists():
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write((kit.entropy.token() + kit.entropy.token()).encode())
            with contextlib.suppress(FileExistsError):  # another program on this folder was quicker
                path.hardlink_to(draft)
        finally:
            draft.unlink(missing_ok=True)
    return path.read_bytes()


def _greet(board: Board, url: str, secret: str, options: Options) -> None:
    body = '{"schedule":{"every":"PT5S"},"target":{"type":"python","handler":"demo.greet"},"payload":"you"}'
    auth = f"-H 'Authorization: Bearer {secret}'"
    board.say(f"""Tickwright is at {url}, its data in {options.folder}
demo tenant's key: {secret}

try:
  curl -s {auth} {url}/v1/jobs
  curl -s {auth} -H 'Content-Type: application/json' -H 'Idempotency-Key: my-first-job' -d '{body}' {url}/v1/jobs
  curl -s {auth} '{url}/v1/executions?attention=true'

stop with Ctrl-C; start again with the same command, also after a kill -9: nothing acknowledged is lost
""")
