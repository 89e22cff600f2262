"""What a machine of the fleet is told by its environment: read whole, or refused in one line."""

import pytest

from tickwright.domain.lanes import Lane
from tickwright.fleet_settings import FleetRefused, fleet_from_environment, read_places


def test_a_machine_without_settings_serves_every_lane() -> None:
    """As a plain process, on a laptop: nothing is protected, since nothing takes it away."""
    found = fleet_from_environment({})

    assert set(found.places) == set(Lane)
    assert (found.handlers, found.agent_uri, found.fleet) == (None, None, "local")


def test_a_stop_leaves_room_within_what_the_platform_gives() -> None:
    """The last poll, the runs' grace, and a tenth for what comes after: together the time until SIGKILL."""
    for stop_s in (5, 30, 120):
        found = fleet_from_environment({"TICKWRIGHT_STOP_S": str(stop_s)})

        assert found.poll_ms + found.grace_ms == 900 * stop_s
        assert found.grace_ms >= 700 * stop_s


def test_places_are_said_by_lane() -> None:
    """A lane that is not named is not served."""
    assert read_places("high=20, low=5") == {Lane.HIGH: 20, Lane.LOW: 5}


@pytest.mark.parametrize(
    "text", ["", "high", "high=0", "high=-1", "high=x", "urgent=5", "high=1,high=2", "high=1;low=2", "HIGH=1"]
)
def test_places_that_cannot_be_are_refused_by_name(text: str) -> None:
    """A misspelt lane would be a lane that nobody serves."""
    with pytest.raises(FleetRefused, match="TICKWRIGHT_PLACES"):
        read_places(text)


@pytest.mark.parametrize("name", ["TICKWRIGHT_STOP_S", "TICKWRIGHT_HEALTH_PORT"])
def test_a_number_that_is_none_is_refused_by_name(name: str) -> None:
    """The line says which variable to change."""
    with pytest.raises(FleetRefused, match=name):
        fleet_from_environment({name: "soon"})
