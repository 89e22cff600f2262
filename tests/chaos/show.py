"""One run from its start to its judgement.

The company of processes, the owners of the jobs, the drain, the history, the count. Bounded in time whatever happens.
Must not judge: the checker does.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos import plants
from tests.chaos.aws_ground import FAULTS, aws_ground
from tests.chaos.book import Violation
from tests.chaos.checker import check
from tests.chaos.driver import TENANT, Driver
from tests.chaos.evidence import read_attempts, read_events, read_stalls
from tests.chaos.grounds import PACES, Ground, embedded_ground
from tests.chaos.grounds import Kind as Store
from tests.chaos.history import EVERYBODY, History
from tests.chaos.jobs import Span, plans
from tests.chaos.look import save
from tests.chaos.processes import Company
from tests.chaos.questions import executions_of
from tests.chaos.timetable import Timetable
from tickwright.adapters.telemetry.memory import MemoryTelemetry
from tickwright.domain.events import EventName
from tickwright.domain.executions import Execution
from tickwright.domain.ids import ExecutionRef, JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.journal import Page
from tickwright.services.kit import Kit
from tickwright.services.resolve import resolve

DRAIN_S = 60
START_S = 60  # engines take their time to start, and a history its time to be read
_LOOK_S = 1.0
_MANY = 1_000_000
_FAR_MS = 366 * 86_400_000  # later than any entry of the journal is to be looked at
_ROUNDS = 3  # an entry may need a look to be repaired, and one to be dropped
_BUGS = {EventName.ATTEMPT_BROKE.value, EventName.LOOP_BROKE.value, EventName.TICK_POISONED.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked for."""

    seed: int
    seconds: int
    store: Store = Store.EMBEDDED
    plant: str = ""
    keep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of it."""

    history: History
    violations: list[Violation]
    events: Counter[str]
    faults: Counter[str]  # of the calls between the processes and the services
    counts: Counter[str]
    drained_after_s: float


async def perform(options: Options, folder: Path) -> Result:
    """One run. Raises TimeoutError if it does not end; all processes are gone in any case."""
    plants.install(options.plant)
    pace = PACES[options.store]
    timetable = Timetable(
        seed=options.seed,
        seconds=options.seconds,
        lease_ms=pace.durations.lease_ms,
        writes_share=pace.writes_share,
    )
    async with asyncio.timeout(options.seconds + DRAIN_S + START_S):
        async with _ground(options, timetable, folder) as ground:
            return await _play(options, timetable, folder, ground)


def _ground(options: Options, timetable: Timetable, folder: Path) -> AbstractAsyncContextManager[Ground]:
    return embedded_ground(folder) if options.store is Store.EMBEDDED else aws_ground(timetable, folder)


async def _play(options: Options, timetable: Timetable, folder: Path, ground: Ground) -> Result:
    kit = ground.judges
    span = Span(start_ms=kit.clock.now(), last_tick_ms=timetable.last_tick_ms)
    company = Company(timetable=timetable, folder=folder, plant=options.plant, start_ms=span.start_ms, ground=ground)
    driver = Driver(kit=ground.owners, start_ms=span.start_ms)
    over = asyncio.Event()
    playing = asyncio.create_task(company.play(over))
    watching = asyncio.create_task(ground.watch.watch())
    try:
        await driver.play(plans(options.seed, span)[:: ground.pace.every_nth_job])
        _say(f"all errands are done: {dict(driver.counts)}")
        await kit.clock.sleep_until(Instant(span.until_ms))
        drained_after_s = await _drain(kit)
        over.set()
        await playing
    finally:
        playing.cancel()
        watching.cancel()
        await asyncio.gather(playing, watching, return_exceptions=True)
    history = await _history(ground, folder, driver, company, span.until_ms)
    save(history, folder)
    return Result(
        history=history,
        violations=check(history),
        events=_events(folder, kit),
        faults=_faults(folder),
        counts=driver.counts + company.counts + Counter(purges=ground.watch.purges),
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
    until = Instant(kit.clock.now() + _FAR_MS)
    pages = [await kit.store.pages(bucket, until=until, limit=_MANY) for bucket in range(kit.buckets)]
    return [page for some in pages for page in some]


async def _history(ground: Ground, folder: Path, driver: Driver, company: Company, last_tick_ms: int) -> History:
    kit = ground.judges
    _, before = await _all(kit)
    _say(f"{len(await _pages(kit))} pages of the journal are left, {await _work_off(kit)} cannot be worked off")
    heads, rows = await _all(kit)
    _say(f"{len(rows) - len(before)} rows came from working off the journal")
    entries = [entry for page in await _pages(kit) for entry in page.entries]
    bugs = [f"{event['member']}: {event}" for event in read_events(folder) if event["event"] in _BUGS]
    return History(
        stories=driver.stories,
        attempts=read_attempts(folder),
        stalls=[*read_stalls(folder), *company.stalls, *ground.watch.stalls],
        presences=company.presences,
        executions={row.ref: row for row in rows},
        heads={head.job_id: head for head in heads},
        entries=entries,
        letters=await ground.letters(),
        durations=kit.durations,
        last_tick_ms=last_tick_ms,
        broken=[*driver.broken, *company.broken, *bugs],
    )


def _faults(folder: Path) -> Counter[str]:
    path = folder / FAULTS
    lines = path.read_text().splitlines() if path.exists() else []
    told = [json.loads(line) for line in lines]
    return Counter(f"{line['service']}.{line['fault']}" for line in told if "fault" in line)


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
        "store": options.store.value,
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
            for name in ("starts", "kills", "freezes", "terms", "outages", "busyStarts", "askedAgain", "purges")
        },
        "storeUnwell": sum(stall.member == EVERYBODY for stall in history.stalls),
        "queueFaults": result.events[EventName.QUEUE_FAULT.value],
        "callFaults": dict(sorted(result.faults.items())),
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
