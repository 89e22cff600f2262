"""Each scenario at a small size, beside its control, goes as docs/scenarios.md says."""

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from tests.scenarios import chart, db_failover, fleet_crash, link_heals, outage, region_failover, spike
from tests.scenarios.outcome import Outcome


@pytest.mark.sem("SEM-FENCE-1")
def test_a_fleet_that_dies_loses_nothing_and_doubles_no_fenced_effect() -> None:
    """Fence and key leave one effect a run; with neither, effects are doubled and old ones come last."""
    outcome = fleet_crash.play(size=50)

    assert outcome.failed == []


@pytest.mark.slow
@pytest.mark.sem("SEM-LANE-1")
def test_a_spike_leaves_the_high_lane_alone_and_looking_costs_no_more() -> None:
    """High runs start within a second while traffic triples; only polling grows with the count of jobs."""
    outcome = spike.play(size=2)

    assert outcome.failed == []


@pytest.mark.slow
@pytest.mark.sem("SEM-IDEM-1", "SEM-STORE-5")
def test_a_failover_loses_nothing_that_was_acknowledged() -> None:
    """Half a second without answers costs a wait; only clients without a key lose requests or do them twice."""
    outcome = db_failover.play(size=8)

    assert outcome.failed == []


@pytest.mark.slow
@pytest.mark.sem("SEM-STALE-1", "SEM-INTAKE-1", "SEM-INTAKE-2", "SEM-INTAKE-3", "SEM-CATCHUP-1")
@pytest.mark.parametrize("length", ["half a second", "half a minute", "ten minutes"])
def test_an_outage_loses_nothing_that_was_acknowledged(length: str) -> None:
    """Clients that ask once are acknowledged, readers see copies, and every tick is accounted for by its policy."""
    outcome = outage.play(size=1, lengths=[length])

    assert outcome.failed == []


@pytest.mark.slow
@pytest.mark.sem("SEM-EPOCH-1", "SEM-RECOVERY-1")
def test_a_region_that_is_lost_costs_its_lag_and_no_more() -> None:
    """Only what was acknowledged within the lag is lost; with its epochs raised the other Region believes no zombie."""
    outcome = region_failover.play(size=8)

    assert outcome.failed == []


@pytest.mark.slow
@pytest.mark.sem("SEM-EPOCH-1")
def test_a_link_that_heals_after_a_failover_changes_nothing_if_it_was_cut() -> None:
    """Both Regions have gone on; a raised base alone is no protection while the tables are still replicas."""
    outcome = link_heals.play(size=8)

    assert outcome.failed == []


@pytest.mark.parametrize("play", [lambda: fleet_crash.play(size=10)], ids=["fleet-crash"])
def test_a_plot_is_well_formed_and_names_every_line(play: Callable[[], Outcome]) -> None:
    """Whoever opens it sees the same curves that the figures come from."""
    outcome = play()

    root = ET.fromstring(chart.drawn(outcome.charts))  # noqa: S314 - drawn above

    shown = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {name for one in outcome.charts for name in one.lines} <= shown
