"""The transport of a tenant's own worker: claims over the HTTP API, so many at a time, until it is to stop.

Must not know how a lease is kept (kept.py), nor where handlers are called (hands.py). What is asked for is what there
are free places for; a claim whose answer was lost is asked for again under its requestId. Promises: SEM-SDK-11,
SEM-SDK-13.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tickwright_sdk.arguments import several, whole
from tickwright_sdk.calls import Calls
from tickwright_sdk.claims import Claim, Claimed, claimed
from tickwright_sdk.client import Client
from tickwright_sdk.connection import Patience
from tickwright_sdk.context import Context
from tickwright_sdk.handlers import Registry
from tickwright_sdk.hands import Hands, NoRoom
from tickwright_sdk.kept import Desk, KeptAttempt, Tally
from tickwright_sdk.machine import Clock, MachineClock, fraction, token
from tickwright_sdk.problems import NoApi, NotFound, Refused, TickwrightError, Unavailable, WorkerRefused
from tickwright_sdk.refusals import Door, refused_at
from tickwright_sdk.results import Failed, Result

_LOG = logging.getLogger("tickwright.worker")
CLAIMED_MAX, WAIT_S_MAX = 10, 20  # the API's, of one claim
# Heartbeats have threads of their own: reports that hang must not cost the leases of others.
_BEATS_AT_ONCE, _REPORTS_AT_ONCE = 4, 4
# Sent once: a run repeats its report as long as its lease may last, and looks at its lease in between.
_REPORTING = Patience(read_s=10.0, tries=1)
_ANSWER_S = 5.0  # what an answer may take beyond the wait that was asked for
_PAUSE_S, _PAUSE_S_MAX = 0.5, 30.0
_GONE_S = 60.0  # a pool that was deleted may be put again
_LETTING_GO_S = 8.0  # before the end of the grace: a handler has a few seconds to stop, a report a moment
_NO_SEAT = "too_many_claims"  # the code of what refuses a claim for which there was nothing, and no seat to wait on
_FORGOTTEN_S = 120.0  # whatever an unanswered claim was granted has ended by then


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulling:
    """How a worker pulls. `lanes` empty: all, the urgent first. `grace_s`: from the wish to stop to the end."""

    pool: str
    worker_id: str
    concurrency: int = 10
    lanes: Sequence[str] = ()
    wait_s: int = 10
    grace_s: float = 25.0

    def __post_init__(self) -> None:
        """Hold the bounds of the API."""
        whole("concurrency", self.concurrency, least=1)
        whole("wait_s", self.wait_s, least=0, most=WAIT_S_MAX)
        several("lanes", self.lanes)

    def asking(self, places: int) -> Mapping[str, Any]:
        """The body of a fresh claim."""
        # A stop waits for the poll that is pending: most of the grace is for what runs.
        wait_s = max(1, min(self.wait_s, int(self.grace_s / 3))) if self.wait_s else 0
        body = {"workerId": self.worker_id, "max": places, "waitSec": wait_s, "requestId": token()}
        return body | {"lanes": list(self.lanes)} if self.lanes else body


class Puller:
    """One worker's pulling. Used from one event loop."""

    def __init__(
        self, client: Client, registry: Registry, hands: Hands, pulling: Pulling, *, clock: Clock | None = None
    ) -> None:
        """As `client` says; over connections of its own, of which those that poll can be cut."""
        self._reporting = client.another(connections=_BEATS_AT_ONCE + _REPORTS_AT_ONCE, patience=_REPORTING)
        self._polling = client.another(connections=1)
        self._registry, self._hands, self._pulling = registry, hands, pulling
        self._clock = clock or MachineClock()
        self._polls = Calls(1, "claim")
        self._beats, self._reports = Calls(_BEATS_AT_ONCE, "heartbeat"), Calls(_REPORTS_AT_ONCE, "report")
        self._free = asyncio.Semaphore(pulling.concurrency)
        self._going_on: set[asyncio.Task[None]] = set()
        self._draining: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tally = Tally()
        self._claimed_once = False
        self._failures = 0  # since the last claim that was answered
        self._gone_since_ms: int | None = None
        self._letting_go_s = min(_LETTING_GO_S, pulling.grace_s / 3)

    @property
    def going_on(self) -> int:
        """How many go on."""
        return len(self._going_on)

    async def run(self, stop: asyncio.Event) -> None:
        """Pull until `stop` is set, then finish or give back.

        Raises WorkerRefused at its first claim, and once its pool has been gone for a minute.
        """
        polling = asyncio.create_task(self._poll(stop))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({polling, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await self._finish(polling)
        finally:
            # What has not ended is left to its lease: a program that goes on is not to keep it.
            for one in (stopping, polling, *self._going_on):
                one.cancel()
            for calls in (self._polls, self._beats, self._reports):
                calls.close()
            for client in (self._polling, self._reporting):
                client.close()

    def let_go(self) -> None:
        """Ask what runs to stop at once, and give it back: a stop that cannot wait for it to end."""
        self._polling.cut()
        if not self._draining.done():
            self._draining.set_result(None)

    # ---------------------------------------------------------------------------------------- polling

    async def _poll(self, stop: asyncio.Event) -> None:
        while (places := await self._places(stop)) > 0:
            taken = 0
            try:
                taken = await self._claim(self._asking(places), stop)
                self._failures, self._gone_since_ms = 0, None
            except TickwrightError as fault:
                await self._judge(fault)
                self._failures += 1
                await _either(stop, _pause_s(self._failures, fault))
            finally:
                for _ in range(places - taken):
                    self._free.release()

    async def _places(self, stop: asyncio.Event) -> int:
        """Take what is free and has a thread; waits for one. 0 once it is to stop.

        What would find only threads with code that nobody waits for is another machine's to run.
        """
        while (free := await self._free_places(stop)) > 0:
            of_all = self._hands.places_of(self._pulling.concurrency)
            places = max(0, min(free, of_all - self.going_on))
            for _ in range(free - places):
                self._free.release()
            if places > 0:
                return places
            await _either(stop, _PAUSE_S)
        return 0

    async def _free_places(self, stop: asyncio.Event) -> int:
        """Take what is free, up to what one claim may bring; waits for one. 0 once it is to stop."""
        first = asyncio.ensure_future(self._free.acquire())
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({first, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if stop.is_set():
            if first.done():
                self._free.release()
            first.cancel()
            return 0
        places = 1
        while places < CLAIMED_MAX and not self._free.locked():
            await self._free.acquire()
            places += 1
        return places

    async def _claim(self, asked: Mapping[str, Any], stop: asyncio.Event) -> int:
        """Claim, and begin what was claimed; how many.

        Without an answer it is asked again under the same requestId: what was granted is told again, with what is
        left of its lease. Once it is to stop the request is closed: the API may hold a claim that was cut off here.
        """
        begun_ms = self._clock.monotonic_ms()
        while True:
            sent_ms, is_last = self._clock.monotonic_ms(), stop.is_set()
            closing = {"waitSec": 0, "close": True} if is_last else {}
            try:
                answer = await self._polls.do(partial(self._ask, {**asked, **closing}))
            except TickwrightError as fault:
                since_s = (self._clock.monotonic_ms() - begun_ms) / 1_000
                if self._is_refused(fault) or is_last or since_s > _FORGOTTEN_S:
                    raise
                self._failures += 1
                self._say_unanswered(fault)
                await _either(stop, _pause_s(self._failures, fault))
            else:
                self._say_ready()
                return self._begin_all(answer, sent_ms, is_wanted=not stop.is_set())

    def _ask(self, asked: Mapping[str, Any]) -> Claimed:
        return claimed(self._polling.claim(self._pulling.pool, asked, read_s=asked["waitSec"] + _ANSWER_S))

    def _asking(self, places: int) -> Mapping[str, Any]:
        """The body of a fresh claim; the first waits for nothing, so that a worker soon knows whether it is let in."""
        asked = self._pulling.asking(places)
        return asked if self._claimed_once else {**asked, "waitSec": 0}

    def _is_refused(self, fault: TickwrightError) -> bool:
        """Whether to ask again is of no use: what is no API at the first claim was never one."""
        return not _may_have_been_granted(fault) or (isinstance(fault, NoApi) and not self._claimed_once)

    async def _judge(self, fault: TickwrightError) -> None:
        """A worker that was never let in has a mistake to be told at once; later the API may be mended meanwhile."""
        if isinstance(fault, Refused | NoApi) and self._is_refused(fault) and not self._claimed_once:
            door = Door(url=self._polling.url, pool=self._pulling.pool, is_api=await self._is_api(fault))
            raise refused_at(door, fault) from fault
        if isinstance(fault, NotFound) and fault.code:
            self._say_gone(fault)
        elif isinstance(fault, Refused) and fault.code == _NO_SEAT:
            self._say_unanswered(fault)
        else:
            _LOG.warning("a claim failed: %s", fault)

    def _say_gone(self, fault: NotFound) -> None:
        """The pool was deleted under it: it may be put again soon, and is not waited for for ever."""
        now_ms, pool = self._clock.monotonic_ms(), self._pulling.pool
        since_ms = self._gone_since_ms = now_ms if self._gone_since_ms is None else self._gone_since_ms
        if now_ms - since_ms >= _GONE_S * 1_000:
            where = f"the API at {self._polling.url}"
            raise WorkerRefused(f"{where} has had no pool {pool!r} any more for {_GONE_S:g} s ({fault})")
        _LOG.warning("there is no pool %r any more; it is asked for again, for %g s: %s", pool, _GONE_S, fault)

    async def _is_api(self, fault: TickwrightError) -> bool:
        """Whether it is the pool that is not there: what has no such path has no health either."""
        if not isinstance(fault, NotFound):
            return True
        try:
            await self._polls.do(self._polling.health)
        except Refused:
            return False
        except TickwrightError:
            return True
        return True

    def _say_ready(self) -> None:
        if not self._claimed_once:
            self._claimed_once = True
            _LOG.info("ready: the API grants runs of the pool to this worker")

    def _say_unanswered(self, fault: TickwrightError) -> None:
        if isinstance(fault, Refused) and fault.code == _NO_SEAT:
            _LOG.debug("%s", fault)  # an idle machine of many is told so every few seconds: an ordinary day
        elif isinstance(fault, NoApi):
            _LOG.warning("a claim was answered by what is no Tickwright API, and is asked again: %s", fault)
        elif self._claimed_once:
            _LOG.warning("a claim was not answered, and is asked again: %s", fault)
        else:
            said = "nobody answers at %s, which is tried again; is TICKWRIGHT_URL right? %s"
            _LOG.warning(said, self._polling.url, fault)

    # ---------------------------------------------------------------------------------------- running

    def _begin_all(self, answer: Claimed, sent_ms: int, *, is_wanted: bool) -> int:
        """Begin what was claimed; how many. Its leases count from the answer, which came no sooner than it was held."""
        since_ms = min(self._clock.monotonic_ms(), sent_ms + round(answer.waited_s * 1_000))
        for claim in answer.claims:
            self._begin(claim, since_ms, is_wanted=is_wanted)
        return len(answer.claims)

    def _begin(self, claim: Claim, sent_ms: int, *, is_wanted: bool) -> None:
        desk = Desk(
            client=self._reporting,
            beats=self._beats,
            reports=self._reports,
            clock=self._clock,
            worker_id=self._pulling.worker_id,
            call=self._call,
            outlives=self._outlives,
            draining=self._draining,
            tally=self._tally,
            letting_go_s=self._letting_go_s,
        )
        kept = KeptAttempt(desk=desk, claim=claim, sent_ms=sent_ms, is_wanted=is_wanted)
        running = asyncio.create_task(kept.run(), name=claim.execution_id)
        self._going_on.add(running)
        running.add_done_callback(self._ended)

    def _ended(self, running: "asyncio.Task[None]") -> None:
        self._going_on.discard(running)
        self._free.release()
        if not running.cancelled() and (raised := running.exception()) is not None:
            _LOG.error("a run was left without a report", exc_info=raised)

    async def _call(self, claim: Claim, context: Context) -> Result | NoRoom:
        job = self._registry.named(claim.handler)
        if job is None:
            known = ", ".join(self._registry.names()) or "none"
            message = f"This worker has no handler {claim.handler!r}; it has: {known}."
            return Failed(error_class="UnknownHandler", message=message)  # another may, while a release rolls out
        return await self._hands.call(job, claim.payload, context, alone=claim.alone)

    def _outlives(self, claim: Claim) -> bool:
        job = self._registry.named(claim.handler)
        return job is not None and self._hands.outlives(job, alone=claim.alone)

    # --------------------------------------------------------------------------------------- stopping

    async def _finish(self, polling: "asyncio.Task[None]") -> None:
        """Let what runs end, as long as the grace lasts; then ask the rest to stop, and give back what does.

        A poll that is pending may have been granted something: it is waited for, and what it brings is given back. It
        is cut only when the grace is nearly over: what it was granted then comes back when its lease ends.
        """
        grace_ms = round((self._pulling.grace_s - self._letting_go_s) * 1_000)
        until_ms = self._clock.monotonic_ms() + grace_ms
        self._say_stopping(polling)
        while (ends := self._unfinished(polling)) and not self._draining.done():
            left_s = (until_ms - self._clock.monotonic_ms()) / 1_000
            if left_s <= 0:
                break
            await asyncio.wait({*ends, self._draining}, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        self.let_go()
        if ends := self._unfinished(polling):
            await asyncio.wait(ends, timeout=self._letting_go_s)
        if polling.done() and not polling.cancelled():
            polling.result()
        self._say_stopped()

    def _say_stopped(self) -> None:
        unfinished = [one.get_name() for one in self._going_on if not one.done()]
        for execution_id in unfinished:
            _LOG.warning("%s: has not ended in time, and is left to its lease", execution_id)
        _LOG.info(
            "stopped: %s ended here, %d given back, %d left to their leases",
            *(_runs(self._tally.ended), self._tally.given_back, self._tally.left + len(unfinished)),
        )

    def _say_stopping(self, polling: "asyncio.Task[None]") -> None:
        if not polling.done() or polling.cancelled() or polling.exception() is None:
            said = "stopping: asks for no more, gives back what still comes, lets end what ends within %g s; %s"
            going_on = f"{_runs(self.going_on)} {'goes' if self.going_on == 1 else 'go'} on"
            _LOG.info(said, self._pulling.grace_s, going_on)

    def _unfinished(self, polling: "asyncio.Task[None]") -> set["asyncio.Future[None]"]:
        return {one for one in (polling, *self._going_on) if not one.done()}


def _runs(number: int) -> str:
    return f"{number} run{'' if number == 1 else 's'}"


def _may_have_been_granted(fault: TickwrightError) -> bool:
    """No answer, or one that says nothing of it; a refusal has changed nothing."""
    return not isinstance(fault, Refused) or isinstance(fault, Unavailable)


def _pause_s(failures: int, fault: TickwrightError) -> float:
    """Longer each time, with chance, up to a bound; no shorter than the API asks for."""
    longest: float = min(_PAUSE_S_MAX, _PAUSE_S * 2 ** min(failures - 1, 10))
    asked_s = (fault.retry_after_s or 0.0) if isinstance(fault, Refused) else 0.0
    return max(longest * (0.5 + fraction() / 2), min(asked_s, _PAUSE_S_MAX))


async def _either(stop: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until it is to stop."""
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({stopping}, timeout=seconds)
    stopping.cancel()
