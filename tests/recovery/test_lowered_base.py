"""An epoch base that was lowered in the settings: epochs go on above the highest that was in force."""

from dataclasses import replace

import pytest

from tests.recovery.places import Installations, Place
from tests.recovery.test_deletion import submitted
from tests.support.builders import TENANT
from tests.support.faulty import Down, FaultyStore
from tickwright.domain.attempts import Failure, Success, UserResult, an_error
from tickwright.domain.epochs import FIRST_ERA
from tickwright.domain.events import EventName
from tickwright.domain.limits import EPOCHS_AN_ERA
from tickwright.domain.transitions import State
from tickwright.ports.faults import StoreUnavailable
from tickwright.ports.runner import Invocation
from tickwright.services.eras import in_force
from tickwright.services.kit import NotedBase


def set_back(place: Place) -> None:
    """Processes of an older version of the settings, which ask what is noted."""
    place.world.kit = replace(place.world.kit, era=FIRST_ERA, noted=NotedBase())


@pytest.mark.sem("SEM-EPOCH-3")
async def test_what_was_claimed_above_a_base_goes_on_after_it_was_lowered(installations: Installations) -> None:
    """Its epochs look used up by the lower base, and those of rows below would be handed out a second time."""
    place, epochs = installations.first, list[int]()

    async def fails_once(invocation: Invocation) -> UserResult:
        epochs.append(invocation.epoch)
        return Success() if len(epochs) > 1 else Failure(error=an_error("Boom", "try again"))

    place.begin_above()
    place.world.runner.does = fails_once
    await submitted(place, TENANT, schedule={"runAt": place.world.text(1_000)}, retryPolicy={"maxAttempts": 5})
    await place.play(10)
    set_back(place)
    await submitted(place, TENANT, schedule={"runAt": place.world.text(1_000)})

    await place.play(300)

    assert {row.state for row in await place.rows()} == {State.SUCCEEDED}
    assert len(epochs) == 3
    assert all(epoch > EPOCHS_AN_ERA for epoch in epochs)
    assert place.world.telemetry.counts[EventName.BASE_LOWERED] == 1


@pytest.mark.sem("SEM-EPOCH-3")
async def test_a_base_that_was_noted_is_kept_by_schedulers_of_a_lower_one(installations: Installations) -> None:
    """They take the buckets over, and whoever starts after them still learns of it."""
    place = installations.first
    place.begin_above()
    await place.play(10)
    for _ in range(2):
        set_back(place)
        await place.play(10)

    assert (await in_force(place.world.kit)).era.base == EPOCHS_AN_ERA


@pytest.mark.sem("SEM-EPOCH-3")
async def test_who_cannot_learn_the_base_claims_nothing(installations: Installations) -> None:
    """It is asked again before the next claim."""
    place = installations.first
    place.begin_above()
    await place.play(10)
    set_back(place)
    kit = place.world.kit

    with pytest.raises(StoreUnavailable):
        await in_force(replace(kit, store=FaultyStore(kit.store, Down(frozenset({"lease"})))))

    assert (await in_force(kit)).era.base == EPOCHS_AN_ERA


async def test_a_higher_base_is_nobodys_to_take_back(installations: Installations) -> None:
    """What is noted is that of the installation before: the settings' own is in force."""
    place = installations.first
    await place.play(10)
    place.begin_above()
    place.world.kit = replace(place.world.kit, noted=NotedBase())

    assert (await in_force(place.world.kit)).era.base == EPOCHS_AN_ERA
    assert place.world.telemetry.counts[EventName.BASE_LOWERED] == 0
