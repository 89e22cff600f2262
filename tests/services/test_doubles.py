"""What comes twice in one reading: hints of a batch, entries of an index that lags."""

from dataclasses import replace

import pytest

from tests.services.test_attempt import a_hint
from tests.support.kits import World
from tests.support.steps import MINUTE, a_minutely_job
from tickwright.domain.instants import Instant
from tickwright.domain.transitions import State
from tickwright.loops.worker import run_hints
from tickwright.ports.queue import Received
from tickwright.services.claim import Over
from tickwright.services.fire import fire
from tickwright.services.memory import Memory


@pytest.mark.sem("SEM-LEASE-1")
async def test_a_hint_that_stands_twice_in_a_batch_is_one_attempt(world: World) -> None:
    """A queue may deliver doubles together; both messages go, and the execution ran once."""
    hint = await a_hint(world)
    doubles = [Received(hint=hint, receipt=receipt, receive_count=1) for receipt in ("first", "second")]

    answers = await run_hints(world.worker(), doubles)

    row = await world.only_execution()
    assert (list(answers), row.state, row.attempt) == ([Over(), Over()], State.SUCCEEDED, 1)


@pytest.mark.sem("SEM-TICK-1")
async def test_a_head_that_an_index_shows_at_two_places_is_decided_once(world: World) -> None:
    """While an index entry moves, a query may show the old place and the new one."""
    await a_minutely_job(world)
    world.clock.advance(2 * MINUTE)
    (shown,) = await world.due()
    assert shown.next_run_at is not None
    old = replace(shown, next_run_at=Instant(shown.next_run_at - MINUTE))

    decided = await fire(world.kit, 0, [old, shown], Memory())

    assert decided == 1
