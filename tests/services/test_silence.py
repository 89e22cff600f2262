"""What a process does while its store does not answer: how long it waits, when it asks again, what a silence is."""

import asyncio

import pytest

from tests.support.kits import World
from tickwright.domain.limits import SILENCE_LASTS_MS, STORE_PATIENCE_MS, STORE_RESTS_MS
from tickwright.ports.faults import StoreBusy, StoreUnavailable
from tickwright.services.silence import Silence, insist


class NotThereError(Exception):
    """The store's word, or none at all."""


class Door:
    """Somebody who asks, and what the store does."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.silence = Silence()
        self.does: object = "fresh"
        self.asked = 0

    async def _ask(self) -> str:
        self.asked += 1
        if isinstance(self.does, BaseException):
            raise self.does
        if self.does is None:
            await asyncio.get_running_loop().create_future()
        return str(self.does)

    async def _instead(self) -> str | None:
        return "copy"

    async def look(self) -> str:
        """One look."""
        return await self.silence.or_instead(self.world.clock, self._ask, self._instead)


@pytest.fixture
def door(world: World) -> Door:
    return Door(world)


@pytest.mark.sem("SEM-STALE-1")
@pytest.mark.parametrize("does", [StoreUnavailable("down"), None], ids=["refuses", "silent"])
async def test_it_is_asked_again_after_a_second(door: Door, does: object) -> None:
    """Copies until then, by nobody's question; then one question decides for all."""
    door.does = does
    assert await door.look() == "copy"
    assert [await door.look() for _ in range(10)] == ["copy"] * 10
    assert door.asked == 1
    door.does = "fresh"
    await door.world.clock.sleep_ms(STORE_RESTS_MS)

    assert [await door.look() for _ in range(3)] == ["fresh"] * 3


@pytest.mark.sem("SEM-STALE-1")
async def test_a_refusal_neither_ends_a_silence_nor_lengthens_it(door: Door) -> None:
    """It may be the store's word, or have been said without it: the next one asks, and finds out."""
    door.does = StoreUnavailable("down")
    await door.look()
    await door.world.clock.sleep_ms(STORE_RESTS_MS)
    door.does = NotThereError()
    with pytest.raises(NotThereError):
        await door.look()

    door.does = "fresh"
    assert await door.look() == "fresh"

    door.does = StoreUnavailable("down")
    await door.look()
    await door.world.clock.sleep_ms(STORE_RESTS_MS)
    door.does = NotThereError()
    with pytest.raises(NotThereError):
        await door.look()
    door.does = StoreUnavailable("down")
    assert await door.look() == "copy"
    asked = door.asked
    assert await door.look() == "copy"
    assert door.asked == asked


@pytest.mark.sem("SEM-STALE-1")
async def test_whoever_is_put_off_has_a_copy_and_the_next_one_is_answered(door: Door) -> None:
    """A throttled item is no silence: nobody else is shown a copy for it, and one that lasted is over."""
    door.does = StoreBusy("throttled")
    assert [await door.look() for _ in range(3)] == ["copy"] * 3
    assert door.asked == 3

    door.does = "fresh"
    assert await door.look() == "fresh"

    door.does = StoreUnavailable("down")
    await door.look()
    await door.world.clock.sleep_ms(STORE_PATIENCE_MS)
    await door.look()
    assert door.silence.lasts(door.world.clock)
    await door.world.clock.sleep_ms(STORE_RESTS_MS)
    door.does = StoreBusy("throttled")
    assert await door.look() == "copy"
    assert not door.silence.lasts(door.world.clock)
    door.does = "fresh"
    assert await door.look() == "fresh"


@pytest.mark.sem("SEM-STALE-1")
async def test_a_slow_answer_that_comes_in_time_is_the_answer(door: Door) -> None:
    """A store that needs a second is not silent."""

    async def slow() -> str:
        await door.world.clock.sleep_ms(STORE_PATIENCE_MS - 1)
        return "slow"

    assert await door.silence.or_instead(door.world.clock, slow, door._instead) == "slow"  # noqa: SLF001
    assert await door.look() == "fresh"


async def test_whoever_has_nothing_to_show_waits_as_long_as_it_takes(door: Door) -> None:
    """A copy shortens a wait; its lack shortens nothing."""

    async def slow() -> str:
        await door.world.clock.sleep_ms(5 * STORE_PATIENCE_MS)
        return "slow"

    async def nothing() -> None:
        return None

    assert await door.silence.or_instead(door.world.clock, slow, nothing) == "slow"


@pytest.mark.sem("SEM-INTAKE-3")
async def test_a_silence_lasts_from_its_third_second_until_nobody_has_noticed_it_lately(door: Door) -> None:
    """A blip is none, an answer ends it, and what was noticed long ago says nothing of now."""
    silence, clock = door.silence, door.world.clock
    silence.begins(clock)
    assert not silence.lasts(clock)
    await clock.sleep_ms(STORE_PATIENCE_MS)
    silence.begins(clock)
    assert silence.lasts(clock)
    await clock.sleep_ms(SILENCE_LASTS_MS + 1)
    assert not silence.lasts(clock)
    silence.begins(clock)
    assert silence.lasts(clock)

    silence.ends()

    assert not silence.lasts(clock)


@pytest.mark.sem("SEM-INTAKE-3")
async def test_insisting_ends_in_time_however_the_store_fails(door: Door) -> None:
    """It refuses at once, or never answers: the fault of the port comes at the end of the time, and no task is left."""
    for does in (StoreUnavailable("down"), None):
        door.does = does
        began_ms = door.world.clock.monotonic_ms()

        with pytest.raises(StoreUnavailable):
            await insist(door.world.kit, door._ask, for_ms=5_000)  # noqa: SLF001

        assert 3_900 <= door.world.clock.monotonic_ms() - began_ms <= 5_000
    await asyncio.wait({asyncio.ensure_future(door.world.clock.sleep_ms(1))})
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.sem("SEM-INTAKE-3")
async def test_insisting_passes_on_what_is_no_silence(door: Door) -> None:
    """A refusal is an answer: nobody asks again for it."""
    door.does = NotThereError()

    with pytest.raises(NotThereError):
        await insist(door.world.kit, door._ask, for_ms=5_000)  # noqa: SLF001

    assert door.asked == 1


@pytest.mark.sem("SEM-INTAKE-3")
@pytest.mark.parametrize("then_silent", [False, True])
async def test_insisting_that_is_cut_off_says_what_was_heard_last(door: Door, *, then_silent: bool) -> None:
    """Put off until the time was over: the store is there. Silent for more than a moment by then: it is not."""

    async def put_off() -> str:
        door.asked += 1
        silent = then_silent and door.asked > 1
        await door.world.clock.sleep_ms(1_000_000 if silent else 1_300)
        raise StoreBusy("throttled")

    with pytest.raises(StoreUnavailable) as raised:
        await insist(door.world.kit, put_off, for_ms=5_000)

    assert raised.type is not StoreBusy if then_silent else raised.type is StoreBusy
