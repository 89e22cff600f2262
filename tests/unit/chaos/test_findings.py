"""What chaos runs have found, each as the smallest story that shows it."""

import asyncio
from dataclasses import replace
from typing import Any, cast

from tests.support.builders import TENANT
from tests.support.kits import World
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import JobId
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.lanes import Lane
from tickwright.loops.scheduler import SchedulerLoop
from tickwright.ports.store import Listing, Store
from tickwright.services.change_job import edit_job, pause_job, resume_job
from tickwright.services.fire import fire
from tickwright.services.jobs import JobView
from tickwright.services.kit import Kit
from tickwright.services.memory import Memory

LATE_MS = 90_000  # longer than a tick may be late
DUE_SOON_MS = 600_000  # beyond the look-ahead, so that submit does not fire it


async def _edited(world: World, head: Head, schedule: dict[str, object], catch_up: str) -> Head:
    spec = world.spec(schedule=schedule, catchup={"mode": catch_up})
    view = await edit_job(world.kit, TENANT, head.job_id, spec, head.version)
    assert isinstance(view, JobView)
    return view.head


async def _rows(world: World, job_id: JobId, until: Instant) -> list[Execution]:
    await world.drain_until(until)
    return await world.executions(job_id)


async def test_a_due_tick_that_an_edit_keeps_is_counted_among_those_passed_over(world: World) -> None:
    """Its new schedule does not have it, and it is still the first of the range."""
    head = await world.submit(schedule={"every": "PT10M", "phase": "PT5M1S"})
    assert head.next_run_at is not None
    kept = head.next_run_at
    world.clock.advance_to(Instant(kept + LATE_MS))
    edited = await _edited(world, head, {"every": "PT30S"}, "latest")

    rows = await _rows(world, head.job_id, Instant(kept + LATE_MS + 1_000))

    assert edited.next_run_at == kept
    (passed,) = [row.passed for row in rows if row.passed is not None]
    assert (passed.first, passed.last, passed.count) == (kept, kept + 59_000, 3)


async def test_a_due_tick_that_an_edit_keeps_has_a_row_though_nothing_else_is_passed_over(world: World) -> None:
    """Between it and the tick that is fired the new schedule has none."""
    head = await world.submit(schedule={"every": "PT10M", "phase": "PT5M1S"})
    assert head.next_run_at is not None
    kept = head.next_run_at
    world.clock.advance_to(Instant(kept + LATE_MS))
    await _edited(world, head, {"every": "PT1M"}, "latest")

    rows = await _rows(world, head.job_id, Instant(kept + LATE_MS + 1_000))

    passed = [(row.passed.first, row.passed.last, row.passed.count) for row in rows if row.passed is not None]
    fired = [row.scheduled_at for row in rows if row.passed is None]
    assert (passed, fired) == ([(kept, kept, 1)], [kept + 59_000])


async def test_a_due_tick_that_an_edit_keeps_is_fired_if_the_new_schedule_has_no_later_one_yet(world: World) -> None:
    """It is the latest that is due: the job must not stand still until its new schedule ticks."""
    head = await world.submit(schedule={"every": "PT10M", "phase": "PT5M1S"})
    assert head.next_run_at is not None
    kept = head.next_run_at
    world.clock.advance_to(Instant(kept + LATE_MS))
    await _edited(world, head, {"every": "P1D"}, "latest")

    rows = await _rows(world, head.job_id, Instant(kept + LATE_MS + 1_000))

    assert [(row.scheduled_at, row.state.value) for row in rows] == [(kept, "SUCCEEDED")]


async def test_a_tick_that_was_due_and_undecided_at_a_pause_is_told_with_those_of_the_pause(world: World) -> None:
    """No scheduler came by between its time and the pause: it is held back like the others, never silently lost."""
    head = await world.submit(schedule={"every": "PT10M"})
    assert head.next_run_at is not None
    due = head.next_run_at
    world.clock.advance_to(Instant(due + 2_000))
    await pause_job(world.kit, TENANT, head.job_id, None)
    world.clock.advance_to(Instant(due + DUE_SOON_MS + 2_000))

    await resume_job(world.kit, TENANT, head.job_id, None)

    (row,) = await world.executions(head.job_id)
    assert row.passed is not None
    assert (row.reason, row.passed.first, row.passed.count) == (Reason.PAUSED, due, 2)


async def test_a_tick_that_was_due_and_undecided_at_a_pause_is_caught_up_where_paused_time_is(world: World) -> None:
    """`onResume: catchup` goes on after the last tick that was decided."""
    head = await world.submit(
        schedule={"every": "PT10M"}, overlap={"mode": "allow"}, catchup={"mode": "all", "onResume": "catchup"}
    )
    assert head.next_run_at is not None
    due = head.next_run_at
    world.clock.advance_to(Instant(due + 2_000))
    await pause_job(world.kit, TENANT, head.job_id, None)
    world.clock.advance_to(Instant(due + DUE_SOON_MS + 2_000))

    view = await resume_job(world.kit, TENANT, head.job_id, None)

    assert isinstance(view, JobView)
    rows = await _rows(world, head.job_id, Instant(due + DUE_SOON_MS + 5_000))
    assert [row.scheduled_at for row in rows] == [due, due + DUE_SOON_MS]


class SlowIndex:
    """A store whose due index takes longer to answer than a bucket lease lasts."""

    def __init__(self, kit: Kit) -> None:
        """Wrap the store of a kit."""
        self._kit = kit

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the store's own methods
        """All the rest is the store's own."""
        return getattr(self._kit.store, name)

    async def due_eventually(
        self, bucket: int, lane: Lane, *, until: Instant, limit: int, after_key: str | None = None
    ) -> Listing[Head]:
        """The same answer, late."""
        await self._kit.clock.sleep_ms(2 * self._kit.durations.bucket_lease_ms)
        return await self._kit.store.due_eventually(bucket, lane, until=until, limit=limit, after_key=after_key)


async def test_a_scheduler_keeps_its_bucket_through_a_look_that_takes_longer_than_the_lease(world: World) -> None:
    """It renews beside its looks: else each long look would cost it the bucket, and with it what it has begun."""
    busy = replace(world.kit, store=cast("Store", SlowIndex(world.kit)))
    stop = asyncio.Event()
    loops = [SchedulerLoop(kit, owner).run(stop) for kit, owner in ((busy, "busy"), (world.kit, "idle"))]
    running = asyncio.gather(*loops)

    await world.clock.sleep_ms(10 * world.durations.bucket_lease_ms)

    lease = await world.kit.store.lease(0)
    assert lease is not None
    assert (lease.owner, lease.lease_epoch) == ("busy", 1)
    stop.set()
    await running


async def test_a_scheduler_that_slept_over_its_reading_says_nothing_of_ticks_that_others_fired(world: World) -> None:
    """It finds them late, its decision is refused, and the tick that it would have fired stands decided by another."""
    head = await world.submit(schedule={"every": "PT1M"})
    assert head.next_run_at is not None
    latest = Instant(head.next_run_at + 4 * 60_000)
    await world.drain_until(Instant(latest + 2_000))

    await fire(world.kit, 0, [head], Memory())

    rows = await world.executions(head.job_id)
    assert [row.key for row in rows if row.passed is not None] == []


async def test_a_journal_page_of_a_refused_decision_tells_nothing_of_ticks_that_others_fired(world: World) -> None:
    """Though other ticks of the job were passed over later: the page's range was never passed over."""
    head = await world.submit(schedule={"every": "PT1M"})
    assert head.next_run_at is not None
    latest = Instant(head.next_run_at + 4 * 60_000)
    await world.drain_until(Instant(latest + 2_000))
    await fire(world.kit, 0, [head], Memory())
    world.clock.advance_to(Instant(latest + 10 * 60_000))

    rows = await _rows(world, head.job_id, Instant(latest + 30 * 60_000))

    (passed,) = [row.passed for row in rows if row.passed is not None]
    assert passed.first > latest
