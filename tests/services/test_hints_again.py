"""Who is told of again, and how often: a pool that nobody serves must not gather hints without bound."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from tests.support.builders import TENANT, a_page, an_execution
from tests.support.kits import World
from tests.support.steps import HOUR, MINUTE, fired
from tickwright.adapters.embedded.queue import EmbeddedQueue
from tickwright.domain.executions import Execution
from tickwright.domain.instants import Instant
from tickwright.domain.journal import next_check
from tickwright.domain.limits import STANDARD
from tickwright.domain.repairs import is_told_again
from tickwright.domain.transitions import State
from tickwright.loops.watch import WatchLoop
from tickwright.ports.faults import QueueUnavailable
from tickwright.ports.queue import Hint
from tickwright.services.pools import put_pool
from tickwright.services.resolve import resolve

DAY = 24 * HOUR


def hours_told_of(execution: Execution, *, days: int) -> list[float]:
    """After how many hours the journal tells of an execution that nobody claims."""
    first = Instant(execution.created_at - 5_000)
    looked_at, now, looks, told = None, next_check(first, 0, STANDARD.first_check_ms, STANDARD.recheck_ms_max), 0, []
    while now < execution.created_at + days * DAY:
        page = a_page(check_at=now, looks=looks, looked_at=looked_at)
        gaps = {"first_ms": STANDARD.first_check_ms, "gap_ms_max": STANDARD.hint_again_ms_max}
        if is_told_again(execution, page, now, **gaps):
            told.append(round((now - execution.created_at) / HOUR, 1))
        looks, looked_at = looks + 1, now
        now = next_check(now, looks, STANDARD.first_check_ms, STANDARD.recheck_ms_max)
    return told


@pytest.mark.sem("SEM-JOURNAL-5")
def test_a_run_that_nobody_claims_is_told_of_less_and_less_often() -> None:
    """Each time that it has waited twice as long, then once a day: a lost hint costs as long again as was waited."""
    week, month = hours_told_of(an_execution(), days=7), hours_told_of(an_execution(), days=30)

    assert week[:5] == [0.0, 0.1, 0.2, 0.5, 1.0]
    assert all(b <= 2 * a + 1.1 or b - a <= 25 for a, b in pairwise(week))
    assert (len(week), len(month)) == (16, 39)
    assert max(sum(since - 96 < hour <= since for hour in month) for since in month) == 13


@pytest.mark.sem("SEM-JOURNAL-5")
def test_looks_for_the_sake_of_a_neighbour_tell_nobody_again() -> None:
    """A page is looked at each minute while one of its runs is held: the others hear no more often for that."""
    execution, told, looked_at = an_execution(), 0, None
    for minute in range(2, 12 * 60):
        now = Instant(execution.created_at + minute * MINUTE)
        page = a_page(check_at=now, looks=minute - 2, looked_at=looked_at)
        told += is_told_again(execution, page, now, first_ms=2 * MINUTE, gap_ms_max=DAY)
        looked_at = now

    assert told == 9


@pytest.mark.sem("SEM-JOURNAL-2")
def test_a_retry_is_told_of_from_its_own_time_on() -> None:
    """However long its page has been looked at: at the first look after its time, not when its age has doubled."""
    at = Instant(an_execution().created_at + 10 * HOUR)
    retry = an_execution(state=State.RETRY, attempt=1, retry_at=at)
    page = a_page(check_at=at, looks=40, looked_at=Instant(at - 1))

    assert is_told_again(retry, page, at, first_ms=2 * MINUTE, gap_ms_max=DAY)


@pytest.mark.sem("SEM-JOURNAL-5")
async def test_a_pool_without_machines_gathers_few_hints(world: World) -> None:
    """A week of watching, by the real watch and with the real expiry of messages; then its run is dead, and said so."""
    await put_pool(world.kit, TENANT, "billing", None)
    await world.submit(target={"type": "pool", "pool": "billing", "handler": "bill"}, schedule={"runAt": world.text(0)})
    assert isinstance(world.kit.queue, EmbeddedQueue)
    watch, most = WatchLoop(world.kit), 0
    for _ in range(8 * 24 * 2):
        world.clock.advance(HOUR // 2)
        await watch.look()
        await world.kit.queue.sweep(world.clock.now())
        most = max(most, await world.hints())

    assert 10 <= most <= 14
    assert (await world.only_execution()).state is State.DEAD
    world.clock.advance(4 * DAY)
    await world.kit.queue.sweep(world.clock.now())
    assert await world.hints() == 0


@pytest.mark.sem("SEM-JOURNAL-5")
async def test_a_pool_whose_queues_are_gone_has_no_other_told_again_and_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be told stands on a page of its own; alone there, it stays where it is."""
    for name in ("gone", "there"):
        await put_pool(world.kit, TENANT, name, None)
        await world.submit(
            target={"type": "pool", "pool": name, "handler": "it"}, schedule={"runAt": world.text(MINUTE)}
        )
    world.clock.advance(MINUTE)
    await fired(world)
    await world.lose_hints()
    send = EmbeddedQueue.send

    async def send_part(self: EmbeddedQueue, hints: Sequence[Hint], now: Instant) -> Sequence[Hint]:
        await send(self, [hint for hint in hints if hint.pool != "gone"], now)
        return [hint for hint in hints if hint.pool == "gone"]

    monkeypatch.setattr(EmbeddedQueue, "send", send_part)
    world.clock.advance(2 * MINUTE)
    for _ in range(5):
        world.clock.advance(10_000)
        await WatchLoop(world.kit).look()
    alone = min(await world.pages(), key=lambda page: page.check_at)
    with pytest.raises(QueueUnavailable):
        await resolve(world.kit, alone)

    assert await world.hints() == 1
    assert [len(page.entries) for page in await world.pages()] == [1, 1]
