"""An edit that waits, met by whatever else can happen to a job at its time: no tick is lost, none comes twice."""

from contextlib import suppress
from dataclasses import replace

import pytest

from tests.support.builders import TENANT
from tests.support.clocks import SkewedClock
from tests.support.faulty import Crash, Fate, Script
from tests.support.kits import World
from tests.support.steps import HOUR, MINUTE
from tickwright.domain.changes.heads import PutDefinition, Rewrite
from tickwright.domain.executions import Reason
from tickwright.domain.instants import Instant, from_rfc3339
from tickwright.domain.jobs import Definition, Head, JobStatus
from tickwright.domain.outcomes import Code, Refusal
from tickwright.domain.pending import with_plan
from tickwright.ports.faults import Unavailable
from tickwright.services.change_job import edit_job, pause_job, resume_job
from tickwright.services.fire import fire
from tickwright.services.jobs import JobView
from tickwright.services.memory import Memory
from tickwright.services.preview import Edit, PreviewedEdit, preview_edit


async def edited(world: World, job: Head, at: int | None, **body: object) -> Head:
    """The job after an edit that counts from an instant on, or now."""
    version = (await world.head(job.job_id)).version
    effective_from = None if at is None else Instant(at)
    answer = await edit_job(world.kit, TENANT, job.job_id, world.spec(**body), version, effective_from)
    assert isinstance(answer, JobView), answer
    return answer.head


async def paused(world: World, job: Head) -> None:
    """The job is paused now."""
    assert isinstance(await pause_job(world.kit, TENANT, job.job_id, None), JobView)


async def resumed(world: World, job: Head) -> None:
    """The job is resumed now."""
    assert isinstance(await resume_job(world.kit, TENANT, job.job_id, None), JobView)


def starts(world: World, job: Head) -> list[tuple[int, int]]:
    """Minute and version of each start."""
    return [((start.scheduled_at - job.created_at) // MINUTE, start.job_version) for start in world.runner.starts]


async def ranges(world: World, job: Head) -> list[tuple[Reason | None, int, int, int]]:
    """Reason, first and last minute, and count of each row of a range."""
    return [
        (
            row.reason,
            (row.passed.first - job.created_at) // MINUTE,
            (row.passed.last - job.created_at) // MINUTE,
            row.passed.count,
        )
        for row in await world.executions(job.job_id)
        if row.passed is not None
    ]


@pytest.mark.sem("SEM-EDIT-2")
@pytest.mark.parametrize("after_tick_ms", [-1_000, 0])
async def test_an_edit_may_take_effect_at_or_before_a_tick_that_was_fired_ahead(
    world: World, after_tick_ms: int
) -> None:
    """The tick of minute 1 was decided seconds before its time: an edit from then on waits, and is carried out."""
    job = await world.submit(schedule={"every": "PT1M"})
    world.clock.advance(MINUTE - 3_000)
    await fire(world.kit, 0, await world.due(), Memory())

    at = job.created_at + MINUTE + after_tick_ms
    await edited(world, job, at, schedule={"every": "PT1M", "endAt": world.text(3 * MINUTE)})
    await world.drain_until(Instant(job.created_at + 5 * MINUTE))

    assert starts(world, job) == [(1, 1), (2, 2), (3, 2)]


@pytest.mark.sem("SEM-EDIT-2", "SEM-PAUSE-2")
async def test_a_job_resumed_just_before_its_edit_may_have_fired_past_it(world: World) -> None:
    """A tick is decided ahead, an edit is to count from before it, and the job is paused and resumed before both."""
    job = await world.submit(schedule={"every": "PT1M"})
    world.clock.advance(MINUTE - 3_000)
    await fire(world.kit, 0, await world.due(), Memory())
    await edited(world, job, job.created_at + 59_000, schedule={"every": "PT1M", "endAt": world.text(3 * MINUTE)})

    await paused(world, job)
    await resumed(world, job)
    await world.drain_until(Instant(job.created_at + 5 * MINUTE))

    assert starts(world, job) == [(2, 2), (3, 2)]


@pytest.mark.sem("SEM-EDIT-2")
async def test_an_edit_on_top_of_one_whose_time_has_come_keeps_what_was_due(world: World) -> None:
    """The edit of minute 3 was due when its bucket had no owner: the next edit carries it out, and is to be asked anew.

    Else what was patched would be the old job, and the tick of minute 3 would be lost.
    """
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(MINUTE)})
    await edited(world, job, job.created_at + 3 * MINUTE, schedule={"every": "PT1M"})
    await world.drain_until(Instant(job.created_at + 2 * MINUTE))
    world.clock.advance(MINUTE + 20_000)
    seen = (await world.head(job.job_id)).version

    refused = await edit_job(world.kit, TENANT, job.job_id, world.spec(schedule={"every": "PT1M"}), seen)
    assert isinstance(refused, Refusal)
    assert refused.code is Code.VERSION_CONFLICT
    assert (await world.head(job.job_id)).definition_version == 2
    await edited(world, job, None, schedule={"every": "PT1M", "endAt": world.text(2 * MINUTE)})
    await world.drain_until(Instant(job.created_at + 7 * MINUTE))

    assert [minute for minute, _ in starts(world, job)] == [1, 3, 4, 5]
    assert await ranges(world, job) == []


@pytest.mark.sem("SEM-EDIT-2", "SEM-PAUSE-2")
async def test_ticks_that_a_pause_held_back_before_an_edit_have_their_row(world: World) -> None:
    """Every ten minutes until 35, every hour from then on; paused from 15 to 50: the ticks of 20 and 30 are told of."""
    job = await world.submit(schedule={"every": "PT10M", "phase": "PT0S"})
    tens = -job.created_at // MINUTE % 10
    await edited(world, job, job.created_at + (tens + 35) * MINUTE, schedule={"every": "PT1H", "phase": "PT59M"})
    await world.drain_until(Instant(job.created_at + (tens + 15) * MINUTE))
    await paused(world, job)
    world.clock.advance(30 * MINUTE)

    await resumed(world, job)

    told = [found for found in await ranges(world, job) if found[0] is Reason.PAUSED]
    assert (Reason.PAUSED, tens + 20, tens + 30, 2) in told


@pytest.mark.sem("SEM-EDIT-2", "SEM-PAUSE-2")
async def test_a_resume_across_an_edit_catches_up_each_side_by_its_own_schedule(world: World) -> None:
    """Every two minutes until 5, every minute from then on: 2 and 4 are made up as the old job, 5 to 7 as the new."""
    ways = {"catchup": {"mode": "all", "onResume": "catchup"}, "overlap": {"mode": "allow"}}
    start = world.clock.now()
    minutely = {"every": "PT1M", "startAt": world.text(0), "endAt": world.text(8 * MINUTE)}
    job = await world.submit(schedule={"every": "PT2M", "startAt": world.text(0)}, **ways)
    await edited(world, job, start + 5 * MINUTE, schedule=minutely, **ways)
    await paused(world, job)
    world.clock.advance(7 * MINUTE + 10_000)

    await resumed(world, job)
    await world.drain_until(Instant(start + 10 * MINUTE))

    assert starts(world, job) == [(2, 1), (4, 1), (5, 2), (6, 2), (7, 2), (8, 2)]


@pytest.mark.sem("SEM-EDIT-2", "SEM-PAUSE-2")
@pytest.mark.parametrize("fate", list(Fate), ids=lambda fate: fate.name)
@pytest.mark.parametrize("at", [1, 2])
async def test_a_resume_across_an_edit_may_be_cut_off_at_any_write(world: World, fate: Fate, at: int) -> None:
    """The change and the resume are two writes: whoever dies at one of them leaves rows that are whole."""
    job = await world.submit(schedule={"every": "PT2M", "startAt": world.text(0)})
    schedule = {"every": "PT1M", "startAt": world.text(0), "endAt": world.text(8 * MINUTE)}
    await edited(world, job, job.created_at + 5 * MINUTE, schedule=schedule)
    await paused(world, job)
    world.clock.advance(7 * MINUTE + 10_000)
    with suppress(Crash, Unavailable):
        await resume_job(world.a_process(Script(of=Rewrite, at=at, fate=fate)), TENANT, job.job_id, None)

    await resumed(world, job)
    await world.drain_until(Instant(job.created_at + 9 * MINUTE))

    assert starts(world, job) == [(8, 2)]
    assert await ranges(world, job) == [(Reason.PAUSED, 2, 4, 2), (Reason.PAUSED, 5, 7, 3)]


@pytest.mark.sem("SEM-EDIT-2", "SEM-SCHED-22")
async def test_an_edit_within_a_window_does_not_fire_its_tick_twice(world: World) -> None:
    """Daily in a window of an hour; the payload changes between the window's start and the slot: one run that day."""
    schedule = {"cron": "0 0 * * *", "window": 3_600}
    world.clock.advance_to(from_rfc3339("2027-01-10T12:00:00Z"))
    job = await world.submit(schedule=schedule)
    slot = Instant(job.next_run_at or 0)
    start = from_rfc3339("2027-01-11T00:00:00Z")
    assert slot - start > 60_000

    await edited(world, job, (start + slot) // 2, schedule=schedule, payload=2)
    await world.drain_until(Instant(start + HOUR))

    assert [(start.scheduled_at, start.job_version) for start in world.runner.starts] == [(slot, 2)]


@pytest.mark.sem("SEM-EDIT-2", "SEM-JOB-3")
async def test_a_job_that_has_had_all_its_runs_waits_for_an_edit_that_gives_it_more(world: World) -> None:
    """Two runs at most until minute 5, four from then on."""
    job = await world.submit(schedule={"every": "PT1M", "maxRuns": 2})
    await edited(world, job, job.created_at + 5 * MINUTE, schedule={"every": "PT1M", "maxRuns": 4})

    await world.drain_until(Instant(job.created_at + 9 * MINUTE))

    assert starts(world, job) == [(1, 1), (2, 1), (5, 2), (6, 2)]
    assert (await world.head(job.job_id)).status is JobStatus.ENDED


@pytest.mark.sem("SEM-EDIT-2")
async def test_an_edit_from_now_on_or_from_before_counts_at_once(world: World) -> None:
    """Nothing waits for an instant that has come; the tick that is due at it is kept."""
    job = await world.submit(schedule={"every": "PT1M"})
    world.clock.advance(MINUTE)

    head = await edited(world, job, world.clock.now(), schedule={"every": "PT1H"})

    assert (head.definition_version, head.pending_version) == (2, None)
    assert starts(world, job) == []
    await world.drain_until(Instant(job.created_at + 2 * MINUTE))
    assert starts(world, job)[0][0] == 1


@pytest.mark.sem("SEM-TICK-2")
async def test_a_scheduler_that_passed_a_tick_over_goes_on_when_an_edit_brings_it_back(world: World) -> None:
    """An edit that does not ask what was decided meanwhile brings it back: the scheduler steps past it and goes on."""
    job = await world.submit(schedule={"every": "PT1M"}, catchup={"mode": "none"})
    world.clock.advance(3 * MINUTE - 10_000)
    memory = Memory()
    await fire(world.kit, 0, [job], memory)
    spec = world.spec(schedule={"every": "PT1M", "endAt": world.text(3 * MINUTE)}, catchup={"mode": "none"})
    definition = Definition(job_id=job.job_id, version=2, tenant_id=TENANT, created_at=world.clock.now(), spec=spec)
    new = replace(with_plan(job, definition), version=2)
    edit = Rewrite(new=new, seen_version=1, seen_next_run_at=None, pins_decision=False)
    await world.kit.store.write_together([edit, PutDefinition(definition=definition)])
    assert (await world.head(job.job_id)).next_run_at == job.next_run_at

    for _ in range(5):
        await fire(world.kit, 0, await world.due(), memory)
        world.clock.advance(MINUTE)
        await world.work()

    assert [minute for minute, _ in starts(world, job)] == [3, 4, 5]
    assert await ranges(world, job) == [(Reason.MISSED, 1, 2, 2)]


@pytest.mark.sem("SEM-EDIT-2", "SEM-SCHED-19")
@pytest.mark.parametrize("which", ["renamed", "over"])
async def test_an_edit_that_cannot_wait_is_refused_by_a_look_as_by_the_write(world: World, which: str) -> None:
    """One that renames, and one whose schedule is over by then: the job would end without a word."""
    job = await world.submit(schedule={"every": "PT1M"})
    bodies = {
        "renamed": world.spec(schedule={"every": "PT1M"}, name="other"),
        "over": world.spec(schedule={"runAt": world.text(MINUTE)}),
    }
    spec, at = bodies[which], Instant(job.created_at + HOUR)

    looked = await preview_edit(
        world.kit, None, TENANT, Edit(job_id=job.job_id, spec=spec, if_match=1, effective_from=at)
    )
    written = await edit_job(world.kit, TENANT, job.job_id, spec, 1, at)

    assert isinstance(looked, Refusal)
    assert looked == written
    assert (await world.head(job.job_id)).version == 1


@pytest.mark.sem("SEM-EDIT-2", "SEM-SCHED-19")
async def test_a_look_counts_the_runs_on_both_sides_of_an_edit_once(world: World) -> None:
    """Four runs at most, two of them before the edit: two are shown after it."""
    job = await world.submit(schedule={"every": "PT1M"})
    spec, at = world.spec(schedule={"every": "PT1M", "maxRuns": 4}), Instant(job.created_at + 150_000)

    looked = await preview_edit(
        world.kit, None, TENANT, Edit(job_id=job.job_id, spec=spec, if_match=1, effective_from=at)
    )

    assert isinstance(looked, PreviewedEdit)
    assert [(tick - job.created_at) // MINUTE for tick in looked.after] == [1, 2, 3, 4]


@pytest.mark.sem("SEM-PAUSE-2", "SEM-EDIT-1")
async def test_a_machine_that_is_behind_brings_back_no_tick_that_a_resume_has_told_of(world: World) -> None:
    """Resumed by one machine, edited at once by another that is two seconds behind: each tick has one row."""
    job = await world.submit(schedule={"every": "PT1S", "endAt": world.text(20_000)}, overlap={"mode": "allow"})
    await pause_job(world.kit, TENANT, job.job_id, None)
    world.clock.advance(5_500)
    resumed = await resume_job(world.kit, TENANT, job.job_id, None)
    assert isinstance(resumed, JobView)
    behind = world.a_process(clock=SkewedClock(world.clock, -2_000))
    spec = world.spec(schedule={"every": "PT1S", "endAt": world.text(4_000)}, overlap={"mode": "allow"})

    await edit_job(behind, TENANT, job.job_id, spec, resumed.head.version)
    await world.drain_until(Instant(job.created_at + 12_000))

    (told,) = [row.passed for row in await world.executions() if row.passed is not None]
    assert all(start.scheduled_at > told.last for start in world.runner.starts)
    assert world.runner.starts
