"""A job is edited, paused, resumed and closed by a calendar in any order, by processes that may die on the way.

Every version has the same schedule, so what must be there is plain: each tick has exactly one row, and no row has none.
"""

import random  # noqa: TID251 - a walk is its seed
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Crash, Fate, Script
from tests.support.kits import World
from tests.support.ledger import check_covered, check_range, check_starts, ticks_of
from tests.support.steps import HOUR, MINUTE
from tickwright.domain.executions import Reason
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.jobs import Head
from tickwright.domain.schedules import read_calendar
from tickwright.ports.faults import Unavailable
from tickwright.services.calendars import put_calendar
from tickwright.services.change_job import edit_job, pause_job, resume_job
from tickwright.services.fire import fire
from tickwright.services.kit import Kit
from tickwright.services.memory import Memory

START = from_rfc3339("2027-03-28T00:30:00Z")  # half an hour before the clock of Berlin jumps
GAP = from_rfc3339("2027-03-28T01:00:00Z")
SCHEDULES: tuple[Mapping[str, object], ...] = (
    {"every": "PT1M", "phase": "PT0S"},
    {"every": "PT2M", "phase": "PT0S", "window": 60},
    {"cron": "*/3 * * * *", "timezone": "Europe/Berlin"},
    {"cron": "0,5,10,15,20,25,30,35,40,45,50,55 0-2,4-9 * * *", "timezone": "Europe/Berlin", "dst": {"gap": "skip"}},
)
QUICK = 16
ALL = 400


@dataclass(slots=True)
class Walk:
    """One job on its way. What was done is kept for a failure to show."""

    world: World
    draw: random.Random
    schedule: dict[str, object]
    job: Head = field(init=False)
    way: list[str] = field(default_factory=list)

    async def begin(self) -> None:
        """A job, and a calendar that it may name."""
        self.world.clock.advance_to(START)
        await self.close(self.world.kit)
        if self.draw.random() < 0.6:
            self.schedule["calendars"] = ["freeze"]
        self.job = await self.world.submit(schedule=self.schedule, **self.others())

    def others(self) -> dict[str, object]:
        """What an edit changes beside the schedule."""
        mode = self.draw.choice(["all", "latest", "none"])
        catch_up: dict[str, object] = {"mode": mode, "windowSec": self.draw.choice([60, 300, 3_600])}
        catch_up |= {"onResume": self.draw.choice(["skip", "catchup"])}
        if mode == "all" and self.draw.random() < 0.5:
            catch_up |= {"maxRuns": self.draw.randint(1, 4), "ratePerMin": self.draw.choice([7, 30])}
        return {"catchup": catch_up, "overlap": {"mode": "allow"}, "payload": self.draw.randint(0, 99)}

    async def step(self) -> None:
        """One thing happens, in a process that may die of it."""
        acts: dict[str, Callable[[Kit], Awaitable[object]]] = {
            "edit": self.edit,
            "edit later": self.edit_later,
            "pause": lambda kit: pause_job(kit, TENANT, self.job.job_id, None),
            "resume": lambda kit: resume_job(kit, TENANT, self.job.job_id, None),
            "close": self.close,
            "fire": self.fire,
        }
        name = self.draw.choice([*acts, "resume", "run", "run", "run", "wait"])
        self.way.append(f"{name} at {(self.world.clock.now() - START) / MINUTE:.2f}")
        if name in acts:
            fault = Script(at=self.draw.randint(1, 12), fate=self.draw.choice(list(Fate)))
            with suppress(Crash, Unavailable):
                await acts[name](self.world.a_process(fault))
        elif name == "run":
            await self.run(self.draw.randint(1, 400) * 1_000)
        else:
            self.world.clock.advance(self.draw.randint(1, 400) * 1_000)

    async def run(self, for_ms: int) -> None:
        """All processes are well for a while."""
        await self.world.drain_until(Instant(self.world.clock.now() + for_ms))

    async def edit(self, kit: Kit, effective_from: Instant | None = None) -> object:
        """Somebody changes all but the schedule."""
        head = await self.world.head(self.job.job_id)
        spec = self.world.spec(schedule=self.schedule, **self.others())
        return await edit_job(kit, TENANT, head.job_id, spec, head.version, effective_from)

    async def edit_later(self, kit: Kit) -> object:
        """The same from an instant on: often a tick, sometimes past, sometimes within the look-ahead."""
        at = self.world.clock.now() + self.draw.choice([1_000, 150_000, self.draw.randint(-30, 300) * 1_000])
        return await self.edit(kit, Instant(at // MINUTE * MINUTE if self.draw.random() < 0.4 else at))

    async def close(self, kit: Kit) -> object:
        """The calendar closes another stretch."""
        since = self.draw.randint(-10, 20) * 30_000
        until = since + self.draw.randint(1, 20) * 30_000
        window = {"start": self.world.text(since), "end": self.world.text(until)}
        content = read_calendar({"type": "exclude", "windows": [window]})
        return await put_calendar(kit, TENANT, "freeze", content, None)

    async def fire(self, kit: Kit) -> object:
        """A scheduler takes one look."""
        soon = self.world.clock.now() + kit.durations.lookahead_ms
        due = [head for head in await self.world.due() if (head.next_run_at or soon) <= soon]
        return await fire(kit, 0, due, Memory())

    async def end(self) -> None:
        """The job goes on, and everybody is well for an hour and a half."""
        await resume_job(self.world.kit, TENANT, self.job.job_id, None)
        await self.run(90 * MINUTE)


@pytest.mark.sem("SEM-TICK-2", "SEM-EDIT-2", "SEM-CAL-3", "SEM-PAUSE-2", "SEM-SCHED-9", "SEM-CATCHUP-1")
@pytest.mark.parametrize(
    "seed", [*range(QUICK), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(QUICK, ALL))]
)
async def test_each_tick_has_one_row_whatever_was_done_to_its_job(world: World, seed: int) -> None:
    """A walk of up to sixteen steps from a seed; the way is told if it goes wrong."""
    draw = random.Random(seed)  # noqa: S311 - not a secret
    walk = Walk(world, draw, dict(SCHEDULES[seed % len(SCHEDULES)]))
    await walk.begin()
    for _ in range(draw.randint(6, 16)):
        await walk.step()
    await walk.end()

    try:
        await check_starts(world)
        await check_rows(world, walk.job)
    except AssertionError as wrong:
        wrong.add_note("\n".join(walk.way))
        wrong.add_note("\n".join(str(row) for row in await world.executions()))
        raise


async def check_rows(world: World, job: Head) -> None:
    """Each tick before the next one has its row; each row is of ticks, and each range counts right."""
    head = await world.head(job.job_id)
    assert head.next_run_at is not None
    assert head.next_run_at > world.clock.now() - MINUTE
    await check_covered(world, job, until=Instant(head.next_run_at - 1))
    ticks = ticks_of(job, until=Instant(head.next_run_at + HOUR))
    rows = await world.executions(job.job_id)
    assert {row.scheduled_at for row in rows if row.reason is not Reason.DST_GAP} <= set(ticks)
    for row in rows:
        if row.passed is not None and row.reason is not Reason.DST_GAP:
            check_range(row.passed, ticks)
    gaps = [row for row in rows if row.reason is Reason.DST_GAP]
    within = [row for row in rows if row.passed is not None and row.passed.first <= GAP <= row.passed.last]
    expected = '"g":"skip"' in job.schedule and head.next_run_at > GAP + HOUR
    assert (len(gaps) == 1 or within != []) if expected else gaps == []
