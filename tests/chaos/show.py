"""One run from its start to its judgement.

The company of processes, the owners of the jobs, the drain, the history, the count. Bounded in time whatever happens.
Must not judge: the checker does.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos import plants
from tests.chaos.book import Violation
from tests.chaos.checker import check
from tests.chaos.child import BUCKETS, SCALE
from tests.chaos.driver import TENANT, Driver, executions_of
from tests.chaos.evidence import read_attempts, read_events, read_stalls
from tests.chaos.history import EVERYBODY, History
from tests.chaos.jobs import Span, plans
from tests.chaos.look import save
from tests.chaos.probe import Probe
from tests.chaos.processes import Company
from tests.chaos.timetable import Timetable
from tickwright.adapters.clock_system import SystemClock
from tickwright.adapters.embedded import Database, EmbeddedQueue, EmbeddedStore
from tickwright.adapters.entropy_system import SystemEntropy
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.journal import Page
from tickwright.domain.limits import STANDARD
from tickwright.services.kit import Kit
from tickwright.services.resolve import resolve

DURATIONS = STANDARD.scaled(SCALE)
BUSY_MS = 60_000  # the owners wait for the file longer than anybody may be frozen
DRAIN_S = 60
_LOOK_S = 1.0
_MANY = 1_000_000
_ROUNDS = 3  # an entry may need a look to be repaired, and one to be dropped
_BUGS = {EventName.ATTEMPT_BROKE.value, EventName.TICK_POISONED.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked for."""

    seed: int
    seconds: int
    plant: str = ""
    keep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of it."""

    history: History
    violations: list[Violation]
    events: Counter[str]
    counts: Counter[str]
    drained_after_s: float


async def perform(options: Options, folder: Path) -> Result:
    """One run. Raises TimeoutError if it does not end; all processes are gone in any case."""
    plants.install(options.plant)
    async with asyncio.timeout(options.seconds + DRAIN_S + 30):
        async with owners_kit(folder / "store.db") as kit:
            return await _play(options, folder, kit)


@asynccontextmanager
async def owners_kit(path: Path) -> AsyncIterator[Kit]:
    """The kit of the process that is never struck.

    As the product's, with more patience for a file that a frozen process holds.
    """
    database = Database.open(path, busy_ms=BUSY_MS)
    clock = SystemClock()
    try:
        yield Kit(
            store=EmbeddedStore(database),
            queue=EmbeddedQueue(database, clock),
            clock=clock,
            entropy=SystemEntropy(),
            telemetry=MemoryTelemetry(),
            durations=DURATIONS,
            buckets=BUCKETS,
        )
    finally:
        await database.close()


async def _play(options: Options, folder: Path, kit: Kit) -> Result:
    timetable = Timetable(seed=options.seed, seconds=options.seconds, lease_ms=DURATIONS.lease_ms)
    span = Span(start_ms=kit.clock.now(), last_tick_ms=timetable.last_tick_ms)
    probe = Probe(folder / "store.db")
    company = Company(timetable=timetable, folder=folder, plant=options.plant, start_ms=span.start_ms, probe=probe)
    driver = Driver(kit=kit, start_ms=span.start_ms)
    over = asyncio.Event()
    playing = asyncio.create_task(company.play(over))
    probing = asyncio.create_task(probe.watch())
    try:
        await driver.play(plans(options.seed, span))
        _say(f"all errands are done: {dict(driver.counts)}")
        await kit.clock.sleep_until(Instant(span.until_ms))
        drained_after_s = await _drain(kit)
        over.set()
        await playing
    finally:
        playing.cancel()
        probing.cancel()
        await asyncio.gather(playing, probing, return_exceptions=True)
    history = await _history(kit, folder, driver, company, span.until_ms)
    save(history, folder)
    return Result(
        history=history,
        violations=check(history),
        events=_events(folder, kit),
        counts=driver.counts + company.counts,
        drained_after_s=drained_after_s,
    )


def _say(text: str) -> None:
    print(f"chaos: {text}", file=sys.stderr)


async def _drain(kit: Kit) -> float:
    """Wait until all executions have ended with nothing owed and no job is due.

    How long that took after the last tick.
    """
    began_s = time.monotonic()
    while (took_s := time.monotonic() - began_s) < DRAIN_S:
        heads, rows = await _all(kit)
        unfinished = [row for row in rows if not row.is_terminal or row.owed]
        due = [head for head in heads if head.next_run_at is not None]
        _say(f"{len(rows)} executions, {len(unfinished)} unfinished, {len(due)} jobs with a tick ahead")
        if not unfinished and not due:
            return round(took_s, 1)
        await asyncio.sleep(_LOOK_S)
    return float(DRAIN_S)


async def _all(kit: Kit) -> tuple[list[Head], list[Execution]]:
    job_ids: list[JobId] = []
    after_key: str | None = None
    while True:
        page = await kit.store.jobs_eventually(TENANT, limit=500, after_key=after_key)
        job_ids += page.items
        if (after_key := page.next_key) is None:
            break
    heads = await kit.store.heads(job_ids)
    rows = [row for job_id in job_ids for row in await executions_of(kit, job_id)]
    return list(heads.values()), rows


async def _work_off(kit: Kit) -> int:
    """Resolve what the journal still names before its time, as any process may: it must hold all that is needed."""
    for _ in range(_ROUNDS):
        for page in await _pages(kit):
            await resolve(kit, page)
    return len(await _pages(kit))


async def _pages(kit: Kit) -> list[Page]:
    until = Instant(_MANY * _MANY)
    pages = [await kit.store.pages(bucket, until=until, limit=_MANY) for bucket in range(BUCKETS)]
    return [page for some in pages for page in some]


async def _history(kit: Kit, folder: Path, driver: Driver, company: Company, last_tick_ms: int) -> History:
    _, before = await _all(kit)
    _say(f"{await _work_off(kit)} pages of the journal cannot be worked off")
    heads, rows = await _all(kit)
    _say(f"{len(rows) - len(before)} rows came from working off the journal")
    entries = [entry for page in await _pages(kit) for entry in page.entries]
    assert isinstance(kit.queue, EmbeddedQueue)
    letters = await kit.queue.list_dead_letters(limit=_MANY)
    bugs = [f"{event['member']}: {event}" for event in read_events(folder) if event["event"] in _BUGS]
    return History(
        stories=driver.stories,
        attempts=read_attempts(folder),
        stalls=[*read_stalls(folder), *company.stalls, *company.probe.stalls],
        presences=company.presences,
        executions={row.ref: row for row in rows},
        heads={head.job_id: head for head in heads},
        entries=entries,
        letters=frozenset(letter.ref for letter in letters),
        durations=DURATIONS,
        last_tick_ms=last_tick_ms,
        broken=[*driver.broken, *company.broken, *bugs],
    )


def _events(folder: Path, kit: Kit) -> Counter[str]:
    counts = Counter(str(event["event"]) for event in read_events(folder))
    assert isinstance(kit.telemetry, MemoryTelemetry)
    return counts + Counter({name.value: count for name, count in kit.telemetry.counts.items()})


# --- the count -----------------------------------------------------------------------------------------------------
def summary(options: Options, result: Result) -> Mapping[str, object]:
    """The figures of a run, for one line of JSON."""
    history = result.history
    states = Counter(row.state for row in history.executions.values())
    return {
        "seed": options.seed,
        "seconds": options.seconds,
        "plant": options.plant,
        "jobs": len(history.stories),
        "changes": sum(len(story.changes) - 1 for story in history.stories),
        "executions": len(history.executions),
        **{state.value.lower(): states[state] for state in sorted(states, key=lambda state: state.value)},
        "ranges": sum(row.passed is not None for row in history.executions.values()),
        "attempts": len(history.attempts),
        "retried": sum(attempt.epoch > 1 for attempt in history.attempts),
        "zombies": _zombies(history),
        "resultsRefused": result.events[EventName.RESULT_REFUSED.value],
        "heartbeatsRefused": result.events[EventName.HEARTBEAT_REFUSED.value],
        "reaped": result.events[EventName.EXECUTION_REAPED.value],
        "ticksRefused": result.events[EventName.TICK_REFUSED.value],
        "hintsSentAgain": result.events[EventName.HINT_SENT_AGAIN.value],
        "takeovers": result.events[EventName.BUCKET_TAKEN.value],
        "storeFaults": result.events[EventName.STORE_FAULT.value],
        **{
            name: result.counts[name]
            for name in ("starts", "kills", "freezes", "terms", "outages", "busyStarts", "askedAgain")
        },
        "fileHeld": sum(stall.member == EVERYBODY for stall in history.stalls),
        "startLagMs": _lags(history),
        "drainedAfterS": result.drained_after_s,
        "byName": dict(Counter(violation.name for violation in result.violations)),
        "violations": len(result.violations),
    }


def _zombies(history: History) -> int:
    """Attempts that were still at work when a later epoch of the same execution had begun."""
    first = {(one.ref, one.epoch): one.started_ns for one in history.attempts}
    return sum(
        (one.ended_ns or 0) > later
        for one in history.attempts
        if (later := first.get((one.ref, one.epoch + 1))) is not None
    )


def _lags(history: History) -> Mapping[str, int]:
    """From the tick to the first line of user code, faults and all."""
    firsts: dict[ExecutionRef, int] = {}
    for one in history.attempts:
        firsts.setdefault(one.ref, one.started_ms - one.scheduled_ms)
    lags = sorted(firsts.values()) or [0]
    last = len(lags) - 1
    return {"p50": lags[last // 2], "p99": lags[last * 99 // 100], "max": lags[-1]}
