"""Whoever finds a journal entry does the next step: for each finding of protocol 4, the step and the entry's fate."""

from contextlib import suppress

import pytest

from tests.support.builders import TENANT, a_manual_key, a_page, an_execution
from tests.support.faulty import Crash, Down, Fate, Interject, Script
from tests.support.kits import World
from tests.support.ledger import check_all, check_ledger
from tests.support.steps import HOUR, MINUTE, a_minutely_job, claimed, fired, lease_over_ms
from tickwright.domain.attempts import Failure, RetryLater, Success, an_error
from tickwright.domain.changes.executions import Insert
from tickwright.domain.changes.heads import Advance
from tickwright.domain.events import EventName
from tickwright.domain.executions import Cause, Execution, Reason
from tickwright.domain.ids import tick_key
from tickwright.domain.instants import Instant
from tickwright.domain.jobs import Head
from tickwright.domain.journal import Entry, Page
from tickwright.domain.transitions import State
from tickwright.services.cancel import cancel_execution
from tickwright.services.change_job import edit_job, pause_job, resume_job
from tickwright.services.fire import fire
from tickwright.services.memory import Memory
from tickwright.services.pools import put_pool
from tickwright.services.report import report
from tickwright.services.resolve import resolve


async def resolved(world: World) -> list[Page]:
    """Resolve the only page there is; the pages after it."""
    (page,) = await world.pages()
    await resolve(world.kit, page)
    return await world.pages()


async def begun(world: World, *, of: type, early_ms: int = 0) -> Head:
    """A minutely job whose first tick a scheduler has begun and not finished: it died before this write."""
    job = await a_minutely_job(world, 2)
    world.clock.advance(MINUTE - early_ms)
    with suppress(Crash):
        await fire(world.a_process(Script(of=of, at=1)), 0, await world.due(), Memory())
    return job


@pytest.mark.sem("SEM-JOURNAL-1", "SEM-JOURNAL-2")
async def test_a_decided_tick_without_its_execution_is_inserted_and_sent(world: World) -> None:
    """Found: absent, and the head says that this very tick was decided. Kept until it is seen finished."""
    await begun(world, of=Insert)

    pages = await resolved(world)

    assert (await world.only_execution()).state is State.QUEUED
    assert (await world.hints(), len(pages)) == (1, 1)


@pytest.mark.sem("SEM-JOURNAL-3")
async def test_a_tick_that_may_still_be_decided_stays(world: World) -> None:
    """Found: absent, not decided, and due as it was: a zombie may decide it yet, so it must stay on the list (W1)."""
    job = await begun(world, of=Advance)
    shown = await world.due()

    pages = await resolved(world)
    with suppress(Crash):  # the zombie comes back, decides, and dies
        await fire(world.a_process(Script(of=Advance, at=1, fate=Fate.CRASH_AFTER)), 0, shown, Memory())

    assert [entry.job_id for page in pages for entry in page.entries] == [job.job_id]
    await world.drain()
    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-JOURNAL-3")
async def test_a_tick_that_can_never_be_decided_is_dropped(world: World) -> None:
    """Found: absent, and the job's version has changed since: the plan behind the entry will be refused (R2)."""
    job = await begun(world, of=Advance, early_ms=4_000)
    await edit_job(world.kit, TENANT, job.job_id, world.spec(schedule={"every": "PT1H"}), 1)
    first, *_ = await world.pages()

    kept = await resolve(world.kit, first)

    assert kept == 0


@pytest.mark.sem("SEM-JOURNAL-3")
async def test_a_pause_and_a_resume_make_an_old_entry_void(world: World) -> None:
    """The head is due at the same instant again, and the old plan is refused: changes raised the version (W2)."""
    job = await a_minutely_job(world, 2)
    world.clock.advance(MINUTE - 4_000)
    shown = await world.due()
    with suppress(Crash):
        await fire(world.a_process(Script(of=Advance, at=1)), 0, shown, Memory())
    await pause_job(world.kit, TENANT, job.job_id, None)
    page, *_ = await world.pages()
    kept = await resolve(world.kit, page)
    await resume_job(world.kit, TENANT, job.job_id, None)

    decided = await fire(world.kit, 0, shown, Memory())

    assert (kept, decided) == (0, 0)
    await world.drain()
    await check_all(world)
    assert len(world.runner.starts) == 2


@pytest.mark.sem("SEM-JOURNAL-3")
async def test_a_tick_that_was_passed_by_is_dropped(world: World) -> None:
    """Found: absent, and a later tick was decided: this one never was (R1)."""
    await begun(world, of=Advance)
    world.clock.advance(5 * MINUTE)
    first, *_ = await world.pages()
    await fire(world.kit, 0, await world.due(), Memory())

    kept = await resolve(world.kit, first)

    assert kept == 0


@pytest.mark.sem("SEM-JOURNAL-3", "SEM-TICK-1")
async def test_a_run_whose_row_was_forgotten_is_not_queued_again(world: World) -> None:
    """A late look finds a decision of yesterday without its row: it becomes SKIPPED(missed), and runs no more (R8)."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    await fired(world)
    await world.work()
    await world.forget(await world.only_execution())
    world.clock.advance(13 * HOUR)

    await resolved(world)

    row = await world.only_execution()
    assert (row.state, row.reason, len(world.runner.starts)) == (State.SKIPPED, Reason.MISSED, 1)


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_an_unclaimed_execution_is_told_of_again(world: World) -> None:
    """Found: QUEUED. Its hint may be lost: another goes out, and the entry stays for longer (2, 4, ... 60 minutes).

    From the second hour on not each look sends one: only when it has waited twice as long as at the one before.
    """
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    await fired(world)
    waits, sent = [], []
    for _ in range(8):
        await world.lose_hints()
        (page,) = await world.pages()
        world.clock.advance_to(page.check_at)
        (newer,) = await resolved(world)
        sent.append(await world.hints())
        waits.append((newer.check_at - world.clock.now()) // MINUTE)

    assert waits == [4, 8, 16, 32, 60, 60, 60, 60]
    assert sent == [1, 1, 1, 1, 1, 0, 1, 0]
    assert world.telemetry.counts[EventName.HINT_SENT_AGAIN] == 6
    await world.drain()
    assert len(world.runner.starts) == 1


async def test_a_run_that_nobody_takes_is_said_to_wait_at_each_look(world: World) -> None:
    """For as long as somebody might have taken it; whoever is on call goes by it, whatever became of its hints."""
    await a_minutely_job(world, 1, priority="low")
    world.clock.advance(MINUTE)
    await fired(world)
    for _ in range(3):
        (page,) = await world.pages()
        world.clock.advance_to(page.check_at)
        await resolved(world)

    waits = [one for one in world.telemetry.happenings if one.name is EventName.RUNS_WAIT]
    assert [one.about for one in waits] == [{"lane": "low"}] * 3
    assert [one.measured["waitedMs"] // MINUTE for one in waits] == [2, 6, 14]
    assert {one.measured["runs"] for one in waits} == {1}


@pytest.mark.parametrize("later", [False, True], ids=["taken", "waits for its time"])
async def test_no_run_is_said_to_wait_that_is_taken_or_waits_for_its_time(world: World, *, later: bool) -> None:
    """Nobody could take it."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    if later:
        await report(world.kit, held, RetryLater(after_s=300))

    pages = await resolved(world)

    assert pages
    assert world.telemetry.counts[EventName.RUNS_WAIT] == 0


async def test_a_run_that_waits_for_a_tenants_machine_is_the_tenants_affair(world: World) -> None:
    """It is told of again, and nobody of the platform's is called."""
    await put_pool(world.kit, TENANT, "own", None)
    await a_minutely_job(world, 1, target={"type": "pool", "pool": "own", "handler": "h"})
    world.clock.advance(MINUTE)
    await fired(world)

    await resolved(world)

    assert world.telemetry.counts[EventName.HINT_SENT_AGAIN] == 1
    assert world.telemetry.counts[EventName.RUNS_WAIT] == 0


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_a_retry_whose_delayed_hint_was_lost_is_told_of_at_its_time(world: World) -> None:
    """Found: RETRY, not yet due: kept no longer than until it is; then another hint (W24)."""
    job = await a_minutely_job(world, 1, retryPolicy={"backoff": {"initialSec": 600, "jitter": "none"}})
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    await report(world.kit, held, Failure(error=an_error("Flaky", "once")))
    await world.lose_hints()

    (page,) = await resolved(world)

    retry_at = (await world.only_execution()).retry_at
    assert page.check_at <= (retry_at or 0)
    await world.drain()
    await check_ledger(world, job)
    assert [start.attempt for start in world.runner.starts] == [2]


@pytest.mark.sem("SEM-JOURNAL-2")
@pytest.mark.parametrize("stopping", [False, True])
async def test_a_dead_worker_is_found_within_a_lease_or_two(world: World, *, stopping: bool) -> None:
    """Found: RUNNING or CANCELLING. Looked at again just after its lease, and reaped then, hints or no hints (R17)."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    if stopping:
        await cancel_execution(world.kit, TENANT, held.ref.id)
    await world.lose_hints()
    (page,) = await resolved(world)
    early = page.check_at
    world.clock.advance_to(early)

    await resolved(world)

    assert early == (held.lease_until or 0) + 2 * world.durations.clock_error_ms + 1
    row = await world.only_execution()
    assert row.state is (State.CANCELLED if stopping else State.RETRY)


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_what_is_owed_is_settled(world: World) -> None:
    """Found: ended, and something is owed. Settled now, dropped at the next look."""
    await a_minutely_job(world, 1, retryPolicy={"maxAttempts": 1})
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    with suppress(Exception):
        await report(
            world.a_process(Down(frozenset({"send_dead"}))), held, Failure(error=an_error("Broken", "for good"))
        )
    assert (await world.only_execution()).owed

    (page,) = await resolved(world)
    world.clock.advance_to(page.check_at)
    gone = await resolved(world)

    assert not (await world.only_execution()).owed
    assert (len(await world.dead_letters()), gone) == (1, [])


@pytest.mark.sem("SEM-JOURNAL-3")
async def test_what_has_ended_is_dropped(world: World) -> None:
    """Found: ended, and nothing is owed."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    await fired(world)
    await world.work()

    assert await resolved(world) == []


@pytest.mark.sem("SEM-JOURNAL-3")
async def test_what_stands_on_the_waiting_index_is_dropped(world: World) -> None:
    """Found: waiting for an hour. That list keeps it, and its reader puts a page before it takes it off."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    await report(world.kit, held, RetryLater(after_s=3_600))

    assert await resolved(world) == []
    assert (await world.only_execution()).wait_key is not None


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_what_waits_past_its_deadline_expires(world: World) -> None:
    """Found: QUEUED, and its run deadline has passed: DEAD(expired), with its letter."""
    await a_minutely_job(world, 1, runDeadlineSec=60)
    world.clock.advance(MINUTE)
    await fired(world)
    await world.lose_hints()
    world.clock.advance(MINUTE)

    await resolved(world)

    row = await world.only_execution()
    assert (row.state, row.reason, len(await world.dead_letters())) == (State.DEAD, Reason.EXPIRED, 1)


@pytest.mark.sem("SEM-RUN-1")
async def test_a_request_that_never_came_through_leaves_a_tombstone(world: World) -> None:
    """Found: a manual entry without its execution. CANCELLED(abandoned) at its key: a slow API is refused (R11)."""
    job = await a_minutely_job(world, 1)
    key = a_manual_key(7, created_at=world.clock.now())
    page = Page(
        bucket=0,
        check_at=world.clock.now(),
        writer=world.entropy.token(),
        entries=(Entry(job_id=job.job_id, key=key, version=1),),
    )
    await world.kit.store.put_page(page)

    await resolved(world)

    row = await world.only_execution()
    assert (row.key, row.state, row.reason) == (key, State.CANCELLED, Reason.ABANDONED)
    assert row.ttl is not None


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_an_entry_of_a_job_that_is_gone_is_dropped(world: World) -> None:
    """Nothing can be done for it, and it must not come back for ever."""
    page = a_page(check_at=world.clock.now())
    await world.kit.store.put_page(page)

    assert await resolve(world.kit, page) == 0
    assert await world.pages() == []


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_a_page_is_deleted_after_its_entries_stand_elsewhere(world: World) -> None:
    """A watcher that dies between the two leaves both pages, and both are looked after."""
    await begun(world, of=Insert)
    (page,) = await world.pages()
    script = Script()
    await resolve(world.a_process(script), page)
    deleting = script.writes
    (newer,) = await world.pages()
    world.clock.advance_to(newer.check_at)

    with suppress(Crash):
        await resolve(world.a_process(Script(at=3, fate=Fate.CRASH_BEFORE)), newer)

    assert deleting == 4  # insert, send, the newer page, the delete
    assert len(await world.pages()) == 2
    await world.drain()
    await check_all(world)


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_two_watchers_of_one_page_do_no_harm(world: World) -> None:
    """Each does the next step and moves the entry; what exists twice is an entry, never an execution."""
    job = await begun(world, of=Insert)
    (page,) = await world.pages()

    await resolve(world.kit, page)
    await resolve(world.a_process(), page)

    assert len(await world.executions()) == 1
    await world.drain()
    await check_all(world)
    await check_ledger(world, job)


@pytest.mark.sem("SEM-CATCHUP-1")
async def test_the_row_of_a_range_is_written_with_its_decision(world: World) -> None:
    """A scheduler decided to pass five ticks over and died right after: the row stands, with its count."""
    job = await world.submit(schedule={"every": "PT1M", "endAt": world.text(7 * MINUTE)}, catchup={"mode": "none"})
    world.clock.advance(5 * MINUTE + 30_000)
    with suppress(Crash):
        await fire(world.a_process(Script(of=Advance, at=1, fate=Fate.CRASH_AFTER)), 0, await world.due(), Memory())

    row = await world.only_execution()
    assert row.passed is not None
    assert (row.scheduled_at, row.passed.count, row.reason) == (job.next_run_at, 5, Reason.MISSED)
    assert (await world.head(job.job_id)).passed_through == row.passed.last
    assert await resolved(world) == []
    assert await world.only_execution() == row


@pytest.mark.sem("SEM-JOURNAL-2")
async def test_a_watcher_that_knows_an_old_reading_repairs_nothing_twice(world: World) -> None:
    """A success between its read and its reap stands; the reap is refused (B136)."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    world.clock.advance(lease_over_ms(world))
    (page,) = await world.pages()
    succeeds = Interject("write", lambda: report(world.kit, held, Success(result="1")))
    await resolve(world.a_process(succeeds), page)

    row: Execution = await world.only_execution()
    assert (row.state, row.result) == (State.SUCCEEDED, "1")
    assert world.telemetry.counts[EventName.EXECUTION_REAPED] == 0
    assert isinstance(row.finished_at, int)
    assert Instant(row.finished_at) == world.clock.now()


@pytest.mark.sem("SEM-RUN-1", "SEM-JOURNAL-3")
async def test_a_refused_tombstone_keeps_the_entry(world: World) -> None:
    """The watch finds no run; a slow API puts it and dies before its hint; the tombstone is refused: still listed."""
    job = await a_minutely_job(world, 1, overlap={"mode": "allow"})
    execution = an_execution(job_id=job.job_id, key=a_manual_key(7, created_at=world.clock.now()), cause=Cause.MANUAL)
    entry = Entry(job_id=execution.job_id, key=execution.key, version=1)
    page = a_page(check_at=world.clock.now(), entries=(entry,))
    await world.kit.store.put_page(page)
    comes = Interject("head", lambda: world.kit.store.write(Insert(execution=execution)))

    kept = await resolve(world.a_process(comes), page)

    assert kept == 1
    await world.drain()
    await check_all(world)


@pytest.mark.sem("SEM-JOURNAL-3")
async def test_absent_counts_only_after_the_head_was_read(world: World) -> None:
    """Between the two reads the tick is decided and inserted, its process dies, and the next tick is decided."""
    job = await a_minutely_job(world, 2, overlap={"mode": "allow"})
    world.clock.advance(MINUTE)
    shown = await world.due()
    with suppress(Crash):
        await fire(world.a_process(Script(of=Advance, at=1)), 0, shown, Memory())
    (page,) = await world.pages()

    async def two_ticks() -> None:
        await fire(world.kit, 0, shown, Memory())
        for double in await world.pages():  # the page at hand is the one of this tick
            if double.writer != page.writer:
                await world.kit.store.delete_page(double)
        await world.lose_hints()
        world.clock.advance(MINUTE)
        await fire(world.kit, 0, await world.due(), Memory())

    await resolve(world.a_process(Interject("heads", two_ticks)), page)

    listed = {entry.key for one in await world.pages() for entry in one.entries}
    assert tick_key(Instant(job.created_at + MINUTE)) in listed
    await world.drain()
    await check_all(world)
    await check_ledger(world, job)
