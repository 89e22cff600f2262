"""Taking retries off the waiting index: a page first, at the seen epoch, and whoever dies in between loses nothing."""

from contextlib import suppress

import pytest

from tests.support.builders import TENANT
from tests.support.faulty import Crash, Fate, Interject, LaggingIndex, Recorder, Script
from tests.support.kits import World
from tests.support.ledger import check_all
from tests.support.steps import HOUR, MINUTE, a_minutely_job, claimed, fired
from tickwright.domain.attempts import RetryLater
from tickwright.domain.changes.moves import Expire, Release
from tickwright.domain.executions import Execution, Reason
from tickwright.domain.ids import WorkerId
from tickwright.domain.transitions import State
from tickwright.loops.watch import WatchLoop
from tickwright.services.cancel import cancel_execution
from tickwright.services.claim import Claimed, Over, Wanted, claim
from tickwright.services.release import release_due
from tickwright.services.report import report


async def waiting(world: World) -> Execution:
    """An execution that waits for an hour, on its list alone."""
    await a_minutely_job(world, 1)
    world.clock.advance(MINUTE)
    held = await claimed(world, await fired(world))
    put_off = await report(world.kit, held, RetryLater(after_s=3_600))
    assert isinstance(put_off, Execution)
    await world.lose_hints()
    return put_off


@pytest.mark.sem("SEM-JOURNAL-4")
async def test_nothing_is_released_before_its_time(world: World) -> None:
    """It is looked at within the look-ahead, and its hint is delayed to the instant."""
    put_off = await waiting(world)
    world.clock.advance(HOUR - world.durations.lookahead_ms - 1)
    early = await release_due(world.kit, 0)
    world.clock.advance(1)

    in_time = await release_due(world.kit, 0)

    assert (early, in_time) == (0, 1)
    assert await world.receive() == []
    await world.drain()
    assert [start.at for start in world.runner.starts] == [put_off.retry_at]
    await check_all(world)


@pytest.mark.sem("SEM-JOURNAL-4")
async def test_the_page_is_put_before_it_is_taken_off(world: World) -> None:
    """One that dies between the two leaves it on both lists, never on none."""
    await waiting(world)
    world.clock.advance(HOUR)
    pages = len(await world.pages())
    recorder = Recorder()
    with suppress(Crash):
        await release_due(world.a_process(Script(of=Release, at=1)), 0)
    after_the_crash = (len(await world.pages()) - pages, (await world.only_execution()).wait_key is not None)

    await release_due(world.a_process(recorder), 0)

    assert after_the_crash == (1, True)
    assert [call.name for call in recorder.calls if call.writes] == ["put_page", "write_each", "send"]
    await world.drain()
    await check_all(world)
    assert len(world.runner.starts) == 1


@pytest.mark.sem("SEM-JOURNAL-4")
async def test_a_hint_that_was_not_sent_is_repaired_by_the_page(world: World) -> None:
    """It is off the index and nobody was told: the page names it."""
    await waiting(world)
    world.clock.advance(HOUR)
    with suppress(Crash):
        await release_due(world.a_process(Script(of=Release, at=1, fate=Fate.CRASH_AFTER)), 0)
    assert (await world.only_execution()).wait_key is None
    assert await world.hints() == 0

    await world.drain()

    assert len(world.runner.starts) == 1
    await check_all(world)


async def test_two_loops_release_it_once(world: World) -> None:
    """The second one's write is refused or finds it done; the worker claims once."""
    await waiting(world)
    world.clock.advance(HOUR)
    rival = Interject("write_each", lambda: release_due(world.kit, 0))

    await release_due(world.a_process(rival), 0)
    await world.drain()

    assert len(world.runner.starts) == 1
    await check_all(world)


async def test_a_stale_index_releases_nothing_and_writes_nothing(world: World) -> None:
    """The entry of one that was cancelled since costs a read, not a page."""
    put_off = await waiting(world)
    world.clock.advance(HOUR)
    await cancel_execution(world.kit, TENANT, put_off.ref.id)
    recorder = Recorder()
    kit = world.a_process(recorder)
    assert isinstance(kit.store, LaggingIndex)
    kit.store.show_waiting([put_off.ref])

    assert await release_due(kit, 0) == 0
    assert [call.name for call in recorder.calls if call.writes] == []
    assert (await world.only_execution()).state is State.CANCELLED


@pytest.mark.sem("SEM-JOURNAL-4")
async def test_a_releaser_that_stands_still_after_its_page_loses_nothing(world: World) -> None:
    """Its page is looked at meanwhile, then its release goes through and its hint is lost: the entry still stands."""
    await waiting(world)
    world.clock.advance(HOUR)
    late = Interject("write_each", lambda: _the_watch_looks(world))

    released = await release_due(world.a_process(late), 0)
    await world.lose_hints()

    row = await world.only_execution()
    listed = [entry.ref for page in await world.pages() for entry in page.entries]
    assert (released, row.wait_key) == (1, None)
    assert row.ref in listed
    await world.drain()
    await check_all(world)
    assert len(world.runner.starts) == 1


@pytest.mark.sem("SEM-JOURNAL-4")
async def test_a_stale_index_takes_off_nothing_that_waits_for_longer(world: World) -> None:
    """It shows the wait before. Taken off now, the page would be dropped as that of a wait that is far from over."""
    first = await waiting(world)
    world.clock.advance(HOUR)
    assert await release_due(world.kit, 0) == 1
    (held,) = await claim(world.kit, [Wanted(ref=first.ref, timeout_ms=60_000)], WorkerId("one"))
    assert isinstance(held, Claimed)
    await report(world.kit, held.execution, RetryLater(after_s=3_600))
    await world.lose_hints()
    await _the_watch_looks(world)
    kit = world.a_process(Interject("write_each", lambda: _the_watch_looks(world)))
    assert isinstance(kit.store, LaggingIndex)
    kit.store.show_waiting([first.ref])

    released = await release_due(kit, 0)

    await world.lose_hints()
    assert (released, (await world.only_execution()).wait_key is None) == (0, False)
    world.clock.advance(HOUR)
    await world.drain()
    assert (await world.only_execution()).state is State.SUCCEEDED
    await check_all(world)


@pytest.mark.sem("SEM-JOURNAL-4")
async def test_what_waits_is_not_expired_by_an_old_hint(world: World) -> None:
    """No scheduler has taken it off in time, its page is gone, and whoever has the hint dies after its first write.

    Ended there, it would be on no list, and nobody would come for what it owes.
    """
    put_off = await waiting(world)
    await _the_watch_looks(world)
    assert [entry.ref for page in await world.pages() for entry in page.entries if entry.ref == put_off.ref] == []
    assert put_off.run_deadline_at is not None
    world.clock.advance(put_off.run_deadline_at - world.clock.now() + 1)
    dying = world.a_process(Script(of=Expire, at=1, fate=Fate.CRASH_AFTER))

    with suppress(Crash):
        await claim(dying, [Wanted(ref=put_off.ref, timeout_ms=1_000)], WorkerId("late"))

    row = await world.only_execution()
    listed = [entry.ref for page in await world.pages() for entry in page.entries]
    assert row.wait_key is not None or row.ref in listed
    await world.drain()
    row = await world.only_execution()
    assert (row.state, row.reason, row.owed) == (State.DEAD, Reason.EXPIRED, frozenset())
    await check_all(world)


async def _the_watch_looks(world: World) -> None:
    world.clock.advance(world.durations.first_check_ms + 1)
    await WatchLoop(world.kit).look()


@pytest.mark.sem("SEM-JOURNAL-4")
async def test_an_old_hint_claims_no_retry_that_still_waits_on_the_index(world: World) -> None:
    """On the index it stands on no page: a worker that took it and died would be the last that knew of it."""
    put_off = await waiting(world)
    world.clock.advance(HOUR)

    (answer,) = await claim(world.kit, [Wanted(ref=put_off.ref, timeout_ms=1_000)], WorkerId("late"))

    assert answer == Over()
    assert (await world.only_execution()).state is State.RETRY
